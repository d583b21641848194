"""Programs over files larger than a cache, beside dask.array and Dask's tables.

    python bench/pipelines.py [--mb 512] [--rounds 3] [--only TEXT] [--folder DIR] [--json FILE]

The files are made there, of about so many megabytes each, and lie in the page cache; one is
removed when the next is made. Both take turns; of each the shortest time counts. Beside the
times stands what the process grew by, and what the plan had promised. For 16 GB of float32:
``--only "moving average" --mb 16000 --rounds 1``.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import xarray as xr
import zarr

import speedcube as sc
from speedcube.commands.this_machine import processor

PLACES = 64 * 64  # of a field
GROUP = 1 << 18  # rows of a row group
CHUNK = 1 << 22  # numbers of a chunk of a long line


@dataclass(frozen=True)
class Files:
    """What the programs read, of ``size`` bytes each.

    A file is made when it is first asked for, and the one before is removed.
    """

    folder: Path
    size: int

    def emptied(self) -> Path:
        """The folder, with nothing in it."""
        for one in ("winds", "images", "line", "table"):
            self.__dict__.pop(one, None)
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        return self.folder

    @cached_property
    def winds(self) -> Path:
        """Float32 (time, lat, lon), of a xarray dataset with two of them, zstd."""
        days = max(730, self.size // (8 * PLACES))
        place = self.emptied() / "w.zarr"
        coords = {"time": pd.date_range("2000-01-01", periods=days)}
        empty = xr.Dataset(coords=coords)
        empty.to_zarr(place, consolidated=False)
        for seed, name in enumerate("uv"):
            draw = sc.random.default_rng(seed).normal(size=(days, 64, 64), dtype="f4")
            data = xr.DataArray(sc.rint(draw * 64) / 64, dims=("time", "lat", "lon"))
            how = {name: {"chunks": (256, 64, 64), "compressors": zarr.codecs.ZstdCodec()}}
            data.to_dataset(name=name).to_zarr(place, mode="a", encoding=how, consolidated=False)
        return place

    @cached_property
    def images(self) -> Path:
        """Uint16 (image, y, x), raw."""
        shape, place = (max(4, self.size // (2 << 20)), 1024, 1024), self.emptied() / "i.zarr"
        images = sc.random.default_rng(2).integers(0, 4096, size=shape, dtype="uint16")
        images.to_zarr(place, chunks=(1, 1024, 1024), codecs=[])
        return place

    @cached_property
    def line(self) -> Path:
        """Float32, one long .npy; of more than 2 GB a raw Zarr all of whose chunks are one file."""
        draw = sc.random.default_rng(3)
        if self.size <= 2_000_000_000:
            place = self.emptied() / "l.npy"
            sc.save(place, draw.normal(size=self.size // 4, dtype="f4"))
            return place
        place, count = self.emptied() / "l.zarr", self.size // (4 * CHUNK)
        how: Any = {"dtype": "f4", "compressors": None}
        zarr.create_array(place, shape=(count * CHUNK,), chunks=(CHUNK,), **how)
        (place / "c").mkdir()
        draw.normal(size=CHUNK, dtype="f4").compute().tofile(place / "c" / "0")
        for number in range(1, count):  # disks and page caches hold it once
            os.link(place / "c" / "0", place / "c" / str(number))
        return place

    @cached_property
    def table(self) -> Path:
        """Parquet: float64 and int64, row group after row group."""
        rows, place, draw = self.size // 16, self.emptied() / "t.parquet", sc.random.default_rng(4)
        price, count = draw.normal(size=rows), draw.integers(0, 100, size=rows)
        schema = pa.schema([("price", pa.float64()), ("count", pa.int64())])
        with pq.ParquetWriter(place, schema) as writer:
            for first in range(0, rows, GROUP):
                some = price[first : first + GROUP], count[first : first + GROUP]
                columns = [pa.array(one.compute()) for one in some]
                writer.write_table(pa.table(columns, schema), row_group_size=GROUP)
        return place


def _smoothed(x: Any, width: int) -> Any:
    return sum(x[k : x.shape[0] - width + 1 + k] for k in range(width)) / width


def _vorticity(u: Any, v: Any) -> Any:
    """Of a field on a sphere cut open, in units of the grid: its spread over time."""
    return (v[:, 1:-1, 2:] - v[:, 1:-1, :-2] - u[:, 2:, 1:-1] + u[:, :-2, 1:-1]).std(axis=0)


# Of a file: what opens it, ours and Dask's; of both, a number or an array.
READ: Final[dict[str, tuple[str, Callable[..., Any]]]] = {
    "quadratic means": ("u", lambda x, xp: xp.sqrt((x * x).mean(axis=0))),
    "zonal means": ("u", lambda x, xp: x.mean(axis=2)),
    "spread over time": ("u", lambda x, xp: x.std(axis=0)),
    "vorticity": ("uv", lambda u, v, xp: _vorticity(u, v)),
    "a[a > t].mean()": ("u", lambda x, xp: x[x > 1].mean()),
    "flat field, brightest": (
        "images",
        lambda x, xp: ((x - 100.0) / (1 + x.mean(axis=0))).max(axis=0),
    ),
    "histogram": ("line", lambda x, xp: xp.histogram(x, bins=100, range=(-5, 5))[0]),
    "moving average": ("line", lambda x, xp: _smoothed(x, 7).max()),
}
# Of a dataset of xarray: by chunked_array_type.
LABELLED: Final[dict[str, Callable[[Any], Any]]] = {
    "daily climatology": lambda ds: ds.u.groupby("time.dayofyear").mean(),
    "daily anomaly, its spread": lambda ds: (
        ds.u.groupby("time.dayofyear") - ds.u.groupby("time.dayofyear").mean()
    ).std("lon"),
}


def _opened(files: Files, what: str, ours: bool) -> list[Any]:
    if what == "images":
        return [sc.open(files.images) if ours else da.from_zarr(str(files.images))]
    if what == "line":
        if ours:
            return [sc.open(files.line)]
        if files.line.is_dir():
            return [da.from_zarr(str(files.line))]
        return [da.from_array(np.load(files.line, "r"), chunks=CHUNK)]
    place = files.winds
    return [sc.open(place, one) if ours else da.from_zarr(str(place), one) for one in what]


def _labelled(files: Files, kind: str) -> Any:
    how: Any = {"chunks": {}, "consolidated": False, "chunked_array_type": kind}
    return xr.open_zarr(files.winds, **how)


def _written(files: Files, make: Callable[[Any], Any], what: str, chunks: Any, ours: bool) -> None:
    """What is made of a file, to a Zarr beside it, which is removed."""
    (x,) = _opened(files, what, ours)
    target = files.folder / "written.zarr"
    shutil.rmtree(target, ignore_errors=True)
    if ours:
        make(x).to_zarr(target, chunks=chunks, codecs=["zstd"])
    else:
        encoders = {"compressors": zarr.codecs.ZstdCodec()}
        made = make(x).rechunk(chunks)
        array = zarr.create_array(
            target, shape=made.shape, chunks=chunks, dtype=made.dtype, **encoders
        )
        da.store(made, array, lock=False)


def _standardised(x: Any) -> Any:
    return ((x - x.mean(axis=0)) / x.std(axis=0)).astype("float32")


def written(files: Files) -> dict[str, Callable[[bool], Any]]:
    """What is read, made and written: by us, or by Dask."""

    def as_rows(ours: bool) -> None:
        _written(files, lambda x: x, "u", (files_days(files), 16, 16), ours)

    def as_tiles(ours: bool) -> None:
        _written(files, lambda x: x, "images", (8, 256, 256), ours)

    return {
        "standardise and write": lambda ours: _written(
            files, _standardised, "u", (256, 64, 64), ours
        ),
        "rechunk: maps to series": as_rows,
        "rechunk: images to tiles": as_tiles,
    }


def files_days(files: Files) -> int:
    """How many days the winds have."""
    return max(730, files.size // (8 * PLACES))


def programs(files: Files) -> dict[str, Callable[[bool], Any]]:
    """What runs each program: by us, or by Dask."""
    found: dict[str, Callable[[bool], Any]] = {}
    for name, (what, make) in READ.items():

        def run(ours: bool, what: str = what, make: Callable[..., Any] = make) -> Any:
            made = make(*_opened(files, what, ours), sc if ours else da)
            return made.compute() if not ours else _promised(made)

        found[name] = run
    for name, labelled in LABELLED.items():

        def of_dataset(ours: bool, make: Callable[[Any], Any] = labelled) -> Any:
            made = make(_labelled(files, "speedcube" if ours else "dask"))
            return made.compute() if not ours else _promised(made.data)

        found[name] = of_dataset
    found |= written(files)
    return {**found, "Parquet: four statistics": lambda ours: _statistics(files, ours)}


PROMISED: Final[list[int]] = []  # of the last computation of ours, where it is known


def _promised(array: Any) -> Any:
    PROMISED[:] = [array.plan().peak_bytes]
    return array.compute()


def _statistics(files: Files, ours: bool) -> Any:
    columns = (sc.from_parquet if ours else dd.read_parquet)(files.table)
    price, count = columns["price"], columns["count"]
    spread = price.std() if ours else price.std(ddof=0)
    run = sc.compute if ours else dask.compute
    return run(price.mean(), spread, price.max(), (price * count).sum())


def file_of(files: Files, name: str) -> Path:
    """The file that the program ``name`` reads, made before it is measured."""
    if name.startswith("Parquet"):
        return files.table
    if name in READ and READ[name][0] in ("images", "line"):
        return files.images if READ[name][0] == "images" else files.line
    return files.images if "images" in name else files.winds


def grown(before: int) -> int:
    """Bytes by which the process was larger than ``before`` at most, since that was told."""
    return _memory("VmHWM") - before


def _memory(name: str) -> int:
    text = Path("/proc/self/status").read_text()
    return int(text.split(f"{name}:")[1].split()[0]) * 1024


def forgotten() -> int:
    """The bytes of the process, from which on its peak is told."""
    Path("/proc/self/clear_refs").write_text("5")
    return _memory("VmRSS")


def main() -> None:
    """Measure, print, and perhaps keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--folder", default=None)
    parser.add_argument("--json", default=None)
    args = parser.parse_args()
    cores, rows = len(os.sched_getaffinity(0)), []
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        files = Files(Path(folder) / "files", args.mb * 1_000_000)
        files.folder.mkdir()
        for name, run in programs(files).items():
            if args.only not in name:
                continue
            walls: list[list[float]] = [[], []]
            works: list[list[float]] = [[], []]
            peaks: list[list[int]] = [[], []]
            PROMISED.clear()
            file_of(files, name)
            with dask.config.set(scheduler="threads", num_workers=cores), sc.on(f"cores:{cores}"):
                for _ in range(args.rounds):
                    for k, ours in enumerate((True, False)):
                        gc.collect()
                        before = forgotten()
                        begin, work = time.perf_counter(), time.process_time()
                        run(ours)
                        walls[k].append(round(time.perf_counter() - begin, 4))
                        works[k].append(round(time.process_time() - work, 4))
                        peaks[k].append(grown(before) // 1_000_000)
            row: dict[str, Any] = {"program": name}
            for key, (ours, dasks) in (("over_dask", walls), ("over_dask_cpu", works)):
                row[key] = round(min(dasks) / min(ours), 3)
            each = {"seconds": walls, "cpu_seconds": works, "grew_mb": peaks}
            kept = {key: dict(zip(("ours", "dask"), one, strict=True)) for key, one in each.items()}
            if PROMISED:
                row["promised_mb"] = PROMISED[0] // 1_000_000
            rows.append({**row, **kept})
            print({**row, "grew_mb": [max(one) for one in peaks]}, flush=True)
    if args.json:
        facts = {
            "date": str(date.today()),
            "machine": processor(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "zarr": zarr.__version__,
            "dask": dask.__version__,
            "cores": cores,
            "megabytes": args.mb,
            "rounds": args.rounds,
            "load": os.getloadavg()[0],
            "command": " ".join(sys.argv),
            "note": "above a load of one the machine had other work: the CPU's seconds tell more",
        }
        Path(args.json).write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
