"""NumPy's functions that turn axes round and put them in another order: views."""

from __future__ import annotations

from typing import Any

from ...errors import AxisError, ShapeError
from ...expr import build
from ..array import Array, array_of
from ..methods.keywords import as_axes
from ..shapes import flip


def fliplr(m: Any) -> Array:
    """Turn an array round along its second axis.

    Parameters
    ----------
    m : array
        An array of two axes or more.

    Returns
    -------
    Array
        A view of the same elements.

    Raises
    ------
    ValueError
        If there are fewer axes.

    Examples
    --------
    >>> sc.fliplr(sc.asarray([[1, 2], [3, 4]])).compute()
    array([[2, 1],
           [4, 3]])
    """
    return flip(_of_axes("fliplr", m, 2), 1)


def flipud(m: Any) -> Array:
    """Turn an array round along its first axis.

    Parameters
    ----------
    m : array
        An array of one axis or more.

    Returns
    -------
    Array
        A view of the same elements.

    Raises
    ------
    ValueError
        If there is no axis.

    Examples
    --------
    >>> sc.flipud(sc.asarray([[1, 2], [3, 4]])).compute()
    array([[3, 4],
           [1, 2]])
    """
    return flip(_of_axes("flipud", m, 1), 0)


def _of_axes(name: str, m: Any, ndim: int) -> Array:
    x = array_of(m)
    if x.ndim < ndim:
        raise ShapeError(f"{name} takes an array of {ndim} axes or more, not of {x.ndim}")
    return x


def moveaxis(a: Any, source: Any, destination: Any) -> Array:
    """Move axes to other places; the others keep their order.

    Parameters
    ----------
    a : array
        The values.
    source, destination : int or tuple of int
        Where the axes are, and where each is to be.

    Returns
    -------
    Array
        A view of the same elements.

    Raises
    ------
    ValueError
        If an axis is not there or named twice, or there are not as many places as axes.

    Examples
    --------
    >>> sc.moveaxis(sc.ones((2, 3, 4)), (0, 1), (-1, 0)).shape
    (3, 4, 2)
    """
    x = array_of(a)
    old, new = (_places(which, x.ndim) for which in (source, destination))
    if len(old) != len(new):
        raise AxisError(f"moveaxis takes a place for each axis: {len(old)} axes, {len(new)} places")
    order = [k for k in range(x.ndim) if k not in old]
    for place, axis in sorted(zip(new, old, strict=True)):
        order.insert(place, axis)
    return x.transpose(order)


def _places(which: Any, ndim: int) -> tuple[int, ...]:
    """``which``, one axis or several, in the order that they are given in."""
    several = as_axes(which)
    several = several if isinstance(several, tuple) else (several,)
    build.normalise_axes(several, ndim)
    return tuple(build.check_axis(one, ndim) for one in several)


def rollaxis(a: Any, axis: int, start: int = 0) -> Array:
    """Move one axis back until it lies before another; `moveaxis` is easier to read.

    Parameters
    ----------
    a : array
        The values.
    axis : int
        The axis that moves.
    start : int
        The axis that it comes to lie before.

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
    >>> sc.rollaxis(sc.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = array_of(a)
    k, end = build.check_axis(axis, x.ndim), build.check_integer("start", start)
    if not -x.ndim <= end <= x.ndim:
        raise AxisError(f"start must lie between {-x.ndim} and {x.ndim}, not {end}")
    end += x.ndim if end < 0 else 0
    return moveaxis(x, k, end - 1 if k < end else end)


def permute_dims(a: Any, axes: Any = None) -> Array:
    """Put the axes of an array in another order.

    Parameters
    ----------
    a : array
        The values.
    axes : tuple of int, optional
        The old axes in their new order; reversed where it is left out.

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
    >>> sc.permute_dims(sc.ones((2, 3, 4)), (1, 0, 2)).shape
    (3, 2, 4)
    """
    return array_of(a).transpose(as_axes(axes))


transpose = permute_dims


def matrix_transpose(x: Any, /) -> Array:
    """Transpose the matrices of the last two axes.

    Parameters
    ----------
    x : array
        An array of two axes or more.

    Returns
    -------
    Array
        A view of the same elements.

    Raises
    ------
    ValueError
        If there are fewer axes.

    Examples
    --------
    >>> sc.matrix_transpose(sc.ones((5, 2, 3))).shape
    (5, 3, 2)
    """
    return _of_axes("matrix_transpose", x, 2).swapaxes(-1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> Array:
    """Exchange two axes.

    Parameters
    ----------
    a : array
        The values.
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
    >>> sc.swapaxes(sc.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    return array_of(a).swapaxes(axis1, axis2)
