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
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

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


class Files(NamedTuple):
    """What the programs read."""

    winds: Path  # float32 (time, y, x), zstd
    images: Path  # uint16 (image, y, x), raw
    line: Path  # float32, one long .npy
    table: Path  # Parquet: float64 and int64


def made(folder: Path, megabytes: int) -> Files:
    """The files, of ``megabytes`` each."""
    size = megabytes * 1_000_000
    draw = sc.random.default_rng(1)
    files = Files(*(folder / name for name in ("w.zarr", "i.zarr", "l.npy", "t.parquet")))
    days = max(256, size // (4 * PLACES))
    winds = sc.rint(draw.normal(size=(days, 64, 64), dtype="f4") * 64) / 64
    winds.to_zarr(files.winds, chunks=(256, 64, 64), codecs=["zstd"])
    images = draw.integers(0, 4096, size=(max(4, size // (2 << 20)), 1024, 1024), dtype="uint16")
    images.to_zarr(files.images, chunks=(1, 1024, 1024), codecs=[])
    sc.save(files.line, draw.normal(size=size // 4, dtype="f4"))
    rows = size // 16
    columns = {"price": draw.normal(size=rows), "count": draw.integers(0, 100, size=rows)}
    pq.write_table(
        pa.table({name: one.compute() for name, one in columns.items()}),
        files.table,
        row_group_size=1 << 18,
    )
    return files


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
        files = made(Path(folder), args.mb)
        for name, calls in programs(files).items():
            if args.only not in name:
                continue
            times = [float("inf")] * 2
            with dask.config.set(scheduler="threads", num_workers=cores):
                for _ in range(args.rounds):
                    for k, call in enumerate(calls):
                        begin = time.perf_counter()
                        call()
                        times[k] = min(times[k], time.perf_counter() - begin)
            row = {"program": name, "seconds": dict(zip(("ours", "dask"), times, strict=True))}
            rows.append({**row, "over_dask": times[1] / times[0]})
            print(f"{name:28} {times[0]:7.3f} s, {times[1] / times[0]:.2f}x Dask", flush=True)
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
            "note": "above a load of one the machine had other work: ratios only",
        }
        Path(args.json).write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
