"""`Array`'s views: methods, written as functions of a lazy array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import AxisError, ParameterError, ParameterTypeError, ShapeError
from ...expr import build, views
from ...expr.nodes import Expr, Leaf, Stored, c_strides, sizes_of
from ...interop import chunks as grids
from ..devices import checked_order
from .keywords import as_axes
from .lazy import A


def transpose(self: A, *axes: Any) -> A:
    """Return the array with its axes in another order.

    Parameters
    ----------
    *axes : int, or one tuple of int, or None
        The old axes in their new order; reversed where none is given.

    Returns
    -------
    Array
        A view of the same elements.

    Raises
    ------
    ValueError
        If the axes are no permutation.

    Examples
    --------
    >>> sc.ones((2, 3, 4)).transpose(1, 0, 2).shape
    (3, 2, 4)
    """
    ndim = len(self._expr.shape)
    several = as_axes(axes[0]) if len(axes) == 1 else axes
    order = several if isinstance(several, tuple) else axes
    kept = tuple(range(ndim))
    if several is None or not axes:
        order = kept[::-1]
    order = tuple(build.check_axis(axis, ndim) for axis in order)
    if order == kept:
        return self._view(self._expr, self._grid)
    if sorted(order) != list(kept):
        raise AxisError(f"axes {order} are not a permutation of {ndim} axes")
    return self._view(views.transpose(self._expr, order), grids.transposed(self._grid, order))


def reshape(
    self: A,
    *shape: Any,
    order: str = "C",
    copy: bool | None = None,
    merge_chunks: Any = True,
    limit: Any = None,
) -> A:
    """Return the same elements in another shape.

    Parameters
    ----------
    *shape : int, or one tuple of int
        The new sizes; one may be -1.
    order : {"C", "F", "A"}
        In which order elements are read and placed: the last axis fastest, or the first. ``"A"``
        is ``"F"`` for data that lie so in memory.
    copy : bool, optional
        False refuses what has to be copied when it is computed.
    merge_chunks, limit : optional
        Dask's; they decide nothing.

    Returns
    -------
    Array
        A view where strides say it all; else the elements are put in order when they are needed.

    Raises
    ------
    ValueError
        If the sizes do not multiply to the same number of elements.

    Examples
    --------
    >>> sc.arange(6).reshape(2, -1, order="F").compute()
    array([[0, 2, 4],
           [1, 3, 5]])
    """
    if not shape:
        raise ParameterTypeError("reshape needs a shape; that of a 0-d array is ()")
    wanted = shape[0] if len(shape) == 1 else shape
    plain = isinstance(wanted, (tuple, list)) or hasattr(wanted, "tolist")
    listed = sizes_of(tuple(wanted) if not plain and hasattr(wanted, "__iter__") else wanted)
    new = build.infer_shape(listed, math.prod(self._expr.shape))
    if checked_order("reshape", order) == "K" and order is not None:
        raise ParameterError("reshape: order 'K' says no order to read the elements in")
    backwards = runs_backwards("reshape", self._expr, order)
    source = views.transpose(self._expr, _reversed(self._expr)) if backwards else self._expr
    target = new[::-1] if backwards else new
    if copy is False and isinstance(source, Leaf) and views.reshaped(source, target) is None:
        raise ParameterError(
            f"copy=False is not possible: {self._expr.shape} as {new} needs the elements in "
            "another order than they lie in; leave copy out"
        )
    expr = views.reshape(source, target)
    if backwards:
        return self._view(views.transpose(expr, _reversed(expr)), None)
    return self._view(expr, grids.reshaped(self._grid, expr.shape, expr.dtype))


def _reversed(expr: Expr) -> tuple[int, ...]:
    return tuple(range(len(expr.shape)))[::-1]


def runs_backwards(name: str, expr: Expr, order: Any) -> bool:
    """Whether ``order``, NumPy's word, reads the first axis of ``expr`` fastest."""
    word = checked_order(name, order)
    if word in "CF":
        return word == "F"
    if not isinstance(expr, Leaf) or not isinstance(expr.source, Stored):
        return False
    kept = [(n, s) for n, s in zip(expr.shape, expr.strides, strict=True) if n != 1]
    shape, strides = tuple(n for n, _ in kept), tuple(s for _, s in kept)
    return len(kept) > 1 and strides == c_strides(shape[::-1])[::-1]


def ravel(self: A, order: str = "C") -> A:
    """Return all elements along one axis.

    Parameters
    ----------
    order : {"C", "F", "A", "K"}
        As in `reshape`.

    Returns
    -------
    Array
        An array of one axis.

    Examples
    --------
    >>> sc.asarray([[1, 2], [3, 4]]).ravel("F").compute()
    array([1, 3, 2, 4])
    """
    return reshape(self, -1, order="C" if order is None else order)


def squeeze(self: A, axis: Any = None) -> A:
    """Return the array without axes of size one.

    Parameters
    ----------
    axis : int or tuple of int, optional
        Which of them; all where it is left out.

    Returns
    -------
    Array
        A view of the same elements.

    Raises
    ------
    ValueError
        If an axis is given whose size is not one.

    Examples
    --------
    >>> sc.ones((1, 3, 1)).squeeze(axis=0).shape
    (3, 1)
    """
    shape = self._expr.shape
    if not shape and axis in (0, -1):  # which NumPy lets through
        axis = None
    drop = range(len(shape)) if axis is None else build.normalise_axes(axis, len(shape))
    for k in drop:
        if shape[k] != 1 and axis is not None:
            raise ShapeError(f"cannot squeeze axis {k} of size {shape[k]}")
    item = tuple(0 if n == 1 and k in drop else slice(None) for k, n in enumerate(shape))
    return self[item]


def swapaxes(self: A, axis1: int, axis2: int) -> A:
    """Return the array with two axes exchanged.

    Parameters
    ----------
    axis1, axis2 : int
        The axes.

    Returns
    -------
    Array
        A view of the same elements.

    Raises
    ------
    AxisError
        If there is no such axis.

    Examples
    --------
    >>> sc.ones((2, 3, 4)).swapaxes(0, -1).shape
    (4, 3, 2)
    """
    order = list(range(len(self._expr.shape)))
    first, second = (build.check_axis(k, len(order)) for k in (axis1, axis2))
    order[first], order[second] = second, first
    return transpose(self, order)


def diagonal(self: A, offset: int = 0, axis1: int = 0, axis2: int = 1) -> A:
    """Return the diagonals of matrices: a view, with the diagonal as its last axis.

    Parameters
    ----------
    offset : int
        Which diagonal; above the main one where it is positive.
    axis1, axis2 : int
        The axes of the matrices.

    Returns
    -------
    Array
        The diagonals.

    Raises
    ------
    ValueError
        If there are not two axes, or they are the same.

    Examples
    --------
    >>> sc.arange(9).reshape(3, 3).diagonal(1).compute()
    array([1, 5])
    """
    ndim = len(self._expr.shape)
    if ndim < 2:
        raise AxisError(f"diagonal takes an array of two axes or more, not of {ndim}")
    first, second = (build.check_axis(k, ndim) for k in (axis1, axis2))
    if first == second:
        raise AxisError(f"axis1 and axis2 are the same axis, {axis1} and {axis2}")
    expr = views.diagonal(self._expr, build.check_integer("offset", offset), first, second)
    return self._view(expr, None)


def rechunk(
    self: A,
    chunks: Any = "auto",
    threshold: int | None = None,
    block_size_limit: int | None = None,
    balance: bool = False,
    method: str | None = None,
) -> A:
    """Return the array with another grid of chunks to show to Dask; no value depends on it.

    Parameters
    ----------
    chunks : optional
        As in `speedcube.asarray`; a dictionary names the axes whose chunks change.
    threshold, block_size_limit, method : optional
        Dask's, for the way there; nothing is moved here.
    balance : bool
        Whether chunks are made as even as Dask makes them.

    Returns
    -------
    Array
        The same elements.

    Examples
    --------
    >>> sc.ones((4, 6)).rechunk((2, 3)).chunks
    ((2, 2), (3, 3))
    """
    shape = self._expr.shape
    if isinstance(chunks, dict):
        named = {k % len(shape) if -len(shape) <= k < 0 else k: v for k, v in chunks.items()}
        chunks = {**dict(enumerate(self._grid.chunks)), **named}
    grid = grids.grid_of(chunks, shape, self._expr.dtype)
    return self._view(self._expr, grids.derived(_balanced, [grid]) if balance else grid)


def _balanced(chunks: grids.Chunks) -> grids.Chunks:
    return tuple(map(_even, chunks))


def _even(axis: grids.Axis) -> grids.Axis:
    """As many chunks, or one fewer where one is small, whose sizes differ least: Dask's choice."""
    middle, total = int(np.median(axis)), sum(axis)
    count = len(axis) - (min(axis) <= max(axis) / 2)
    sizes = range(middle - middle // 2, middle + middle // 2 + 1)
    cuts = [(n,) * (total // n) + (total % n,) * (total % n > 0) for n in sizes if n]
    fitting = [cut for cut in cuts if len(cut) == count]
    return min(fitting, key=lambda cut: max(cut) - min(cut), default=axis)
