"""The elementary functions beside NumPy on one core, and beside a copy of the same bytes on a GPU.

python bench/elementary.py [--gpu] [--only exp,log] [--json FILE]. Every figure is a ratio of two
things measured in turn in this one run; above 1, ours is the faster. On a GPU 1 is the memory's
speed, the bits of the first numbers are compared with the CPU's, and CuPy's function of the same
name takes its turn too.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import speedcube as sc
from speedcube.engine import cpu
from speedcube.engine.boxes import Stop
from speedcube.engine.prepare import prepare
from speedcube.engine.tiers import FULL_PAYS
from speedcube.kernel.llvm.simd import targets
from speedcube.ops import ELEMENTARY, OPS

CACHED, STORED = 1 << 18, 20_000_000
ON_GPU = 1 << 34  # bytes of an argument: 4 ms to read, so that a call's 0.2 ms are no matter
DTYPES = ("float64", "float32")
# Where the arguments lie: of pow its base, whose exponents lie in -3 .. 3.
RANGES = {
    **dict.fromkeys(("log", "log2", "log10", "power"), (0.1, 10.0)),
    **dict.fromkeys(("asin", "acos", "atanh"), (-1.0, 1.0)),
    "log1p": (-0.9, 10.0),
    "acosh": (1.0, 10.0),
}


def arguments(op: str, dtype: str, count: int) -> list[Any]:
    rng = np.random.default_rng(0)
    low, high = RANGES.get(op, (-10.0, 10.0))
    columns = [rng.uniform(low, high, count).astype(dtype)]
    return [*columns, rng.uniform(-3, 3, count).astype(dtype)] if OPS[op].arity == 2 else columns


def in_turn(ours: Callable[[], Any], theirs: Callable[[], Any], repeat: int) -> list[float]:
    """theirs / ours, pair by pair, in order of size."""
    ratios = []
    for _ in range(repeat):
        start = time.perf_counter()
        ours()
        middle = time.perf_counter()
        theirs()
        ratios.append((time.perf_counter() - middle) / (middle - start))
    return sorted(ratios)


def on_core(op: str, dtype: str, count: int) -> list[float]:
    """From memory the whole of `compute`; in cache the kernel alone, results where they were."""
    args = arguments(op, dtype, count)
    lazy, numpys = getattr(sc, op)(*map(sc.asarray, args)), OPS[op].numpy
    for _ in range(FULL_PAYS // count + 1):  # until the full kernel is in use
        lazy.compute(on="core")
    if count == STORED:
        return in_turn(lambda: lazy.compute(on="core"), lambda: numpys(*args), 5)
    stage = lazy.plan(on="core").stages[0]
    prepared, stop = prepare(stage, stage.parts[0], None), Stop()
    out = np.empty(count, dtype)
    reuse = {"out": np.empty(count, dtype)} if isinstance(numpys, np.ufunc) else {}
    return in_turn(
        lambda: cpu.run_store(prepared, {}, out, stop), lambda: numpys(*args, **reuse), 99
    )


@lru_cache(maxsize=2)
def _held(numbers: bytes, dtype: str) -> Any:
    """The numbers again and again, on the GPU."""
    import cupy

    return cupy.tile(cupy.asarray(np.frombuffer(numbers, dtype)), ON_GPU // len(numbers))


def on_gpu(op: str, dtype: str) -> dict[str, Any]:
    """A copy's time over ours, the bytes moved being equal; and whether the bits are the CPU's."""
    import cupy

    args = arguments(op, dtype, 1 << 20)
    held = [_held(a.tobytes(), dtype) for a in args]
    lazy = getattr(sc, op)(*map(sc.asarray, held))
    small = getattr(sc, op)(*map(sc.asarray, args)).compute(on="core")
    cupys = getattr(cupy, op, None)
    result = lazy.compute(on="gpu", to="cupy")
    same = bool((result[: 1 << 20].get().view(np.uint8) == small.view(np.uint8)).all())
    moved = (len(held) + 1) / 2  # times a copy's bytes
    result = None
    other = cupy.empty_like(held[0])
    wait = cupy.cuda.Device().synchronize

    def ours() -> None:
        lazy.compute(on="gpu", to="cupy")
        wait()

    def copy() -> None:
        cupy.copyto(other, held[0])
        wait()

    def theirs() -> None:
        cupys(*held)
        wait()

    ours(), copy()
    ratios = [r * moved for r in in_turn(ours, copy, 9)]
    figures = {"over copy": ratios, "bits of the CPU": same}
    if cupys is not None:
        theirs()
        figures["over CuPy"] = in_turn(ours, theirs, 5)
    return figures


def machine(gpu: bool) -> dict[str, Any]:
    """What the figures were measured with."""
    facts: dict[str, Any] = {"python": platform.python_version(), "numpy": np.__version__}
    facts["cpu"] = f"{os.cpu_count()} cores with {targets()[0]} kernels"
    if gpu:
        import cupy

        name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        driver, runtime = (
            cupy.cuda.runtime.driverGetVersion(),
            cupy.cuda.runtime.runtimeGetVersion(),
        )
        facts |= {"gpu": name, "driver": driver, "cuda": runtime, "cupy": cupy.__version__}
    return facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--only", default=",".join(sorted(ELEMENTARY)))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    for op in options.only.split(","):
        for dtype in DTYPES:
            if options.gpu:
                row: dict[str, Any] = on_gpu(op, dtype)
            else:
                row = {
                    "in cache": on_core(op, dtype, CACHED),
                    "from memory": on_core(op, dtype, STORED),
                }
            figures[f"{op} {dtype}"] = row
            shown = (
                f"{k} {statistics.median(v):.2f}" if isinstance(v, list) else f"{k} {v}"
                for k, v in row.items()
            )
            print(f"{op:8} {dtype}: {', '.join(shown)}", flush=True)
    if options.json:
        options.json.write_text(
            json.dumps(
                {
                    "schema": 2,
                    "command": " ".join(["python", "bench/elementary.py", *sys.argv[1:]]),
                    "date": datetime.date.today().isoformat(),
                    "machine": machine(options.gpu),
                    "figures": rounded(figures),
                },
                indent=1,
            )
            + "\n"
        )


def rounded(figures: dict[str, Any]) -> dict[str, Any]:
    """Four digits of every ratio."""
    return {
        name: {
            k: [float(f"{r:.4g}") for r in v] if isinstance(v, list) else v for k, v in row.items()
        }
        for name, row in figures.items()
    }


if __name__ == "__main__":
    main()
