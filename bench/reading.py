"""Files reduced at the speed at which they can be read, or decoded, and beside dask.array.

    python bench/reading.py [--mb 512] [--rounds 15] [--only TEXT] [--folder DIR] [--json FILE]

Three files of one array hold the same numbers: `.npy`, raw Zarr and Zarr of zstd. "One thread"
and "two threads" read all bytes with `readinto`, into a buffer that is used again. "Adding" is the
program over the same numbers in memory; over those in a cache it takes less. "Decoding" are
as many threads as cores that read and decode each chunk, with Zarr's own decoder, and drop it.
All take turns; of each the shortest time counts. The files lie in the page cache. On a machine that
others use, only the CPU's seconds tell anything: on two free cores ours take half of them.
`--peak` reduces 16 GB, a file of ``--mb`` as often as it takes, and tells what memory grew by.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeAlias

import dask
import dask.array as da
import numpy as np
import zarr
from numcodecs import Zstd

import speedcube as sc
from speedcube.commands.this_machine import processor

PLANE: Final = (256, 512)  # of float64
CHUNK: Final = (16, *PLANE)  # 16 MiB
BUFFER: Final = 2 << 20  # bytes; the readinto loop is slower with less, and with more
PROGRAMS: Final[dict[str, Callable[[Any], Any]]] = {
    "sum()": lambda x: x.sum(),
    "sum(axis=0)": lambda x: x.sum(axis=0),
    "sum(axis=1)": lambda x: x.sum(axis=1),
    "sum(axis=2)": lambda x: x.sum(axis=2),
    "mean()": lambda x: x.mean(),
    "mean(axis=0)": lambda x: x.mean(axis=0),
    "mean(axis=1)": lambda x: x.mean(axis=1),
    "mean(axis=2)": lambda x: x.mean(axis=2),
    "mean(axis=(0, 2))": lambda x: x.mean(axis=(0, 2)),
}
CORES: Final = len(os.sched_getaffinity(0))


def made(folder: Path, size: int) -> dict[str, Path]:
    """The files, of so many bytes each."""
    count = max(CHUNK[0], size // (8 * PLANE[0] * PLANE[1]))
    draw = sc.random.default_rng(1).normal(size=(count, *PLANE))
    sc.save(folder / "x.npy", sc.rint(draw * 64) / 64)
    x = sc.open(folder / "x.npy")
    x.to_zarr(folder / "raw.zarr", chunks=CHUNK, codecs=[])
    x.to_zarr(folder / "zstd.zarr", chunks=CHUNK, codecs=["zstd"])
    return {"npy": folder / "x.npy", "raw": folder / "raw.zarr", "zstd": folder / "zstd.zarr"}


def pieces(path: Path) -> list[tuple[Path, int, int]]:
    """What threads share: files of chunks, or as many parts of a file."""
    if path.is_dir():
        files = sorted((path / "c").rglob("*"))
        return [(file, 0, file.stat().st_size) for file in files if file.is_file()]
    size = path.stat().st_size
    cuts = [size * k // CORES for k in range(CORES + 1)]
    return [(path, *pair) for pair in pairwise(cuts)]


def read(path: Path, threads: int) -> None:
    """Read every byte with `readinto`, and drop it."""

    def one(some: list[tuple[Path, int, int]]) -> None:
        buffer = memoryview(bytearray(BUFFER))
        for file, start, stop in some:
            with open(file, "rb", buffering=0) as opened:
                opened.seek(start)
                while start < stop and (count := opened.readinto(buffer[: stop - start])):
                    start += count

    shared = pieces(path)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(one, (shared[k::threads] for k in range(threads))))


def decode(path: Path) -> None:
    """Read and decode every chunk, on all cores, and drop it."""

    def one(piece: tuple[Path, int, int]) -> None:
        Zstd().decode(piece[0].read_bytes())

    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(one, pieces(path)))


def by_dask(path: Path, f: Callable[[Any], Any]) -> None:
    """The same with dask.array, whose blocks are the chunks."""
    x = (
        da.from_array(np.load(path, mmap_mode="r"), chunks=CHUNK)
        if path.suffix == ".npy"
        else da.from_zarr(str(path))
    )
    with dask.config.set(scheduler="threads", num_workers=CORES):
        f(x).compute()


Times: TypeAlias = dict[str, list[float]]


def turns(calls: dict[str, Callable[[], Any]], rounds: int) -> tuple[Times, Times]:
    """All times of each, taken in turns: seconds, and those of the CPU."""
    walls: Times = {name: [] for name in calls}
    works: Times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            begin, work = time.perf_counter(), time.process_time()
            call()
            walls[name].append(round(time.perf_counter() - begin, 5))
            works[name].append(round(time.process_time() - work, 5))
    return walls, works


def row(form: str, path: Path, name: str, rounds: int) -> dict[str, Any]:
    """One program over one file, beside what bounds it."""
    f, x = PROGRAMS[name], sc.open(path)
    calls: dict[str, Callable[[], Any]] = {"ours": f(x).compute, "dask": partial(by_dask, path, f)}
    if form == "zstd":
        calls["decoding"] = partial(decode, path)
    else:
        calls |= {"one thread": partial(read, path, 1), "two threads": partial(read, path, 2)}
        calls["adding"] = f(sc.asarray(x.compute())).compute
    with sc.on(f"cores:{CORES}"):
        times = turns(calls, rounds)
    found: dict[str, Any] = {"file": form, "program": name}
    for key, each in zip(("of", "cpu_of"), times, strict=True):
        least = {who: min(some) for who, some in each.items()}
        ratios = {who: round(t / least["ours"], 3) for who, t in least.items() if who != "ours"}
        found |= {key: ratios}
    if form != "zstd":  # the bytes have to be read, and added up: in a cache, where that is sooner
        cpu = {who: min(some) for who, some in times[1].items()}
        found["cpu_of_both"] = round((cpu["one thread"] + cpu["adding"]) / cpu["ours"], 3)
    print(found, flush=True)
    return {**found, "seconds": times[0], "cpu_seconds": times[1]}


def grown(path: str, times: int, name: str) -> None:
    """Reduce the array ``times`` over, in this process: bytes read, and what memory grew by."""
    warm = sc.asarray(np.zeros((2, *CHUNK)))
    PROGRAMS[name](warm).compute()  # the first kernel, and what is imported for it
    x = sc.concatenate([sc.open(path)] * times)
    y = PROGRAMS[name](x)
    before = _peak()
    start = time.perf_counter()
    y.compute()
    seconds = round(time.perf_counter() - start, 3)
    print(json.dumps({"bytes": x.nbytes, "grown": _peak() - before, "seconds": seconds}))


def _peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


def peaks(files: dict[str, Path]) -> list[dict[str, Any]]:
    """What memory grew by while 16 GB were reduced, each in a process of its own."""
    found = []
    for form, path in files.items():
        for name in ("sum()", "mean(axis=0)", "mean(axis=2)"):
            times = str(round(16e9 / sc.open(path).nbytes))
            command = [sys.executable, __file__, "--grown", str(path), times, name]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found.append({"file": form, "program": name, **json.loads(done.stdout)})
            print(found[-1], flush=True)
    return found


def main() -> None:
    """Measure, print, and perhaps keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="")
    parser.add_argument("--folder", default=None)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peak", action="store_true")
    parser.add_argument("--grown", nargs=3)
    args = parser.parse_args()
    if args.grown:
        path, times, name = args.grown
        grown(path, int(times), name)
        return
    facts = {
        "date": str(date.today()),
        "command": " ".join(sys.argv),
        "machine": processor(),
        "python": platform.python_version(),
        "versions": {one.__name__: one.__version__ for one in (np, zarr, dask, sc)},
        "cores": CORES,
        "megabytes": args.mb,
        "load": [os.getloadavg()[0]],
    }
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        files = made(Path(folder), args.mb * 1_000_000)
        rows = (
            peaks(files)
            if args.peak
            else [
                row(form, path, name, args.rounds)
                for form, path in files.items()
                for name in PROGRAMS
                if args.only in f"{form} {name}"
            ]
        )
    facts["load"] = [*facts["load"], os.getloadavg()[0]]
    if args.json:
        args.json.write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
