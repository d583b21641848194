"""Results of groups beside pandas and flox, on one core: CPU seconds, the least of runs.

A ratio is the other's time over ours, above 1 ours is the faster. Everything that is computed
counts: the groups are found in each run. `python bench/groups.py --json FILE`
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("OMP_NUM_THREADS", "1")

import dask
import dask.array as da
import flox
import numpy as np
import pandas as pd

import speedcube as sc

SIZE: Final = 10_000_000
RNG = np.random.default_rng(1)
KEYS = RNG.integers(0, 1000, SIZE)
NAMES = np.array([f"g{k}" for k in range(1000)])[KEYS[: SIZE // 10]]
X = RNG.normal(size=SIZE)
DAYS = np.arange(3650) % 365
PANDAS: Final = (
    "sum",
    "mean",
    "var",
    "std",
    "min",
    "max",
    "count",
    "first",
    "last",
    "median",
    "prod",
)
Row = tuple[Callable[[], Any], Callable[[], Any]]  # another's way, and ours


def seconds(work: Callable[[], Any]) -> float:
    """CPU seconds of one run."""
    start = time.process_time()
    work()
    return time.process_time() - start


def beside_pandas() -> dict[str, Row]:
    """1e7 numbers in 1,000 groups whose integer keys are scattered."""
    series, few = pd.Series(X), pd.Series(X[: SIZE // 10])
    ours, mine = sc.asarray(X), sc.asarray(X[: SIZE // 10])
    rows: dict[str, Row] = {
        f"{func}, 1e7 in 1,000, pandas": (
            lambda func=func: getattr(series.groupby(KEYS), func)(),
            lambda func=func: getattr(sc.groupby(ours, KEYS), func)().compute(),
        )
        for func in PANDAS
    }
    rows["mean, 1e6 by 1,000 strings, pandas"] = (
        lambda: few.groupby(NAMES).mean(),
        lambda: sc.groupby(mine, NAMES).mean().compute(),
    )
    return rows


def beside_flox(days: Any) -> dict[str, Row]:
    """A value of each day of the year of a (3650, 181, 360) float32 array."""
    last = np.moveaxis(days, 0, -1)
    chunked = da.moveaxis(da.from_array(days, chunks=(365, 181, 360)), 0, -1)

    def on_dask() -> Any:
        with dask.config.set(scheduler="synchronous"):
            return flox.groupby_reduce(chunked, DAYS, func="mean")[0].compute()

    def ours(func: str) -> Callable[[], Any]:
        return lambda: sc.groupby_reduce(last, DAYS, func=func)[0].compute()

    rows: dict[str, Row] = {
        f"{func} of each day, flox": (
            lambda func=func: flox.groupby_reduce(last, DAYS, func=func),
            ours(func),
        )
        for func in ("mean", "nanmean", "sum", "std", "max")
    }
    rows["mean of each day, flox on Dask"] = on_dask, ours("mean")
    return rows


def compared(row: Row, repeats: int) -> dict[str, float]:
    """The seconds of both, in turns."""
    other, ours = row
    runs = [(seconds(other), seconds(ours)) for _ in range(repeats)]
    theirs, own = (min(one) for one in zip(*runs, strict=True))
    return {"other": theirs, "speedcube": own, "ratio": theirs / own}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="rows with this in their name")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    if options.json and options.json.exists():
        found = json.loads(options.json.read_text())
    rows = {**beside_pandas(), **beside_flox(days())}
    with sc.on("core"):
        for name, row in rows.items():
            if options.only in name:
                found[name] = compared(row, options.repeats) | {"load": os.getloadavg()[0]}
                print(f"{name:36s} {found[name]['ratio']:6.2f}", flush=True)
                if options.json:
                    options.json.write_text(json.dumps(found, indent=1) + "\n")


def days() -> Any:
    return RNG.normal(size=(3650, 181, 360)).astype(np.float32)


if __name__ == "__main__":
    main()
