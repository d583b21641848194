"""Convolutions and correlations beside NumPy's, on one core: built and computed each time.

A ratio is NumPy's time over ours, the median of runs in turn: above 1 ours is the faster. Time is
that of the process. NumPy adds products of floats in no stated order; of more than 64 elements in
the shorter line ours are exact sums.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

import speedcube as sc
from speedcube.commands.this_machine import processor

RNG = np.random.default_rng(0)
SIZES = (
    *((1000, 3), (1000, 9), (1000, 100), (1000, 1000), (10_000, 50), (10_000, 1000)),
    *((10_000, 10_000), (100_000, 100), (1_000_000, 5), (1_000_000, 50), (1_000_000, 1000)),
)


def measured(long: Any, short: Any, mode: str, repeats: int) -> dict[str, Any]:
    """Seconds of both, and the ratio."""
    lines = sc.asarray(long), sc.asarray(short)
    calls = (
        lambda: np.asarray(sc.convolve(*lines, mode)),
        lambda: np.convolve(long, short, mode),
    )
    near = np.allclose(calls[0](), calls[1](), rtol=1e-4, atol=1e-2)
    times: tuple[list[float], list[float]] = [], []
    for _ in range(repeats + 2):
        for seconds, call in zip(times, calls, strict=True):
            began = time.process_time()
            call()
            seconds.append(time.process_time() - began)
    ours, theirs = (seconds[2:] for seconds in times)
    ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
    return {"ratio": round(ratio, 3), "ours": ours, "theirs": theirs, "near": bool(near)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    rows = {}
    with sc.on("core"):
        for n, k in SIZES:
            for dtype in ("float64", "float32", "int64"):
                long, short = ((10 * RNG.normal(size=m)).astype(dtype) for m in (n, k))
                for mode in ("full", "same", "valid"):
                    name = f"{dtype} {n} by {k} {mode}"
                    rows[name] = found = measured(long, short, mode, options.repeats)
                    wrong = "" if found["near"] else " WRONG"
                    ours = statistics.median(found["ours"])
                    print(f"{name:32} {ours * 1e3:9.3f} ms {found['ratio']:7.2f}{wrong}")
    if options.json:
        text = {
            "numpy": np.__version__,
            "command": "python bench/sliding.py",
            "machine": processor(),
            "date": time.strftime("%Y-%m-%d"),
            "load": round(os.getloadavg()[0], 1),
            "rows": rows,
        }
        options.json.write_text(json.dumps(text, indent=1) + "\n")


if __name__ == "__main__":
    main()
