"""Steps of a loop over large arrays on one core: by blocks of rows beside whole arrays, and NumPy.

python bench/blocking.py [--on cores:2] [--json FILE]. Processor seconds of a step, of all cores
together; medians in one process. Both ways have a plan that is known.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

import speedcube as sc
from speedcube.commands.this_machine import processor
from speedcube.engine.known import memory
from speedcube.plan import blocks

SIDE: Final = 4096
TURNS: Final = 5
WHOLE: Final = 1 << 62  # bytes that no array has: nothing is made by blocks


def heat(u: Any, steps: int) -> Any:
    for _ in range(steps):
        inner = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u = inner + (around - inner * 4) * 0.1
    return u


def life(b: Any, steps: int) -> Any:
    for _ in range(steps):
        rows = b[:-2] + b[1:-1] + b[2:]
        near = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:] - b[1:-1, 1:-1]
        b = ((near == 3) | ((near == 2) & (b[1:-1, 1:-1] == 1))).astype("uint8")
    return b


def seconds(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def measured(
    name: str, step: Callable[[Any, int], Any], data: Any, steps: int, on: str
) -> dict[str, Any]:
    """Seconds of a step by each way."""
    ways = {f"{size >> 20} MiB a block": (1 << 20, size) for size in (1 << 21, 1 << 22, 1 << 23)}
    ways = {"whole arrays": (WHOLE, 1), **ways}
    times: dict[str, list[float]] = {way: [] for way in (*ways, "numpy")}
    for turn in range(TURNS + 1):
        for way, (large, block) in ways.items():
            blocks.LARGE, blocks.BLOCK = large, block  # type: ignore[misc]
            memory._known.clear()
            array = step(sc.asarray(data), steps)
            array.compute(on=on)  # plans
            took = seconds(lambda array=array: array.compute(on=on)) / steps  # type: ignore[misc]
            if turn:
                times[way].append(took)
        if turn > TURNS - 2:
            times["numpy"].append(seconds(lambda: step(data, 2)) / 2)
    row = {way: round(statistics.median(found), 5) for way, found in times.items()}
    print(name, row, flush=True)
    return {"program": name, "steps": steps, "seconds a step": row, "all": times}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", default="core")
    parser.add_argument("--only", default="", help="programs whose names have this in them")
    parser.add_argument("--json")
    options = parser.parse_args()
    plate = np.random.default_rng(1).normal(size=(SIDE, SIDE))
    wide = np.random.default_rng(2).random((4 * SIDE, SIDE))
    cells = (wide < 0.3).astype("uint8")
    programs: dict[str, tuple[Callable[[Any, int], Any], Any]] = {
        f"heat, {SIDE} x {SIDE} float64": (heat, plate),
        f"heat, {SIDE} x {SIDE} float32": (heat, plate.astype("f4")),
        f"heat, {SIDE // 4} x {SIDE // 4} float64": (heat, plate[:1024, :1024].copy()),
        f"life, {SIDE} x {SIDE} uint8": (life, cells[:SIDE]),
        f"life, {4 * SIDE} x {SIDE} uint8": (life, cells),
    }
    rows = [
        measured(name, step, data, 10, options.on)
        for name, (step, data) in programs.items()
        if options.only in name
    ]
    if options.json:
        facts = {
            "what": f"{options.on}, processor seconds of a step, medians",
            "command": f"python bench/blocking.py --on {options.on} --json FILE",
            "machine": processor(),
            "speedcube": sc.__version__,
            "date": datetime.now(UTC).date().isoformat(),
            "load": round(os.getloadavg()[0], 1),
            "numpy": np.__version__,
            "rows": rows,
        }
        Path(options.json).parent.mkdir(parents=True, exist_ok=True)
        Path(options.json).write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
