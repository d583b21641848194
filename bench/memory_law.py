"""The law of memory: thirty pipelines over files grow by no more than their plan promises.

Each runs in a process of its own, over files of ``--mb`` MB made beforehand, under a limit of the
address space (`ulimit -v`): what it had, what is promised, and a fixed part for stacks and heaps of
threads. Its growth is the largest resident size less that before.

    python bench/memory_law.py --json measurements/streams/memory-2cores.json
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import speedcube as sc

STACKS = 512 << 20  # of address space, not of memory: stacks and heaps that threads reserve
COLUMNS = 1000

Program = Callable[[Any], Any]
PROGRAMS: dict[str, Program] = {
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "mean of columns": lambda x: x.mean(axis=0),
    "mean of rows": lambda x: x.mean(axis=1),
    "std": lambda x: x.std(),
    "std of columns": lambda x: x.std(axis=0),
    "greatest": lambda x: x.max(),
    "place of the greatest": lambda x: x.argmax(),
    "extremes of columns": lambda x: x.max(axis=0) - x.min(axis=0),
    "map": lambda x: sc.sin(x).sum(),
    "two reductions": lambda x: (x - x.mean(axis=0)).std(axis=0),
    "quadratic mean": lambda x: sc.sqrt((x * x).mean(axis=0)),
    "neighbours": lambda x: (x[1:] - x[:-1]).std(),
    "stencil": lambda x: (x[:-2, 1:-1] + x[2:, 1:-1] - 4 * x[1:-1, 1:-1] + x[1:-1, 2:]).max(),
    "backwards": lambda x: (x + x[::-1]).sum(),
    "turned": lambda x: x.T.sum(axis=1),
    "slice": lambda x: x[::10, 5].mean(),
    "dot": lambda x: sc.vecdot(x, x, axis=0),
    "rolled": lambda x: (sc.roll(x, 1, axis=0) * x).sum(),
    "histogram": lambda x: sc.histogram(x, bins=50, range=(-5, 5))[0],
    "median": lambda x: sc.median(x),
    "without NaN": lambda x: sc.nanmean(x, axis=0),
    "where": lambda x: sc.where(x > 0, x, 0).sum(axis=0),
    "running sums of all": lambda x: x.cumsum().max(),
    "running sums of columns": lambda x: x.cumsum(axis=0).max(axis=0),
    "running sums of rows": lambda x: x.cumsum(axis=1).mean(axis=0),
    "running products": lambda x: (1 + x * 1e-9).cumprod(axis=0).std(),
    "running sums of anomalies": lambda x: (x - x.mean()).cumsum(axis=0).std(axis=0),
    "chosen": lambda x: x[x > 1].mean(),
    "spread of what is chosen": lambda x: x[x > x.mean()].std(),
}


def make(folder: Path, size: int) -> None:
    """One array as `.npy` and as Zarr, compressed; different numbers in each block."""
    import zarr

    rows = size // 8 // COLUMNS
    block = np.random.default_rng(0).normal(size=(1000, COLUMNS))
    flat = np.lib.format.open_memmap(folder / "x.npy", "w+", np.float64, (rows, COLUMNS))
    stored = zarr.create_array(
        folder / "x.zarr", shape=(rows, COLUMNS), chunks=(250, 500), dtype="float64"
    )
    for first in range(0, rows, 1000):
        here = slice(first, min(rows, first + 1000))
        flat[here] = stored[here] = np.roll(block, first // 1000, axis=1)[: here.stop - first]
    flat.flush()


def run(path: str, name: str, on: str) -> None:
    """The program ``name``, in this process: what it grew by, what was promised, seconds."""
    x = sc.open(path)
    small = sc.asarray(np.random.default_rng(0).normal(size=(64, COLUMNS)))
    PROGRAMS[name](small).compute(on=on)  # the first kernel, and what is imported for it
    y = PROGRAMS[name](x)
    promised = y.plan(on=on).peak_bytes
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + promised + STACKS
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    before = _peak()
    start = time.perf_counter()
    y.compute(on=on)
    print(_peak() - before, promised, time.perf_counter() - start)


def _peak() -> int:
    """The largest size of this process; ``ru_maxrss`` begins with that of who started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


def measured(path: Path, name: str, on: str) -> dict[str, Any]:
    """A row of the table."""
    row: dict[str, Any] = {"program": name, "file": path.name, "on": on}
    command = [sys.executable, __file__, "--run", str(path), name, on]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return {**row, "holds": False, "said": done.stderr[-300:]}
    grown, promised, seconds = done.stdout.split()
    row |= {"grown": int(grown), "promised": int(promised), "seconds": round(float(seconds), 3)}
    return {**row, "holds": row["grown"] <= row["promised"] <= 512_000_000}


def main() -> None:
    """Measure all programs, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=1500)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--run", nargs=3, default=None)
    args = parser.parse_args()
    if args.run:
        run(*args.run)
        return
    rows = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make(folder, args.mb * 1_000_000)
        for number, name in enumerate(PROGRAMS):
            if args.only in name:
                file = folder / ("x.npy", "x.zarr")[number % 2]
                for on in ("core", "cores"):
                    rows.append(measured(file, name, on))
                    print(rows[-1], flush=True)
    kept = sum(row["holds"] for row in rows)
    print(f"{kept} of {len(rows)} hold")
    if args.json:
        about = {"machine": platform.processor(), "mb": args.mb, "stacks": STACKS}
        args.json.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
