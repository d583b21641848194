"""Functions of others along an array: by lines, by axes, by conditions, or element by element."""

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


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Array:
    """A function of each line along an axis: called at once, with NumPy's arrays.

    Parameters
    ----------
    func1d : callable
        Takes a line, an array of NumPy's, and gives a number or an array.
    axis : int
        Along which axis the lines are.
    arr : array_like
        Of one axis or more. It is computed, and needs memory.
    *args, **kwargs
        What else `func1d` takes.

    Returns
    -------
    Array
        In memory: the axis is replaced by those of what `func1d` gives.

    Raises
    ------
    ParameterError
        Where there is no line.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.apply_along_axis(sorted, 1, [[3, 1, 2], [9, 8, 7]]).compute()
    array([[1, 2, 3],
           [7, 8, 9]])
    """
    array = array_of(arr)
    k = build.check_axis(axis, array.ndim)
    if 0 in (*array.shape[:k], *array.shape[k + 1 :]):
        raise ParameterError(f"apply_along_axis: an array of shape {array.shape} has no line")
    return asarray(np.apply_along_axis(func1d, k, np.asarray(array), *args, **kwargs))


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
                f"apply_over_axes: the function gave an array of {result.ndim} axes for one of "
                f"{value.ndim}; it may fold the axis {k}, or keep all"
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


class vectorize(np.vectorize):
    """A Python function of numbers as a function of arrays: called at once for each element.

    It computes its arguments and needs memory for them; it is as slow as Python is. Write an
    expression where you can.

    Parameters
    ----------
    pyfunc, otypes, doc, excluded, cache, signature
        NumPy's.

    Examples
    --------
    >>> import speedcube as sc
    >>> collatz = sc.vectorize(lambda n: n // 2 if n % 2 == 0 else 3 * n + 1)
    >>> collatz([6, 7]).compute()
    array([ 3, 22])
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function of each element, as arrays."""
        if not callable(self.pyfunc):  # a decorator with arguments gets its function
            return super().__call__(*args, **kwargs)
        known = [np.asarray(one) if isinstance(one, Array) else one for one in args]
        named = {k: np.asarray(v) if isinstance(v, Array) else v for k, v in kwargs.items()}
        found = super().__call__(*known, **named)
        return tuple(map(asarray, found)) if isinstance(found, tuple) else asarray(found)


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
