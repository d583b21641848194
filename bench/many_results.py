"""Reductions with many results beside NumPy, on one core: python bench/many_results.py [--json F].

Pairs in turn, medians of their ratios, and the ratio of the best times, which a busy machine
disturbs less; "kernel" leaves out planning and scheduling. Above 1 we win. With --gpu beside CuPy,
the data and the results on one GPU; "kernel" is then measured by the device, beside CuPy's.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import speedcube as sc
from speedcube.engine.boxes import Stop
from speedcube.engine.finished.cpu import run_finished, run_folded
from speedcube.engine.finished.gpu import FinishedPart
from speedcube.engine.prepare import prepare_folded, prepare_many
from speedcube.plan.plan import Resources, make_plan

ROWS: tuple[tuple[tuple[int, ...], Any, str, str], ...] = (
    ((20, 300, 600), 0, "float32", "mean"),
    ((20, 300, 600), 0, "float32", "std"),
    ((20, 300, 600), 0, "float64", "std"),
    ((20, 300, 600), (1, 2), "float64", "mean"),
    ((240, 100, 200), 0, "float64", "mean"),
    ((240, 100, 200), 1, "float64", "mean"),
    ((240, 100, 200), 2, "float64", "mean"),
    ((1_000_000, 3), 1, "float64", "sum"),
    ((1_000_000, 3), 1, "float64", "var"),
    ((1_000_000, 8), 1, "float64", "sum"),
    ((24, 65160), 0, "float64", "sum"),
    ((24, 65160), 0, "float32", "sum"),
    ((2000, 1700), 0, "float64", "sum"),
    ((2000, 1700), 1, "float64", "sum"),
    ((2000, 1700), 1, "float64", "std"),
    ((1700, 2000), 1, "float64", "sum"),
    ((200, 300_000), 0, "float64", "sum"),
    ((200, 300_000), 0, "float32", "sum"),
    ((5, 400_000), 0, "float64", "sum"),
    ((300, 1024), 0, "float64", "sum"),
    ((1000, 50_000), 1, "float64", "sum"),
    ((100_000, 50), 1, "float64", "sum"),
    ((100_000, 50), 0, "float64", "sum"),
    ((100_000, 50), 0, "float64", "std"),
    ((777, 33, 41), 1, "float64", "var"),
    ((365, 90, 180), 0, "float32", "std"),
    ((64, 64, 64, 12), 3, "float64", "mean"),
    ((40, 9, 11, 500), (0, 2), "float64", "sum"),
    ((100, 20_000), 0, "float16", "mean"),
    ((500, 700, 3), (0, 1), "uint8", "mean"),
    ((100, 20_000), 1, "int32", "mean"),
    # Few terms a result, and float32 in the cache.
    ((5, 400_000), 0, "float32", "sum"),
    ((3, 100_000), 0, "float64", "sum"),
    ((10, 100_000), 0, "float64", "mean"),
    ((2, 100_000), 0, "float64", "std"),
    ((1_000_000, 2), 1, "float64", "std"),
    ((12, 50_000), 0, "float64", "std"),
    ((300, 1024), 0, "float32", "sum"),
    ((2000, 1700), 0, "float32", "sum"),
    ((2000, 1700), 1, "float32", "sum"),
    # Extremes and their places.
    ((2000, 1700), 0, "float64", "max"),
    ((2000, 1700), 1, "float64", "min"),
    ((2000, 1700), 0, "float32", "min"),
    ((2000, 1700), 1, "float32", "max"),
    ((2000, 1700), 0, "float16", "max"),
    ((2000, 1700), 0, "float64", "argmax"),
    ((2000, 1700), 1, "float64", "argmin"),
    ((2000, 1700), 1, "float32", "argmax"),
    ((1_000_000, 3), 1, "float64", "max"),
    ((1_000_000, 3), 0, "float64", "max"),
    ((1_000_000, 3), 1, "float64", "argmax"),
    ((100_000, 50), 1, "float64", "min"),
    ((240, 100, 200), 0, "float64", "max"),
    ((240, 100, 200), 1, "float64", "argmax"),
    ((240, 100, 200), 2, "float64", "max"),
    ((200, 300_000), 0, "float32", "max"),
    ((5, 400_000), 0, "float64", "min"),
    ((500, 700, 3), 2, "uint8", "max"),
    ((1000, 2000), 0, "int16", "argmin"),
    ((2000, 1700), 1, "bool", "any"),
    ((2000, 1700), 0, "bool", "sum"),
    # Sums of integers.
    ((1_000_000, 3), 1, "int64", "sum"),
    ((3, 1_000_000), 0, "int64", "sum"),
    ((2000, 1700), 0, "int64", "sum"),
    ((2000, 1700), 1, "uint64", "sum"),
    ((2000, 1700), 0, "int32", "sum"),
    ((240, 100, 200), 0, "int64", "sum"),
    ((240, 100, 200), 2, "int64", "sum"),
    ((365, 90, 180), 0, "int16", "sum"),
    ((500, 700, 3), (0, 1), "uint8", "sum"),
    # Dots of an array with itself backwards.
    ((2000, 1700), 0, "float64", "vecdot"),
    ((2000, 1700), 1, "float64", "vecdot"),
    ((2000, 1700), 1, "float32", "vecdot"),
    ((100_000, 50), 1, "float64", "vecdot"),
    ((1_000_000, 3), 1, "float64", "vecdot"),
)


BIG = (20_000, 20_000)
GPU_ROWS: tuple[tuple[tuple[int, ...], Any, str, str], ...] = (
    *((BIG, axis, "float64", op) for op in ("sum", "mean", "std") for axis in (0, 1)),
    *((BIG, axis, "float32", op) for op in ("sum", "std") for axis in (0, 1)),
    (BIG, 0, "float16", "mean"),
    (BIG, 1, "float16", "mean"),
    (BIG, 0, "int32", "mean"),
    ((10_000, 10_000), 0, "float64", "sum"),
    ((10_000, 10_000), 1, "float64", "sum"),
    ((10_000_000, 8), 1, "float64", "sum"),
    ((10_000_000, 8), 0, "float64", "sum"),
    ((8, 10_000_000), 0, "float64", "sum"),
    ((10_000_000, 3), 1, "float64", "sum"),
    ((1_000_000, 3), 1, "float64", "sum"),
    ((1_000_000, 3), 1, "float64", "var"),
    ((1_000_000, 50), 0, "float64", "sum"),
    ((1_000_000, 50), 1, "float64", "sum"),
    ((100_000_000, 2), 0, "float64", "sum"),
    ((2, 100_000_000), 1, "float64", "sum"),
    ((100_000, 1000), 0, "float64", "sum"),
    ((100_000, 1000), 1, "float64", "sum"),
    ((240, 100, 200), 0, "float64", "mean"),
    ((240, 100, 200), 1, "float64", "mean"),
    ((240, 100, 200), (1, 2), "float64", "mean"),
    ((20, 300, 600), 0, "float32", "mean"),
    ((20, 300, 600), 0, "float32", "std"),
    ((3650, 180, 360), 0, "float32", "std"),
    ((40, 90, 110, 500), (0, 2), "float64", "sum"),
    ((4000, 6000, 3), (0, 1), "uint8", "mean"),
    *((BIG, axis, "float64", op) for op in ("max", "argmax") for axis in (0, 1)),
    *((BIG, axis, "int32", "sum") for axis in (0, 1)),
    ((10_000_000, 8), 1, "float64", "max"),
    ((10_000_000, 8), 1, "float64", "argmax"),
    ((1_000_000, 50), 0, "float64", "max"),
    ((240, 100, 200), 0, "float64", "max"),
    ((20_000, 20_000), None, "float64", "sum"),
    ((20_000, 20_000), None, "float64", "std"),
)


def seconds(function: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def reduced(library: Any, x: Any, op: str, axis: Any) -> Any:
    if op == "vecdot":
        return library.vecdot(x, x[::-1], axis=axis)
    return getattr(x, op)(axis=axis)


def row(shape: tuple[int, ...], axis: Any, dtype: str, op: str, pairs: int) -> dict[str, Any]:
    x = np.random.default_rng(1).standard_normal(shape) * 50
    x = (
        x > 170
        if dtype == "bool"
        else x.astype(np.int64 if dtype[0] == "u" else dtype).astype(dtype)
    )
    y = reduced(sc, sc.asarray(x), op, axis)
    stage = make_plan(y._expr, Resources("core", 1), "", 1024).stages[-1]
    part, stop, failed = stage.parts[0], Stop(), 0
    prepared = prepare_many(stage, part)
    if prepared is not None:
        failed = len(run_finished(prepared, {}, stop)[1])

    def run() -> Any:
        if prepared is not None:
            return run_finished(prepared, {}, stop)
        folded = prepare_folded(stage, part)
        assert folded is not None
        return run_folded(folded, {}, stop, stage.dtype)

    run()
    times: list[tuple[float, float, float]] = []
    for _ in range(pairs):
        kernel = seconds(run)
        ours = seconds(lambda: y.compute(on="core"))
        theirs = seconds(lambda: reduced(np, x, op, axis))
        times.append((kernel, ours, theirs))
    ours, theirs = (statistics.median(t[k] for t in times) for k in (1, 2))
    return {
        "shape": shape,
        "axis": axis,
        "dtype": dtype,
        "op": op,
        "ms": round(1e3 * ours, 3),
        "numpy_ms": round(1e3 * theirs, 3),
        "ratio": round(statistics.median(t[2] / t[1] for t in times), 3),
        "best_ratio": round(min(t[2] for t in times) / min(t[1] for t in times), 3),
        "kernel_ratio": round(statistics.median(t[2] / t[0] for t in times), 3),
        "left_to_records": failed,
    }


def device_seconds(function: Callable[[], Any], repeat: int = 5) -> float:
    """Of the device alone, a call; the best of some."""
    import cupy

    times = []
    for _ in range(repeat):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        function()
        end.record()
        end.synchronize()
        times.append(float(cupy.cuda.get_elapsed_time(begin, end)) / 1e3)
    return min(times)


def gpu_row(shape: tuple[int, ...], axis: Any, dtype: str, op: str, pairs: int) -> dict[str, Any]:
    import cupy

    generator = cupy.random.default_rng(1)
    x = cupy.empty(shape, dtype)
    for part in x.reshape(-1)[: x.size // 10 * 10].reshape(10, -1):
        part[...] = (generator.standard_normal(part.size) * 50).astype(dtype)
    y = getattr(sc.asarray(x), op)(axis=axis)
    stage = make_plan(y._expr, Resources("gpu", 1), "", 1024).stages[-1]
    prepared, stop = prepare_many(stage, stage.parts[0], gpu=True), Stop()
    assert prepared is not None
    part = FinishedPart(prepared, {}, 0)
    place = part.memory()
    with part.launches() as run:
        run.run(place, stop)
        failed = run.failed()
        kernel = device_seconds(lambda: run.launch(place))
    theirs = device_seconds(lambda: getattr(x, op)(axis=axis))
    value = y.compute(on="gpu")
    times: list[tuple[float, float]] = []
    wait = cupy.cuda.Device(0).synchronize
    for _ in range(pairs):
        ours = seconds(lambda: (y.compute(on="gpu", to="cupy"), wait()))
        times.append((ours, seconds(lambda: (getattr(x, op)(axis=axis), wait()))))
    medians = [statistics.median(t[k] for t in times) for k in (0, 1)]
    return {
        "shape": shape,
        "axis": axis,
        "dtype": dtype,
        "op": op,
        "ms": round(1e3 * medians[0], 3),
        "cupy_ms": round(1e3 * medians[1], 3),
        "ratio": round(statistics.median(t[1] / t[0] for t in times), 3),
        "kernel_ms": round(1e3 * kernel, 4),
        "kernel_ratio": round(theirs / kernel, 3),
        "left_to_records": -1 if failed is None else len(failed),
        "bits": hashlib.sha256(np.asarray(value).tobytes()).hexdigest()[:16],
    }


def machine(gpu: bool) -> dict[str, Any]:
    """What the figures were measured with."""
    known: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "command": " ".join(sys.argv),
    }
    known |= {"numpy": np.__version__, "python": platform.python_version()}
    if gpu:
        import cupy

        runtime = cupy.cuda.runtime
        known["gpu"] = runtime.getDeviceProperties(0)["name"].decode()
        known |= {"driver": runtime.driverGetVersion(), "cuda": runtime.runtimeGetVersion()}
        known["cupy"] = cupy.__version__
    return known


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--gpu", action="store_true")
    options = parser.parse_args()
    rows = []
    for case in GPU_ROWS if options.gpu else ROWS:
        rows.append((gpu_row if options.gpu else row)(*case, options.pairs))
        print(*rows[-1].values(), flush=True)
    other = "kernel_ratio" if options.gpu else "best_ratio"
    mean, best = (statistics.geometric_mean(r[k] for r in rows) for k in ("ratio", other))
    print(f"geometric mean {mean:.2f}, {other} {best:.2f}, load {os.getloadavg()[0]:.1f}")
    if options.json:
        means = {"geometric_mean": round(mean, 3), other: round(best, 3)}
        result = {"load": os.getloadavg(), **machine(options.gpu), **means, "rows": rows}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
