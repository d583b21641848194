"""NumPy's functions that find places: where something is true, and what is there."""

from __future__ import annotations

from typing import Any

from ...errors import AxisError, ParameterError, ShapeError
from ...expr import build
from ..array import Array, array_of
from ..creation import full
from ..joining import stack
from ..methods.keywords import put
from ..take import take
from .places import mask_of
from .selection import Selection


def nonzero(a: Any) -> tuple[Array, ...]:
    """Indices of the elements that are not zero, in C order.

    Their number is counted now: one pass over ``a``. The indices are kept in memory.

    Parameters
    ----------
    a : array_like
        Of one axis or more.

    Returns
    -------
    tuple of Array
        For each axis the indices, int64, of shape (count,).

    Raises
    ------
    ShapeError
        Of a 0-d array.

    Examples
    --------
    >>> import speedcube as sc
    >>> rows, columns = sc.nonzero(sc.asarray([[3, 0], [0, 5]]))
    >>> rows.tolist(), columns.tolist()
    ([0, 1], [0, 1])
    """
    array = array_of(a)
    if not array.ndim:
        raise ShapeError("nonzero of a 0-d array: speedcube.atleast_1d(x) gives it an axis")
    return mask_of(array.astype("bool")).places()


def flatnonzero(a: Any) -> Array:
    """Positions in C order of the elements that are not zero: those of `nonzero` of ``a.ravel()``.

    Parameters
    ----------
    a : array_like

    Returns
    -------
    Array
        int64, of shape (count,), in memory.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.flatnonzero(sc.asarray([[3, 0], [0, 5]])).tolist()
    [0, 3]
    """
    return mask_of(array_of(a).astype("bool").reshape(-1)).flat


def argwhere(a: Any) -> Array:
    """Indices of the elements that are not zero, one row for each.

    Parameters
    ----------
    a : array_like

    Returns
    -------
    Array
        int64, of shape (count, a.ndim).

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.argwhere(sc.asarray([[3, 0], [0, 5]])).tolist()
    [[0, 0], [1, 1]]
    """
    array = array_of(a)
    if not array.ndim:
        return full((int(bool(array)), 0), 0, "int64")
    return stack(nonzero(array), axis=1)


def extract(condition: Any, arr: Any) -> Array:
    """The elements of ``arr`` where ``condition`` is not zero, in C order, as one axis.

    Parameters
    ----------
    condition : array_like
        As many elements as ``arr``.
    arr : array_like

    Returns
    -------
    Array
        Its length is counted when it is needed.

    Examples
    --------
    >>> import speedcube as sc
    >>> x = sc.arange(6)
    >>> sc.extract(x % 2 == 1, x).tolist()
    [1, 3, 5]
    """
    mask, array = array_of(condition).astype("bool").reshape(-1), array_of(arr).reshape(-1)
    return _selected(mask, array, 0)


def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Array:
    """Slices of ``a`` along ``axis`` where ``condition`` is true.

    Parameters
    ----------
    condition : array_like
        One axis, no longer than that of ``a``; what it has not is left out.
    a : array_like
    axis : int, optional
        None: the elements of ``a`` in C order.
    out : Array, optional
        Takes the result.

    Returns
    -------
    Array

    Raises
    ------
    ParameterError
        For a condition that has not one axis.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.compress([False, True], sc.asarray([[1, 2], [3, 4]]), axis=0).tolist()
    [[3, 4]]
    """
    mask, array = array_of(condition).astype("bool"), array_of(a)
    if mask.ndim != 1:
        raise ParameterError(f"compress takes a condition of one axis, not of {mask.ndim}")
    if axis is None:
        return put(out, _selected(mask, array.reshape(-1), 0), "compress")
    return put(out, _selected(mask, array, build.check_axis(axis, array.ndim)), "compress")


def _selected(mask: Array, array: Array, axis: int) -> Array:
    """``array`` along ``axis`` where ``mask``, which may be shorter, is true."""
    extent = array.shape[axis]
    if axis == 0 and mask.size == extent:
        return Selection(array, mask_of(mask))
    places = mask_of(mask).flat
    if mask.size > extent and places.size and int(places[-1]) >= extent:
        raise AxisError(
            f"the condition is true at {int(places[-1])}, out of bounds for axis {axis} with size "
            f"{extent}"
        )
    return take(array, places, axis)
