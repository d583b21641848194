"""Small computations, built and computed each time, beside NumPy: microseconds on one core.

python bench/small.py [--before SRC] [--json FILE]. Ours and NumPy's take turns in one process; with
``--before``, the ``src`` of an earlier tree, processes of both trees take turns, too.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

import speedcube as sc

A, B = (np.random.default_rng(seed).normal(size=1000) for seed in (1, 2))
PAIRS: Final[dict[str, tuple[Callable[[], Any], Callable[[], Any]]]] = {
    "(a * 2 + b).sum()": (
        lambda: (sc.asarray(A) * 2 + sc.asarray(B)).sum().compute(on="core"),
        lambda: (A * 2 + B).sum(),
    ),
    "the same, float(), default rung": (
        lambda: float((sc.asarray(A) * 2 + sc.asarray(B)).sum()),
        lambda: float((A * 2 + B).sum()),
    ),
    "a * 2 + b": (
        lambda: (sc.asarray(A) * 2 + sc.asarray(B)).compute(on="core"),
        lambda: A * 2 + B,
    ),
    "a.sum()": (lambda: sc.asarray(A).sum().compute(on="core"), A.sum),
    "a.mean()": (lambda: sc.asarray(A).mean().compute(on="core"), A.mean),
    "a.max()": (lambda: sc.asarray(A).max().compute(on="core"), A.max),
    "a.std()": (lambda: sc.asarray(A).std().compute(on="core"), A.std),
    "a[1:] - a[:-1]": (
        lambda: (lambda x: x[1:] - x[:-1])(sc.asarray(A)).compute(on="core"),
        lambda: A[1:] - A[:-1],
    ),
    "new lengths and numbers": (lambda: _loop(sc.asarray, "core"), lambda: _loop(None)),
}
_TURN: Final = 50  # calls of one before it is the other's turn
_STEP = 0


def _loop(read: Any, on: str = "") -> Any:
    """One step of a loop in which the length and the number change each time."""
    global _STEP
    _STEP += 1
    part, number = A[: 200 + _STEP % 797], 0.5 + _STEP
    return (read(part) * number).sum().compute(on=on) if read else (part * number).sum()


def measured(calls: int = 400) -> dict[str, dict[str, float]]:
    """Medians in microseconds, some calls of each in turn."""
    found = {}
    for name, pair in PAIRS.items():
        times: tuple[list[int], list[int]] = ([], [])
        for turn in range(1 + calls // _TURN):
            for run, into in zip(pair, times, strict=True):
                for _ in range(_TURN):
                    start = time.perf_counter_ns()
                    run()
                    if turn:
                        into.append(time.perf_counter_ns() - start)
        ours, numpy = (round(statistics.median(t) / 1e3, 1) for t in times)
        found[name] = {"us": ours, "numpy_us": numpy}
    return found


def in_processes(trees: dict[str, str], turns: int = 3) -> dict[str, Any]:
    """Figures of several trees, a new process for each in turn; the median over the turns."""
    runs: dict[str, list[Any]] = {name: [] for name in trees}
    for _ in range(turns):
        for name, source in trees.items():
            command = [sys.executable, __file__, "--one"]
            environment = {**os.environ, "PYTHONPATH": source}
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            )
            runs[name].append(json.loads(done.stdout))
    return {
        row: {
            name: statistics.median(run[row]["us"] for run in several)
            for name, several in runs.items()
        }
        | {"numpy": statistics.median(run[row]["numpy_us"] for run in runs["now"])}
        for row in PAIRS
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", help="the src folder of an earlier tree")
    parser.add_argument("--json", help="a file to write")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured()))
        return
    trees = {"before": options.before} if options.before else {}
    trees["now"] = str(Path(sc.__file__).parents[1])
    rows = in_processes(trees)
    for name, row in rows.items():
        print(f"{name:34}" + "".join(f"{key:>9} {us:7.1f}" for key, us in row.items()))
    if options.json:
        facts = {
            "what": "1,000 stored float64 numbers, built and computed; microseconds, medians",
            "command": "python bench/small.py --before SRC --json FILE",
            "date": datetime.now(UTC).date().isoformat(),
            "load": round(os.getloadavg()[0], 1),
            "python": sys.version.split()[0],
            "rows": rows,
        }
        Path(options.json).write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
