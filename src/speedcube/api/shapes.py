"""NumPy's functions for shapes and axes."""

from __future__ import annotations

from typing import Any

from ..expr import build, views
from ..interop.chunks import broadcast, reshaped
from .array import Array, array_of


def broadcast_to(x: Any, shape: Any, chunks: Any = None) -> Array:
    """``x`` repeated to ``shape``."""
    array = array_of(x)
    expr = views.broadcast_to(array._expr, build.check_shape(shape))
    grid = broadcast(array._grid, expr.shape) if chunks is None else chunks
    return Array(expr, gpu=array._gpu, hint=grid)


def expand_dims(x: Any, axis: int) -> Array:
    """A new axis of size one at ``axis``."""
    array = array_of(x)
    k = build.check_axis(axis, array.ndim + 1)
    expr = views.index(array._expr, (slice(None),) * k + (None,))
    grid = reshaped(array._grid, expr.shape, expr.dtype)  # as Dask's expand_dims does
    return Array(expr, gpu=array._gpu, hint=grid)


def flip(x: Any, axis: Any = None) -> Array:
    """Backwards along ``axis`` (default: every axis)."""
    array = array_of(x)
    axes = build.normalise_axes(axis, array.ndim)
    return array[tuple(slice(None, None, -1 if k in axes else 1) for k in range(array.ndim))]


def moveaxis(x: Any, source: int, destination: int) -> Array:
    """Axis ``source`` moved to ``destination``."""
    array = array_of(x)
    a, b = (build.check_axis(k, array.ndim) for k in (source, destination))
    order = [k for k in range(array.ndim) if k != a]
    order.insert(b, a)
    return array.transpose(order)


def permute_dims(x: Any, axes: Any) -> Array:
    """The Array API's transpose."""
    return array_of(x).transpose(axes)


def reshape(x: Any, shape: Any) -> Array:
    """``x`` in another shape."""
    return array_of(x).reshape(shape)


def squeeze(x: Any, axis: Any = None) -> Array:
    """``x`` without axes of size one."""
    return array_of(x).squeeze(axis)


def swapaxes(x: Any, a: int, b: int) -> Array:
    """Axes ``a`` and ``b`` exchanged."""
    return array_of(x).swapaxes(a, b)
