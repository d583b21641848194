"""Products of matrices and linear algebra beside NumPy on one core, or CuPy on a GPU.

Pairs of runs, alternating in one process; a ratio is the least of theirs over the least of ours.
NumPy has one thread of BLAS, too. The same expression is built and computed in each run.

    taskset -c 0 python bench/linalg.py --json measurements/linalg/core.json
    python bench/linalg.py --on gpu --json measurements/linalg/gpu.json
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

import speedcube as sc
from speedcube.engine.routines.threads import blas_threads

PAIRS: Final = 7
LEAST: Final = 2e-3  # seconds of a run: what is shorter is repeated within it
RNG: Final = np.random.default_rng(0)


def normal(*shape: int, dtype: str = "float64") -> Any:
    return RNG.normal(size=shape).astype(dtype)


def integers(*shape: int, most: int = 100, dtype: str = "int64") -> Any:
    return RNG.integers(-most, most, shape).astype(dtype)


def positive(size: int) -> Any:
    a = normal(size, size)
    return a @ a.T + size * np.eye(size)


# What is asked of NumPy, CuPy or ours (``np``), and of which arrays, a, b ...
ROWS: Final[dict[str, tuple[str, Callable[[], tuple[Any, ...]]]]] = {
    "10x10": ("a @ b", lambda: (normal(10, 10), normal(10, 10))),
    "100x100": ("a @ b", lambda: (normal(100, 100), normal(100, 100))),
    "1000x1000": ("a @ b", lambda: (normal(1000, 1000), normal(1000, 1000))),
    "1000x1000 float32": (
        "a @ b",
        lambda: (normal(1000, 1000, dtype="float32"), normal(1000, 1000, dtype="float32")),
    ),
    "256x256": ("a @ b", lambda: (normal(256, 256), normal(256, 256))),
    "512x512": ("a @ b", lambda: (normal(512, 512), normal(512, 512))),
    "4096x4096 float32": (
        "a @ b",
        lambda: (normal(4096, 4096, dtype="float32"), normal(4096, 4096, dtype="float32")),
    ),
    "3000x3000": ("a @ b", lambda: (normal(3000, 3000), normal(3000, 3000))),
    "(1e6, 3) @ (3, 3)": ("a @ b", lambda: (normal(1_000_000, 3), normal(3, 3))),
    "(3, 1e6) @ (1e6, 3)": ("a.T @ b", lambda: (normal(1_000_000, 3), normal(1_000_000, 3))),
    "(10000, 4, 4)": ("a @ b", lambda: (normal(10_000, 4, 4), normal(10_000, 4, 4))),
    "matrix @ vector": ("a @ b", lambda: (normal(3000, 3000), normal(3000))),
    "vector @ matrix": ("b @ a", lambda: (normal(3000, 3000), normal(3000))),
    "a @ a.T": ("a @ a.T", lambda: (normal(1000, 500),)),
    "strided": ("a[::2, ::2] @ b[:, ::-1]", lambda: (normal(1600, 1600), normal(800, 800))),
    "exp(a) @ b + 1": ("np.exp(a) @ b + 1", lambda: (normal(1000, 300), normal(300, 1000))),
    "(a @ a.T).sum()": ("(a @ a.T).sum()", lambda: (normal(2000, 500),)),
    "trace(a @ b)": ("np.trace(a @ b)", lambda: (normal(1000, 1000), normal(1000, 1000))),
    "int64": ("a @ b", lambda: (integers(500, 500), integers(500, 500))),
    "int64, large": (
        "a @ b",
        lambda: (integers(500, 500, most=2**62), integers(500, 500, most=2**62)),
    ),
    "int32, large": (
        "a @ b",
        lambda: tuple(integers(500, 500, most=2**30, dtype="int32") for _ in "ab"),
    ),
    "int8": ("a @ b", lambda: tuple(integers(500, 500, dtype="int8") for _ in "ab")),
    "int64 (1e5, 3) @ (3, 3)": ("a @ b", lambda: (integers(100_000, 3), integers(3, 3))),
    "int64 matrix @ vector": ("a @ b", lambda: (integers(2000, 2000), integers(2000))),
    "bool": ("a @ b", lambda: (normal(500, 500) > 1, normal(500, 500) > 1)),
    "tensordot": (
        "np.tensordot(a, b, ((1, 2), (0, 2)))",
        lambda: (normal(60, 70, 80), normal(70, 50, 80)),
    ),
    "einsum, stacked": (
        "np.einsum('bij,bjk->bik', a, b)",
        lambda: (normal(10_000, 4, 4), normal(10_000, 4, 4)),
    ),
    "einsum, rows": ("np.einsum('ij,ij->i', a, b)", lambda: (normal(2000, 500), normal(2000, 500))),
    "solve": ("np.linalg.solve(a, b)", lambda: (positive(500), normal(500))),
    "inv": ("np.linalg.inv(a)", lambda: (positive(500),)),
    "inv (10000, 4, 4)": ("np.linalg.inv(a)", lambda: (normal(10_000, 4, 4),)),
    "det (10000, 4, 4)": ("np.linalg.det(a)", lambda: (normal(10_000, 4, 4),)),
    "inv 10x10": ("np.linalg.inv(a)", lambda: (positive(10),)),
    "eigh 10x10": ("np.linalg.eigh(a)", lambda: (positive(10),)),
    "qr 30x30": ("np.linalg.qr(a)", lambda: (normal(30, 30),)),
    "slogdet 10x10": ("np.linalg.slogdet(a)", lambda: (normal(10, 10),)),
    "eig": ("np.linalg.eig(a)", lambda: (normal(200, 200),)),
    "power 30x30": ("np.linalg.matrix_power(a, 3)", lambda: (normal(30, 30),)),
    "three 100x100": ("a @ b @ a", lambda: (normal(100, 100), normal(100, 100))),
    "(a @ b + 1) * 2, 10x10": ("(a @ b + 1) * 2", lambda: (normal(10, 10), normal(10, 10))),
    "complex 100x100": (
        "a @ b",
        lambda: tuple(normal(100, 100) + 1j * normal(100, 100) for _ in "ab"),
    ),
    "einsum, rows of complex": (
        "np.einsum('ij,ij->i', a, b)",
        lambda: tuple(normal(2000, 50) + 1j * normal(2000, 50) for _ in "ab"),
    ),
    "cholesky": ("np.linalg.cholesky(a)", lambda: (positive(1000),)),
    "eigh": ("np.linalg.eigh(a)", lambda: (positive(400),)),
    "qr": ("np.linalg.qr(a)", lambda: (normal(500, 500),)),
    "svd": ("np.linalg.svd(a)", lambda: (normal(300, 300),)),
    "qr of tall": ("np.linalg.qr(a)", lambda: (normal(200_000, 16),)),
    "svd of tall": ("np.linalg.svd(a, full_matrices=False)", lambda: (normal(200_000, 16),)),
    "three singular values": (
        "np.linalg.svd(a, full_matrices=False)[1][:3]",
        lambda: (normal(200_000, 16),),
    ),
    "norm": ("np.linalg.norm(a)", lambda: (normal(4000, 1000),)),
    "fft of 1e3": ("np.fft.fft(a)", lambda: (normal(1000),)),
    "there and back of 1e3": ("np.fft.irfft(np.fft.rfft(a))", lambda: (normal(1000),)),
    "fft of 1e4": ("np.fft.fft(a)", lambda: (normal(10_000),)),
    "fft of 1e5": ("np.fft.fft(a)", lambda: (normal(100_000),)),
    "fft of 1e6": ("np.fft.fft(a)", lambda: (normal(1_000_000),)),
    "fft of 1e7": ("np.fft.fft(a)", lambda: (normal(10_000_000),)),
    "fft of complex 1e6": ("np.fft.fft(a)", lambda: (normal(1_000_000) + 1j * normal(1_000_000),)),
    "rfft of 1e6": ("np.fft.rfft(a)", lambda: (normal(1_000_000),)),
    "irfft of rfft": ("np.fft.irfft(np.fft.rfft(a))", lambda: (normal(1_000_000),)),
    "fft of rows": ("np.fft.fft(a)", lambda: (normal(2000, 1000),)),
    "fft of columns": ("np.fft.fft(a, axis=0)", lambda: (normal(2000, 1000),)),
    "fft2": ("np.fft.fft2(a)", lambda: (normal(1000, 1000),)),
    "abs(fft)**2": ("np.abs(np.fft.rfft(a)) ** 2", lambda: (normal(1_000_000),)),
    "norms of rows": ("np.linalg.norm(a, axis=1)", lambda: (normal(100_000, 3),)),
}


def run(code: Any, names: dict[str, Any], on: str) -> Any:
    value = eval(code, names)
    to = "numpy" if on == "core" else "cupy"  # where the arrays lie, their results are left
    if isinstance(value, tuple):
        return sc.compute(*value, on=on, to=to) if isinstance(value[0], sc.Array) else value
    return value.compute(on=on, to=to) if isinstance(value, sc.Array) else value


def measured(text: str, arrays: tuple[Any, ...], on: str) -> dict[str, Any]:
    code, letters = compile(text, text, "eval"), "abc"
    to = "numpy" if on == "core" else "cupy"
    other: Any = np if on == "core" else __import__("cupy")
    theirs = {"np": other, **dict(zip(letters, map(other.asarray, arrays), strict=False))}
    held = [sc.asarray(theirs[letter]) for letter, _ in zip(letters, arrays, strict=False)]
    ours = {"np": np, **dict(zip(letters, held, strict=False))}

    clock = time.perf_counter if to == "cupy" else time.process_time

    def seconds(names: dict[str, Any], count: int) -> float:
        start = clock()
        for _ in range(count):
            run(code, names, on)
        if to == "cupy":
            other.cuda.get_current_stream().synchronize()
        return (clock() - start) / count

    seconds(ours, 2)
    count = max(1, int(LEAST / max(seconds(theirs, 2), 1e-7)))
    pairs = [(seconds(ours, count), seconds(theirs, count)) for _ in range(PAIRS)]
    mine, others = ([pair[k] for pair in pairs] for k in (0, 1))
    return {
        "ours": mine,
        "theirs": others,
        "runs": count,
        "ratio": round(min(others) / min(mine), 3),
    }


def facts(on: str) -> dict[str, Any]:
    cpu = next(
        (line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.processor(),
    )
    gpu: dict[str, Any] = {}
    if on != "core":
        cupy: Any = __import__("cupy")
        named = cupy.cuda.runtime.getDeviceProperties(0)["name"]
        gpu = {
            "gpu": named.decode(),
            "cupy": cupy.__version__,
            "cuda": cupy.cuda.runtime.runtimeGetVersion(),
            "driver": cupy.cuda.runtime.driverGetVersion(),
        }
    source = hashlib.sha256()
    for file in sorted(Path(sc.__file__).parent.rglob("*.py")):
        source.update(file.read_bytes())
    return {
        "machine": cpu.partition(":")[2].strip() or cpu,
        "cores": os.cpu_count(),
        "on": on,
        **gpu,
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
        "command": " ".join(["python", f"bench/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "load": os.getloadavg()[0],
        "source": source.hexdigest()[:16],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--on", default="core")
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    with blas_threads(1):
        for name, (text, arrays) in ROWS.items():
            if options.only in name:
                found[name] = {"text": text, **measured(text, arrays(), options.on)}
                one = found[name]
                took = f"{min(one['ours']) * 1e6:10.0f} {min(one['theirs']) * 1e6:10.0f} us"
                print(f"{one['ratio']:8.2f} {took}  {name}", flush=True)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        table = {**facts(options.on), "rows": found}
        options.json.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
