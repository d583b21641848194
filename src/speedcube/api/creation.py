"""Arrays of one value, from nothing but their shape; and coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from .. import dtypes
from ..errors import DTypeError, ParameterError, ParameterTypeError, RangeError
from ..expr import build
from ..expr.nodes import Leaf, Position, Shape
from ..expr.pairs.node import filled
from .array import Array, array_of
from .devices import checked_device, checked_like, checked_order
from .shapes import broadcast_to


def made(name: str, order: Any, device: Any, like: Any = None) -> bool:
    """Whether what the function ``name`` makes is to lie on a GPU; its keywords are checked."""
    if checked_order(name, order) == "A" or order in ("K", "k"):
        raise ParameterError(f"{name}: order must be 'C' or 'F', not {order!r}")
    checked_like(name, like)
    return checked_device(name, device)


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "C",
    *,
    device: Any = None,
    like: Any = None,
    chunks: Any = None,
) -> Array:
    """Make an array of one value everywhere. It needs no memory.

    Parameters
    ----------
    shape : int or tuple of int
        The sizes.
    fill_value : number, or array that broadcasts to the shape
        The value.
    dtype : dtype, optional
        That of the value where it is left out.
    order : {"C", "F"}
        NumPy's word for the layout in memory; it decides no value.
    device : str, optional
        Where the array is to lie: ``"cpu"``, ``"cuda:0"`` ...
    like : array, optional
        NumPy's; the result is a speedcube array.
    chunks : optional
        The grid that the array shows to Dask; no value depends on it.

    Returns
    -------
    Array
        The array.

    Raises
    ------
    ValueError
        If the value does not fit the dtype, or a size is negative.

    Examples
    --------
    >>> sc.full((2, 2), 7).compute()
    array([[7, 7],
           [7, 7]])
    """
    gpu = made("full", order, device, like)
    scalar = np.asarray(fill_value)
    if scalar.shape:
        kind = scalar.dtype if dtype is None else dtype
        spread = broadcast_to(array_of(fill_value).astype(kind), build.check_shape(shape))
        return Array(spread._expr, gpu=gpu, hint=chunks)
    if dtype is None or (scalar.dtype.kind not in "biufc" and not isinstance(fill_value, int)):
        dtypes.check(scalar.dtype)
    name = dtypes.check(scalar.dtype if dtype is None else dtype)
    if scalar.dtype.kind == "c" and name not in dtypes.COMPLEX:
        raise DTypeError(
            f"full: {fill_value!r} is complex, and the dtype {name} is not: give its .real"
        )
    if dtypes.is_integer(name):
        limits = np.iinfo(name)
        if not limits.min <= fill_value <= limits.max:
            message = f"{fill_value} does not fit {name} ({limits.min}..{limits.max})"
            raise (RangeError if isinstance(fill_value, int) else ParameterError)(message)
    value = scalar.astype(name).item()
    return Array(filled(value, name, build.check_shape(shape)), gpu=gpu, hint=chunks)


def _constant(name: str, value: int, shape: Any, dtype: Any, options: Any) -> Array:
    """What `zeros`, `ones` and `empty` are: ``value`` everywhere, float64 unless told otherwise."""
    if isinstance(dtype, (int, np.integer)) and not isinstance(dtype, bool):
        raise DTypeError(
            f"{name}: {dtype} is not a dtype; give the sizes of several axes as one tuple: "
            f"{name}(({shape}, {dtype}))"
        )
    order, device, like, chunks = options
    gpu = made(name, order, device, like)
    kind = dtypes.check("float64" if dtype is None else dtype)
    constant = bool(value) if kind == "bool" else float(value) if dtypes.is_float(kind) else value
    return Array(filled(constant, kind, build.check_shape(shape)), gpu=gpu, hint=chunks)


def zeros(
    shape: Any,
    dtype: Any = None,
    order: str = "C",
    *,
    device: Any = None,
    like: Any = None,
    chunks: Any = None,
) -> Array:
    """Make an array of zeros. It needs no memory.

    Parameters
    ----------
    shape : int or tuple of int
        The sizes.
    dtype : dtype, optional
        float64 where it is left out.
    order, device, like, chunks : optional
        As in `full`.

    Returns
    -------
    Array
        The array.

    Raises
    ------
    ValueError
        If a size is negative.

    Examples
    --------
    >>> sc.zeros(3).compute()
    array([0., 0., 0.])
    """
    return _constant("zeros", 0, shape, dtype, (order, device, like, chunks))


def ones(
    shape: Any,
    dtype: Any = None,
    order: str = "C",
    *,
    device: Any = None,
    like: Any = None,
    chunks: Any = None,
) -> Array:
    """Make an array of ones. It needs no memory.

    Parameters
    ----------
    shape : int or tuple of int
        The sizes.
    dtype : dtype, optional
        float64 where it is left out.
    order, device, like, chunks : optional
        As in `full`.

    Returns
    -------
    Array
        The array.

    Raises
    ------
    ValueError
        If a size is negative.

    Examples
    --------
    >>> sc.ones((2, 2), dtype=sc.int8).compute()
    array([[1, 1],
           [1, 1]], dtype=int8)
    """
    return _constant("ones", 1, shape, dtype, (order, device, like, chunks))


def empty(
    shape: Any,
    dtype: Any = None,
    order: str = "C",
    *,
    device: Any = None,
    like: Any = None,
    chunks: Any = None,
) -> Array:
    """Make an array whose values do not matter: zeros, so that every run has the same bits.

    Parameters
    ----------
    shape : int or tuple of int
        The sizes.
    dtype : dtype, optional
        float64 where it is left out.
    order, device, like, chunks : optional
        As in `full`.

    Returns
    -------
    Array
        The array.

    Raises
    ------
    ValueError
        If a size is negative.

    Examples
    --------
    >>> sc.empty((2, 3)).shape
    (2, 3)
    """
    return _constant("empty", 0, shape, dtype, (order, device, like, chunks))


def coordinate(shape: Shape, axis: int) -> Array:
    """The index along ``axis``, int64."""
    strides = tuple(int(k == axis) for k in range(len(shape)))
    return Array(Leaf(Position(), shape, 0, strides))


def number_of(value: Any) -> Any:
    """``value``, an array without axes too, as a number."""
    if isinstance(value, Array) and not value.shape:
        return value.compute()
    return value[()] if isinstance(value, np.ndarray) and not value.shape else value


def check_finite(name: str, *values: Any) -> None:
    """Refuse what is no finite number, for the function ``name``."""
    for one in values:
        number = isinstance(one, (int, float, np.integer, np.floating, np.bool))
        if not number or not math.isfinite(one):
            raise ParameterTypeError(f"{name} takes finite numbers, not {one!r}")


def check_limits(dtype: str, first: float, last: float) -> None:
    """Refuse the ends of an `arange` that its integer ``dtype`` cannot hold."""
    limits = np.iinfo(dtype)
    for value in (first, last):
        if not limits.min <= int(value) <= limits.max:
            raise ParameterError(
                f"arange: {value} does not fit {dtype} ({limits.min}..{limits.max}); give another "
                "dtype, for example dtype='uint64' or 'float64'"
            )


def wrapped(value: float) -> int:
    """``value`` modulo 2**64, as an int64."""
    return (int(value) + 2**63) % 2**64 - 2**63


def with_limits_by_name(function: Callable[..., Array]) -> Callable[..., Array]:
    """``function`` (`arange`) for the calls that NumPy's takes and its signature does not say."""

    @wraps(function)
    def called(*given: Any, **named: Any) -> Array:
        if len(given) == 4 and "dtype" not in named:
            named["dtype"], given = given[3], given[:3]
        if not given and named.get("stop") is not None:
            given = (named.pop("start", 0),)
        return function(*given, **named)

    return called
