"""Running sums and products of stored arrays on a GPU beside CuPy: milliseconds, and their ratio.

    python bench/device_scans.py --json measurements/scans/h100.json

CuPy's sums round at every step, ours once; ratios are CuPy's time over ours. A third column has the
time of the kernels alone: results stay on the GPU, and nothing is planned. Sums of the first case
of each operation are compared with the CPU's, bit for bit.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import speedcube as sc

CASES: tuple[tuple[str, tuple[int, ...], int | None, str], ...] = (
    ("cumsum", (10**8,), 0, "float64"),
    ("cumsum", (4 * 10**8,), 0, "float64"),
    ("cumsum", (10**6,), 0, "float64"),
    ("cumsum", (10**8,), 0, "int64"),
    ("cumsum", (10**8,), 0, "float32"),
    ("cumsum", (10_000, 10_000), 0, "float64"),
    ("cumsum", (10_000, 10_000), 1, "float64"),
    ("cumsum", (10_000, 10_000), 0, "int64"),
    ("cumsum", (10_000, 10_000), 1, "int64"),
    ("cumsum", (10_000, 10_000), 1, "float32"),
    ("cumsum", (20_000, 20_000), 0, "float64"),
    ("cumsum", (20_000, 20_000), 1, "float64"),
    ("cumsum", (10**7, 8), 0, "float64"),
    ("cumsum", (10**7, 8), 1, "float64"),
    ("cumsum", (10**6, 50), 1, "float64"),
    ("cumsum", (10**6, 3), 0, "float64"),
    ("cumsum", (24, 4 * 10**6), 0, "float64"),
    ("cumsum", (365, 300, 600), 0, "float64"),
    ("cumsum", (365, 300, 600), 1, "float64"),
    ("prod", (10**8,), None, "float64"),
    ("prod", (10_000, 10_000), 0, "float64"),
    ("prod", (10_000, 10_000), 1, "float64"),
    ("prod", (10**7, 8), 1, "float64"),
    ("prod", (10**8,), None, "int64"),
    ("cumprod", (10**8,), 0, "float64"),
    ("cumprod", (10_000, 10_000), 0, "float64"),
    ("cumprod", (10_000, 10_000), 1, "float64"),
    ("cumprod", (10**7, 8), 1, "float64"),
    ("cumprod", (10**6,), 0, "float64"),
    ("cumprod", (10**8,), 0, "int64"),
)


def timed(call: Callable[[], Any], seconds: float) -> float:
    """The median time of ``call``, in milliseconds."""
    import cupy

    wait = cupy.cuda.get_current_stream().synchronize
    call()
    call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 30):
        wait()
        start = time.perf_counter()
        call()
        wait()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def elements(op: str, shape: tuple[int, ...], dtype: str) -> Any:
    import cupy

    if dtype.startswith("int"):
        return cupy.random.randint(-5, 6, shape, dtype)
    x = cupy.random.standard_normal(shape, dtype)
    return x if op == "cumsum" else 1 + x / 1000


def row(
    op: str, shape: tuple[int, ...], axis: int | None, dtype: str, seconds: float
) -> dict[str, Any]:
    import cupy

    x = elements(op, shape, dtype)
    stored = sc.asarray(x)

    def ours() -> Any:
        return getattr(stored, op)(axis=axis).compute(on="gpu", to="cupy")

    theirs = timed(lambda: getattr(cupy, op)(x, axis=axis), seconds)
    mine = timed(ours, seconds)
    few = x.size <= 10**6
    small = x if few else x.reshape(-1)[: 3 * 10**5] if x.ndim == 1 else x[:40]
    stored_small = sc.asarray(small)
    got = getattr(stored_small, op)(axis=axis).compute(on="gpu")
    wanted = getattr(sc.asarray(small.get()), op)(axis=axis).compute(on="core")
    same = np.asarray(got).tobytes() == np.asarray(wanted).tobytes()
    if op != "prod":
        whole, near = ours(), getattr(cupy, op)(x, axis=axis)
        same = same and bool(cupy.allclose(whole, near, rtol=1e-3, atol=1e-3))
    return {
        "op": op,
        "shape": list(shape),
        "axis": axis,
        "dtype": dtype,
        "cupy_ms": round(theirs, 4),
        "ours_ms": round(mine, 4),
        "ratio": round(theirs / mine, 3),
        "same_bits": same,
    }


def main() -> None:
    import cupy

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=0.5)
    options = parser.parse_args()
    rows = []
    for op, shape, axis, dtype in CASES:
        if options.only and options.only not in (op, dtype):
            continue
        rows.append(row(op, shape, axis, dtype, options.seconds))
        cupy.get_default_memory_pool().free_all_blocks()
        print(*rows[-1].values(), flush=True)
    device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    if options.json:
        report = {"device": device, "cupy": cupy.__version__, "rows": rows}
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
