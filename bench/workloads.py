"""What people compare array libraries by: ours beside dask.array, on the same rung and chunks.

The operations of dask-cuda's benchmark of arrays, and the array benchmarks of Coiled, at sizes that
fit here. Each is one function of a module (``dask.array`` or ``speedcube``) and of arrays that both
hold in memory. A ratio is Dask's time over ours, the least of runs that take turns: CPU seconds on
``core``, seconds elsewhere.

    taskset -c 0 python bench/workloads.py --on core --json measurements/workloads/core.json
    python bench/workloads.py --on gpu --scale 4 --json measurements/workloads/gpu.json

A row whose peer or file format is not installed says so. The exit status is 1 where one fails.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import dask
import dask.array
import numpy as np

import speedcube as sc

Make = Callable[[float], tuple[Any, ...]]


@dataclass(frozen=True)
class Workload:
    """``run(module, *arrays)``; ``make(scale)`` gives values with their chunks, or others.

    ``needs``: a package without which the row is left out; of SciPy a GPU has CuPy's.
    """

    make: Make
    run: Callable[..., Any]
    needs: str = ""


def _side(scale: float, side: int, multiple: int = 4) -> int:
    """``side`` where ``scale`` is 1, for so many elements; a multiple."""
    return max(multiple, int(side * scale**0.5) // multiple * multiple)


def square(side: int, count: int = 1, parts: int = 4) -> Make:
    """So many matrices, cut into ``parts`` along each axis."""

    def make(scale: float) -> tuple[Any, ...]:
        n = _side(scale, side, parts)
        rng = np.random.default_rng(1)
        return tuple((rng.normal(size=(n, n)), (n // parts, n // parts)) for _ in range(count))

    return make


def columns(scale: float) -> tuple[Any, ...]:
    """A matrix that is cut along its second axis alone, as Dask's transforms of columns ask for."""
    ((x, (_, part)),) = square(2000)(scale)
    return ((x, (len(x), part)),)


def tall(scale: float) -> tuple[Any, ...]:
    """A tall matrix of few columns, cut along its rows alone, as Dask's ``svd`` asks for."""
    rows, width = _side(scale, 10_000), min(400, _side(scale, 400))
    return ((np.random.default_rng(1).normal(size=(rows, width)), (rows // 4, width)),)


def picked(scale: float) -> tuple[Any, ...]:
    ((x, chunks),) = square(4000)(scale)
    return (x, chunks), np.random.default_rng(2).integers(0, len(x), len(x))


def mean_filter(module: ModuleType, x: Any) -> Any:
    return x.map_overlap(_filtered, depth=1, boundary="reflect", dtype=float)


def _filtered(block: Any) -> Any:
    if hasattr(block, "__cuda_array_interface__"):
        from cupyx.scipy.ndimage import uniform_filter as on_gpu

        return on_gpu(block, 3)
    from scipy.ndimage import uniform_filter

    return uniform_filter(block, 3)


def fields(scale: float) -> tuple[Any, ...]:
    """Two winds by time, latitude and longitude, and the sizes of cells."""
    n = _side(scale, 720, 8)
    rng = np.random.default_rng(1)
    u, v = (rng.normal(size=(10, n, 2 * n)) for _ in range(2))
    cells = rng.random((n, 2 * n)) + 1
    return (u, (5, n // 2, n)), (v, (5, n // 2, n)), (cells, (n // 2, n))


def vorticity(module: ModuleType, u: Any, v: Any, cells: Any) -> Any:
    east = module.pad(v, ((0, 0), (0, 0), (0, 1)), mode="wrap")
    north = module.pad(u, ((0, 0), (0, 1), (0, 0)), mode="wrap")
    return (east[..., 1:] - v) * cells[None] - (north[:, 1:] - u) * cells[None]


def winds(scale: float) -> tuple[Any, ...]:
    """Two winds by latitude, longitude and time, and the sizes of cells with a border."""
    n = _side(scale, 720, 8)
    rng = np.random.default_rng(1)
    u, v = (rng.normal(size=(n, 2 * n, 10)) for _ in range(2))
    dx, dy = (rng.random((n + 2, 2 * n + 2)) + 1 for _ in range(2))
    chunks = (n // 2, n, 5)
    return (u, chunks), (v, chunks), (dx, (n, n)), (dy, (n, n))


def padded(module: ModuleType, u: Any, v: Any, dx: Any, dy: Any) -> Any:
    """The same as the benchmark has it: cells beside time, which is the last axis there."""
    sides = ((1, 1), (1, 1), (0, 0))
    u, v = module.pad(u, sides, mode="wrap"), module.pad(v, sides, mode="wrap")
    return dx[..., None] * u - dy[..., None] * v


def many_blocks(scale: float) -> tuple[Any, ...]:
    n = _side(scale, 4000, 50)
    return ((np.random.default_rng(1).normal(size=(n, n)), (50, 50)),)


def overlap_slice(module: ModuleType, x: Any) -> Any:
    return module.overlap.overlap(x, depth=1, boundary="none")[:10, :10]


def times(scale: float) -> tuple[Any, ...]:
    n = _side(scale, 400, 8)
    rng = np.random.default_rng(1)
    return tuple((rng.normal(size=(100, 1, n, n)), (10, 1, n, n // 2)) for _ in range(2))


def quadratic_means(module: ModuleType, u: Any, v: Any) -> Any:
    squares = u**2
    products = u * v
    return module.stack([squares.mean(axis=0), products.mean(axis=0)]).mean(axis=-1)


def anomaly(module: ModuleType, u: Any, v: Any) -> Any:
    by_day = u.reshape((10, 10, *u.shape[1:]))
    return (by_day - by_day.mean(axis=0)).mean(axis=(0, 2, 3, 4))


def zeros_mapped(module: ModuleType, n: int) -> Any:
    return module.zeros((n, n), chunks=(n // 4, n // 4)).map_blocks(np.cos).sum(axis=1)


def groups(scale: float) -> tuple[Any, ...]:
    """Chunks of which those that are neighbours become one."""
    n = max(8, int(160 * scale) // 8 * 8)
    values = np.random.default_rng(1).normal(size=(n, 10, 10_000))
    return ((values, (n // 8, 2, 5000)),)


def healed(module: ModuleType, x: Any) -> Any:
    """Many small chunks made few, of which the borders are others."""
    return x.rechunk((x.shape[0] // 3, x.shape[1] // 3)).sum()


def taken(scale: float) -> tuple[Any, ...]:
    """A cube, and an index of its second axis of which a tenth is shuffled."""
    n = max(8, int(250 * scale ** (1 / 3)) // 8 * 8)
    rng = np.random.default_rng(1)
    index = np.arange(n)
    rng.shuffle(index[: n // 10])
    return (rng.normal(size=(n, n, n)), (n // 8,) * 3), index


def rechunked(module: ModuleType, x: Any) -> Any:
    return x.rechunk((x.shape[0] // 8, -1)).map_blocks(lambda b: b - b[:, :1], dtype=float)


def of_file(scale: float) -> tuple[Any, ...]:
    """A Zarr array in a directory of its own, and how much of it is read."""
    import zarr

    n = max(16, int(240 * scale ** (1 / 3)))
    values = np.random.default_rng(1).normal(size=(n, n, n))
    folder = tempfile.mkdtemp(prefix="workload-")
    file = zarr.create_array(f"{folder}/cube.zarr", data=values, chunks=(n // 4,) * 3)
    return file, n // 3


ROWS: Final[dict[str, Workload]] = {
    # dask-cuda's
    "(x + x.T).sum()": Workload(square(4000), lambda m, x: (x + x.T).sum()),
    "x.dot(y)": Workload(square(1500, 2), lambda m, x, y: x.dot(y)),
    "svd(x)": Workload(tall, lambda m, x: m.linalg.svd(x)[1]),
    "fft(x, axis=0)": Workload(columns, lambda m, x: m.fft.fft(x, axis=0)),
    "x.sum()": Workload(square(4000), lambda m, x: x.sum()),
    "x.mean()": Workload(square(4000), lambda m, x: x.mean()),
    "x[::3].copy()": Workload(square(4000), lambda m, x: x[::3].copy()),
    "x + y": Workload(square(4000, 2), lambda m, x, y: x + y),
    "x[y > 1]": Workload(square(4000, 2), lambda m, x, y: x[y > 1]),
    "x[index]": Workload(picked, lambda m, x, index: x[index]),
    "map_overlap": Workload(square(4000), mean_filter, "scipy"),
    # Coiled's
    "zeros, map_blocks, sum": Workload(lambda scale: (_side(scale, 4000),), zeros_mapped),
    "vorticity": Workload(fields, vorticity),
    "vorticity, padded": Workload(winds, padded),
    "double difference": Workload(square(4000, 2), lambda m, a, b: a[1:, 1:] - b[:-1, :-1]),
    "(a @ a.T).sum()": Workload(square(1500), lambda m, a: (a @ a.T).sum()),
    "overlap, then a slice": Workload(many_blocks, overlap_slice),
    "quadratic means": Workload(times, quadratic_means),
    "anomaly by day": Workload(times, anomaly),
    "rechunk to rows": Workload(square(4000), rechunked),
    "rechunk, axes swapped": Workload(square(4000), lambda m, x: rechunked(m, x.T)),
    "tiles to rows, sum": Workload(
        square(4000), lambda m, x: x.rechunk((-1, x.shape[1] // 8)).sum()
    ),
    "swapped axes, sum": Workload(columns, lambda m, x: x.rechunk((x.shape[0] // 4, -1)).sum()),
    "adjacent chunks, sum": Workload(
        groups, lambda m, x: x.rechunk((x.shape[0] // 8, 5, 10_000)).sum()
    ),
    "healed chunks, sum": Workload(square(4000, 1, 40), healed),
    "x[:, index].sum()": Workload(taken, lambda m, x, index: x[:, index, :].sum()),
    "a[a > t].mean()": Workload(square(4000), lambda m, a: a[a > 1].mean()),
    "(a - a.mean(0)).sum()": Workload(square(4000), lambda m, a: (a - a.mean(axis=0)).sum()),
    "a corner of Zarr": Workload(of_file, lambda m, file, n: m.from_zarr(file)[:n, :n, :n], "zarr"),
}


def held(module: ModuleType, given: Any) -> Any:
    """An array of the module, in memory; what is none stays."""
    if not isinstance(given, tuple):
        return given
    values, chunks = given
    array = module.from_array(values, chunks=chunks)
    return array.persist()


def computed(array: Any, gpu: bool) -> Any:
    """The values, where the rung has them."""
    if not gpu:
        return array.compute()
    values = array.compute(to="cupy") if isinstance(array, sc.Array) else array.compute()
    import cupy

    cupy.cuda.get_current_stream().synchronize()
    return values


def seconds(row: Workload, module: ModuleType, arrays: list[Any], on: str) -> float:
    clock = time.process_time if on == "core" else time.perf_counter
    start = clock()
    computed(row.run(module, *arrays), on.startswith("gpu"))
    return clock() - start


def compared(name: str, on: str, repeats: int, scale: float) -> dict[str, Any]:
    """All times of one row, and the ratio of the least ones."""
    row = ROWS[name]
    is_there = not row.needs or importlib.util.find_spec(row.needs) is not None
    if not is_there and not (row.needs == "scipy" and on.startswith("gpu")):
        return {"left out": f"{row.needs} is not installed"}
    given = row.make(scale)
    times: dict[str, list[float]] = {"dask": [], "speedcube": []}
    with sc.on(on):
        arrays = {module: [held(module, one) for one in given] for module in (dask.array, sc)}
        for who, module in (("dask", dask.array), ("speedcube", sc)) * repeats:
            try:
                times[who].append(seconds(row, module, arrays[module], on))
            except Exception as error:
                return {"fails": f"{type(error).__name__}: {error}"[:200], "of": who}
    return {**times, "ratio": min(times["dask"]) / min(times["speedcube"])}


def _machine() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line for line in lines if "model name" in line), "")
    return model.partition(":")[2].strip() or platform.machine()


def _device(on: str) -> str:
    if not on.startswith("gpu"):
        return ""
    import cupy

    return str(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", default="core", help="a rung: core, cores:2, gpu")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="elements, of the sizes written")
    parser.add_argument("--only", default="", help="rows whose names contain this")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for name in (row for row in ROWS if options.only in row):
        found[name] = compared(name, options.on, options.repeats, options.scale)
        said = found[name].get("ratio")
        print(f"{name:24s} {said:6.2f}" if said else f"{name:24s} {found[name]}", flush=True)
    ratios = [one["ratio"] for one in found.values() if "ratio" in one]
    if ratios:
        print(f"{'median':24s} {statistics.median(ratios):6.2f}")
        print(f"{'least':24s} {min(ratios):6.2f}")
    if options.json:
        text = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": " ".join(sys.argv),
            "machine": _machine(),
            "cores": os.cpu_count(),
            "device": _device(options.on),
            "on": options.on,
            "scale": options.scale,
            "load": os.getloadavg()[0],
            "versions": {one.__name__: one.__version__ for one in (np, dask, sc)},
            "rows": found,
        }
        text["hash"] = hashlib.sha256(json.dumps(found).encode()).hexdigest()
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(text, indent=1) + "\n")
    sys.exit(any("fails" in one for one in found.values()))


if __name__ == "__main__":
    main()
