"""NumPy's functions for shapes and axes: views, of which nothing is copied."""

from __future__ import annotations

from typing import Any

from ..expr import build, views
from ..interop.chunks import broadcast, reshaped
from .array import Array, array_of
from .methods.keywords import as_axes


def broadcast_to(array: Any, shape: Any, subok: bool = False, *, chunks: Any = None) -> Array:
    """Repeat an array to a shape, by NumPy's rules.

    Parameters
    ----------
    array : array
        The values.
    shape : int or tuple of int
        The shape of the result; an axis of size one takes any size.
    subok : bool
        NumPy's; it changes nothing here.
    chunks : optional
        The grid that the result shows to Dask; no value depends on it.

    Returns
    -------
    Array
        A view of the same elements.

    Raises
    ------
    ValueError
        If the array does not broadcast to the shape.

    Examples
    --------
    >>> sc.broadcast_to(sc.arange(3), (2, 3)).compute()
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    x = array_of(array)
    expr = views.broadcast_to(x._expr, build.check_shape(shape))
    grid = broadcast(x._grid, expr.shape) if chunks is None else chunks
    return Array(expr, gpu=x._gpu, hint=grid)


def expand_dims(a: Any, axis: Any) -> Array:
    """Give an array new axes of size one.

    Parameters
    ----------
    a : array
        The values.
    axis : int or tuple of int
        Where the new axes stand in the result.

    Returns
    -------
    Array
        A view of the same elements.

    Raises
    ------
    AxisError
        If the result has no such axis, or one is named twice.

    Examples
    --------
    >>> sc.expand_dims(sc.arange(3), (0, 2)).shape
    (1, 3, 1)
    """
    x = array_of(a)
    several = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    new = build.normalise_axes(several, x.ndim + len(several))
    item = tuple(None if k in new else slice(None) for k in range(x.ndim + len(several)))
    expr = views.index(x._expr, item)
    grid = reshaped(x._grid, expr.shape, expr.dtype)  # as Dask's expand_dims does
    return Array(expr, gpu=x._gpu, hint=grid)


def flip(m: Any, axis: Any = None) -> Array:
    """Turn an array round: its elements backwards along axes.

    Parameters
    ----------
    m : array
        The values.
    axis : int or tuple of int, optional
        Along which axes; all where it is left out.

    Returns
    -------
    Array
        A view of the same elements.

    Raises
    ------
    AxisError
        If the array has no such axis.

    Examples
    --------
    >>> sc.flip(sc.arange(3)).compute()
    array([2, 1, 0])
    """
    x = array_of(m)
    axes = build.normalise_axes(as_axes(axis), x.ndim)
    return x[tuple(slice(None, None, -1 if k in axes else 1) for k in range(x.ndim))]


def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Array:
    """Give the elements of an array another shape.

    Parameters
    ----------
    a : array
        The values.
    shape : int or tuple of int
        The new sizes; one may be -1.
    order : {"C", "F", "A"}
        In which order elements are read and placed: the last axis fastest, or the first.
    copy : bool, optional
        False refuses what has to be put in order in memory.

    Returns
    -------
    Array
        The same elements.

    Raises
    ------
    ValueError
        If the sizes do not multiply to the same number of elements.

    Examples
    --------
    >>> sc.reshape(sc.arange(6), (2, -1)).compute()
    array([[0, 1, 2],
           [3, 4, 5]])
    """
    return array_of(a).reshape(shape, order=order, copy=copy)


def ravel(a: Any, order: str = "C") -> Array:
    """Put all elements along one axis.

    Parameters
    ----------
    a : array
        The values.
    order : {"C", "F", "A", "K"}
        In which order they are read.

    Returns
    -------
    Array
        An array of one axis.

    Examples
    --------
    >>> sc.ravel(sc.asarray([[1, 2], [3, 4]])).compute()
    array([1, 2, 3, 4])
    """
    return array_of(a).ravel(order)


def squeeze(a: Any, axis: Any = None) -> Array:
    """Take axes of size one away.

    Parameters
    ----------
    a : array
        The values.
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
    >>> sc.squeeze(sc.ones((1, 3, 1))).shape
    (3,)
    """
    return array_of(a).squeeze(axis)
