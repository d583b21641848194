"""Selecting, counting and sorting on several rungs: seconds of every run, and hashes of the bits.

    python bench/order_rungs.py [--on "gpu;gpus;cuda-cluster"] [--json FILE]

The arrays are drawn, so no rung has them in memory: the published one of 2 TB for medians,
quantiles and a histogram, and one of ten million numbers that is sorted. ``parts`` says into how
many parts a rung cuts the work. A hash is to be the first rung's.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import dask
import numpy as np

import speedcube as sc
from speedcube.commands.this_machine import this_machine


def _published(side: int) -> Any:
    return (sc.random.default_rng(42).normal(10, 1, size=(side, side)) + 1)[::2, ::2]


# What is done: with the published array of this side, or with this many normals.
ROWS: Final[dict[str, Callable[[int, int], Any]]] = {
    "2 TB median": lambda side, _: sc.median(_published(side)),
    "2 TB three quantiles": lambda side, _: sc.quantile(_published(side), [0.1, 0.5, 0.9]),
    "2 TB histogram": lambda side, _: sc.histogram(_published(side), 100, (4, 18))[0],
    "sort of drawn numbers": lambda _, count: sc.sort(sc.random.default_rng(5).normal(size=count)),
}


def measure(array: Any, on: str, repeats: int) -> dict[str, Any]:
    """The first run, which compiles, the others, and the bits; or why there is nothing."""
    try:
        plan = array.plan(on=on)
        times = []
        for _ in range(repeats + 1):
            start = time.perf_counter()
            value = array.compute(on=on)
            times.append(time.perf_counter() - start)
    except Exception as err:  # a rung that cannot is a row's result, too
        return {"failed": repr(err)[:400]}
    bits = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]
    return {
        "parts": max(len(stage.parts) for stage in plan.stages),
        "first_seconds": times[0],
        "repeats": times[1:],
        "seconds": min(times[1:]),
        "bits": bits,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--on", default="gpu;gpus;cuda-cluster", help="with semicolons between")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--side", type=int, default=500_000, help="of the published array")
    parser.add_argument("--sorted", type=int, default=10_000_000, help="numbers that are sorted")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    dask.config.set({"speedcube.keep-drawn": 0})  # each run draws
    report: dict[str, Any] = {
        "machine": this_machine(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": f"python bench/order_rungs.py {' '.join(sys.argv[1:])}".strip(),
        "load": os.getloadavg(),
        "rows": {},
    }
    for name, make in ROWS.items():
        found = report["rows"][name] = {}
        for on in asked.on.split(";"):
            found[on] = measure(make(asked.side, asked.sorted), on, asked.repeat)
            print(f"{name:24s} {on:14s} {json.dumps(found[on])}", flush=True)
            if asked.json:
                asked.json.write_text(json.dumps(report, indent=1) + "\n")
        bits = {row.get("bits") for row in found.values()}
        print(f"{name:24s} {'same bits' if len(bits) == 1 else 'NOT THE SAME BITS'}", flush=True)


if __name__ == "__main__":
    main()
