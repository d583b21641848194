"""`Array`'s methods that give the same elements in another shape or order of axes."""

from __future__ import annotations

import math
from typing import Any

from ...errors import AxisError, ShapeError
from ...expr import build, views
from ...interop import chunks as grids
from .lazy import A


def transpose(self: A, *axes: Any) -> A:
    """Axes in another order (default: reversed)."""
    ndim = len(self._expr.shape)
    order = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
    if not order or order[0] is None:
        order = tuple(range(ndim))[::-1]
    order = tuple(build.check_axis(axis, ndim) for axis in order)
    if sorted(order) != list(range(ndim)):
        raise AxisError(f"axes {order} are not a permutation of {ndim} axes")
    return self._view(views.transpose(self._expr, order), grids.transposed(self._grid, order))


def reshape(self: A, *shape: Any) -> A:
    """The same elements in another shape; `ShapeError` where that would need a copy."""
    wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    size = math.prod(self._expr.shape)
    expr = views.reshape(self._expr, build.infer_shape(tuple(wanted), size))
    return self._view(expr, grids.reshaped(self._grid, expr.shape, expr.dtype))


def ravel(self: A) -> A:
    """One axis."""
    return reshape(self, -1)


def squeeze(self: A, axis: Any = None) -> A:
    """Without axes of size one."""
    shape = self._expr.shape
    drop = build.normalise_axes(axis, len(shape)) if axis is not None else None
    for k in drop or ():
        if shape[k] != 1:
            raise ShapeError(f"cannot squeeze axis {k} of size {shape[k]}")
    item = tuple(
        0 if n == 1 and (drop is None or k in drop) else slice(None) for k, n in enumerate(shape)
    )
    return self[item]


def swapaxes(self: A, a: int, b: int) -> A:
    """Axes ``a`` and ``b`` exchanged."""
    ndim = len(self._expr.shape)
    first, second = (build.check_axis(k, ndim) for k in (a, b))
    order = list(range(ndim))
    order[first], order[second] = second, first
    return transpose(self, order)
