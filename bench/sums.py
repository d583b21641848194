"""Exact sums beside NumPy's on one core, and beside the memory's speed on a GPU.

python bench/sums.py [--gpu] [--only WORD] [--json FILE]. On a CPU every figure is a ratio of two
things measured in turn; above 1, ours is the faster. On a GPU, NVIDIA's profiler (ncu, where it is
installed) adds each kernel's issue slots, registers and occupancy.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import gpu
import numpy as np
from cpu import in_turn

import speedcube as sc
from speedcube.commands.this_machine import this_machine
from speedcube.engine import cpu
from speedcube.engine.boxes import boxes
from speedcube.engine.prepare import prepare
from speedcube.engine.tiers import FULL_PAYS
from speedcube.kernel.program import Bins

MEMORY, CACHE = 1 << 27, 1 << 16  # elements: 1 GB of float64; 512 KB lie in a level 2 cache
ON_GPU = {"float64": 2 * 10**9, "float32": 4 * 10**9}  # 16 GB each


def data(dtype: str, count: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal(count, dtype=dtype)  # type: ignore[call-overload,no-any-return]


def kernel(array: Any, naive: bool = False, calls: int = 1) -> Callable[[], None]:
    """``calls`` calls of the kernel alone; ``naive``: of one that adds doubles and rounds."""
    stage = array.sum().plan(on="core").stages[0]
    prepared = prepare(stage, stage.parts[0], None)
    if naive:
        sink = prepared.program.sink
        terms = tuple(replace(term, bins=Bins("plain", 30)) for term in sink.terms)
        program = replace(prepared.program, sink=replace(sink, terms=terms))
        prepared = replace(prepared, program=program, frames={})
    frame = cpu.frame_of(prepared)
    frame.tiers.seen = FULL_PAYS
    caller = cpu.Caller(prepared, frame, {})
    record = cpu.initial_records(prepared.program, 1)
    all_boxes = list(boxes(prepared.loops, prepared.tiling.inner))

    def run() -> None:
        for _ in range(calls):
            for box in all_boxes:
                caller(box, record.ctypes.data)

    return run


def stored() -> dict[str, Any]:
    """A sum of numbers in memory: beside NumPy's, and beside a loop that rounds."""
    rows = {}
    for dtype in ("float64", "float32"):
        a = data(dtype, MEMORY)
        x = sc.asarray(a)
        total = x.sum()
        assert dtype == "float32" or float(total.compute(on="core")) == math.fsum(a)
        rows[f"{dtype} over NumPy"] = in_turn(lambda y=total: y.compute(on="core"), a.sum)
        rows[f"{dtype} over the naive loop"] = in_turn(kernel(x), kernel(x, naive=True))
        x, calls = sc.asarray(a[:CACHE].copy()), 200
        rows[f"{dtype} over the naive loop, in cache"] = in_turn(
            kernel(x, calls=calls), kernel(x, naive=True, calls=calls)
        )
    return rows


def multiplied() -> dict[str, Any]:
    a = data("float64", MEMORY // 4)
    y = (sc.asarray(a) * 2 + 1).sum()
    return {"over NumPy": in_turn(lambda: y.compute(on="core"), lambda: (a * 2 + 1).sum())}


def generated() -> dict[str, Any]:
    """Standard normals into an exact sum; NumPy fills a buffer that stays in cache."""
    rows = {}
    for dtype in ("float64", "float32"):
        count = 1 << 27
        y = sc.random.default_rng(0).standard_normal(count, dtype=dtype).sum()
        rng, buffer = np.random.default_rng(0), np.empty(CACHE, dtype)

        def theirs(rng: Any = rng, buffer: Any = buffer, dtype: str = dtype) -> None:
            for _ in range((1 << 24) // CACHE):
                rng.standard_normal(dtype=dtype, out=buffer)

        pair = in_turn(lambda y=y: y.compute(on="core"), theirs, 5)
        pair["ratio"] *= count / (1 << 24)
        pair["nanoseconds"] = [
            1e9 * statistics.median(pair["ours"]) / count,
            1e9 * statistics.median(pair["theirs"]) / (1 << 24),
        ]
        rows[f"{dtype} over NumPy"] = pair
    return rows


def wild() -> dict[str, Any]:
    """Every tile through the slow path: random bits, which reach over all binades."""
    ordinary = data("float64", MEMORY // 8)
    bits = np.random.default_rng(1).integers(0, 2**64, len(ordinary), np.uint64, endpoint=False)
    strange = bits.view("float64")
    strange[~(abs(strange) < 1e300)] = 1.0  # nor NaN nor infinity, and math.fsum can follow
    fast, slow = sc.asarray(ordinary).sum(), sc.asarray(strange).sum()
    assert float(slow.compute(on="core")) == math.fsum(strange)
    pair = in_turn(lambda: fast.compute(on="core"), lambda: slow.compute(on="core"))
    return {"times as long": pair}


FIGURES = {"stored": stored, "multiplied": multiplied, "generated": generated, "wild": wild}


# One GPU ------------------------------------------------------------------------------------------


def works() -> dict[str, Callable[[], Any]]:
    """What is summed on a GPU, made when it is asked for."""
    import cupy

    def stored_on_gpu(dtype: str) -> Any:
        count = ON_GPU[dtype]
        return cupy.random.default_rng(0).standard_normal(count, dtype=dtype)

    def normals(dtype: str) -> Any:
        return sc.random.default_rng(0).standard_normal(1 << 35, dtype=dtype)

    return {
        f"{what} {dtype}": lambda make=make, dtype=dtype: make(dtype)
        for what, make in (("stored", stored_on_gpu), ("normals", normals))
        for dtype in ("float64", "float32")
    }


def on_gpu(only: str) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for name, make in works().items():
        if only not in name:
            continue
        array = make()
        total = sc.asarray(array).sum()
        elements = math.prod(array.shape)
        if name.startswith("stored"):
            row = in_turn(lambda y=total: y.compute(on="gpu"), lambda a=array: float(a.sum()))
            row["ours, GB/s"], row["CuPy's, GB/s"] = (
                array.nbytes / 1e9 / statistics.median(row[k]) for k in ("ours", "theirs")
            )
        else:
            row = in_turn(lambda y=total: y.compute(on="gpu"), lambda: None, 5)
            del row["ratio"], row["theirs"]
            row["G/s"] = elements / 1e9 / statistics.median(row["ours"])
        value = np.asarray(total.compute(on="gpu"))
        row["bits"] = value.tobytes().hex()
        del array, total
        rows[name] = {**row, "profile": profile(name)}
        print(name, {k: v for k, v in rows[name].items() if k not in ("ours", "theirs")})
    return rows


METRICS = {
    "issue slots used, %": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "warp instructions": "smsp__inst_executed.sum",
    "double precision pipe used, %": "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active",
    "memory read, % of peak": "dram__bytes_read.sum.pct_of_peak_sustained_elapsed",
    "registers per thread": "launch__registers_per_thread",
    "occupancy, %": "sm__warps_active.avg.pct_of_peak_sustained_active",
}


def profile(name: str) -> dict[str, float] | None:
    """Figures of one launch of the kernel by ncu; None where it is not installed."""
    if shutil.which("ncu") is None:
        return None
    command = ["ncu", "--csv", "--launch-skip", "1", "--launch-count", "1", "-k", "kernel",
               "--metrics", ",".join(METRICS.values()), sys.executable, __file__,
               "--work", name]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = list(csv.DictReader(line for line in done.stdout.splitlines() if line.startswith('"')))
    values = {row["Metric Name"]: float(row["Metric Value"].replace(",", "")) for row in rows}
    return {what: values[metric] for what, metric in METRICS.items() if metric in values}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--only", default="", help="figures whose name contains this")
    parser.add_argument("--work", help="what a profiled process of this script does")
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.work:
        total = sc.asarray(works()[options.work]()).sum()
        total.compute(on="gpu"), total.compute(on="gpu")
        return
    if options.gpu:
        figures = on_gpu(options.only)
    else:
        figures = {name: f() for name, f in FIGURES.items() if options.only in name}
        for name, rows in figures.items():
            for row, pair in rows.items():
                print(f"{name}: {row}: {pair['ratio']:.2f}")
    if options.json:
        report = {
            "schema": 1,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": "python bench/sums.py " + " ".join(sys.argv[1:]),
            "machine": {**this_machine(), **(gpu.machine() if options.gpu else {})},
            "figures": figures,
        }
        with open(options.json, "w") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
