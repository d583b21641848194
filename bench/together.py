"""Several results in one pass beside each of them alone, and beside NumPy or CuPy.

    python bench/together.py [--on core|cores:2|gpu] [--subsets] [--json FILE]

A ratio is the time together over that of the slowest alone; everything is measured in turns, and
of each the shortest time counts: on `core` of the thread itself, for others use the machine, too.
`--subsets` measures some of the five instead, which says what one more result costs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import dask
import numpy as np

import speedcube as sc
from speedcube.commands.this_machine import processor

SIZE = 20_000_000


def cases(size: int, on: str) -> dict[str, tuple[list[Callable[[], sc.Array]], Any]]:
    """By name: what makes each result, and the data for the other library (None: none)."""
    draw = np.random.default_rng(1)
    f8, f4 = draw.normal(size=size), draw.normal(size=size).astype("f4")
    i4 = draw.integers(-1000, 1000, size, dtype="i4")
    if on.startswith("gpu"):
        import cupy

        f8, f4, i4 = cupy.asarray(f8), cupy.asarray(f4), cupy.asarray(i4)
    dask.config.set({"speedcube.keep-drawn": 0})  # each run draws
    x, y, g = sc.asarray(f8), sc.asarray(f4), sc.random.default_rng(1).normal(size=size)

    def five(a: sc.Array) -> list[Callable[[], sc.Array]]:
        return [lambda: a.sum(), lambda: (a * a).sum(), lambda: a.max(), lambda: a.min(),
                lambda: a.std()]  # fmt: skip

    table = x.reshape(-1, 20)

    def spread(a: sc.Array, axis: int) -> list[Callable[[], sc.Array]]:
        return [lambda: a.mean(axis=axis), lambda: a.std(axis=axis)]

    def all_four(a: sc.Array, axis: int) -> list[Callable[[], sc.Array]]:
        return [*spread(a, axis), lambda: a.var(axis=axis, ddof=1), lambda: a.sum(axis=axis)]

    def ends(a: sc.Array, axis: int) -> list[Callable[[], sc.Array]]:
        return [lambda: a.min(axis=axis), lambda: a.max(axis=axis), lambda: a.sum(axis=axis)]

    wide, singles = x.reshape(1000, -1), y.reshape(1000, -1)
    return {
        "float64: sum, sum of squares, max, min, std": (five(x), f8),
        "float32: the same": (five(y), f4),
        "int32: the same": (five(sc.asarray(i4)), i4),
        "float64 transposed: the same": (five(x.reshape(1000, -1).T), f8.reshape(1000, -1).T),
        "normals: the same": (five(g), None),
        "float64: mean, std": ([lambda: x.mean(), lambda: x.std()], f8),
        "columns of 20: mean, std": (spread(table, 0), f8.reshape(-1, 20)),
        "rows of 20: mean, std": (spread(table, 1), f8.reshape(-1, 20)),
        "a thousand rows: mean, std over them": (spread(wide, 0), f8.reshape(1000, -1)),
        "a thousand rows: mean, std along each": (spread(wide, 1), f8.reshape(1000, -1)),
        "float32, a thousand rows: mean, std over them": (spread(singles, 0), f4.reshape(1000, -1)),
        "a thousand rows: mean, std, var, sum over them": (all_four(wide, 0), f8.reshape(1000, -1)),
        "a thousand rows: min, max, sum over them": (ends(wide, 0), f8.reshape(1000, -1)),
        "a thousand rows: min, max, sum along each": (ends(wide, 1), f8.reshape(1000, -1)),
        "columns of 20: min, max, sum": (ends(table, 0), f8.reshape(-1, 20)),
        "rows of 20: min, max, sum": (ends(table, 1), f8.reshape(-1, 20)),
        "columns of 20, standardised": ([lambda: _standardised(table)], f8.reshape(-1, 20)),
        "float64: x + 1, x * 2, sum": ([lambda: x + 1, lambda: x * 2, lambda: x.sum()], f8),
    }


def _standardised(a: Any) -> Any:
    return (a - a.mean(axis=0)) / a.std(axis=0)


def other(name: str, a: Any) -> Callable[[], Any]:
    """What the other library does for a case."""
    if "standardised" in name:
        return lambda: _standardised(a)
    if " of 20" in name or "thousand" in name:
        axis = 1 if "rows of" in name or "along" in name else 0
        if "min" in name:
            return lambda: (a.min(axis), a.max(axis), a.sum(axis))
        if "var" in name:
            return lambda: (a.mean(axis), a.std(axis), a.var(axis, ddof=1), a.sum(axis))
        return lambda: (a.mean(axis), a.std(axis))
    if "mean" in name:
        return lambda: (a.mean(), a.std())
    if "x + 1" in name:
        return lambda: (a + 1, a * 2, a.sum())
    return lambda: (a.sum(), (a * a).sum(), a.max(), a.min(), a.std())


SUBSETS = ("sum", "squares", "max", "std", "max min", "sum max min", "sum squares", "sum std",
           "squares std", "max min std", "sum squares max min", "sum squares std",
           "sum squares max min std")  # fmt: skip


def subsets(size: int, on: str) -> list[dict[str, Any]]:
    """Milliseconds of some of the five results, by dtype."""
    draw, rows = np.random.default_rng(1), []
    for dtype in ("float64", "float32", "int32"):
        x = sc.asarray((draw.normal(size=size) * 500).astype(dtype))
        makers = {"sum": x.sum, "squares": (x * x).sum, "max": x.max, "min": x.min, "std": x.std}
        runs = {names: _some([makers[name] for name in names.split()], on) for names in SUBSETS}
        times: dict[str, list[float]] = {names: [] for names in runs}
        for _ in range(13):
            for names, run in runs.items():
                times[names].append(timed(run, on))
        best = {names: round(1e3 * min(some), 2) for names, some in times.items()}
        rows.append({"dtype": dtype, "ms": best})
        print(dtype, best, flush=True)
    return rows


def _some(makers: list[Callable[[], sc.Array]], on: str) -> Callable[[], Any]:
    return lambda: sc.compute(*(make() for make in makers), on=on)


def timed(run: Callable[[], Any], on: str) -> float:
    clock = time.thread_time if on == "core" else time.perf_counter
    start = clock()
    result = run()
    if on.startswith("gpu"):
        import cupy

        cupy.cuda.Device().synchronize()
    del result
    return clock() - start


def measured(name: str, case: tuple[list[Callable[[], sc.Array]], Any], on: str) -> dict[str, Any]:
    makers, data = case
    to = "cupy" if on.startswith("gpu") else "numpy"
    runs: dict[str, Callable[[], Any]] = {
        f"alone {k}": (lambda make=make: make().compute(on=on, to=to))
        for k, make in enumerate(makers)
    }
    runs["together"] = lambda: sc.compute(*(make() for make in makers), on=on, to=to)
    if data is not None:
        runs["theirs"] = other(name, data)
    for run in runs.values():
        for _ in range(4):
            timed(run, on)
    times: dict[str, list[float]] = {key: [] for key in runs}
    for _ in range(9):
        for key, run in runs.items():
            times[key].append(timed(run, on))
    best = {key: min(values) for key, values in times.items()}
    slowest = max(value for key, value in best.items() if key.startswith("alone"))
    row = {
        "case": name,
        "on": on,
        "over the slowest": best["together"] / slowest,
        "over all one by one": best["together"]
        / sum(value for key, value in best.items() if key.startswith("alone")),
        "their time over ours": best["theirs"] / best["together"] if data is not None else None,
        "seconds": times,
    }
    theirs = row["their time over ours"]
    print(
        f"{name:48} {on:8} together / slowest {row['over the slowest']:.2f}, / one by one "
        f"{row['over all one by one']:.2f}" + (f", theirs / ours {theirs:.2f}" if theirs else "")
    )
    return row


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--on", default="core")
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--subsets", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.subsets:
        rows = subsets(arguments.size, arguments.on)
    else:
        rows = [
            measured(name, case, arguments.on)
            for name, case in cases(arguments.size, arguments.on).items()
        ]
    if arguments.json:
        about = {
            "date": date.today().isoformat(),
            "machine": processor(),
            "speedcube": sc.__version__,
            "python": platform.python_version(),
            "load": os.getloadavg()[0],
            "elements": arguments.size,
            "numpy": np.__version__,
            "command": " ".join(["python bench/together.py", *sys.argv[1:]]),
        }
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
