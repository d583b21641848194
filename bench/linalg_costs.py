"""What a small product costs besides the library: with caches that are warm, and swept.

A product of two 10 x 10 matrices is built, computed, and made by NumPy; each by itself, and each
after a product of 72 MB, which leaves nothing of Python in the caches.

    taskset -c 0 python bench/linalg_costs.py --json measurements/linalg/costs-core.json
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Final

import numpy as np

import speedcube as sc
from speedcube.engine.routines.threads import blas_threads

REPEATS: Final = 60
RNG: Final = np.random.default_rng(0)


def microseconds(swept: bool) -> dict[str, dict[str, float]]:
    """The least and the median of each step."""
    a, b = RNG.normal(size=(10, 10)), RNG.normal(size=(10, 10))
    large, vector = RNG.normal(size=(3000, 3000)), RNG.normal(size=3000)
    x, y = sc.asarray(a), sc.asarray(b)
    spectrum, line = sc.asarray(RNG.normal(size=1000)), RNG.normal(size=1000)
    steps = {
        "build a @ b": lambda: x @ y,
        "compute a @ b": (x @ y).compute,
        "numpy a @ b": lambda: a @ b,
        "fft of 1000, built and computed": lambda: np.fft.fft(spectrum).compute(on="core"),
        "numpy fft of 1000": lambda: np.fft.fft(line),
    }
    found: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(REPEATS):
        for name, step in steps.items():
            step()
            if swept:
                large @ vector
            start = time.perf_counter()
            step()
            found[name].append(1e6 * (time.perf_counter() - start))
    return {
        name: {"least": round(min(some), 1), "median": round(statistics.median(some), 1)}
        for name, some in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with sc.on("core"), blas_threads(1):
        rows: dict[str, Any] = {"warm": microseconds(False), "swept": microseconds(True)}
    for state, steps in rows.items():
        for name, some in steps.items():
            print(f"{state:6s} {name:32s} {some['least']:7.1f} {some['median']:7.1f} us")
    if options.json:
        facts = {
            "unit": "microseconds",
            "load": os.getloadavg()[0],
            "versions": {"python": platform.python_version(), "numpy": np.__version__},
            "command": " ".join(["python", "bench/linalg_costs.py", *sys.argv[1:]]),
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        }
        options.json.write_text(json.dumps({**facts, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
