"""Loops over large arrays on one core beside NumPy: as one expression, and computed now and then.

python bench/loops.py [--side 4096] [--json FILE]. Processor seconds; of each the shortest counts.
Heat and Life run on the bits of `bench/blocking.py`'s steps; a line loses its ends.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from blocking import heat, life

import speedcube as sc
from speedcube.commands.this_machine import processor


def line(u: Any, steps: int) -> Any:
    for _ in range(steps):
        u = (u[:-2] + 2 * u[1:-1] + u[2:]) * 0.25
    return u


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def now_and_then(step: Callable[[Any, int], Any], data: Any, steps: int, every: int) -> Any:
    """A loop that computes every so many steps, and goes on from there."""
    u = data
    for _ in range(steps // every):
        u = step(sc.asarray(u), every).compute(on="core")
    return u


def measured(
    name: str, step: Callable[[Any, int], Any], data: Any, steps: int, turns: tuple[int, int]
) -> dict[str, Any]:
    """``turns``: of ours, and of NumPy's."""
    ways: dict[str, Callable[[], Any]] = {
        "one expression": lambda: step(sc.asarray(data), steps).compute(on="core"),
        "computed every 10 steps": lambda: now_and_then(step, data, steps, 10),
    }
    wanted: list[tuple[float, Any]] = [timed(lambda: step(data, steps)) for _ in range(turns[1])]
    row: dict[str, Any] = {"numpy": [seconds for seconds, _ in wanted]}
    print(f"{name}: NumPy {min(row['numpy']):.3f} s", flush=True)
    for way, run in ways.items():
        found = [timed(run) for _ in range(turns[0])]
        assert all(np.array_equal(result, wanted[0][1]) for _, result in found), name
        row[way] = [seconds for seconds, _ in found]
        row[f"{way}, NumPy's time over ours"] = min(row["numpy"]) / min(row[way])
        print(f"  {way}: {min(row[way]):.3f} s, {min(row['numpy']) / min(row[way]):.1f} times")
    return row


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--side", type=int, default=4096)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    side, draw = arguments.side, np.random.default_rng(1)
    cells = (draw.random((side, side)) < 0.3).astype("uint8")
    rows = {
        "line of 5,000, 200 steps": measured("line", line, draw.normal(size=5000), 200, (9, 9)),
        f"Life {side} x {side} uint8, 100 generations": measured("Life", life, cells, 100, (3, 2)),
        f"heat {side} x {side} float64, 50 steps": measured(
            "heat", heat, draw.normal(size=(side, side)), 50, (3, 1)
        ),
    }
    if arguments.json:
        about = {
            "command": f"taskset -c 0 python bench/loops.py --side {side}",
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": processor(),
            "load": os.getloadavg()[0],
            "numpy": np.__version__,
            "speedcube": sc.__version__,
            "python": platform.python_version(),
        }
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
