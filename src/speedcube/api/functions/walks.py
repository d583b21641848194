"""Functions of others along an array: by axes, by conditions, from an iterator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ... import dtypes
from ...errors import ParameterError, ShapeError
from ...expr import build
from ..array import Array, array_of, elementwise
from ..creation import zeros
from ..shapes import expand_dims
from ..sources import asarray


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Array:
    """A function of an array and an axis, for one axis after the other: lazy where `func` is.

    Parameters
    ----------
    func : callable
        Takes an array and an axis, which it may fold.
    a : array_like
        Any shape.
    axes : int or sequence of int
        The axes.

    Returns
    -------
    Array
        Folded axes stay, with size one.

    Raises
    ------
    ShapeError
        Where `func` gives another number of axes.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.apply_over_axes(sc.sum, [[1, 2], [3, 4]], [0, 1]).compute()
    array([[10]])
    """
    value = array_of(a)
    for axis in (axes,) if np.ndim(axes) == 0 else axes:
        k = build.check_axis(axis, value.ndim)
        result = array_of(func(value, k))
        if result.ndim == value.ndim - 1:
            result = expand_dims(result, k)
        if result.ndim != value.ndim:
            raise ShapeError(
                f"apply_over_axes: the function gave an array of {result.ndim} axes for "
                f"one of {value.ndim}; it must keep all axes, or remove axis {k} alone"
            )
        value = result
    return value


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Array:
    """A function or a number where each condition holds; 0 where none does. It is lazy.

    A function gets ``x[condition]``. If it works element by element, that is part of one kernel;
    it is called, too, where a condition holds nowhere.

    Parameters
    ----------
    x : array_like
        Any shape.
    condlist : sequence of array_like of bool
        Of the shape of `x`. Where several hold, the last one counts.
    funclist : sequence of callable or number
        As many as conditions, or one more for where none of them holds.
    *args, **kw
        What else the functions take.

    Returns
    -------
    Array
        Of the dtype of `x`.

    Raises
    ------
    ParameterError
        Where the numbers of conditions and functions do not fit.

    Examples
    --------
    >>> import speedcube as sc
    >>> x = sc.asarray([-2.0, 0.5, 3.0])
    >>> sc.piecewise(x, [x < 0, x > 1], [lambda v: -v, 1, 0.25]).compute()
    array([2.  , 0.25, 1.  ])
    """
    array, functions = array_of(x), list(funclist)
    conditions = _conditions(condlist, array.ndim)
    if len(functions) == len(conditions) + 1:
        conditions.append(_none_of(conditions))
    if len(functions) != len(conditions):
        count = len(conditions)
        raise ParameterError(
            f"piecewise: {count} conditions take {count} or {count + 1} functions, not "
            f"{len(functions)}"
        )
    result = zeros(array.shape, array.dtype)
    for condition, function in zip(conditions, functions, strict=True):
        given = function(array[condition], *args, **kw) if callable(function) else function
        result[condition] = given
    return result


def _conditions(condlist: Any, ndim: int) -> list[Array]:
    """Conditions as arrays of bool; a single one is one of a list."""
    listed = condlist
    if isinstance(condlist, (Array, np.ndarray)):
        listed = list(condlist) if condlist.ndim > 1 or not ndim else [condlist]
    elif np.isscalar(condlist) or (ndim and not isinstance(condlist[0], (list, np.ndarray, Array))):
        listed = [condlist]
    return [array_of(one).astype("bool") for one in listed]


def _none_of(conditions: list[Array]) -> Array:
    some = conditions[0]
    for one in conditions[1:]:
        some = elementwise("logical_or", some, one)
    return elementwise("logical_not", some)


def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, *, like: Any = None) -> Array:
    """Numbers from a Python iterator, read at once.

    Parameters
    ----------
    iter : iterable
        Gives numbers.
    dtype : dtype
        Of the result.
    count : int
        How many are read; all by default.
    like : array, optional
        NumPy's; the result is a speedcube array.

    Returns
    -------
    Array
        One axis, in memory.

    Raises
    ------
    ParameterError
        Where there are fewer than `count`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.fromiter((k * k for k in range(4)), "int64").compute()
    array([0, 1, 4, 9])
    """
    try:
        return asarray(np.fromiter(iter, dtypes.check(dtype), count))
    except ValueError as err:
        raise ParameterError(f"fromiter: {err}") from err


def iterable(y: Any) -> bool:
    """Whether one can walk through an object.

    Parameters
    ----------
    y : object
        Anything; an array without axes is not walked through.

    Returns
    -------
    bool
        The answer.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.iterable(sc.ones(3)), sc.iterable(3)
    (True, False)
    """
    if isinstance(y, Array) and not y.ndim:
        return False
    return np.iterable(y)
