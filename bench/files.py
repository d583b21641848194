"""Arrays written to files beside decoding and encoding alone, and beside dask.array.

    python bench/files.py [--mb 512] [--rounds 7] [--folder DIR] [--json FILE]

A row is a program from one Zarr array to another. "Alone" are as many threads that read its chunks
with Zarr and write them again, without computing. All take turns; of each the shortest time counts.
The files lie in the page cache.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import zarr

import speedcube as sc
from speedcube.commands.this_machine import processor

COLUMNS = 8192
TILE = (1024, 1024)
CODECS: dict[str, Any] = {"zstd": ["zstd"], "raw": []}


def made(place: Path, rows: int, codecs: Any) -> Any:
    """A Zarr array of float32 with six bits behind the point, in tiles."""
    draw = sc.random.default_rng(1).normal(size=(rows, COLUMNS), dtype="f4")
    (sc.rint(draw * 64) / 64).to_zarr(place, chunks=TILE, codecs=codecs)
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


PROGRAMS: dict[str, tuple[Any, tuple[int, int]]] = {
    "a -> f(a)": (arithmetic, TILE),
    "tiles to rows": (lambda x, xp: x, (128, COLUMNS)),
    "standardise": (standardised, TILE),
}


def turns(calls: dict[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    """The shortest time of each, taken in turns."""
    times = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            times[name] = min(times[name], time.perf_counter() - begin)
    return times


def rows_of(folder: Path, megabytes: int, rounds: int) -> list[dict[str, Any]]:
    """A row for each codec and program."""
    threads, found = len(os.sched_getaffinity(0)), []
    rows = megabytes * 1_000_000 // (4 * COLUMNS)
    for codec, codecs in CODECS.items():
        source, target = folder / f"{codec}.zarr", folder / "target.zarr"
        old = made(source, rows, codecs)
        for name, (f, chunks) in PROGRAMS.items():
            y = f(sc.open(source), sc)

            how = {"chunks": chunks, "codecs": codecs, "mode": "w", "on": f"cores:{threads}"}
            calls: dict[str, Callable[[], None]] = {
                "ours": partial(y.to_zarr, target, **how),
                "alone": partial(alone, old, target, chunks, codecs, threads),
                "dask": partial(by_dask, source, target, chunks, f, threads),
            }
            times = turns(calls, rounds)
            row = {
                "codec": codec,
                "program": name,
                "bytes": old.nbytes,
                "seconds": times,
                "of_alone": times["alone"] / times["ours"],
                "over_dask": times["dask"] / times["ours"],
            }
            print(f"{codec:5} {name:14} {row['of_alone']:.2f} of decoding and encoding alone, "
                  f"{row['over_dask']:.2f}x dask.array", flush=True)  # fmt: skip
            found.append(row)
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
            "load": os.getloadavg()[0],
        }
        Path(args.json).write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
