"""Integers added by number, and least and greatest values, by a GPU: atomics, in any order."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ....expr import build
from ....expr.nodes import Expr, Map
from ....expr.through.node import Through
from ....expr.through.ordering import neutral
from ....kernel.cuda.ordering import foremost, words
from ....kernel.cuda.ordering.foremost import DeviceValues
from .sweeps import SCATTERED, DeviceWork, run_fixed

_ORDER: Final = {"scatter_min": "least", "scatter_max": "greatest"}


def scattered(source: Through, work: DeviceWork) -> Any:
    """The sum, least or greatest of the values of each number below the length."""
    work, length = work.in_one_kernel(), source.options[0]
    root = work.root
    assert isinstance(root, Map)
    index, values = root.args
    if source.op == "scatter_add":
        return added(work, length).view(np.dtype(source.dtype))
    dtype = np.dtype(values.dtype)
    if dtype.kind == "f":
        values = build.elementwise("add", [values, 0.0])  # zeros without a sign
    order = _ORDER[source.op]
    keys = keys_of(order, work, index, values, length)
    return values_of(order, keys, dtype, neutral(source.op, dtype), work.device)


def added(work: DeviceWork, length: int) -> Any:
    """The sums, in 64 bits, of integers by number."""
    import cupy

    out = cupy.zeros(words.SUMS + length, np.uint64)
    head = np.zeros(words.SUMS, np.uint64)
    head[words.LENGTH] = length
    out[: words.SUMS] = cupy.asarray(head)
    with work.sweeping("scatter") as sweep:
        sweep.run(out, SCATTERED)
    return out[words.SUMS :]


def wide(values: Expr) -> Expr:
    """``values`` in 64 bits, in which they have the same order."""
    kind = np.dtype(values.dtype).kind
    return build.cast(values, "float64" if kind == "f" else "uint64" if kind == "u" else "int64")


def keys_of(order: str, work: DeviceWork, index: Expr, values: Expr, length: int) -> Any:
    """For each number the key of the value that is first in ``order``."""
    import cupy

    keys = cupy.zeros(length, np.uint64)
    keys -= np.uint64(1)
    sweep_by(order, work.several(index, wide(values)), length, {foremost.KEYS: keys})
    return keys


def sweep_by(kind: str, work: DeviceWork, length: int, arrays: dict[int, Any]) -> None:
    """A pass of a sink of ``kind`` beside ``arrays`` of words of each number."""
    import cupy

    head = np.zeros(foremost.HEAD, np.uint64)
    head[foremost.LENGTH] = length
    for word, array in arrays.items():
        head[word] = int(array.data.ptr)
    with work.sweeping(kind) as sweep:
        sweep.run(cupy.asarray(head), SCATTERED)


def values_of(order: str, keys: Any, dtype: Any, nothing: Any, device: int) -> Any:
    """The values of ``keys``, ``nothing`` where there is no key."""
    kind = {"f": "float64", "u": "uint64"}.get(dtype.kind, "int64")
    (bits,) = np.array([nothing], kind).view(np.uint64).tolist()
    places = int(keys.data.ptr)
    program = DeviceValues(kind, order == "greatest")
    run_fixed(program, device, keys.size, (keys.size, places, places, bits))
    return keys.view(kind).astype(dtype)
