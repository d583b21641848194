"""What an element costs on one core: the constants of `speedcube.plan.costs`, measured.

python bench/costs.py
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import dask
import numpy as np

import speedcube as sc
from speedcube.plan.costs import FUNCTIONS

SIZE = 10_000_000
REPEATS = 7


def nanoseconds(array: sc.Array, size: int = SIZE) -> float:
    """Of this thread, for each of ``size`` elements: the best of some runs."""
    array.compute(on="core")
    array.compute(on="core")
    best = float("inf")
    for _ in range(REPEATS):
        began = time.thread_time()
        array.compute(on="core")
        best = min(best, time.thread_time() - began)
    return best / size * 1e9


def costs() -> Iterator[tuple[str, float]]:
    """Each constant by name, in its unit."""
    dask.config.set({"speedcube.keep-drawn": 0})  # each run draws
    places, rng = sc.arange(SIZE) * 1.0, sc.random.default_rng(1)
    stored = sc.asarray(np.random.default_rng(1).random(SIZE))
    nothing = nanoseconds(places.max())
    chain = (((places * 1.1 + 2.0) * 1.3 + 2.0) * 1.7 + 3.0) * 1.1 + 4.0
    quotient = 1.0 / (places + 1) / (places + 2) / (places + 3) / (places + 4)
    yield "ARITHMETIC", (nanoseconds(chain.max()) - nothing) / 8
    yield "DIVISION", (nanoseconds(quotient.max()) - nothing) / 4
    yield "FUNCTION", nanoseconds(np.exp(-places).max()) - nothing
    some = sc.asarray(np.random.default_rng(1).uniform(0.1, 0.9, SIZE))
    near = nanoseconds(some.max())
    for name in FUNCTIONS:
        args = (some + 1.5,) if name == "acosh" else (some, some)
        made = getattr(sc, name)(*args[: 1 + (name == "power")])
        yield name, nanoseconds(made.max()) - near
    yield "SAMPLER", nanoseconds(rng.gamma(2.5, size=SIZE).max())
    yield "RANDOM", nanoseconds(rng.normal(size=SIZE).max())
    yield "LOAD", nanoseconds(stored.max()) / 8
    yield "STORE", (nanoseconds(stored + 0.0) - nanoseconds(stored.max())) / 8
    yield "LAUNCH", nanoseconds(sc.asarray(np.ones(100)) + 1, 1)


if __name__ == "__main__":
    for name, value in costs():
        print(f"{name:10} {value:10.3f} ns")
