"""Values at hand that are assigned to a box: written down, with where, in a few microseconds."""

from __future__ import annotations

import math
from operator import index
from typing import Any, Final, TypeAlias

import numpy as np

from ....expr.graph import below, is_short
from ....expr.nodes import STAGED, Const, Expr, Leaf, Piecewise, Shape, Stored
from ....expr.pairs.node import is_pair
from ....expr.piecewise.assigned import assigned, writes_of
from ...array import Array
from ..items import DEPTH
from .in_place import REFUSED, is_cast_alike

# Boxes that are written down of one array, and how many of them it could hold: smaller ones, and
# more of them, are sooner written into memory.
MOST: Final = 1 << 9

_NODES: Final = 32  # of a lazy value that is written down
_OF_OTHERS: Final = (Piecewise, *STAGED)
_PLAIN: Final = frozenset((bool, int, float))
_ONE_BY_ONE: Final = (None, 1)  # steps of a slice
_EXACT: Final = 1 << 53  # integers up to here are floats
Box: TypeAlias = tuple[Shape, Shape, list[int]]


def noted(array: Array, item: Any, value: Any) -> bool:
    """Whether ``value`` was written down as what a box of ``array`` has from now on.

    Numbers are copied, so that what is written to their memory later is not seen. Beyond `DEPTH`
    only boxes that are not small, and that nothing has asked for in between.
    """
    expr = array._expr
    if type(array) is not Array or is_pair(expr):
        return False
    box = box_of(expr.shape, item)
    if box is None or (array._writes >= DEPTH and not _stays_lazy(expr, box[1])):
        return False
    lazy = type(value) is Array
    part = _lazy_part(value, array, box) if lazy else _part_of(value, expr.dtype, box)
    if part is None:
        return False
    array._expr = changed = assigned(expr, box[0], part)
    array._plans, array._name = {}, None
    array._writes = 1 if changed is part else min(array._writes + 1, DEPTH)
    copied = 0 if lazy else _bytes_of(part)
    if copied and (first := writes_of(changed)) is not None:
        first.writes.copied += copied
        if first.writes.copied > array.nbytes:
            first.writes.read = True  # the next one is written into memory
            array._writes = DEPTH
    return True


def _bytes_of(part: Expr) -> int:
    stored = isinstance(part, Leaf) and isinstance(part.source, Stored)
    return part.source.buffer.nbytes if stored else 0  # type: ignore[union-attr]


def _stays_lazy(expr: Expr, box: Shape) -> bool:
    """Whether one more ``box`` of ``expr`` is written down beyond `DEPTH`."""
    first = writes_of(expr)
    if first is None or first.writes.read or first.count >= MOST:
        return False
    return bool(math.prod(box) * MOST >= math.prod(expr.shape))


def box_of(shape: Shape, item: Any) -> Box | None:
    """Where the box of ``item`` begins, its shape, and which of its axes the value has.

    None for what is no box, and for keys that are refused.
    """
    items = item if type(item) is tuple else (item,)
    axes = len(shape)
    if len(items) > axes:
        return box_of(shape, _without_dots(items, axes)) if _dots(items) == 1 else None
    at: list[int] = []
    extents: list[int] = []
    kept: list[int] = []
    for axis, one in enumerate(items):
        extent = shape[axis]
        if type(one) is slice:
            if one.step not in _ONE_BY_ONE:
                return None
            try:
                start, stop, _ = one.indices(extent)
            except REFUSED:
                return None
            at.append(start)
            extents.append(stop - start if stop > start else 0)
            kept.append(axis)
        elif type(one) is int or isinstance(one, np.integer):
            number = index(one)
            if not -extent <= number < extent:
                return None
            at.append(number % extent)
            extents.append(1)
        elif one is Ellipsis and _dots(items) == 1:
            return box_of(shape, _without_dots(items, axes))
        else:
            return None
    given = len(items)
    if given < axes:
        kept += range(given, axes)
        return (*at, *[0] * (axes - given)), (*extents, *shape[given:]), kept
    return tuple(at), tuple(extents), kept


def _dots(items: tuple[Any, ...]) -> int:
    return sum([one is Ellipsis for one in items])


def _without_dots(items: tuple[Any, ...], axes: int) -> tuple[Any, ...]:
    """``items`` with as many slices as there are axes left for the one ``...`` among them."""
    place = [one is Ellipsis for one in items].index(True)
    fill = (slice(None),) * (axes + 1 - len(items))
    return (*items[:place], *fill, *items[place + 1 :])


def _lazy_part(value: Array, array: Array, box: Box) -> Expr | None:
    """``value``, of the shape and dtype of ``box``, as it is; None where it reads a written array.

    What a loop makes of its own steps would otherwise be made of all of them again and again.
    """
    expr = value._expr
    if expr.shape != box[1] or expr.dtype != array._expr.dtype or value._gpu != array._gpu:
        return None
    plain = is_short(expr, _NODES) and not any(isinstance(one, _OF_OTHERS) for one in below(expr))
    return expr if plain else None


def _part_of(value: Any, dtype: str, box: Box) -> Leaf | None:
    """``value`` in the shape of ``box``; None where it is not at hand, or does not fit."""
    _, shape, kept = box
    if type(value) in _PLAIN or isinstance(value, np.generic):
        if type(value) not in _PLAIN and not is_cast_alike(value, dtype):
            return None
        if dtype == "float64" and type(value) is float:
            number: bool | int | float = value
        elif dtype == "float64" and type(value) is int and -_EXACT <= value <= _EXACT:
            number = float(value)
        else:
            one = np.empty((), dtype)
            try:
                one[()] = value
            except REFUSED:
                return None
            number = one.item()
        return Leaf(Const(number, dtype), shape, 0, (0,) * len(shape))
    if type(value) is not np.ndarray or not is_cast_alike(value, dtype):
        return None
    while value.ndim > len(kept) and value.shape[0] == 1:
        value = value[0]
    axes = kept[len(kept) - value.ndim :] if value.ndim else []
    if value.ndim > len(kept):
        return None
    if any(n not in (1, shape[axis]) for n, axis in zip(value.shape, axes, strict=True)):
        return None
    with np.errstate(all="ignore"):
        own = np.array(value, dtype, order="C")
    strides = [0] * len(shape)
    for n, axis, step in zip(own.shape, axes, own.strides, strict=True):
        strides[axis] = step // own.itemsize if n == shape[axis] else 0
    return Leaf(Stored(own, dtype), shape, 0, tuple(strides))
