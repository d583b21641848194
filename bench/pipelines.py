"""Programs over files larger than a cache, beside dask.array and Dask's tables.

    python bench/pipelines.py [--mb 512] [--rounds 3] [--only TEXT] [--folder DIR] [--json FILE]

The files are made there, of about so many megabytes each, and lie in the page cache. Both take
turns; of each the shortest time counts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zarr

import speedcube as sc
from speedcube.commands.this_machine import processor

PLACES = 64 * 64  # of a field
GROUP = 1 << 18  # rows of a row group


@dataclass(frozen=True)
class Files:
    """What the programs read, of ``size`` bytes each; a file is made when it is first asked for."""

    folder: Path
    size: int

    @cached_property
    def winds(self) -> Path:
        """Float32 (time, y, x), zstd."""
        days = max(256, self.size // (4 * PLACES))
        draw = sc.random.default_rng(1).normal(size=(days, 64, 64), dtype="f4")
        place = self.folder / "w.zarr"
        (sc.rint(draw * 64) / 64).to_zarr(place, chunks=(256, 64, 64), codecs=["zstd"])
        return place

    @cached_property
    def images(self) -> Path:
        """Uint16 (image, y, x), raw."""
        shape, place = (max(4, self.size // (2 << 20)), 1024, 1024), self.folder / "i.zarr"
        images = sc.random.default_rng(2).integers(0, 4096, size=shape, dtype="uint16")
        images.to_zarr(place, chunks=(1, 1024, 1024), codecs=[])
        return place

    @cached_property
    def line(self) -> Path:
        """Float32, one long .npy."""
        place = self.folder / "l.npy"
        sc.save(place, sc.random.default_rng(3).normal(size=self.size // 4, dtype="f4"))
        return place

    @cached_property
    def table(self) -> Path:
        """Parquet: float64 and int64, row group after row group."""
        rows, place, draw = self.size // 16, self.folder / "t.parquet", sc.random.default_rng(4)
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


def programs(files: Files) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Ours and Dask's of each."""
    winds = lambda: (sc.open(files.winds), da.from_zarr(str(files.winds)))  # noqa: E731
    images = lambda: (sc.open(files.images), da.from_zarr(str(files.images)))  # noqa: E731
    line = lambda: (sc.open(files.line), da.from_array(np.load(files.line, "r"), chunks=1 << 22))  # noqa: E731
    stack: dict[str, tuple[Callable[[], tuple[Any, Any]], Callable[[Any, Any], Any]]] = {
        "quadratic means": (winds, lambda x, xp: xp.sqrt((x * x).mean(axis=0))),
        "zonal means": (winds, lambda x, xp: x.mean(axis=2)),
        "spread over time": (winds, lambda x, xp: x.std(axis=0)),
        "a[a > t].mean()": (winds, lambda x, xp: x[x > 1].mean()),
        "flat field, brightest": (
            images,
            lambda x, xp: ((x - 100.0) / (1 + x.mean(axis=0))).max(axis=0),
        ),
        "histogram": (line, lambda x, xp: xp.histogram(x, bins=100, range=(-5, 5))[0]),
        "moving average": (line, lambda x, xp: _smoothed(x, 7).max()),
    }
    found: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        name: (
            lambda open_=open_, f=f: f(open_()[0], sc).compute(),
            lambda open_=open_, f=f: f(open_()[1], da).compute(),
        )
        for name, (open_, f) in stack.items()
    }

    def table() -> Any:
        columns = sc.from_parquet(files.table)
        price, count = columns["price"], columns["count"]
        return sc.compute(price.mean(), price.std(), price.max(), (price * count).sum())

    def table_by_dask() -> Any:
        columns = dd.read_parquet(files.table)
        price, count = columns["price"], columns["count"]
        return dask.compute(price.mean(), price.std(ddof=0), price.max(), (price * count).sum())

    return {**found, "Parquet: four statistics": (table, table_by_dask)}


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
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        files = Files(Path(folder), args.mb * 1_000_000)
        for name, calls in programs(files).items():
            if args.only not in name:
                continue
            walls: list[list[float]] = [[], []]
            works: list[list[float]] = [[], []]
            with dask.config.set(scheduler="threads", num_workers=cores):
                for _ in range(args.rounds):
                    for k, call in enumerate(calls):
                        begin, work = time.perf_counter(), time.process_time()
                        call()
                        walls[k].append(round(time.perf_counter() - begin, 4))
                        works[k].append(round(time.process_time() - work, 4))
            row: dict[str, Any] = {"program": name}
            for key, (ours, dasks) in (("over_dask", walls), ("over_dask_cpu", works)):
                row[key] = round(min(dasks) / min(ours), 3)
            each = {"seconds": walls, "cpu_seconds": works}
            kept = {key: dict(zip(("ours", "dask"), one, strict=True)) for key, one in each.items()}
            rows.append({**row, **kept})
            print(row, flush=True)
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
