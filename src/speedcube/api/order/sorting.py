"""NumPy's functions that sort: stable, NaN last, -0 and 0 equal, the same bits everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...errors import ParameterTypeError, ShapeError
from ...expr import build
from ..array import Array, array_of, elementwise
from ..shapes import flip
from .lines import along, check_kind, line_of, places_of, sorted_lines


def sort(
    a: Any,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: bool = False,
) -> Array:
    """The elements in order, along an axis.

    By value, NaN last, then by position: so -0 and 0, which are equal, stay as they came.

    Parameters
    ----------
    a : array_like
        One axis or more.
    axis : int or None
        None: all elements as one line.
    kind, stable : optional
        Every sort is stable: they decide nothing.
    order : None
        There are no fields.
    descending : bool
        Whether the largest comes first; NaN is before all then.

    Returns
    -------
    Array
        Lazy, in the shape of `a`. One long line is made in memory, whole, if it fits there; else
        part after part, each by a pass over `a`: for reductions, slices and what is written.

    Raises
    ------
    AxisError
        Of a 0-d array.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.sort([[3, 1, 2], [0, 5, 4]]).tolist()
    [[1, 2, 3], [0, 4, 5]]
    """
    check_kind("sort", kind, order, stable=stable)
    array, axis = line_of("sort", a, axis)
    if descending:  # backwards before, too, so that equal elements stay as they came
        return flip(sorted_lines(flip(array, axis), axis), axis)
    return sorted_lines(array, axis)


def sort_complex(a: Any) -> Array:
    """The elements in order along the last axis, as complex numbers.

    By the real part, then by the imaginary one.

    Parameters
    ----------
    a : array_like
        One axis or more.

    Returns
    -------
    Array
        complex128, or complex64 of complex64 and of integers of 8 and 16 bits.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.sort_complex([2.0, 1.0 + 2.0j, 1.0]).compute()
    array([1.+0.j, 1.+2.j, 2.+0.j])
    """
    lines = sort(a)
    narrow = lines._expr.dtype in ("int8", "uint8", "int16", "uint16", "complex64")  # NumPy's
    return lines.astype("complex64" if narrow else "complex128")


def argsort(
    a: Any,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: bool = False,
) -> Array:
    """Which element comes first, second ... along an axis: the places that sort it.

    By value, NaN last, then by position, as NumPy's `kind="stable"`.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int or None
        None: all elements as one line.
    kind, stable : optional
        Every sort is stable: they decide nothing.
    order : None
        There are no fields.
    descending : bool
        Whether the largest comes first; NaN is before all then.

    Returns
    -------
    Array
        int64, lazy, in the shape of `a`; larger than memory as `sort`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.argsort([3, 1, 2]).tolist()
    [1, 2, 0]
    """
    check_kind("argsort", kind, order, stable=stable)
    array = array_of(a)
    if not array.ndim and axis in (None, 0, -1):
        array = array.reshape(1)
    array, axis = line_of("argsort", array, axis)
    if descending:
        backwards: Array = flip(places_of(flip(array, axis), axis), axis)
        return elementwise("subtract", array.shape[axis] - 1, backwards)
    return places_of(array, axis)


def lexsort(keys: Any, axis: int = -1) -> Array:
    """The places that sort by several keys: by the last one, where that is equal by the one before.

    Parameters
    ----------
    keys : sequence of array_like, or array_like
        Of one shape; the first axis of an array counts keys.
    axis : int
        Along which to sort.

    Returns
    -------
    Array
        int64, in the shape of a key.

    Raises
    ------
    ShapeError
        For keys of several shapes.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.lexsort(([9, 4, 0, 4], [1, 5, 1, 4])).tolist()
    [2, 0, 3, 1]
    """
    listed = isinstance(keys, Iterable) and getattr(keys, "ndim", 1) > 0
    each = [array_of(key) for key in keys] if listed else []
    if not each:
        raise ParameterTypeError("lexsort takes one key or more")
    if any(key.shape != each[0].shape for key in each):
        raise ShapeError(f"lexsort takes keys of one shape, not {[key.shape for key in each]}")
    if not each[0].ndim and axis in (-1, 0):  # of one element, whose place NumPy gives
        return array_of(0)
    k = build.check_axis(axis, each[0].ndim)
    order = places_of(each[0], k)
    for key in each[1:]:
        order = along(order, places_of(along(key, order, k), k), k)
    return order
