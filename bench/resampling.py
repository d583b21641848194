"""Resampling beside SciPy, on one core: CPU seconds, the least of runs that take turns.

SciPy holds a batch of resamples in memory; it is measured with fewer of them, and its time is
scaled to ours. `python bench/resampling.py --json FILE`; with `--on gpu` ours alone, on a GPU, by
the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import device_order
import numpy as np
from scipy import stats

import speedcube as sc

SIZE: Final = 100_000
X = np.random.default_rng(1).normal(size=SIZE)
STATISTICS: Final[dict[str, Callable[..., Any]]] = {
    "mean": np.mean,
    "sum": np.sum,
    "std": np.std,
    "median": np.median,
}
FEW: Final = 40  # resamples of SciPy's, in one batch
OURS: Final = 400


def seconds(work: Callable[[], Any]) -> float:
    """CPU seconds of one run."""
    start = time.process_time()
    work()
    return time.process_time() - start


def compared(statistic: Callable[..., Any], repeats: int) -> dict[str, float]:
    """Nanoseconds for each number that is drawn."""

    def ours() -> Any:
        found = sc.random.bootstrap(X, statistic, OURS, method="percentile", rng=1)
        return found.bootstrap_distribution

    def scipys() -> Any:
        options: dict[str, Any] = {"n_resamples": FEW, "batch": FEW, "method": "percentile"}
        return stats.bootstrap((X,), statistic, rng=1, **options)

    ours()  # its kernel is made
    runs = [(seconds(scipys) / FEW, seconds(ours) / OURS) for _ in range(repeats)]
    theirs, own = (min(one) * 1e9 / SIZE for one in zip(*runs, strict=True))
    return {"scipy": theirs, "speedcube": own, "ratio": theirs / own}


def whole(resamples: int) -> float:
    """Seconds of the mean of that many resamples, measured."""
    found = sc.random.bootstrap(X, np.mean, resamples, method="percentile", rng=2)
    return seconds(lambda: found.confidence_interval)


def on_gpu(
    repeats: int, resamples: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
) -> dict[str, Any]:
    """Seconds of every run on a GPU, after one that compiles, and whether a core has the bits."""
    found: dict[str, Any] = {**device_order.machine(), "size": SIZE}

    def drawn(statistic: Callable[..., Any], count: int, on: str) -> Any:
        with sc.on(on):
            result = sc.random.bootstrap(X, statistic, count, method="percentile", rng=2)
            return result.bootstrap_distribution

    for name, statistic in STATISTICS.items():
        same = np.array_equal(drawn(statistic, 50, "gpu"), drawn(statistic, 50, "core"))
        found[name] = {"same bits": same}
        for count in resamples[: {"mean": 4, "sum": 3}.get(name, 1)]:
            times = device_order.seconds(lambda s=statistic, n=count: drawn(s, n, "gpu"), repeats)
            found[name][f"{count:,} resamples"] = times
            print(f"{name:8s} {count:8,d} {min(times):.4f} s {same}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--resamples", type=int, default=0, help="measure so many of ours whole")
    parser.add_argument("--on", choices=("core", "gpu"), default="core")
    options = parser.parse_args()
    if options.on == "gpu":
        measured = on_gpu(options.repeats)
        if options.json:
            options.json.write_text(json.dumps(measured, indent=1) + "\n")
        return
    found: dict[str, Any] = {"size": SIZE, "load": os.getloadavg(), "ns a draw": {}}
    with sc.on("core"):
        for name, statistic in STATISTICS.items():
            row = found["ns a draw"][name] = compared(statistic, options.repeats)
            print(f"{name:8s} {row['scipy']:6.2f} {row['speedcube']:6.2f} {row['ratio']:6.2f}")
        if options.resamples:
            found["resamples"] = options.resamples
            found["seconds"] = whole(options.resamples)
            print(f"{options.resamples:,} resamples: {found['seconds']:.1f} s")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
