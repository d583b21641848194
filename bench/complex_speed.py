"""Complex numbers beside NumPy on one core: whole calls, taken in turn.

python bench/complex_speed.py [--sizes 1000000,10000000] [--json FILE]
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

import speedcube as sc
from speedcube.commands.this_machine import processor

CALLS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "x + y": lambda x, y: x + y,
    "x * y": lambda x, y: x * y,
    "x / y": lambda x, y: x / y,
    "abs(x)": lambda x, y: abs(x),
    "conj(x)": lambda x, y: np.conj(x),
    "exp(x)": lambda x, y: np.exp(x),
    "log(x)": lambda x, y: np.log(x),
    "sqrt(x)": lambda x, y: np.sqrt(x),
    "x.sum()": lambda x, y: x.sum(),
    "x.real + 0": lambda x, y: x.real + 0,
    "vdot(x, y)": lambda x, y: np.vdot(x, y),
    "prod(x)": lambda x, y: np.prod(x),
    "sort(x)": lambda x, y: np.sort(x),
}
OF_REAL: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "r + 1j": lambda r, s: r + 1j,
    "1j * r": lambda r, s: 1j * r,
    "1j * r + s": lambda r, s: 1j * r + s,
}
ROUNDS: Final = 5


def seconds(call: Callable[[], Any]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(count: int, dtype: str, name: str) -> dict[str, Any]:
    """Both times of each round, after two calls of ours."""
    rng = np.random.default_rng(0)
    a, b = (
        (np.exp(1j * rng.normal(size=count)) * rng.uniform(0.9, 1.1, count)).astype(dtype)
        for _ in range(2)
    )
    if name in OF_REAL:
        a, b = a.real.copy(), b.imag.copy()
    call, x, y = (CALLS | OF_REAL)[name], sc.asarray(a), sc.asarray(b)
    for _ in range(2):
        call(x, y).compute(on="core")
    ours, numpys = [], []
    with np.errstate(all="ignore"):
        for _ in range(ROUNDS):
            ours.append(seconds(lambda: call(x, y).compute(on="core")))
            numpys.append(seconds(lambda: call(a, b)))
    ratio = min(numpys) / min(ours)
    return {"seconds": ours, "numpy seconds": numpys, "numpy over ours": ratio}


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000000,10000000")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures = {}
    for count in map(int, options.sizes.split(",")):
        for dtype in ("complex128", "complex64"):
            for name in CALLS | OF_REAL:
                figures[f"{name} {dtype} {count}"] = found = measure(count, dtype, name)
                ratio = found["numpy over ours"]
                print(f"{name:12} {dtype:10} {count:10,} {ratio:6.2f}", flush=True)
    if options.json:
        table = {
            "schema": 1,
            "command": f"python bench/complex_speed.py --sizes {options.sizes} --json FILE",
            "machine": {"cpu": processor(), "load": round(os.getloadavg()[0], 1)},
            "versions": {"numpy": np.__version__, "speedcube": sc.__version__},
            "date": datetime.date.today().isoformat(),
            "figures": figures,
        }
        options.json.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
