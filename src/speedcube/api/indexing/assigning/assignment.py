"""``x[key] = value``: the array becomes another one; what was made of it before stays as it was."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ....errors import DTypeError, ParameterError, RangeError, ShapeError
from ....expr import gather, views
from ....expr.nodes import Expr, Shape
from ....expr.piecewise.assigned import assigned
from ....expr.views import Affine, Axis
from ...array import Array
from ...creation import full
from ...elementwise import where
from ...sources import asarray
from ..held import elements_of
from ..items import DEPTH
from ..keys import Key, check_mask, entries, is_mask, lone_mask, parsed
from ..places import mask_of
from ..reading import together
from ..selection import Selection
from .at_once import is_little, is_masked_by_itself, places_at_hand, with_numbers
from .home import is_elsewhere, numbers_for
from .in_place import AT_HAND, MADE, wrote_at_once, wrote_in_place, wrote_much, wrote_one
from .noting import noted
from .strides import between
from .walking import is_step, to_memory

_PLAIN: Final = (bool, int, float)


def assign(array: Array, item: Any, value: Any) -> None:
    """``array[item] = value`` as in NumPy, for all names of ``array``.

    ``value`` is broadcast to what ``array[item]`` has, and cast to its dtype. The memory that
    `asarray` was given is never written: the expression changes. After `DEPTH` assignments the
    array is computed to memory, if that takes an eighth of what is free at most; there others are
    made in place, as long as nothing else refers to it; few lazy numbers are computed for that. One
    that is assigned few numbers made of its own is computed to memory earlier, and few elements at
    hand are copied there by the first assignment (`in_place`).
    """
    array._copied = 0
    if array._writes > DEPTH and type(item) is int and wrote_one(array, item, value):
        return
    item = with_numbers(item)
    if wrote_at_once(array, item, value):
        return
    if type(value) not in _PLAIN and _names_one(array, item) and np.ndim(value):
        raise ShapeError(f"an element is one number, not {np.shape(value)}: assign to a slice")
    if noted(array, item, value):
        return
    if _is_made_now(value, array, item):
        value, item = numbers_for(array, value), places_at_hand(item)
        to_memory(array, item)
        if wrote_at_once(array, item, value, MADE) or wrote_much(array, item, value):
            return
    if array._writes >= DEPTH or is_masked_by_itself(item, value, array):
        to_memory(array, item)
        if array._writes > DEPTH and wrote_in_place(array, item, value):
            return
    items = tuple(map(_as_now, entries(item, array.shape)))
    if _at_many_places(array, items) and isinstance(value, AT_HAND):
        to_memory(array, item)
        if wrote_in_place(array, item, value):
            return
    writes = 1 if array._writes > DEPTH else min(array._writes + 1, DEPTH)
    array._rebind(_with(array, items, _cast(value, array)))
    array._writes = writes


def _is_made_now(value: Any, array: Array, item: Any) -> bool:
    """Whether ``value`` is lazy, and computed there and then for ``array``."""
    if type(value) is not Array or is_elsewhere(value, array):
        return False
    return is_step(value, array, item) or is_little(value, array, array._writes >= DEPTH, item)


def _names_one(array: Array, item: Any) -> bool:
    """Whether ``item`` is a number for each axis."""
    items = item if type(item) is tuple else (item,)
    return len(items) == array.ndim > 0 and all(
        type(one) is int or isinstance(one, np.integer) for one in items
    )


def _at_many_places(array: Array, items: tuple[Any, ...]) -> bool:
    """Whether index arrays in memory point along so many axes that their map is large itself."""
    if not any(isinstance(one, np.ndarray) and one.dtype != bool for one in items):
        return False
    axes = [k for k, one in enumerate(items) if not isinstance(one, slice)]
    return len(axes) == len(items) == array.ndim


def _with(array: Array, items: tuple[Any, ...], value: Array) -> Array:
    mask = lone_mask(items)
    if mask is not None:
        return _masked(array, mask, value)
    if not any(is_mask(one) or isinstance(one, (Array, np.ndarray)) for one in items):
        return _changed(array, _boxed(array._expr, items, value), value)
    key = parsed(items, array.shape, lambda one: mask_of(asarray(one)).places())
    base = array[key.basic]
    changed = _scattered(base, key, value)
    if changed is None:
        return array
    return _changed(array, _boxed(array._expr, key.basic, changed), changed)


def _changed(array: Array, expr: Expr, read: Array) -> Array:
    """``array`` as ``expr`` says; it prefers a GPU if what is ``read`` does."""
    return Array(expr, gpu=array._gpu or read._gpu, hint=array._grid)


def _cast(value: Any, array: Array) -> Array:
    """``value`` in the dtype of ``array``; refused where that cannot hold it."""
    if isinstance(value, Array):
        return value.astype(array.dtype)
    if isinstance(value, (complex, np.complexfloating)) and array.dtype.kind != "c":
        raise DTypeError(
            f"{value!r} is complex, and the array has dtype {array.dtype}: assign its .real, or "
            "make the array complex by .astype('complex128')"
        )
    if value is None or isinstance(value, (bool, int, float, str)):
        one = np.empty((), array.dtype)
        try:
            one[()] = value
        except (ValueError, OverflowError, TypeError) as err:
            kind = {OverflowError: RangeError, TypeError: DTypeError}.get(type(err), ParameterError)
            raise kind(f"{value!r} cannot be an element of dtype {array.dtype}: {err}") from err
        return full((), one.item(), array.dtype)
    return elements_of(_as_now(value), array.dtype, "assignment").astype(array.dtype)


def _as_now(one: Any) -> Any:
    """A copy of an array of NumPy's: what is written there later is not assigned."""
    return one.copy() if isinstance(one, np.ndarray) else one


# Boxes -------------------------------------------------------------------------------------------


def _boxed(root: Expr, items: tuple[Any, ...], value: Array) -> Expr:
    """``root`` with ``value`` where the basic ``items`` are."""
    change = views.indexed(root.shape, items)
    part = _fitted(value, change.shape)
    if 0 in change.shape:
        return root
    start, shape, steps, axes = [], [], [], []
    for axis in change.axes:
        count = 1 if axis.source is None else change.shape[axis.source]
        start.append(axis.start + min(0, axis.step * (count - 1)))
        shape.append(count)
        steps.append(abs(axis.step) if count > 1 else 1)
        axes.append(axis)
    part = _turned(part, axes, tuple(shape), change.shape)
    if any(step > 1 for step in steps):
        part, shape = between(root, start, shape, steps, part)
    return assigned(root, tuple(start), part)


def _turned(part: Expr, axes: list[Axis], shape: Shape, had: Shape) -> Expr:
    """``part``, of the shape ``had`` that a key gives, along the axes of the array, upwards."""
    places = []
    taken = {axis.source: k for k, axis in enumerate(axes) if axis.source is not None}
    for k, n in enumerate(had):
        if k not in taken:
            places.append(Axis(None, 0, 0))
        elif axes[taken[k]].step < 0:
            places.append(Axis(taken[k], n - 1, -1))
        else:
            places.append(Axis(taken[k], 0, 1))
    return views.apply(part, Affine(shape, tuple(places)))


def _fitted(value: Array, shape: Shape) -> Expr:
    """``value`` in ``shape``; axes of one element in front of it may be too many."""
    expr = value._expr
    extra = len(expr.shape) - len(shape)
    if extra > 0 and all(n == 1 for n in expr.shape[:extra]):
        expr = views.index(expr, (0,) * extra)
    try:
        return views.broadcast_to(expr, shape)
    except ShapeError as err:
        raise ShapeError(
            f"could not broadcast the value, of shape {value.shape}, into shape {shape}, that of "
            "the elements it is assigned to"
        ) from err


# Masks -------------------------------------------------------------------------------------------


def _masked(array: Array, mask: Any, value: Array) -> Array:
    """``array`` with ``value`` where ``mask`` is true."""
    check_mask(mask, array.shape)
    known = mask_of(asarray(mask))
    rest = array.shape[known.array.ndim :]
    if isinstance(value, Selection) and value.selecting and value._mask is known:
        new = value._values
    elif value.ndim <= len(rest) or value.shape[: value.ndim - len(rest)] == (1,):
        new = array._view(_fitted(value, rest), None)
    else:
        new = _in_order(known.array, _fitted(value, (known.count, *rest)))
    condition = known.array[(..., *(None,) * len(rest))]
    chosen = where(condition, new, array)
    return _changed(array, chosen._expr, chosen)


def _in_order(mask: Array, part: Expr) -> Array:
    """The elements of ``part``, one after the other where ``mask`` is true."""
    if not part.shape[0]:
        shape = (*mask.shape, *part.shape[1:])
        return full(shape, 0, part.dtype)
    number = mask.reshape(-1).cumsum() - 1
    place = where(number < 0, 0, number).reshape(mask.shape)
    return Array(gather.take(part, place._expr, 0), gpu=mask._gpu)


# Integer arrays ----------------------------------------------------------------------------------


def _scattered(base: Array, key: Key, value: Array) -> Array | None:
    """``base`` with ``value`` at the indices of ``key``; of equal ones the last one counts."""
    indices, common = together(key, base.shape)
    kept = [k for k in range(base.ndim) if k not in key.axes]
    sizes = [base.shape[k] for k in kept]
    part = _fitted(value, (*sizes[: key.place], *common, *sizes[key.place :]))
    if not math.prod(common):
        return None
    inner = len(common)
    order = (
        *range(key.place, key.place + inner),
        *range(key.place),
        *range(key.place + inner, len(part.shape)),
    )
    lines = views.reshape(views.transpose(part, order), (math.prod(common), *sizes))
    extents = tuple(base.shape[k] for k in key.axes)
    which = _who_writes(indices, extents)
    held = where(which < 0, 0, which)
    new = gather.take(lines, held.astype("int64")._expr, 0)
    axes = [*key.axes, *kept]
    back = tuple(axes.index(k) for k in range(base.ndim))
    wide = which[(..., *(None,) * len(kept))]
    chosen = where(wide >= 0, Array(new, gpu=value._gpu), base.transpose(axes) if axes else base)
    return chosen.transpose(back) if back else chosen


def _who_writes(indices: list[Array], extents: Shape) -> Array:
    """For each place of ``extents`` the number of the last index that names it, else -1."""
    flat = np.zeros((), np.int64)
    for index, extent in zip(indices, extents, strict=True):
        flat = flat * extent + np.asarray(index)
    count = flat.size
    small = np.iinfo(np.int32).max
    which = np.full(math.prod(extents), -1, np.int32 if count <= small else np.int64)
    which[flat.reshape(-1)] = np.arange(count)
    return asarray(which).reshape(extents)
