"""A program that is killed (-9) at 60 % of a long mean and started again; and what records cost.

    python bench/killed_driver.py [--size N] [--on core] [--workers 2] [--repeats 2] [--json FILE]

``ratio`` is the seconds until the kill and those of the second program over the undisturbed ones,
of the computing alone: to start Python takes as long with and without. ``overhead`` is processor
time with ``checkpoint=`` over that without, the least of seven pairs in one process.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import dask

import speedcube as sc
from speedcube.engine.known import drawn

PAIRS: Final = 7
PROGRAM: Final = """
import sys, time
import speedcube as sc
x = sc.random.default_rng(1).gamma(2.5, size=int(sys.argv[1]))
if "://" in sys.argv[2]:  # to connect takes as long with and without
    x[:1000].sum().compute(on=sys.argv[2])
print("ready", flush=True)
began = time.perf_counter()
with sc.on(sys.argv[2], checkpoint=sys.argv[3] or None):
    value = float(x.mean())
print(time.perf_counter() - began, value.hex())
"""


def program(size: int, on: str, folder: str, kill_after: float | None = None) -> tuple[float, str]:
    """Seconds of computing in a process of its own, and the value; killed after so many."""
    command = [sys.executable, "-c", PROGRAM, str(size), on, folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if kill_after is not None:
            time.sleep(kill_after)
            process.send_signal(signal.SIGKILL)
            return kill_after, ""
        seconds, value = process.stdout.readline().split()
    return float(seconds), value


def killed(size: int, on: str) -> dict[str, Any]:
    """One program undisturbed, and one that is killed at 60 % and started again."""
    with TemporaryDirectory() as folder:
        alone, wanted = program(size, on, folder)
        before, _ = program(size, on, folder, 0.6 * alone)
        kept = sorted(path.suffix for path in Path(folder).iterdir())
        after, value = program(size, on, folder)
        left = len(list(Path(folder).iterdir()))
    ratio = (before + after) / alone
    row = {"alone": alone, "before": before, "after": after, "ratio": ratio}
    return {**row, "equal": value == wanted, "kept": kept, "left": left}


@contextmanager
def place(on: str, workers: int | None) -> Iterator[str]:
    """``on``, or the address of a cluster of so many processes."""
    if not workers:
        yield on
        return
    import distributed

    with distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=50,
    ) as cluster:
        address = cluster.scheduler_address
        program(10**6, address, "")  # workers have answered, kernels are compiled
        yield address


def overhead(size: int) -> dict[str, float]:
    """Processor seconds of a mean on one core, with and without."""
    least: dict[str, float] = {}
    with TemporaryDirectory() as folder, dask.config.set({drawn.SETTING: 0}):
        for _ in range(PAIRS):
            for name in ("without", "with"):
                mean = sc.random.default_rng(1).gamma(2.5, size=size).mean()
                began = time.process_time()
                if name == "with":
                    with sc.on("core", checkpoint=folder):
                        mean.compute()
                else:
                    mean.compute(on="core")
                seconds = time.process_time() - began
                least[name] = min(least.get(name, seconds), seconds)
    return {**least, "overhead": least["with"] / least["without"] - 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=600_000_000)
    parser.add_argument("--on", default="core")
    parser.add_argument("--workers", type=int, help="a cluster of so many processes, instead")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeats", type=int, default=2)
    given = parser.parse_args()
    with place(given.on, given.workers) as on:
        rows = []
        for _ in range(given.repeats):
            rows.append(killed(given.size, on))
            print(json.dumps(rows[-1]), flush=True)
    found = {
        "about": {
            "load": os.getloadavg()[0],
            "cpus": os.cpu_count(),
            "on": f"{given.workers} workers" if given.workers else given.on,
        },
        "overhead": overhead(given.size // 8),
        "ratios": [row["ratio"] for row in rows],
        "killed": rows,
    }
    print(json.dumps(found, indent=1))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
