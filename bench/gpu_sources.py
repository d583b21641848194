"""Host arrays and files in the page cache reduced on a GPU: gigabytes a second, beside CuPy.

    python bench/gpu_sources.py [--gigabytes 4] [--json FILE]

Ours and CuPy's take turns, and of each the shortest of the repeats counts. CuPy's way is that of
its users: the array, or `np.load`'s, handed to `cupy.asarray`. The bus is measured with one copy
out of pinned memory. Zstandard's chunks stand beside decoding them alone: each thread of the host
decodes whole chunks, out of the page cache, into one buffer of its own.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from device_order import machine

import speedcube as sc

REPEATS: Final = 7
ZARR: Final = {"raw Zarr": 32 << 20, "zstd Zarr": 8 << 20, "zstd Zarr of large chunks": 32 << 20}
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
    rounded = np.round(data, 2)  # as measured data are: of random bits Zstandard only copies
    for name, chunk in ZARR.items():
        path = folder / f"{name}.zarr"
        write_zarr(path, rounded if "zstd" in name else data, chunk, name)
        found[name] = (partial(sc.open, path), partial(as_cupy, path))
    return found


def write_zarr(path: Path, data: Any, chunk: int, name: str) -> None:
    """Rows of ``chunk`` bytes are a chunk; Zarr's own choice of a codec is Zstandard."""
    import zarr

    zarr.create_array(
        str(path),
        shape=data.shape,
        dtype=data.dtype,
        chunks=(max(1, chunk // data[0].nbytes), *data.shape[1:]),
        compressors="auto" if "zstd" in name else None,
    )[...] = data


def as_cupy(path: Path) -> Any:
    import cupy
    import zarr

    return cupy.asarray(zarr.open(str(path), mode="r")[...])


def decoding(path: Path, data: Any, chunk: int) -> dict[str, Any]:
    """Gigabytes a second of decoding all chunks of a Zarr array by as many threads as cores."""
    from numcodecs.zstd import Zstd

    chunks = sorted(p for p in (path / "c").rglob("*") if p.is_file())
    threads, own = len(os.sched_getaffinity(0)), threading.local()
    rows = max(1, chunk // data[0].nbytes)

    def decode(file: Path) -> None:
        if not hasattr(own, "buffer"):
            own.buffer = np.empty((rows, *data.shape[1:]))
        Zstd().decode(file.read_bytes(), out=own.buffer)

    with ThreadPoolExecutor(threads) as pool:
        times = [seconds(lambda: list(pool.map(decode, chunks)))[0] for _ in range(REPEATS)]
    return {"threads": threads, "GB/s": round(data.nbytes / min(times) / 1e9, 1), "seconds": times}


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
        for name in filter(lambda name: "zstd" in name, ZARR):
            alone = decoding(folder / f"{name}.zarr", data, ZARR[name])
            found[f"decoding of {name} alone"] = alone
            print(f"decoding of {name} alone", alone["GB/s"], "GB/s", flush=True)
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
