"""``x[key]`` where the key has indices or a mask that are arrays."""

from __future__ import annotations

from typing import Any

from ...errors import AxisError, ShapeError
from ...expr import gather
from ...expr.nodes import Shape
from ...expr.views import broadcast_shapes, broadcast_to
from ..array import Array
from ..sources import asarray
from .assigning.at_once import with_numbers
from .keys import Key, check_mask, entries, lone_mask, parsed
from .places import checked, mask_of
from .selection import Selection


def read(array: Array, item: Any) -> Array:
    """``array[item]``, as NumPy has it; what a lone mask selects is counted when it is needed."""
    numbers = with_numbers(item)
    if numbers is not item:
        return array[numbers]
    items = entries(item, array.shape)
    mask = lone_mask(items)
    if mask is not None:
        check_mask(mask, array.shape)
        return Selection(array, mask_of(asarray(mask)))
    key = parsed(items, array.shape, lambda one: mask_of(asarray(one)).places())
    base = array[key.basic]
    indices, _ = together(key, base.shape)
    if not indices:
        return base
    expr = gather.take_several(base._expr, [one._expr for one in indices], key.axes, key.place)
    return Array(expr, gpu=array._gpu or any(one._gpu for one in indices))


def together(key: Key, shape: Shape) -> tuple[list[Array], Shape]:
    """The indices of ``key`` for an array of ``shape``, checked, and the shape that all have."""
    indices = [
        checked(index, shape[axis], axis) for axis, index in zip(key.axes, key.indices, strict=True)
    ]
    try:
        common = broadcast_shapes(*(one.shape for one in indices))
    except ShapeError as err:
        shapes = " and ".join(str(one.shape) for one in indices)
        raise AxisError(f"indices of shapes {shapes} do not broadcast together") from err
    spread = [Array(broadcast_to(one._expr, common), gpu=one._gpu) for one in indices]
    return spread, common
