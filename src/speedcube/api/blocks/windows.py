"""All windows of an array: a view of it, in which an element stands as often as windows have it."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from ...errors import ParameterError, ParameterTypeError, ShapeError
from ...expr import build, views
from ...expr.nodes import Expr, Shape
from ...expr.pairs.node import filled
from ...interop.chunks import Chunks, derived
from ..array import Array, array_of


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, automatic_rechunk: bool = True
) -> Array:
    """All windows of an array, each as axes behind those of where it begins.

    It is a view: nothing is copied, and a reduction over the windows reads the array itself.

    Parameters
    ----------
    x : Array
        Of any shape and dtype.
    window_shape : int or tuple of int
        The size of a window, along each of `axis`.
    axis : int or tuple of int, optional
        Along which axes; all by default. One may stand there twice.
    automatic_rechunk : bool
        Whether ``.chunks`` of the result are those that Dask cuts smaller.

    Returns
    -------
    Array
        Lazy; along `axis` shorter by a window less one, with an axis more for each of `axis`.

    Raises
    ------
    ValueError
        For windows larger than the array, negative sizes, and too few or too many of them.
    AxisError
        For an axis that the array has not.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.overlap.sliding_window_view(sc.arange(4), 2).compute()
    array([[0, 1],
           [1, 2],
           [2, 3]])
    """
    array = array_of(x)
    sizes = _sizes(window_shape)
    axes = _axes(axis, array.ndim, len(sizes))
    left = list(array.shape)
    for k, size in zip(axes, sizes, strict=True):
        if left[k] < size:
            raise ShapeError(
                f"a window of {size} does not fit into axis {k} of {array.shape[k]} elements"
            )
        left[k] -= size - 1
    expr = _seen(array._expr, build.check_shape((*left, *sizes)), sizes, axes)
    grid = derived(_grid, [array._grid], sizes, axes, bool(automatic_rechunk))
    return Array(expr, gpu=array._gpu, hint=grid)


def numpys_sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Array:
    """The same with NumPy's arguments; ``writeable`` and ``subok`` change nothing."""
    return sliding_window_view(x, window_shape, axis)


def _seen(root: Expr, shape: Shape, sizes: tuple[int, ...], axes: tuple[int, ...]) -> Expr:
    return filled(0, root.dtype, shape) if 0 in shape else views.windows(root, sizes, axes)


def _sizes(window_shape: Any) -> tuple[int, ...]:
    several = tuple(window_shape) if isinstance(window_shape, Iterable) else (window_shape,)
    try:
        sizes = tuple(operator.index(one) for one in several)
    except TypeError:
        raise ParameterTypeError(f"window_shape must be integers, not {window_shape!r}") from None
    if min(sizes, default=0) < 0:
        raise ParameterError(f"window_shape must not be negative: {window_shape!r}")
    return sizes


def _axes(axis: Any, ndim: int, count: int) -> tuple[int, ...]:
    """The axis of each of ``count`` windows; one may stand there twice."""
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = range(ndim) if axis is None else [build.normalise_axes(k, ndim)[0] for k in given]
    if len(axes) != count:
        raise ParameterError(f"window_shape has {count} sizes for {len(axes)} axes; give one each")
    return tuple(axes)


def _grid(chunks: Chunks, sizes: tuple[int, ...], axes: tuple[int, ...], cut: bool) -> Chunks:
    """The chunks that Dask's function of this name gives."""
    import dask.array as da
    from dask.array.overlap import sliding_window_view as theirs

    x = da.empty(tuple(map(sum, chunks)), chunks=chunks)
    try:
        found: Chunks = theirs(x, sizes, axes, automatic_rechunk=cut).chunks
    except ValueError:  # windows of no elements, which Dask has not
        left = [sum(axis) for axis in chunks]
        for k, size in zip(axes, sizes, strict=True):
            left[k] -= size - 1
        return tuple((n,) for n in (*left, *sizes))
    return found
