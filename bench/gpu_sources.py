"""Host arrays and files in the page cache reduced on a GPU: gigabytes a second, beside CuPy.

    python bench/gpu_sources.py [--gigabytes 4] [--json FILE]

Ours and CuPy's take turns, and of each the shortest of the repeats counts. CuPy's way is that of
its users: the array, or `np.load`'s, handed to `cupy.asarray`. The bus is measured with one copy
out of pinned memory.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from device_order import machine

import speedcube as sc

REPEATS: Final = 7
PROGRAMS: Final[dict[str, Callable[[Any], Any]]] = {
    "sum": lambda x: x.sum(),
    "mean(axis=0)": lambda x: x.mean(axis=0),
    "max(axis=1)": lambda x: x.max(axis=1),
}


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def row(
    ours: Callable[[], Any], theirs: Callable[[], Any] | None, size: int, repeats: int
) -> dict[str, Any]:
    """Seconds of every run and the best rates; the bits of ours."""
    _, result = seconds(ours)
    found: dict[str, Any] = {"ours": [], "cupy": []}
    for _ in range(repeats):
        found["ours"].append(seconds(ours)[0])
        if theirs is not None:
            found["cupy"].append(seconds(theirs)[0])
    bits = hashlib.sha256(np.asarray(result).tobytes()).hexdigest()[:16]
    rates = {f"{k} GB/s": round(size / min(v) / 1e9, 1) for k, v in found.items() if v}
    return {"bits": bits, **rates, **found}


def pinned_like(array: Any) -> Any:
    import cupy

    memory = cupy.cuda.alloc_pinned_memory(array.nbytes)
    pinned = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
    pinned[...] = array
    return pinned


def bus(pinned: Any) -> float:
    """Gigabytes a second of one copy out of pinned memory."""
    import cupy

    there, stream = cupy.empty(pinned.shape, pinned.dtype), cupy.cuda.get_current_stream()

    def copy() -> None:
        to, from_ = there.data.ptr, pinned.ctypes.data
        cupy.cuda.runtime.memcpyAsync(to, from_, pinned.nbytes, 1, stream.ptr)
        stream.synchronize()

    return round(pinned.nbytes / min(seconds(copy)[0] for _ in range(REPEATS)) / 1e9, 1)


def sources(folder: Path, data: Any) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Of each source what opens it for speedcube, and what reads it for CuPy."""
    import cupy

    pinned = pinned_like(data)
    np.save(folder / "x.npy", data)
    found: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "pinned array": (lambda: sc.asarray(pinned), lambda: cupy.asarray(pinned)),
        "array": (lambda: sc.asarray(data), lambda: cupy.asarray(data)),
        ".npy": (
            lambda: sc.open(folder / "x.npy"),
            lambda: cupy.asarray(np.load(folder / "x.npy")),
        ),
    }
    try:
        import zarr
    except ImportError:
        return found
    rows = max(1, (32 << 20) // data[0].nbytes)
    stored = zarr.create_array(
        str(folder / "x.zarr"),
        shape=data.shape,
        dtype=data.dtype,
        chunks=(rows, *data.shape[1:]),
        compressors=None,
    )
    stored[...] = data
    found["raw Zarr"] = (
        lambda: sc.open(folder / "x.zarr"),
        lambda: cupy.asarray(zarr.open(str(folder / "x.zarr"), mode="r")[...]),
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    shape = (round(options.gigabytes * 1e9 / 8 / 4000), 4000)
    data = np.random.default_rng(5).standard_normal(shape)
    found: dict[str, Any] = {**machine(), "shape": shape, "dtype": "float64", "repeats": REPEATS}
    folder = Path(tempfile.mkdtemp(prefix="speedcube-bench-"))
    try:
        found["pinned copy alone GB/s"] = bus(pinned_like(data))
        found["rows"] = {}
        for name, (ours, theirs) in sources(folder, data).items():
            for text, run in PROGRAMS.items():
                mine = seconds_of(ours, run)
                its = seconds_of(theirs, run) if text == "sum" else None
                one = row(mine, its, data.nbytes, REPEATS)
                found["rows"][f"{text} of {name}"] = one
                print(name, text, {k: v for k, v in one.items() if "GB" in k}, flush=True)
                if options.json:
                    options.json.write_text(json.dumps(found, indent=1) + "\n")
    finally:
        shutil.rmtree(folder)


def seconds_of(opened: Callable[[], Any], run: Callable[[Any], Any]) -> Callable[[], Any]:
    """What opens a source, computes on a GPU, and has the result on the host."""

    def value() -> Any:
        result = run(opened())
        return result.compute(on="gpu") if isinstance(result, sc.Array) else result.get()

    return value


if __name__ == "__main__":
    main()
