"""Elements at given indices: `take` and `take_along_axis`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..errors import AxisError, DTypeError, ShapeError
from ..expr import build, gather
from ..expr.views import broadcast_shapes, broadcast_to
from .array import Array
from .elementwise import where
from .sources import asarray


def take(x: Any, indices: Any, axis: int | None = None) -> Array:
    """``x`` at ``indices``, integers, along ``axis`` (None: of all elements in C order).

    The shape is that of ``x`` with ``axis`` replaced by the shape of ``indices``. Negative indices
    count from the end. Indices in memory are checked (`AxisError`, an IndexError); lazy ones are
    held between 0 and the last. Nothing is moved: elements are read where they are needed.
    """
    array = asarray(x)
    if axis is None:
        array, axis = array.reshape(-1), 0
    k = build.check_axis(axis, array.ndim)
    index = _indices(indices, array.shape[k], k)
    return Array(gather.take(array._expr, index._expr, k), gpu=array._gpu)


def take_along_axis(x: Any, indices: Any, axis: int) -> Array:
    """``x`` at ``indices`` along ``axis``, each line of ``x`` by its own line of ``indices``.

    Both have as many axes, and broadcast along the others. Indices are checked as by `take`.
    """
    array = asarray(x)
    k = build.check_axis(axis, array.ndim)
    index = _indices(indices, array.shape[k], k)
    if index.ndim != array.ndim:
        raise ShapeError(
            f"take_along_axis wants as many axes in indices as in the array: {index.ndim} and "
            f"{array.ndim}"
        )
    lines = (tuple(1 if a == k else n for a, n in enumerate(y.shape)) for y in (array, index))
    others = broadcast_shapes(*lines)

    def spread(y: Array) -> Any:
        return broadcast_to(y._expr, (*others[:k], y.shape[k], *others[k + 1 :]))

    return Array(gather.take_along(spread(array), spread(index), k), gpu=array._gpu)


def _indices(indices: Any, extent: int, axis: int) -> Array:
    """``indices`` as int64 from 0 on."""
    if not isinstance(indices, Array):
        known = np.asarray(indices)
        if known.dtype.kind not in "iu" and known.size:
            raise DTypeError(f"indices must be integers, not {known.dtype}")
        outside = (known < -extent) | (known >= extent)
        if outside.any():
            bad = known[outside].flat[0]
            raise AxisError(f"index {bad} is out of bounds for axis {axis} with size {extent}")
        return asarray(np.where(known < 0, known + extent, known).astype(np.int64))
    if not dtypes.is_integer(indices._expr.dtype):
        raise DTypeError(f"indices must be integers, not {indices.dtype}")
    if extent == 0 and indices.size:
        raise AxisError(f"cannot take from axis {axis}, which is empty")
    index = indices.astype("int64")
    return where(index < 0, index + extent, index)
