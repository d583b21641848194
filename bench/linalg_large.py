"""A matrix of more than 8 GB on a GPU, which goes through blocks of rows: seconds beside CuPy.

python bench/linalg_large.py [--size 33000] [--rounds 3] [--json FILE]. Ours and CuPy's take turns,
each until the GPU has finished; ``off`` is the largest residual of the solution.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import speedcube as sc


def seconds(make: Callable[[], Any], cupy: Any) -> tuple[float, Any]:
    """How long ``make`` takes, and what it made."""
    cupy.get_default_memory_pool().free_all_blocks()
    cupy.cuda.Device().synchronize()
    start = time.perf_counter()
    made = make()
    cupy.cuda.Device().synchronize()
    return time.perf_counter() - start, made


def measured(size: int, rounds: int) -> dict[str, Any]:
    """Seconds of each call in each round, and how far the solutions are off."""
    import cupy

    a = cupy.random.default_rng(1).standard_normal((size, size))
    b = cupy.random.default_rng(2).standard_normal(size)
    x, y = sc.asarray(a), sc.asarray(b)
    calls: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "solve": (
            lambda: sc.linalg.solve(x, y).compute(on="gpu", to="cupy"),
            lambda: cupy.linalg.solve(a, b),
        ),
        "inv": (
            lambda: sc.linalg.inv(x).compute(on="gpu", to="cupy"),
            lambda: cupy.linalg.inv(a),
        ),
        "slogdet": (
            lambda: sc.linalg.slogdet(x)[1].compute(on="gpu", to="cupy"),
            lambda: cupy.linalg.slogdet(a)[1],
        ),
    }
    rows: dict[str, Any] = {}
    for name, (ours, theirs) in calls.items():
        row: dict[str, Any] = {"ours, s": [], "cupy, s": []}
        for _ in range(rounds):
            for who, make in (("ours", ours), ("cupy", theirs)):
                took, made = seconds(make, cupy)
                row[f"{who}, s"].append(round(took, 4))
                if name == "solve":
                    row[f"{who}, off"] = float(abs(a @ made - b).max())
                del made
        row["ratio"] = round(min(row["cupy, s"]) / min(row["ours, s"]), 3)
        rows[name] = row
        print(name, row, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=33_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    import cupy

    gpu = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    found = {
        "command": f"python bench/linalg_large.py --size {options.size} --json FILE",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "gpu": gpu,
        "driver": cupy.cuda.runtime.driverGetVersion(),
        "versions": {"cupy": cupy.__version__, "speedcube": sc.__version__},
        "size": options.size,
        "bytes": 8 * options.size**2,
        "rows": measured(options.size, options.rounds),
    }
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
