"""Arrays of one value in the shape and the dtype of others."""

from __future__ import annotations

from typing import Any

from ..array import Array, array_of
from ..creation import full
from ..devices import checked_order


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
    chunks: Any = None,
) -> Array:
    """Make an array of one value in the shape and the dtype of another.

    Parameters
    ----------
    a : array
        The other one.
    fill_value : number
        The value.
    dtype, shape : optional
        Others than those of ``a``.
    order, device, chunks : optional
        As in `full`.
    subok : bool
        NumPy's; it changes nothing here.

    Returns
    -------
    Array
        The array.

    Examples
    --------
    >>> sc.full_like(sc.arange(2), 7).compute()
    array([7, 7])
    """
    checked_order("full_like", order)
    x = array_of(a)
    grid = x._grid if chunks is None and shape is None else chunks
    size = x.shape if shape is None else shape
    kind = x.dtype if dtype is None else dtype
    return full(size, fill_value, kind, device=device, chunks=grid)


def zeros_like(
    a: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
    chunks: Any = None,
) -> Array:
    """Make an array of zeros in the shape and the dtype of another.

    Parameters
    ----------
    a : array
        The other one.
    dtype, order, subok, shape, device, chunks : optional
        As in `full_like`.

    Returns
    -------
    Array
        The array.

    Examples
    --------
    >>> sc.zeros_like(sc.arange(2)).compute()
    array([0, 0])
    """
    return full_like(a, 0, dtype, order, subok, shape, device=device, chunks=chunks)


def ones_like(
    a: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
    chunks: Any = None,
) -> Array:
    """Make an array of ones in the shape and the dtype of another.

    Parameters
    ----------
    a : array
        The other one.
    dtype, order, subok, shape, device, chunks : optional
        As in `full_like`.

    Returns
    -------
    Array
        The array.

    Examples
    --------
    >>> sc.ones_like(sc.arange(2)).compute()
    array([1, 1])
    """
    return full_like(a, 1, dtype, order, subok, shape, device=device, chunks=chunks)


def empty_like(
    prototype: Any,
    /,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
    chunks: Any = None,
) -> Array:
    """Make an array whose values do not matter, zeros, in the shape and the dtype of another.

    Parameters
    ----------
    prototype : array
        The other one.
    dtype, order, subok, shape, device, chunks : optional
        As in `full_like`.

    Returns
    -------
    Array
        The array.

    Examples
    --------
    >>> sc.empty_like(sc.arange(2)).compute()
    array([0, 0])
    """
    return full_like(prototype, 0, dtype, order, subok, shape, device=device, chunks=chunks)
