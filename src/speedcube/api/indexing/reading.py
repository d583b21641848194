"""``x[key]`` where the key has indices or a mask that are arrays."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...errors import AxisError, ShapeError
from ...expr import gather
from ...expr.nodes import Shape
from ...expr.views import broadcast_shapes, broadcast_to
from ...interop import chunks as grids
from ..array import Array
from ..sources import asarray
from .assigning.at_once import with_numbers
from .keys import Key, check_mask, entries, lone_mask, parsed
from .places import checked, mask_of
from .selection import Selection

# Bytes of an array whose indices are looked at: of a smaller one all is read.
_LEAST: Final = 1 << 20
_ALL: Final = slice(None)


def read(array: Array, item: Any) -> Array:
    """``array[item]``, as NumPy has it; what a lone mask selects is counted when it is needed."""
    if _is_mask_of(item, len(array._expr.shape)):  # as most often
        check_mask(item, array._expr.shape)
        return Selection(array, mask_of(item))
    numbers = with_numbers(item)
    if numbers is not item:
        return array[numbers]
    items = entries(item, array.shape)
    mask = lone_mask(items)
    if mask is not None:
        check_mask(mask, array.shape)
        return Selection(array, mask_of(asarray(mask)))
    key = parsed(items, array.shape, lambda one: mask_of(asarray(one)).places())
    all_of_it = all([type(one) is slice and one == _ALL for one in key.basic])
    whole = all_of_it and bool(key.indices) and not array._writes
    base = array if whole else array[key.basic]
    one = _lone_line(key)
    if one is not None and base.nbytes >= _LEAST:
        steps = _even_steps(one, base.shape[key.axes[0]])
        if steps is not None:
            return base[(*(slice(None),) * key.axes[0], steps)]
    indices, _ = together(key, base.shape)
    if not indices:
        return base
    expr = gather.take_several(base._expr, [one._expr for one in indices], key.axes, key.place)
    hint = None
    if one is not None and len(one) <= base.shape[key.axes[0]]:
        hint = grids.taken(base._grid, key.axes[0], len(one))
    return Array(expr, gpu=array._gpu or any(one._gpu for one in indices), hint=hint)


def _is_mask_of(item: Any, ndim: int) -> bool:
    """Whether ``item`` is a mask of ours for some of so many axes."""
    if type(item) is not Array or item._expr.dtype != "bool":
        return False
    return 0 < len(item._expr.shape) <= ndim


def _lone_line(key: Key) -> NDArray[np.integer[Any]] | None:
    """The only index of ``key``, where that is a line of numbers along the axis that it takes."""
    if len(key.indices) != 1 or key.place != key.axes[0]:
        return None
    index = key.indices[0]
    if type(index) is not np.ndarray or index.ndim != 1 or index.dtype.kind not in "iu":
        return None
    return index if len(index) else None


def _even_steps(index: NDArray[np.integer[Any]], extent: int) -> slice | None:
    """The slice of an axis that has the indices ``index``, inside it; None where none has."""
    first, last = int(index[0]), int(index[-1])
    if not (0 <= first < extent and 0 <= last < extent):
        return None
    step = int(index[1]) - first if len(index) > 1 else 1
    if not step or (last - first) != step * (len(index) - 1):
        return None
    if len(index) > 2 and not (index == np.arange(len(index)) * step + first).all():
        return None
    stop = last + (1 if step > 0 else -1)
    return slice(first, stop if stop >= 0 else None, step)


def together(key: Key, shape: Shape) -> tuple[list[Array], Shape]:
    """The indices of ``key`` for an array of ``shape``, checked, and the shape that all have."""
    indices = [
        checked(index, shape[axis], axis) for axis, index in zip(key.axes, key.indices, strict=True)
    ]
    if len(indices) == 1:
        return indices, indices[0].shape
    try:
        common = broadcast_shapes(*(one.shape for one in indices))
    except ShapeError as err:
        shapes = " and ".join(str(one.shape) for one in indices)
        raise AxisError(f"indices of shapes {shapes} do not broadcast together") from err
    spread = [Array(broadcast_to(one._expr, common), gpu=one._gpu) for one in indices]
    return spread, common
