"""Sorting, selecting and counting beside NumPy, on one core: CPU seconds, the least of runs.

A ratio is NumPy's time over ours, above 1 ours is the faster. `python bench/order.py --json FILE`;
with `--on gpu` beside CuPy on a GPU (`device_order.py`). Of groups and resamples it measures one
row for each peer; `groups.py` and `resampling.py` have the others.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import dask
import device_order
import numpy as np

import speedcube as sc

SIZE: Final = 10_000_000
RNG = np.random.default_rng(1)
X = RNG.normal(size=SIZE)
INDEX = RNG.integers(0, 1000, SIZE)
WEIGHTS = RNG.normal(size=SIZE)
WIDE = RNG.normal(size=(100, 200_000))
EDGES = np.linspace(-5, 5, 101)

FAR = RNG.integers(0, 1_000_000, SIZE)
WHOLE = RNG.integers(-99, 99, SIZE)


def added(length: int, np_: Any, index: Any, values: Any) -> Any:
    """``np.add.at`` of zeros."""
    sums = np_.zeros(length, dtype=values.dtype)
    np.add.at(sums, index, values)
    return sums


# What is done with NumPy or ours, and with which arrays.
ROWS: Final[dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "median": (lambda np_, x: np_.median(x), (X,)),
    "three quantiles": (lambda np_, x: np_.quantile(x, [0.1, 0.5, 0.9]), (X,)),
    "histogram, range": (lambda np_, x: np_.histogram(x, 100, (-5, 5))[0], (X,)),
    "histogram": (lambda np_, x: np_.histogram(x, 100)[0], (X,)),
    "histogram, uneven": (lambda np_, x: np_.histogram(x, EDGES**3)[0], (X,)),
    "histogram2d": (
        lambda np_, x, y: np_.histogram2d(x, y, 50, ((-5, 5), (-5, 5)))[0],
        (X, WEIGHTS),
    ),
    "bincount": (lambda np_, i: np_.bincount(i), (INDEX,)),
    "bincount, weights": (lambda np_, i, w: np_.bincount(i, w), (INDEX, WEIGHTS)),
    "add.at, 1e3 places": (lambda *given: added(1000, *given), (INDEX, WEIGHTS)),
    "add.at, 1e6 places": (lambda *given: added(1_000_000, *given), (FAR, WEIGHTS)),
    "add.at, integers": (lambda *given: added(1000, *given), (INDEX, WHOLE)),
    "unique integers": (lambda np_, i: np_.unique(i), (INDEX,)),
    "unique": (lambda np_, x: np_.unique(x), (X,)),
    "sort": (lambda np_, x: np_.sort(x), (X,)),
    "argsort": (lambda np_, x: np_.argsort(x), (X,)),
    "sort, axis=0": (lambda np_, x: np_.sort(x, axis=0), (WIDE,)),
    "median, axis=0": (lambda np_, x: np_.median(x, axis=0), (WIDE,)),
    "median, axis=1": (lambda np_, x: np_.median(x, axis=1), (WIDE,)),
    "quantile, axis=0": (lambda np_, x: np_.quantile(x, 0.9, axis=0), (WIDE,)),
    "partition": (lambda np_, x: np_.partition(x, SIZE - 10), (X,)),
    "searchsorted": (lambda np_, x: np_.searchsorted(EDGES, x).sum(), (X,)),
    "isin": (lambda np_, i: np_.isin(i, [3, 7, 900]), (INDEX,)),
}


def about() -> dict[str, str]:
    """Where and when this is measured."""
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": f"Python {platform.python_version()}, NumPy {np.__version__}",
        "command": " ".join(sys.argv),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "load": "processes that wanted a core as it ended, in 1, 5 and 15 minutes: "
        + ", ".join(f"{one:.1f}" for one in os.getloadavg()),
    }


def seconds(work: Callable[[], Any]) -> float:
    """CPU seconds of one run."""
    start = time.process_time()
    made = work()
    if isinstance(made, sc.Array):
        made.compute()
    return time.process_time() - start


def compared(name: str, repeats: int) -> dict[str, Any]:
    """NumPy's seconds and ours of one row."""
    work, arrays = ROWS[name]
    own = [sc.asarray(array) for array in arrays]
    runs = [
        (seconds(lambda: work(np, *arrays)), seconds(lambda: work(sc, *own)))
        for _ in range(repeats)
    ]
    numpys, ours = (min(one) for one in zip(*runs, strict=True))
    return {"numpy": numpys, "speedcube": ours, "ratio": numpys / ours, "runs": runs}


def generated(repeats: int, count: int = 100_000_000) -> dict[str, float]:
    """The median of normals that are drawn, beside their sum, and NumPy's of those it draws."""
    dask.config.set({"speedcube.keep-drawn": 0})
    x = sc.random.default_rng(1).normal(size=count)
    runs = [(seconds(lambda: sc.median(x)), seconds(x.sum)) for _ in range(repeats)]
    median, total = (min(one) for one in zip(*runs, strict=True))
    numpys = min(
        seconds(lambda: np.median(np.random.default_rng(1).normal(size=count))) for _ in range(2)
    )
    ratios = {"ratio": median / total, "numpy over median": numpys / median}
    return {"median": median, "sum": total, "numpy": numpys, **ratios}


def beside_others(only: str, repeats: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """A row beside pandas, flox, flox on Dask and SciPy: packages that a GPU's machine may lack."""
    import groups
    import resampling

    names = (
        "mean, 1e7 in 1,000, pandas",
        "mean of each day, flox",
        "mean of each day, flox on Dask",
    )
    few = [name for name in names if only in name]
    if few:
        rows = {**groups.beside_pandas(), **groups.beside_flox(groups.days())}
        for name in few:
            yield name, groups.compared(rows[name], repeats)
    if only in (name := "means of resamples, scipy"):
        yield name, resampling.compared(np.mean, repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--on", choices=("core", "gpu"), default="core")
    parser.add_argument("--only", default="", help="rows whose names contain this")
    options = parser.parse_args()
    if options.on == "gpu":
        device_order.measure(options.json, options.repeats, options.only)
        return
    found: dict[str, Any] = {}
    if options.json and options.json.exists():
        found = json.loads(options.json.read_text())
    with sc.on("core"):
        for name in (row for row in ROWS if options.only in row):
            found[name] = compared(name, options.repeats)
            found["about"] = about()
            if options.json:
                options.json.write_text(json.dumps(found, indent=1) + "\n")
            print(f"{name:20s} {found[name]['ratio']:6.2f}", flush=True)
        for name, row in beside_others(options.only, options.repeats):
            found[name] = row | {"about": about()}
            if options.json:
                options.json.write_text(json.dumps(found, indent=1) + "\n")
            print(f"{name:30s} {row['ratio']:6.2f}", flush=True)
        if options.only in (drawn := "median over sum, drawn"):
            found[drawn] = generated(options.repeats) | {"about": about()}
            print(
                f"{drawn:30s} {found[drawn]['ratio']:6.2f} {found[drawn]['numpy over median']:6.2f}"
            )
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
