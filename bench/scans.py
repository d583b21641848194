"""Running sums, running products and products beside NumPy's on one core, along every axis.

python bench/scans.py [--only WORD] [--json FILE]. Every figure is NumPy's time over ours, of two
things measured in turn; above 1, ours is the faster. Times are of the thread's processor: other
programs on the machine add less to them than to the clock's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np

import speedcube as sc
from speedcube.commands.this_machine import this_machine

OPERATIONS = ("cumsum", "cumprod", "prod")
DTYPES = ("float32", "float16", "int64", "int32", "uint8", "bool")
LONG_ENOUGH = 2e-4  # seconds of one sample
SAMPLES, PATIENCE = 15, 0.8  # at most so many, in about so many seconds; three at least


def cases() -> Iterator[tuple[str, Any, int | None]]:
    """What is measured: its name, the array, the axis."""
    normal = np.random.default_rng(1).standard_normal
    yield from (("one line", normal(n), None) for n in (10**7, 10**5, 1000))
    tall, square, cube = normal((10**6, 3)), normal((5000, 2000)), normal((200, 220, 210))
    yield from (("tall", tall, axis) for axis in (0, 1))
    yield from (("rows", square, axis) for axis in (0, 1))
    yield from (("transposed", square.T, axis) for axis in (0, 1))
    yield from (("cube", cube, axis) for axis in (0, 1, 2))
    yield "short lines", normal((10**5, 50)), 1
    yield "few rows", normal((24, 65160)), 0
    yield "very few rows", normal((5, 400_000)), 0
    yield from (("in cache", normal((300, 300)), axis) for axis in (0, 1))
    yield from (("strided", normal((2000, 2000))[::2, ::2], axis) for axis in (0, 1))
    yield from (("reversed", normal((2000, 2000))[::-1, ::-1], axis) for axis in (0, 1))
    yield "small", normal((10, 10)), 0
    numbers = normal((2000, 1000)) * 3
    for dtype in DTYPES:
        values = numbers > 0 if dtype == "bool" else numbers.astype(dtype)
        yield from (("rows", values, axis) for axis in (0, 1))
        yield "one line", values.reshape(-1), None
        yield "tall", values.reshape(-1)[:1_800_000].reshape(-1, 3), 1


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """The processor's time of one call."""
    start = time.thread_time()
    for _ in range(repeats):
        call()
    return (time.thread_time() - start) / repeats


def beside(ours: Callable[[], Any], numpys: Callable[[], Any]) -> dict[str, Any]:
    """Samples of both, in turn."""
    ours()
    repeats = max(1, int(LONG_ENOUGH / max(seconds(numpys, 3), 1e-7)))
    samples: list[tuple[float, float]] = []
    end = time.monotonic() + PATIENCE
    while len(samples) < 3 or (len(samples) < SAMPLES and time.monotonic() < end):
        samples.append((seconds(ours, repeats), seconds(numpys, repeats)))
    first, second = zip(*samples, strict=True)
    ratio = statistics.median(second) / statistics.median(first)
    return {"ratio": ratio, "ours": first, "numpy": second}


def measured(only: str) -> Iterator[dict[str, Any]]:
    """Every case's figures."""
    for name, values, axis in cases():
        for op in OPERATIONS:
            moderate = values
            if "prod" in op and values.dtype.kind == "f":  # products stay in range
                moderate = (1 + values.astype("float64") / 1000).astype(values.dtype)
                moderate = moderate if values.flags.c_contiguous else _laid_out(moderate, values)
            label = f"{op} {name} {values.dtype} {values.shape} axis {axis}"
            if only not in label:
                continue
            lazy = getattr(sc.asarray(moderate), op)(axis=axis)
            numpys = getattr(np, op)
            figures = beside(
                lambda lazy=lazy: lazy.compute(on="core"),  # type: ignore[misc]
                lambda f=numpys, x=moderate, axis=axis: f(x, axis=axis),  # type: ignore[misc]
            )
            print(f"{figures['ratio']:8.2f}  {label}", flush=True)
            yield {"case": label, **figures}


def _laid_out(values: Any, like: Any) -> Any:
    """``values`` with the gaps and the direction that ``like`` has in memory."""
    there = np.empty_like(like.base if like.base is not None else like)
    view = np.lib.stride_tricks.as_strided(there.reshape(-1), like.shape, like.strides)
    if any(step < 0 for step in like.strides):
        view = there[::-1, ::-1]
    view[...] = values
    return view


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a word of the cases to measure")
    parser.add_argument("--json", help="write every sample to this file")
    options = parser.parse_args()
    load = os.getloadavg()
    figures = list(measured(options.only))
    if options.json:
        found = {
            "schema": 1,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": this_machine(),
            "load": [load, os.getloadavg()],
            "figures": figures,
        }
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
