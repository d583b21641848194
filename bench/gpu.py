"""How long the published expressions take on GPUs: warm, cold kernel, and their bits.

python bench/gpu.py [--json FILE] [--on "gpu;gpus:2;cuda-cluster"] [--repeat 7] [--only expressions]

The file is written anew after each row, so a run that is stopped leaves what it has.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

os.environ.setdefault("CUPY_CACHE_DIR", tempfile.mkdtemp())  # an empty kernel cache

import numpy as np

import speedcube as sc


def _expressions() -> dict[str, Any]:
    rng = sc.random.default_rng(0)
    two_tb = rng.normal(10, 1, size=(500_000, 500_000))
    eighty_gb = rng.normal(10, 1, size=(100_000, 100_000))
    small = rng.normal(10, 1, size=(500_000, 500_000), dtype="float32")
    twenty_tb = rng.normal(10, 1, size=(5_000_000, 500_000))
    return {
        "2 TB sum": (two_tb + 1)[::2, ::2].sum(),
        "80 GB mean": (eighty_gb + 1)[::2, ::2].mean(),
        "1 TB float32 sum": (small + 1)[::2, ::2].sum(),
        "dense standard normals": rng.standard_normal(size=(200_000, 100_000)).sum(),
        "uniform": rng.random(size=(200_000, 100_000)).sum(),
        "20 TB sum": (twenty_tb + 1)[::2, ::2].sum(),
    }


def machine() -> dict[str, Any]:
    """What the figures were measured with."""
    import cupy

    runtime = cupy.cuda.runtime
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    return {
        "gpu": runtime.getDeviceProperties(0)["name"].decode(),
        "gpus": runtime.getDeviceCount(),
        "driver": subprocess.run(asked, capture_output=True, text=True).stdout.strip(),
        "driver's cuda": runtime.driverGetVersion(),
        "cuda": runtime.runtimeGetVersion(),
        "cupy": cupy.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def measure(name: str, array: Any, on: str, repeat: int) -> dict[str, Any]:
    """First and repeated seconds, the value and its hash."""
    times = []
    value = None
    for _ in range(repeat + 1):
        start = time.perf_counter()
        value = array.compute(on=on)
        times.append(time.perf_counter() - start)
    plan = array.plan(on=on)
    elements = plan.elements
    median = sorted(times[1:])[len(times[1:]) // 2]
    print(f"{name:26s} {on:8s} first {times[0]:.4f} s, median {median:.5f} s, "
          f"{elements / median / 1e9:.1f} G/s, {value!r}")  # fmt: skip
    return {
        "name": name,
        "on": on,
        "workers": plan.workers,
        "first_seconds": times[0],
        "repeats": times[1:],
        "seconds": median,
        "elements": elements,
        "value": float(value),
        "bits": hashlib.sha256(np.asarray(value).tobytes()).hexdigest()[:16],
    }


def stored(repeat: int) -> list[dict[str, Any]]:
    """Reductions of 8 GB that lie on one GPU, beside CuPy's sum of them."""
    import cupy

    data = cupy.random.default_rng(0).standard_normal(10**9)
    wide = cupy.exp2(cupy.random.default_rng(1).integers(-900, 900, len(data)).astype("f8")) * data
    x, y = sc.asarray(data), sc.asarray(wide)
    rows = [
        measure("stored float64 sum", x.sum(), "gpu", repeat),
        measure("stored float64 var", x.var(), "gpu", repeat),
        measure("stored float64 max", x.max(), "gpu", repeat),
        measure("stored, 1800 binades, sum", y.sum(), "gpu", repeat),
    ]
    times = []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        value = float(data.sum())
        times.append(time.perf_counter() - start)
    rows.append({"name": "CuPy's sum, not exact", "on": "gpu", "repeats": times[1:],
                 "seconds": statistics.median(times[1:]), "value": value})  # fmt: skip
    print(f"{rows[-1]['name']:26s} gpu      median {rows[-1]['seconds']:.5f} s")
    return rows


_KERNEL = """
import time, cupy, speedcube as sc
from speedcube.engine import gpu, prepare
from speedcube.engine.compute import plan_for
cupy.zeros(1)
x = sc.random.default_rng(0).normal(10, 1, size=(500_000, 500_000))
y = (x + 1)[::2, ::2].sum()
stage = plan_for(y._expr, "gpu", None, False)[0].stages[-1]
begin = time.perf_counter()
gpu.gpu_kernel(prepare.prepare(stage, stage.parts[0], None).program, 0)
kernel = time.perf_counter() - begin
y.compute(on="gpu")
print(kernel, time.perf_counter() - begin)
"""


def kernels(repeat: int) -> dict[str, Any]:
    """Fresh processes, CUDA context and CuPy's import apart: the published kernel, and its sum.

    First each with an empty kernel cache, then each with the cache that they left.
    """

    def run(cache: str) -> list[float]:
        environment = {**os.environ, "SPEEDCUBE_CACHE_DIR": cache}
        done = subprocess.run([sys.executable, "-c", _KERNEL], env=environment, check=True,
                              capture_output=True, text=True)  # fmt: skip
        return [float(word) for word in done.stdout.split()]

    with tempfile.TemporaryDirectory() as directory:
        cold = []
        for _ in range(repeat):
            with tempfile.TemporaryDirectory() as empty:
                cold.append(run(empty))
        run(directory)
        cached = [run(directory) for _ in range(repeat)]
    sorted_times = {}
    for name, times in (("cold", cold), ("from the cache", cached)):
        for what, column in zip(("kernel", "kernel and 2 TB sum"), zip(*times, strict=True),
                                strict=True):  # fmt: skip
            sorted_times[f"{what}, {name}, s"] = sorted(column)
            print(f"{what}, {name}: {statistics.median(column):.4f} s")
    return sorted_times


def scaling(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Each expression's time on one GPU over that on each rung, and over its GPUs: 1 is all."""
    one = {row["name"]: row["seconds"] for row in rows if row["on"] == "gpu"}
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["name"] in one:
            share = one[row["name"]] / row["seconds"] / row["workers"]
            found.setdefault(row["name"], {})[row["on"]] = share
    return found


def write(path: str | None, report: dict[str, Any]) -> None:
    if path:
        with open(path, "w") as file:
            json.dump(report, file, indent=1)
            file.write("\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    parser.add_argument("--on", default="gpu", help="rungs, with semicolons between them")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--only", choices=("expressions", "stored", "kernels"))
    options = parser.parse_args()
    import cupy

    start = time.perf_counter()
    for device in range(cupy.cuda.runtime.getDeviceCount()):
        with cupy.cuda.Device(device):
            cupy.zeros(1)
    print(f"CUDA contexts and CuPy: {time.perf_counter() - start:.2f} s (apart)")
    report: dict[str, Any] = {
        "schema": 1,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": "python bench/gpu.py " + " ".join(sys.argv[1:]),
        "machine": machine(),
        "rows": [],
    }
    if options.only in (None, "expressions"):
        for on in options.on.split(";"):
            for name, array in _expressions().items():
                report["rows"].append(measure(name, array, on, options.repeat))
                report["scaling"] = scaling(report["rows"])
                write(options.json, report)
        print(json.dumps(report["scaling"], indent=1))
    if options.only in (None, "stored"):
        report["rows"] += stored(options.repeat)
    if options.only in (None, "kernels"):
        report["kernels"] = kernels(3)
    write(options.json, report)


if __name__ == "__main__":
    main()
