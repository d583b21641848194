"""Sorting, selecting and counting on a GPU beside CuPy: seconds of every run, and hashes of bits.

    python bench/order.py --on gpu --json measurements/order/h200.json

Arrays lie in the GPU's memory, and so do results. At a size that a core can do, the hash of what
the GPU gives is compared with the core's.
"""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

import speedcube as sc

LARGE: Final = 10**9
SMALL: Final = 3 * 10**6


def _published(rows: int = 500_000, columns: int = 500_000) -> Any:
    return (sc.random.default_rng(42).normal(10, 1, size=(rows, columns)) + 1)[::2, ::2]


def stored(on: str, size: int) -> dict[str, Any]:
    """The arrays, which are drawn with the same bits on a core and on a GPU, in its memory."""
    rng = sc.random.default_rng(5)
    drawn = {
        "x": rng.normal(size=size),
        "i": rng.integers(0, 1000, size=size, dtype="int32"),
        "n": rng.integers(-(2**63), 2**63, size=size),
        "j": rng.integers(0, size // 10, size=size, dtype="int32"),
    }
    return {name: x.compute(on=on, to=_TO[on]) for name, x in drawn.items()}


_TO: Final = {"core": "numpy", "gpu": "cupy"}


def _in_memory(made: Any) -> Any:
    """What lies in memory already: there is nothing to compute."""
    return made._expr.source.buffer if isinstance(made, sc.Array) else made


def _histogram(np_: Any, x: Any, *rest: Any) -> Any:
    return np_.histogram(x, 100, *rest)[0]


def _scattered(np_: Any, op: str, i: Any, x: Any) -> Any:
    """Zeros with ``x`` added, or held against them, at a tenth as many places."""
    start = np_.zeros(x.size // 10, dtype=x.dtype)
    if np_ is sc:
        return getattr(start.at[i], op)(x)
    getattr(np_, {"add": "add", "max": "maximum"}[op]).at(start, i, x)
    return start


def _means(np_: Any, i: Any, x: Any) -> Any:
    if np_ is sc:
        return sc.groupby(x, i, expected_groups=np.arange(1000)).mean()
    return np_.bincount(i, x) / np_.bincount(i)


def _of_groups(op: str) -> Callable[..., Any]:
    """CuPy has none of them: the row is ours alone."""

    def grouped(np_: Any, i: Any, x: Any) -> Any:
        if np_ is not sc:
            raise NotImplementedError("CuPy has no groups")
        groups = sc.groupby(x, i, expected_groups=np.arange(1000))
        return getattr(groups, op)()

    return grouped


def _rows(np_: Any, op: str, length: int, x: Any) -> Any:
    lines = x.size // (10 * length)  # a tenth of the elements
    return getattr(np_, op)(x[: lines * length].reshape(-1, length), axis=1)


# What is done with CuPy or ours, with which array, and CuPy's own way where it differs.
ROWS: Final[dict[str, tuple[Callable[..., Any], tuple[str, ...]]]] = {
    "median": (lambda np_, x: np_.median(x), ("x",)),
    "quantile 0.9": (lambda np_, x: np_.quantile(x, 0.9), ("x",)),
    "three quantiles": (lambda np_, x: np_.quantile(x, np.array([0.1, 0.5, 0.9])), ("x",)),
    "histogram, range": (lambda np_, x: _histogram(np_, x, (-4.0, 4.0)), ("x",)),
    "histogram": (_histogram, ("x",)),
    "bincount": (lambda np_, i: np_.bincount(i), ("i",)),
    "bincount, weights": (lambda np_, i, x: np_.bincount(i, x), ("i", "x")),
    "scatter-add": (lambda np_, j, x: _scattered(np_, "add", j, x), ("j", "x")),
    "scatter-add, integers": (lambda np_, j, n: _scattered(np_, "add", j, n), ("j", "n")),
    "scatter-max": (lambda np_, j, x: _scattered(np_, "max", j, x), ("j", "x")),
    "group means": (_means, ("i", "x")),
    **{f"group {op}": (_of_groups(op), ("i", "x")) for op in ("std", "max", "argmin", "first")},
    "medians of 50": (lambda np_, x: _rows(np_, "median", 50, x), ("x",)),
    "sorted 50": (lambda np_, x: _rows(np_, "sort", 50, x), ("x",)),
    "sort": (lambda np_, x: np_.sort(x), ("x",)),
    "argsort": (lambda np_, x: np_.argsort(x), ("x",)),
    "unique integers": (lambda np_, n: _in_memory(np_.unique(n)), ("n",)),
}
# The published array's, drawn again in each pass: nobody stores it.
DRAWN: Final[dict[str, Callable[[Any], Any]]] = {
    "sum": lambda x: x.sum(),
    "median": sc.median,
    "three quantiles": lambda x: sc.quantile(x, [0.1, 0.5, 0.9]),
    "histogram, range": lambda x: _histogram(sc, x, (4, 18)),
}


def _done(made: Any) -> Any:
    return made.compute(on="gpu", to="cupy") if isinstance(made, sc.Array) else made


def seconds(work: Callable[[], Any], repeats: int) -> list[float]:
    """Each of ``repeats`` runs, after one that compiles."""
    import cupy

    wait, times = cupy.cuda.get_current_stream().synchronize, []
    for _ in range(repeats + 1):
        wait()
        start = time.perf_counter()
        made = work()
        wait()
        times.append(time.perf_counter() - start)
        del made
    return times[1:]


def digest(value: Any) -> str:
    """A hash of the bits of ``value``."""
    array = np.ascontiguousarray(value.get() if hasattr(value, "get") else value)
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


def _row(name: str, large: dict[str, Any], small: dict[str, Any], repeats: int) -> dict[str, Any]:
    import cupy

    work, names = ROWS[name]
    own = [sc.asarray(large[one]) for one in names]
    found: dict[str, Any] = {"speedcube": seconds(lambda: _done(work(sc, *own)), repeats)}
    cupy.get_default_memory_pool().free_all_blocks()
    try:
        theirs = seconds(lambda: work(cupy, *(large[one] for one in names)), min(repeats, 3))
        found["cupy"] = theirs
        found["ratio"] = min(theirs) / min(found["speedcube"])
    except Exception as err:  # CuPy's own limits are a row's result, too
        found["cupy"] = repr(err)[:200]
    cupy.get_default_memory_pool().free_all_blocks()
    few = [small[one] for one in names]
    found["hash"] = digest(_done(work(sc, *(sc.asarray(cupy.asarray(one)) for one in few))))
    with sc.on("core"):
        found["core's hash"] = digest(np.asarray(work(sc, *map(sc.asarray, few))))
    found["same bits"] = found["hash"] == found["core's hash"]
    return found


def _drawn_row(name: str, repeats: int) -> dict[str, Any]:
    work = DRAWN[name]
    found: dict[str, Any] = {"speedcube": seconds(lambda: _done(work(_published())), repeats)}
    found["result"] = np.asarray(_done(work(_published())).get()).tolist()
    few = _published(3000, 4001)
    found["hash"] = digest(_done(work(few)))
    with sc.on("core"):
        found["core's hash"] = digest(np.asarray(work(few)))
    found["same bits"] = found["hash"] == found["core's hash"]
    return found


def machine() -> dict[str, Any]:
    import cupy

    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    driver = subprocess.run(query, capture_output=True, text=True).stdout.strip()
    return {
        "gpu": name,
        "driver": driver,
        "cupy": cupy.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "speedcube": sc.__version__,
        "command": " ".join(sys.argv),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def measure(path: Path | None, repeats: int, only: str, size: int = LARGE) -> None:
    """All rows, whose names hold ``only``."""
    import cupy

    report: dict[str, Any] = {**machine(), "elements": size, "rows": {}}
    rows = report["rows"]

    def note(name: str, found: dict[str, Any]) -> None:
        rows[name] = found
        theirs = found.get("cupy", "")
        least = min(theirs) if isinstance(theirs, list) else theirs
        print(f"{name:32s} {min(found['speedcube']):.5f} {least} {found['same bits']}", flush=True)
        if path:
            path.write_text(json.dumps(report, indent=1) + "\n")

    large, small = stored("gpu", size), stored("core", SMALL)
    for name in ROWS:
        if only in name:
            note(name, _row(name, large, small, repeats))
    del large
    cupy.get_default_memory_pool().free_all_blocks()
    for name in DRAWN:
        if only in name:
            note(f"published, {name}", _drawn_row(name, min(repeats, 5)))
