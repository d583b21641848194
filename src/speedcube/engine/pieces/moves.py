"""Elements that are only moved: no kernel is prepared for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from operator import add
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...expr.nodes import (
    Const,
    Expr,
    Leaf,
    Piecewise,
    Shape,
    StageResult,
    Stored,
    c_strides,
    is_whole,
)
from ...expr.piecewise.order import memory_order
from ...kernel.llvm.memory import FAR, LONG_ROW
from ..boxes import Stop
from ..results import room

Array: TypeAlias = NDArray[Any]

# Elements that NumPy copies at once: between two of its calls it is seen whether to stop.
_AT_ONCE: Final = 1 << 22
_ROWS: Final = 1 << 25  # elements of rows that it repeats at once
_PIECES: Final = 1 << 6  # that are put together at once: 2 us each
_NEVER: Final = Stop()
_OF_MEMORY: Final = (Stored, StageResult)
# Copies of each element side by side, up to which each of them is written by itself, and elements
# of the result that stay in the cache until the last one is.
_COPIES: Final = 16
_IN_CACHE: Final = 1 << 15


def passes_the_cache(root: Expr, share: Array, stored: int | None = None) -> bool:
    """Whether ``root`` lies in memory in rows that a kernel stores past the cache into ``share``.

    Of ``stored`` bytes, those of the share unless there are others.

    NumPy does not: `insert` of a row into 32 MB takes 2.4 ms by its copies, 2.1 so. Short rows
    are copied sooner: a border round 136,000 rows of 62 takes 13 ms, by kernels 20.
    """
    if not isinstance(root, Leaf) or isinstance(root.source, Const) or root.strides[-1:] != (1,):
        return False
    if (share.nbytes if stored is None else stored) < FAR:
        return False
    beside = share.itemsize  # bytes that lie side by side
    for n, step in zip(reversed(share.shape), reversed(share.strides), strict=True):
        if step != beside:
            break
        beside *= n
    return beside >= LONG_ROW


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
        if source.dtype == "float64" or source.dtype[0] in "iub" or not source.value:
            return np.array(source.value, source.dtype)
        with np.errstate(over="ignore"):
            return np.array(source.value, root.dtype)
    memory = inputs.get(id(source)) if inputs else None
    if memory is None and isinstance(source, Stored):
        memory = source.buffer
    elif not isinstance(source, _OF_MEMORY):
        return None
    return window(root, memory) if isinstance(memory, np.ndarray) else None


def copied(values: Array, out: Array, stop: Stop) -> None:
    """Copy ``values`` to ``out``."""
    values, out = _pairs(values, out)
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


# What two elements of as many bytes that lie side by side are moved as.
_PAIR: Final = {1: np.int16, 2: np.int32, 4: np.int64, 8: np.complex128}


def _pairs(values: Array, out: Array) -> tuple[Array, Array]:
    """``values`` and ``out``; where all rows have two elements, each row as one.

    Complex numbers lie so. NumPy copies rows of two in twice the time of as many numbers.
    """
    size = out.itemsize
    rows = values.ndim == out.ndim > 1 and out.shape[-1] == 2
    if not rows or size not in _PAIR or values.strides[-1] != size or out.strides[-1] != size:
        return values, out
    pair = _PAIR[size]
    return values.view(pair)[..., 0], out.view(pair)[..., 0]


def rearranged(root: Expr) -> Array | None:
    """A copy of ``root`` that NumPy makes sooner than a kernel; None of others.

    These are rows that are reversed; rows of two that do not lie one after the other, as complex
    numbers do; and what lies in memory or is repeated, in another shape.
    """
    if not isinstance(root, Leaf) or 0 in root.shape:
        return None
    inner = root.source
    if isinstance(inner, Leaf):
        all_of_it = is_whole(root) and math.prod(root.shape) == math.prod(inner.shape)
        of = inner if all_of_it and inner.shape else None
    else:
        of = root if _is_reversed_or_of_pairs(root) else None
    values = None if of is None else values_of(of, {})
    if of is None or values is None or values.dtype != root.dtype:
        return None
    several = of.strides[-2:] == (0, 1) and of.shape[-2] > 1
    if several and values.size <= _ROWS:  # rows that are repeated one by one, as by tile
        return values[..., :1, :].repeat(of.shape[-2], axis=-2).reshape(root.shape)
    out = np.empty(of.shape, values.dtype)
    copied(values, out, _NEVER)
    return out.reshape(root.shape)


def is_reversed(leaf: Leaf) -> bool:
    """Whether rows of ``leaf``, many elements, are reversed."""
    return leaf.strides[-1:] == (-1,) and math.prod(leaf.shape) >= _IN_CACHE


def _is_reversed_or_of_pairs(leaf: Leaf) -> bool:
    steps = leaf.strides
    if steps[-1:] == (-1,):
        return is_reversed(leaf)
    return leaf.shape[-1:] == (2,) and steps[-1] == 1 and steps != c_strides(leaf.shape)


def put_in_place(root: Expr) -> Array | None:
    """All pieces of ``root`` copied to their places; None where they are to be computed, or many.

    To put two lines of ten together takes 12 us then, planned 40.
    """
    found = _at_hand(root)
    if found is None:
        return None
    out = room(root.shape, root.dtype, memory_order(root) if any(map(_is_turned, found)) else None)
    shares = [out[_box(one.at, one.expr.shape)] for one in found]
    both = list(zip(found, shares, strict=True))
    if any(passes_the_cache(one.expr, share, out.nbytes) for one, share in both):
        return None
    if any(one.values.dtype != out.dtype for one in found):
        return None
    for one, share in both:
        copied(one.values, share, _NEVER)
    return out


@lru_cache(maxsize=1024)
def _box(at: Shape, shape: Shape) -> tuple[slice, ...]:
    """The index of a box of ``shape`` whose first element has the index ``at``."""
    return tuple([slice(k, k + n) for k, n in zip(at, shape, strict=True)])


class _Copy(NamedTuple):
    """``values`` of ``expr``, a piece whose first element has the index ``at``."""

    at: Shape
    expr: Expr
    values: Array


def _at_hand(root: Expr) -> list[_Copy] | None:
    """The pieces of ``root``, and of those that are pieces, where all of them lie in memory."""
    source = root.source if isinstance(root, Leaf) and is_whole(root) else None
    if not isinstance(source, Piecewise) or root.shape != source.shape:
        return None
    if not isinstance(source.boxes, tuple) or len(source.boxes) > _PIECES:
        return None
    found: list[_Copy] = []
    for piece in source.boxes:
        values = values_of(piece.expr, {})
        within = _at_hand(piece.expr) if values is None else [_Copy((), piece.expr, values)]
        if within is None:
            return None
        for at, expr, own in within:
            found.append(_Copy(tuple(map(add, piece.at, at)) if at else piece.at, expr, own))
    return found


def _is_turned(one: _Copy) -> bool:
    """Whether it does not lie in C order."""
    values = one.values
    if values.ndim < 2 or values.flags.c_contiguous:
        return False
    steps = [abs(step) for step, n in zip(values.strides, values.shape, strict=True) if n > 1]
    return any(before < after for before, after in pairwise(step for step in steps if step))


def window(leaf: Leaf, memory: Array) -> Array:
    """The elements that ``leaf`` reads, where they lie: position 0 is the first of ``memory``."""
    size = memory.itemsize
    if memory.flags.c_contiguous and 0 not in leaf.shape and 0 not in memory.shape:
        steps = [step * size for step in leaf.strides]
        return np.ndarray(leaf.shape, memory.dtype, memory, leaf.offset * size, steps)
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
