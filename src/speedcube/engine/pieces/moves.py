"""Elements that are only moved: no kernel is prepared for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...expr.nodes import Const, Expr, Leaf, StageResult, Stored
from ...kernel.llvm.elements import FAR
from ..boxes import Stop

Array: TypeAlias = NDArray[Any]

# Elements that NumPy copies at once: between two of its calls it is seen whether to stop.
_AT_ONCE: Final = 1 << 22
# Copies of each element side by side, up to which each of them is written by itself, and elements
# of the result that stay in the cache until the last one is.
_COPIES: Final = 16
_IN_CACHE: Final = 1 << 15


def passes_the_cache(root: Expr, out: Array) -> bool:
    """Whether ``root`` lies in memory in rows, and is so much that a kernel stores past the cache.

    NumPy does not: `insert` of a row into 32 MB takes 2.4 ms by its copies, 2.1 so.
    """
    if not isinstance(root, Leaf) or isinstance(root.source, Const):
        return False
    return out.nbytes >= FAR and root.strides[-1] == 1


def moved(root: Expr, inputs: Mapping[int, Array], out: Any, stop: Stop) -> bool:
    """Whether ``root`` is a constant or lies in memory as it is, and so was copied to ``out``.

    NumPy copies as fast as a kernel, and none has to be prepared.
    """
    values = values_of(root, inputs) if isinstance(out, np.ndarray) else None
    if values is not None and out.size:
        copied(values, out, stop)
    return values is not None


def values_of(root: Expr, inputs: Mapping[int, Array]) -> Array | None:
    """The elements of ``root``, or its one number, where no kernel is needed for them."""
    if not isinstance(root, Leaf):
        return None
    source = root.source
    if isinstance(source, Const):
        if root.dtype == "float64" or root.dtype[0] in "iub":
            return np.array(source.value, root.dtype)
        with np.errstate(over="ignore"):
            return np.array(source.value, root.dtype)
    memory = inputs.get(id(source))
    if memory is None and isinstance(source, Stored):
        memory = source.buffer
    if not isinstance(source, StageResult | Stored) or not isinstance(memory, np.ndarray):
        return None
    return _window(root, memory)


def copied(values: Array, out: Array, stop: Stop) -> None:
    """Copy ``values`` to ``out``."""
    repeated = values.ndim > 0 and 1 < out.shape[-1] <= _COPIES and not values.strides[-1]
    most = _IN_CACHE if repeated else _AT_ONCE
    if out.size > most and out.shape[0] > 1:
        rows = max(1, out.shape[0] * most // out.size)
        for first in range(0, len(out), rows):
            here = slice(first, first + rows)
            if not stop.is_set():
                copied(values[here] if values.ndim else values, out[here], stop)
    elif repeated:
        for k in range(out.shape[-1]):
            out[..., k] = values[..., k]
    else:
        out[...] = values


def _window(leaf: Leaf, memory: Array) -> Array:
    """The elements that ``leaf`` reads, where they lie: position 0 is the first of ``memory``."""
    size = memory.itemsize
    interface = {
        "version": 3,
        "typestr": memory.dtype.str,
        "shape": leaf.shape,
        "strides": tuple(step * size for step in leaf.strides),
        "data": (memory.ctypes.data + leaf.offset * size, True),
    }
    return np.asarray(LentMemory(interface, memory))


class LentMemory:
    """Memory that ``owner`` keeps, for NumPy: gone as soon as nobody reads it."""

    def __init__(self, interface: dict[str, Any], owner: Array) -> None:
        self.__array_interface__, self.owner = interface, owner
