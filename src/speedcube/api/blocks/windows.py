"""All windows of an array: views, of which none is made."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

from ...errors import ParameterError, ShapeError
from ...expr import views
from ...expr.build import check_axis, check_integer
from ...expr.pairs.node import filled
from ..array import Array, array_of


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, automatic_rechunk: bool = True
) -> Array:
    """All windows of an array, each as axes behind those of where it begins.

    Parameters
    ----------
    x : Array
        Cut into blocks of ``x.chunks``.
    window_shape : int or tuple of int
        The size of a window, along each of `axis`.
    axis : int or tuple of int, optional
        Along which axes; all by default.
    automatic_rechunk : bool
        Changes nothing: a window is no copy of what it shows.

    Returns
    -------
    Array
        Lazy, on the grid of `x`, of which the last chunks are shorter.

    Raises
    ------
    ValueError
        For windows larger than the array, negative ones, and another number of axes than of sizes.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.overlap.sliding_window_view(sc.arange(4), 2).compute()
    array([[0, 1],
           [1, 2],
           [2, 3]])
    """
    array = array_of(x)
    sizes = tuple(check_integer("window_shape", one) for one in _each(window_shape))
    if axis is None:
        axes = tuple(range(array.ndim))
    else:
        axes = tuple(check_axis(one, array.ndim) for one in _each(axis))
    if len(sizes) != len(axes):
        raise ParameterError(
            f"sliding_window_view takes a size for each axis: {len(sizes)} for {len(axes)} axes"
        )
    if any(size < 0 for size in sizes):
        raise ParameterError(f"windows of shape {sizes}: no size is negative")
    begins = list(array.shape)
    for size, one in zip(sizes, axes, strict=True):
        begins[one] -= size - 1
        if begins[one] < 1:
            raise ShapeError(
                f"a window of {size} does not fit into axis {one} of {array.shape[one]} elements"
            )
    if 0 in sizes:
        return Array(filled(0, array._expr.dtype, (*begins, *sizes)), gpu=array._gpu)
    root = views.windows(array._expr, sizes, axes)
    grid = tuple(_cut(chunks, n) for chunks, n in zip(array.chunks, begins, strict=True))
    return Array(root, gpu=array._gpu, hint=(*grid, *((size,) for size in sizes)))


def numpys_sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Array:
    """The same with NumPy's arguments; ``writeable`` and ``subok`` change nothing."""
    return sliding_window_view(x, window_shape, axis)


def _each(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _cut(chunks: tuple[int, ...], extent: int) -> tuple[int, ...]:
    """``chunks`` as far as ``extent``."""
    ends = [min(end, extent) for end in accumulate(chunks, initial=0)]
    return tuple(stop - start for start, stop in pairwise(ends) if stop > start) or (extent,)
