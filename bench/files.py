"""Arrays written to files beside decoding and encoding alone, and beside dask.array.

    python bench/files.py [--mb 512] [--rounds 7] [--folder DIR] [--json FILE]

A row is a program from one Zarr array to another. "Alone" are as many threads that read its chunks
with Zarr and write them again, without computing. All take turns; of each the shortest time counts,
and beside it the least of the CPU's seconds. The files lie in the page cache.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import dask
import dask.array as da
import numpy as np
import zarr

import speedcube as sc
from speedcube.commands.this_machine import processor

COLUMNS = 8192
TILE = (1024, 1024)
CODECS: dict[str, Any] = {"zstd": ["zstd"], "raw": []}


def made(place: Path, rows: int, codecs: Any, chunks: tuple[int, int]) -> Any:
    """A Zarr array of float32 with six bits behind the point."""
    draw = sc.random.default_rng(1).normal(size=(rows, COLUMNS), dtype="f4")
    (sc.rint(draw * 64) / 64).to_zarr(place, chunks=chunks, codecs=codecs)
    return zarr.open_array(place, mode="r")


def alone(old: Any, place: Path, chunks: tuple[int, ...], codecs: Any, threads: int) -> None:
    """Read and write boxes of whole chunks, both of the old array and of the new."""
    new = zarr.create_array(
        store=place,
        shape=old.shape,
        dtype=old.dtype,
        chunks=chunks,
        compressors=[zarr.codecs.ZstdCodec()] if codecs else None,
        overwrite=True,
    )
    steps = [max(a, b) for a, b in zip(old.chunks, chunks, strict=True)]
    starts = product(*(range(0, n, step) for n, step in zip(old.shape, steps, strict=True)))

    def one(start: tuple[int, ...]) -> None:
        box = tuple(slice(at, at + step) for at, step in zip(start, steps, strict=True))
        new[box] = old[box]

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(one, starts))


def by_dask(source: Path, place: Path, chunks: tuple[int, ...], f: Any, threads: int) -> None:
    """The same with dask.array."""
    shutil.rmtree(place, ignore_errors=True)
    y = f(da.from_zarr(str(source)), da)
    with dask.config.set(scheduler="threads", num_workers=threads):
        y.rechunk(chunks).to_zarr(str(place))


def arithmetic(x: Any, xp: Any) -> Any:
    """A few operations of each element."""
    return xp.sqrt(x * x + 1) * 2 - x


def standardised(x: Any, xp: Any) -> Any:
    """Less its columns' means, by their deviations."""
    return (x - x.mean(axis=0)) / x.std(axis=0)


ROWS = (128, COLUMNS)
# Of each program what it computes, the chunks that are read and those that are written.
PROGRAMS: dict[str, tuple[Any, tuple[int, int], tuple[int, int]]] = {
    "a -> f(a)": (arithmetic, TILE, TILE),
    "tiles to rows": (lambda x, xp: x, TILE, ROWS),
    "rows to tiles": (lambda x, xp: x, ROWS, TILE),
    "standardise": (standardised, TILE, TILE),
}
Times: TypeAlias = dict[str, list[float]]


def turns(calls: dict[str, Callable[[], None]], rounds: int) -> tuple[Times, Times]:
    """All times of each, taken in turns: seconds, and those of the CPU."""
    walls: Times = {name: [] for name in calls}
    works: Times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            begin, work = time.perf_counter(), time.process_time()
            call()
            walls[name].append(round(time.perf_counter() - begin, 4))
            works[name].append(round(time.process_time() - work, 4))
    return walls, works


def rows_of(folder: Path, megabytes: int, rounds: int) -> list[dict[str, Any]]:
    """A row for each codec and program."""
    threads, found = len(os.sched_getaffinity(0)), []
    rows = megabytes * 1_000_000 // (4 * COLUMNS)
    for codec, codecs in CODECS.items():
        olds: dict[tuple[int, int], Any] = {}
        target = folder / "target.zarr"
        for name, (f, read, chunks) in PROGRAMS.items():
            source = folder / f"{codec}-{read[0]}.zarr"
            old = olds[read] = olds.get(read) or made(source, rows, codecs, read)
            y = f(sc.open(source), sc)
            how = {"chunks": chunks, "codecs": codecs, "mode": "w", "on": f"cores:{threads}"}
            calls: dict[str, Callable[[], None]] = {
                "ours": partial(y.to_zarr, target, **how),
                "alone": partial(alone, old, target, chunks, codecs, threads),
                "dask": partial(by_dask, source, target, chunks, f, threads),
            }
            walls, works = turns(calls, rounds)
            row: dict[str, Any] = {"codec": codec, "program": name, "bytes": old.nbytes}
            for kind, times in (("", walls), ("_cpu", works)):
                least = {who: min(some) for who, some in times.items()}
                row[f"of_alone{kind}"] = round(least["alone"] / least["ours"], 3)
                row[f"over_dask{kind}"] = round(least["dask"] / least["ours"], 3)
            print(row, flush=True)
            found.append({**row, "seconds": walls, "cpu_seconds": works})
    return found


def main() -> None:
    """Measure, print, and perhaps keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--json", default=None)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        rows = rows_of(Path(folder), args.mb, args.rounds)
    if args.json:
        facts = {
            "date": str(date.today()),
            "machine": processor(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "zarr": zarr.__version__,
            "cores": len(os.sched_getaffinity(0)),
            "versions": {one.__name__: one.__version__ for one in (sc, np, zarr, dask)},
            "command": " ".join(sys.argv),
            "load": os.getloadavg()[0],
        }
        Path(args.json).write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
