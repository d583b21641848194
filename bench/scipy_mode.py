"""SciPy's statistics of our arrays (SCIPY_ARRAY_API=1): as they are, in a cache, and persisted.

SciPy asks an array for values several times, and each time it is computed. One computation of a sum
is measured beside them, so that it is seen how many there were.

    taskset -c 0 python bench/scipy_mode.py --json measurements/scipy/statistics-core.json
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import scipy
from scipy import stats

import speedcube as sc

SIZE: Final = 2_000_000
REPEATS: Final = 3
FUNCTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "describe": stats.describe,
    "skew": stats.skew,
    "kurtosis": stats.kurtosis,
    "zscore": stats.zscore,
    "sem": stats.sem,
    "variation": stats.variation,
    "gmean": lambda x: stats.gmean(abs(x) + 1.0),
    "ttest_1samp": lambda x: stats.ttest_1samp(x, 0.0),
    "jarque_bera": stats.jarque_bera,
    "skewtest": stats.skewtest,
}


def computed(found: Any) -> list[Any]:
    """The values of a result, or of its fields."""
    fields = found if isinstance(found, tuple) else (found,)
    flat = [part for one in fields for part in (one if isinstance(one, tuple) else (one,))]
    return [np.asarray(one) for one in flat]


def drawn() -> Any:
    """What is drawn anew by each computation: 2,000,000 normal numbers, and arithmetic."""
    return sc.random.default_rng(0).normal(size=SIZE) * 2.0 + 1.0


def plain(call: Callable[[Any], Any]) -> list[Any]:
    return computed(call(drawn()))


def in_a_cache(call: Callable[[Any], Any]) -> list[Any]:
    with sc.cache("256MB"):
        return computed(call(drawn()))


def persisted(call: Callable[[Any], Any]) -> list[Any]:
    return computed(call(drawn().persist()))


WAYS: Final = {"plain": plain, "cache": in_a_cache, "persist": persisted}


def measured(call: Callable[[Any], Any]) -> dict[str, Any]:
    """CPU seconds of each way, alternating; whether their values are the same bits."""
    values = {way: run(call) for way, run in WAYS.items()}  # kernels are compiled
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(REPEATS):
        for way, run in WAYS.items():
            start = time.process_time()
            run(call)
            seconds[way].append(time.process_time() - start)
    least = {way: min(some) for way, some in seconds.items()}
    first = values["plain"]
    alike = all(
        all(np.array_equal(a, b, equal_nan=True) for a, b in zip(first, other, strict=True))
        for other in values.values()
    )
    return {
        "seconds": seconds,
        "same": alike,
        "cache": round(least["plain"] / least["cache"], 2),
        "persist": round(least["plain"] / least["persist"], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: dict[str, Any] = {}
    with sc.on("core"):
        for name, call in FUNCTIONS.items():
            rows[name] = measured(call)
            row = rows[name]
            print(
                f"{name:12s} cache {row['cache']:5.2f}  persist {row['persist']:5.2f}", flush=True
            )
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        facts = {
            "size": SIZE,
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0],
            "versions": {
                "python": platform.python_version(),
                "numpy": np.__version__,
                "scipy": scipy.__version__,
            },
            "command": " ".join(["python", "bench/scipy_mode.py", *sys.argv[1:]]),
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        }
        options.json.write_text(json.dumps({**facts, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
