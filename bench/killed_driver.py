"""A program that is killed (-9) at 60 % of a long mean and started again; and what records cost.

    python bench/killed_driver.py [--size N] [--on core] [--workers 2] [--repeats 2] [--json FILE]
    python bench/killed_driver.py --loop [--seconds 30] [--on core] [--repeats 2] [--json FILE]

``ratio`` is the seconds until the kill and those of the second program over the undisturbed ones,
of the computing alone: to start Python takes as long with and without. ``overhead`` is processor
time with ``checkpoint=`` over that without, the least of seven pairs in one process.

``--loop`` kills `checkpointed` loops of so many seconds, of a thousand numbers and of 16 MB. Its
``overhead`` is over the same steps with ``persist``: of the time, and of processors
(``processor``). ``again`` is the share of the steps that are taken twice, whatever else runs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
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
import numpy as np

import speedcube as sc
from speedcube.commands.this_machine import processor
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

LOOP: Final = """
import sys, time
import numpy as np
import speedcube as sc
taken = np.memmap(sys.argv[5], np.int64, "r+")  # a kill loses nothing of it
def heat(u):
    taken[0] += 1
    return u + 0.1 * (sc.roll(u, 1) - 2 * u + sc.roll(u, -1))
size, on, folder, n = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
u = sc.random.default_rng(1).normal(size=size).persist(on=on)
for _ in range(5):
    heat(u).persist(on=on)
taken[0] -= 5
print("ready", flush=True)
began, used = time.perf_counter(), time.process_time()
if folder:
    u = sc.checkpointed(heat, u, n, folder, on=on)
else:
    for _ in range(n):
        u = heat(u).persist(on=on)
seconds, used = time.perf_counter() - began, time.process_time() - used
print(seconds, float(u.sum()).hex(), used)
"""
SIZES: Final = {"1,000 numbers": 1_000, "16 MB": 2_000_000}


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


def loop(
    size: int, on: str, folder: str, n: int, count: Path, kill_after: float | None = None
) -> tuple[float, str, float]:
    """Seconds of ``n`` steps in a process of its own, what they gave, and processor seconds."""
    command = [sys.executable, "-c", LOOP, str(size), on, folder, str(n), str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if kill_after is not None:
            time.sleep(kill_after)
            process.send_signal(signal.SIGKILL)
            return kill_after, "", 0.0
        seconds, value, used = process.stdout.readline().split()
    return float(seconds), value, float(used)


def killed_loop(size: int, on: str, seconds: float) -> dict[str, Any]:
    """Loops of about ``seconds``: with ``persist`` alone, kept, and killed at 60 % of that."""
    trial = 200 if size < 10**5 else 50
    with TemporaryDirectory(dir=".") as top:  # /tmp may lie in memory
        folder, count = str(Path(top, "kept")), Path(top, "count")
        count.write_bytes(bytes(8))
        n = int(trial * seconds / loop(size, on, "", trial, count)[0])
        plain, wanted, processor = loop(size, on, "", n, count)
        alone, value, used = loop(size, on, folder, n, count)
        count.write_bytes(bytes(8))
        before, _, _ = loop(size, on, folder, n, count, 0.6 * alone)
        kept = sorted(path.suffix for path in Path(folder).iterdir())
        after, again, _ = loop(size, on, folder, n, count)
        taken = int.from_bytes(count.read_bytes(), sys.byteorder)
        left = len(list(Path(folder).iterdir()))
    row = {"steps": n, "plain": plain, "alone": alone, "before": before, "after": after}
    row |= {"ratio": (before + after) / alone, "again": taken / n - 1}
    row["overhead"] = alone / plain - 1
    equal = wanted == value == again
    return {**row, "processor": used / processor - 1, "equal": equal, "kept": kept, "left": left}


def loops(on: str, seconds: float, repeats: int) -> dict[str, Any]:
    """The loops of both sizes, so often."""
    rows: dict[str, list[Any]] = {name: [] for name in SIZES}
    for _ in range(repeats):
        for name, size in SIZES.items():
            rows[name].append(killed_loop(size, on, seconds))
            print(name, json.dumps(rows[name][-1]), flush=True)
    return rows


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
    parser.add_argument("--loop", action="store_true")
    parser.add_argument("--seconds", type=float, default=30.0, help="of a loop")
    given = parser.parse_args()
    if given.loop:
        about = {
            "command": f"python bench/killed_driver.py --loop --seconds {given.seconds:g} "
            f"--on {given.on} --repeats {given.repeats}",
            "date": time.strftime("%Y-%m-%d"),
            "load": os.getloadavg()[0],
            "cpus": os.cpu_count(),
            "machine": processor(),
            "versions": {
                "speedcube": sc.__version__,
                "numpy": np.__version__,
                "python": platform.python_version(),
            },
        }
        rows = loops(given.on, given.seconds, given.repeats)
        written({"about": about, "loops": rows}, given.json)
        return
    with place(given.on, given.workers) as on:
        runs = []
        for _ in range(given.repeats):
            runs.append(killed(given.size, on))
            print(json.dumps(runs[-1]), flush=True)
    found = {
        "about": {
            "load": os.getloadavg()[0],
            "cpus": os.cpu_count(),
            "on": f"{given.workers} workers" if given.workers else given.on,
        },
        "overhead": overhead(given.size // 8),
        "ratios": [row["ratio"] for row in runs],
        "killed": runs,
    }
    written(found, given.json)


def written(found: dict[str, Any], file: Path | None) -> None:
    print(json.dumps(found, indent=1))
    if file:
        file.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
