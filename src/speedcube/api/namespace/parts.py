"""What an array is made of and what it tells of itself, as functions."""

from __future__ import annotations

import math
from typing import Any

from ...expr import build
from ..array import Array, array_of
from ..sources import asarray


def copy(a: Any, order: str = "K", subok: bool = False) -> Array:
    """Return an array of its own with the same values.

    Parameters
    ----------
    a : array
        The values. Those of a speedcube array are not copied, and assignment to one leaves the
        other; others are copied at once.
    order : {"C", "F", "A", "K"}
        NumPy's word for the layout in memory; it decides no value.
    subok : bool
        NumPy's; it changes nothing here.

    Returns
    -------
    Array
        The other array.

    Examples
    --------
    >>> sc.copy(sc.arange(3)).compute()
    array([0, 1, 2])
    """
    return a.copy(order) if isinstance(a, Array) else asarray(a, order=order, copy=True)


def asanyarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> Array:
    """Make an array that reads values when it is computed: `asarray`.

    Parameters
    ----------
    a, dtype, order, device, copy, like : optional
        As in `asarray`.

    Returns
    -------
    Array
        The array.

    Examples
    --------
    >>> sc.asanyarray([1, 2]).compute()
    array([1, 2])
    """
    return asarray(a, dtype, order, device=device, copy=copy, like=like)


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Array:
    """Make an array of one axis or more; results lie in C order in any case.

    Parameters
    ----------
    a, dtype, like : optional
        As in `asarray`.

    Returns
    -------
    Array
        The array.

    Examples
    --------
    >>> sc.ascontiguousarray(3).shape
    (1,)
    """
    array = asarray(a, dtype, like=like)
    return array if array.ndim else array.reshape(1)


def ndim(a: Any) -> int:
    """Return how many axes an array has.

    Parameters
    ----------
    a : array
        The array.

    Returns
    -------
    int
        The number of axes.

    Examples
    --------
    >>> sc.ndim([[1, 2], [3, 4]])
    2
    """
    return array_of(a).ndim


def shape(a: Any) -> tuple[int, ...]:
    """Return the sizes of an array's axes.

    Parameters
    ----------
    a : array
        The array.

    Returns
    -------
    tuple of int
        The sizes.

    Examples
    --------
    >>> sc.shape([[1, 2, 3]])
    (1, 3)
    """
    return array_of(a).shape


def size(a: Any, axis: int | tuple[int, ...] | None = None) -> int:
    """Return how many elements an array has.

    Parameters
    ----------
    a : array
        The array.
    axis : int or tuple of int, optional
        Along which axes; along all where it is left out.

    Returns
    -------
    int
        The number of elements.

    Raises
    ------
    IndexError
        If there is no such axis.

    Examples
    --------
    >>> sc.size([[1, 2, 3], [4, 5, 6]], axis=1)
    3
    """
    array = array_of(a)
    if axis is None:
        return array.size
    return math.prod(array.shape[k] for k in build.normalise_axes(axis, array.ndim))


def isrealobj(x: Any) -> bool:
    """Return whether an array's dtype is no complex one.

    Parameters
    ----------
    x : array
        The array.

    Returns
    -------
    bool
        True where it is none.

    Examples
    --------
    >>> sc.isrealobj(sc.ones(2))
    True
    """
    return not iscomplexobj(x)


def iscomplexobj(x: Any) -> bool:
    """Return whether an array's dtype is a complex one.

    Parameters
    ----------
    x : array
        The array.

    Returns
    -------
    bool
        True where it is one.

    Examples
    --------
    >>> sc.iscomplexobj(sc.ones(2)), sc.iscomplexobj(sc.ones(2, complex))
    (False, True)
    """
    return array_of(x).dtype.kind == "c"
