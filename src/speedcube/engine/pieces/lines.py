"""Whole lines of memory at indices, as ``x[rows]``: copied, not gathered by a kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr.nodes import Const, Expr, Leaf, Map, Position, Shape, Stored, is_whole
from ...expr.scans import one_nan
from ..boxes import Stop
from .moves import window

Array: TypeAlias = NDArray[Any]

_AT_ONCE: Final = 1 << 22  # elements between two looks whether to stop
# Places of single elements, up to which NumPy copies them sooner: a kernel reads further on.
_SINGLE: Final = 32
_PLACES: Final = 1 << 14  # that NumPy makes its own integers of at a time: they stay in the cache


@dataclass(frozen=True, eq=False)
class Lines:
    """The ``places`` along ``axis`` of an array ``memory`` in C order that are read."""

    memory: Array
    places: Array
    axis: int

    def inside(self) -> bool:
        """Whether none is beyond its ends, where a kernel holds positions, not places."""
        places = self.places
        return not places.size or (
            places.min() >= 0 and places.max() < self.memory.shape[self.axis]
        )

    def into(self, out: Array, stop: Stop) -> None:
        """Copy them to ``out``, which lies in C order; NaN of float16 as a kernel gives them."""
        self._copied(out, stop)
        if out.dtype == np.float16 and np.isnan(out).any():
            out[...] = one_nan(out)

    def _copied(self, out: Array, stop: Stop) -> None:
        lines, places = self.memory, self.places.reshape(-1)
        before, behind = lines.shape[: self.axis], lines.shape[self.axis + 1 :]
        share = out.reshape(*before, places.size, *behind)
        if self.axis:  # some rows at a time, then all their places
            step = max(1, _AT_ONCE // max(1, share[0].size))
            for first in range(0, len(lines), step):
                if not stop.is_set():
                    part = slice(first, first + step)
                    np.take(lines[part], places, self.axis, share[part], "clip")
            return
        step = max(1, min(_PLACES, _AT_ONCE // max(1, math.prod(behind))))
        for first in range(0, len(places), step):
            if not stop.is_set():
                part = slice(first, first + step)
                np.take(lines, places[part], 0, share[part], "clip")


def lines_taken(root: Expr, inputs: Mapping[int, Array], out: Any, stop: Stop) -> bool:
    """Whether ``root`` is lines of an array in memory at indices, and so was copied to ``out``."""
    found = _lines_of(root, inputs) if isinstance(out, np.ndarray) else None
    if found is None or not out.flags.c_contiguous or not found.inside():
        return False
    found.into(out, stop)
    return True


def lines_at_once(root: Expr) -> Array | None:
    """Lines of an array in memory at indices that are there, and were looked at; else None."""
    found = _lines_of(root, {})
    if found is None or found.memory.dtype != root.dtype:
        return None
    out = np.empty(root.shape, root.dtype)
    found.into(out, _NEVER)
    return out


_NEVER: Final = Stop()


def _lines_of(root: Expr, inputs: Mapping[int, Array]) -> Lines | None:
    """The lines that ``root`` is; None where it is something else, or where they have gaps.

    Its positions are ``index * width``, added to those of the axes that stay.
    """
    if type(root) is not Map or root.op != "gather" or 0 in root.shape:
        return None
    at, leaf, *_ = root.args
    shape, offset, steps = root.shape, 0, (0,) * len(root.shape)
    if type(at) is Map and at.op == "add":
        still, at = at.args
        if type(still) is not Leaf or type(still.source) is not Position:
            return None
        offset, steps = still.offset, still.strides
    width = 1
    if type(at) is Map and at.op == "multiply":
        at, number = at.args
        if type(number) is not Leaf or type(number.source) is not Const:
            return None
        width = int(number.source.value)
    at = _as_stored(at)
    memory = _memory(leaf, inputs)
    if type(at) is not Leaf or memory is None or width < 1 or min(steps, default=0) < 0:
        return None
    places = _memory(at, inputs)
    if places is None or at.dtype[0] not in "iu":
        return None
    lie = _lie(shape, offset, steps, width, at.strides, memory.size)
    if lie is None:
        return None
    lines = window(Leaf(leaf.source, lie.shape, offset, lie.steps), memory)  # type: ignore[union-attr]
    if not lines.flags.c_contiguous:
        return None
    index = Leaf(at.source, lie.places, at.offset, lie.places_steps)
    return Lines(lines, window(index, places), lie.axis)


class _Lie(NamedTuple):
    """The ``shape`` and ``steps`` of all lines, and those of the ``places`` along an ``axis``."""

    shape: Shape
    steps: tuple[int, ...]
    axis: int
    places: Shape
    places_steps: tuple[int, ...]


@lru_cache(maxsize=1024)
def _lie(
    shape: Shape,
    offset: int,
    steps: tuple[int, ...],
    width: int,
    index_steps: tuple[int, ...],
    size: int,
) -> _Lie | None:
    """How lines lie that are ``shape`` at indices, in an array of ``size`` elements.

    Positions are ``offset`` and ``steps`` along the axes that stay, and ``width`` times the index.
    """
    moving = [k for k, step in enumerate(index_steps) if step]
    if not moving or any(steps[k] for k in range(moving[0], moving[-1] + 1)):
        return None
    first, last = moving[0], moving[-1] + 1
    if last == len(shape) and math.prod(shape[first:]) > _SINGLE:
        return None
    before, behind = (shape[:first], steps[:first]), (shape[last:], steps[last:])
    count = _extent(before, behind, width, size - offset)
    if not count:
        return None
    own = (*before[0], count, *behind[0]), (*before[1], width, *behind[1])
    return _Lie(*own, first, shape[first:last], index_steps[first:last])


Axes: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]  # extents, and steps in memory


def _extent(before: Axes, behind: Axes, width: int, size: int) -> int:
    """The places along an axis of steps of ``width``; 0 where ``size`` elements have no room.

    The ends that positions are held between do not tell: of axes that stay some may be cut off.
    """
    within = _span(behind)
    around = [step for n, step in zip(*before, strict=True) if n > 1]
    count = around[-1] // width if around else (size - 1 - within) // width + 1
    return count if _span(before) + (count - 1) * width + within < size else 0


def _span(axes: Axes) -> int:
    return sum((n - 1) * step for n, step in zip(*axes, strict=True))


def _as_stored(index: Expr) -> Expr:
    """``index`` before it was converted: integers of fewer bytes have the same values."""
    while True:
        if type(index) is Map and index.op == "cast":
            under = index.args[0]
        elif type(index) is Leaf and type(index.source) is Map and index.source.op == "cast":
            under = index.source.args[0]
            if type(under) is not Leaf or not is_whole(under):
                return index
            under = Leaf(under.source, index.shape, index.offset, index.strides)
        else:
            return index
        if under.dtype[0] not in "iu":
            return index
        index = under


def _memory(leaf: Expr, inputs: Mapping[int, Array]) -> Array | None:
    """The array that ``leaf`` reads."""
    if type(leaf) is not Leaf:
        return None
    memory = inputs.get(id(leaf.source))
    if memory is None and isinstance(leaf.source, Stored):
        memory = leaf.source.buffer
    return memory if isinstance(memory, np.ndarray) and memory.flags.c_contiguous else None
