"""Places in C or Fortran order and indices along axes, turned into each other."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ... import dtypes
from ...errors import AxisError, DTypeError, ParameterError, ParameterTypeError
from ...expr import build
from ..array import Array, array_of, elementwise
from ..creation import ones
from .places import ends, unravelled
from .searching import nonzero


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Array, ...]:
    """The indices along each axis of places in an array that is laid out as one line.

    Indices are checked first: lazy ones that may be out of bounds are computed once for it.

    Parameters
    ----------
    indices : array_like of int
        The places, from 0.
    shape : int or tuple of int
        Of the array.
    order : {"C", "F"}
        Whether the last axis or the first one counts up first.

    Returns
    -------
    tuple of Array
        For each axis the indices, int64, in the shape of `indices`.

    Raises
    ------
    AxisError
        For a place that the array has not; it is a ValueError, too.

    Examples
    --------
    >>> import speedcube as sc
    >>> [index.tolist() for index in sc.unravel_index([22, 41], (7, 6))]
    [[3, 6], [4, 5]]
    """
    places = _whole(indices)
    extents = build.check_shape(shape)
    reverse = _is_fortran("unravel_index", order)
    _check_inside("unravel_index", places, math.prod(extents))
    found = unravelled(places, extents[::-1] if reverse else extents)
    return found[::-1] if reverse else found


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Array:
    """The places, in an array laid out as one line, of indices along each axis.

    Indices are checked first: lazy ones that may be out of bounds are computed once for it.

    Parameters
    ----------
    multi_index : sequence of array_like of int
        One for each axis; shapes broadcast.
    dims : tuple of int
        The shape of the array.
    mode : {"raise", "wrap", "clip"}, or a tuple of them
        What is done with indices out of bounds, for all axes or for each.
    order : {"C", "F"}
        Whether the last axis or the first one counts up first.

    Returns
    -------
    Array
        int64.

    Raises
    ------
    AxisError
        For an index out of bounds with mode "raise"; it is a ValueError, too.
    ParameterError
        Where there are more or fewer indices than axes, or for another mode.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.ravel_multi_index(([3, 6], [4, 5]), (7, 6)).compute()
    array([22, 41])
    """
    extents = build.check_shape(dims)
    if not np.iterable(multi_index):
        raise ParameterTypeError(f"ravel_multi_index: a sequence of indices, not {multi_index!r}")
    given = list(multi_index)
    if isinstance(mode, str) and mode not in _MODES:
        raise ParameterError(f"mode must be one of {', '.join(_MODES)}, not {mode!r}")
    if not isinstance(mode, (str, list, tuple)):
        raise ParameterTypeError(f"mode must be one of {', '.join(_MODES)}, not {mode!r}")
    modes = [mode] * len(extents) if isinstance(mode, str) else list(mode)
    if len(given) != len(extents) or len(modes) != len(extents):
        raise ParameterError(
            f"ravel_multi_index: {len(given)} indices and {len(modes)} modes for {len(extents)} "
            "axes: there must be as many"
        )
    reverse = _is_fortran("ravel_multi_index", order)
    rows = list(zip(map(_whole, given), extents, modes, strict=True))
    place = array_of(0)
    for index, extent, how in reversed(rows) if reverse else rows:
        if how not in _MODES:
            raise ParameterError(f"mode must be one of {', '.join(_MODES)}, not {how!r}")
        place = elementwise("add", place * extent, _MODES[how](index, extent))
    return place


def _raised(index: Array, extent: int) -> Array:
    _check_inside("ravel_multi_index", index, extent)
    return index


_MODES: Final[dict[str, Callable[[Array, int], Array]]] = {
    "raise": _raised,
    "wrap": lambda index, extent: index % extent,
    "clip": lambda index, extent: index.clip(0, extent - 1),
}


def _whole(indices: Any) -> Array:
    """``indices`` as int64; an empty list has no dtype to refuse."""
    array = array_of(indices)
    if array.size and not dtypes.is_integer(array._expr.dtype):
        raise DTypeError(f"indices must be integers, not {array.dtype}")
    return array.astype("int64")


def _is_fortran(name: str, order: Any) -> bool:
    if order is None:
        return False
    if order not in ("C", "F"):
        kind = ParameterError if isinstance(order, str) else ParameterTypeError
        raise kind(f"{name}: order must be 'C' or 'F', not {order!r}")
    return bool(order == "F")


def _check_inside(name: str, index: Array, extent: int) -> None:
    """Refuse indices out of bounds; below 0, too, where other functions count from the end."""
    if not index.size:
        return
    for value in ends(index, 0, extent):
        if not 0 <= value < extent:
            raise AxisError(f"{name}: index {value} is out of bounds for size {extent}")


def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> tuple[Array, ...]:
    """The indices of what a function leaves of a matrix of ones, such as `triu`.

    Their number is counted now; the indices are kept in memory.

    Parameters
    ----------
    n : int
        How many rows and columns.
    mask_func : callable
        Takes a matrix and `k`, and gives one with zeros.
    k : any
        Handed over to it.

    Returns
    -------
    tuple of two Arrays
        The rows and the columns, in C order.

    Examples
    --------
    >>> import speedcube as sc
    >>> [index.tolist() for index in sc.mask_indices(3, sc.triu, 1)]
    [[0, 0, 1], [1, 2, 2]]
    """
    size = operator.index(n)
    return nonzero(elementwise("not_equal", mask_func(ones((size, size), "int64"), k), 0))
