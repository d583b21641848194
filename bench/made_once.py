"""What a reduction and then its readers read: in one program, and in two steps with `persist`.

    python bench/made_once.py [--on core] [--sizes 300000,2000000,20000000] [--json FILE]

The program is ``((x - x.mean()) ** 2).sum()`` of a computed ``x``. ``stages`` are 3 where the plan
keeps ``x`` and 2 where it makes it twice. ``ratio`` is the time of one program over that of two
steps, which no user should have to write: above 1 the plan chose badly, or fills more new memory.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

import speedcube as sc
from speedcube.commands.this_machine import processor

REPEATS: Final = 7
MAKERS: Final[dict[str, Callable[[Any], Any]]] = {
    "2x + 1": lambda x: x * 2 + 1,
    "sqrt": sc.sqrt,
    "log": sc.log,
    "sin": sc.sin,
    "tanh": sc.tanh,
    "power": lambda x: x**1.5,
    "exp(sin)": lambda x: sc.exp(sc.sin(x)),
    "four sines": lambda x: sc.sin(sc.sin(sc.sin(sc.sin(x)))),
    "ten sines": lambda x: _often(sc.sin, x, 10),
    "arctan2": lambda x: sc.arctan2(x, x + 1),
}


def _often(function: Callable[[Any], Any], x: Any, times: int) -> Any:
    for _ in range(times):
        x = function(x)
    return x


def spread(x: Any) -> Any:
    """What waits for the mean of ``x``."""
    return ((x - x.mean()) ** 2).sum()


def row(data: Any, make: Callable[[Any], Any], on: str) -> dict[str, Any]:
    """Milliseconds of both ways, taken in turn; the least of each tells."""

    def once() -> Any:
        return spread(make(sc.asarray(data))).compute(on=on)

    def in_steps() -> Any:
        return spread(make(sc.asarray(data)).persist(on=on)).compute(on=on)

    stages = str(spread(make(sc.asarray(data))).plan(on=on)).count("stage ")
    times: dict[str, list[float]] = {"once": [], "in steps": []}
    same = True
    for k in range(REPEATS + 2):
        values = []
        for name, run in (("once", once), ("in steps", in_steps)):
            began = time.perf_counter()
            values.append(float(run()))
            if k >= 2:  # kernels are there then
                times[name].append(round(1e3 * (time.perf_counter() - began), 4))
        same &= values[0].hex() == values[1].hex()
    ratio = round(min(times["once"]) / min(times["in steps"]), 3)
    return {"stages": stages, "ratio": ratio, "equal": same, "milliseconds": times}


def main() -> None:
    """Measure, show and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--on", default="core")
    parser.add_argument("--sizes", default="300000,2000000,20000000")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows: dict[str, dict[str, Any]] = {}
    for size in map(int, given.sizes.split(",")):
        data: Any = np.random.default_rng(0).random(size)
        if given.on.startswith("gpu"):
            data = sc.asarray(data).compute(on=given.on, to="cupy")
        for name, make in MAKERS.items():
            rows[f"{name}, {size:,}"] = found = row(data, make, given.on)
            print(f"{name}, {size:,}", found["stages"], found["ratio"], flush=True)
    if given.json:
        about = {
            "command": f"python bench/made_once.py --on {given.on} --sizes {given.sizes}",
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "machine": processor(),
            "cpus": os.cpu_count(),
            "numpy": np.__version__,
            "load": os.getloadavg()[0],
        }
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
