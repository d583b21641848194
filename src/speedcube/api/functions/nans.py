"""NumPy's reductions that leave NaN out: the same reductions of what a mask leaves."""

from __future__ import annotations

import math
from typing import Any

from ... import dtypes
from ...errors import DTypeError
from ..array import Array, array_of, elementwise
from ..methods.keywords import put
from ..methods.moments import spread
from .floats import is_of_floats


def _numbers(array: Array, where: Any = True) -> Any:
    """The mask of what is no NaN and counts; True where that is everything."""
    if not is_of_floats(array):
        return where
    known = elementwise("logical_not", elementwise("isnan", array))
    return known if where is True else elementwise("logical_and", known, where)


def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    *,
    split_every: Any = None,
) -> Array:
    """The exact sum of what is no NaN, rounded once; of nothing, 0.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int or tuple of int, optional
        What is folded; all axes by default.
    dtype : dtype, optional
        Of the result.
    out : Array, optional
        Takes the result.
    keepdims : bool
        Whether folded axes stay, with size one.
    initial : number, optional
        Is added to the sum.
    where : array_like of bool, optional
        The elements that count.
    split_every : optional
        Dask's; it decides nothing.

    Returns
    -------
    Array
        Lazy, without the folded axes.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.nansum([[1.0, float("nan")], [3.0, 4.0]], axis=0).compute()
    array([4., 4.])
    """
    array = array_of(a)
    return array.sum(axis, dtype, out, keepdims, initial, _numbers(array, where))


def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    *,
    split_every: Any = None,
) -> Array:
    """The product of what is no NaN, by `prod`'s tree; of nothing, 1.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int or tuple of int, optional
        What is folded; all axes by default.
    dtype : dtype, optional
        Of the result.
    out : Array, optional
        Takes the result.
    keepdims : bool
        Whether folded axes stay, with size one.
    initial : number, optional
        A last factor.
    where : array_like of bool, optional
        The elements that count.
    split_every : optional
        Dask's; it decides nothing.

    Returns
    -------
    Array
        Lazy, without the folded axes.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.nanprod([[2.0, float("nan")], [3.0, 4.0]], axis=0).compute()
    array([6., 4.])
    """
    array = array_of(a)
    return array.prod(axis, dtype, out, keepdims, initial, _numbers(array, where))


def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
    split_every: Any = None,
) -> Array:
    """The mean of what is no NaN: the exact sum, rounded to float64, over the count.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int or tuple of int, optional
        What is folded; all axes by default.
    dtype : dtype, optional
        Of the result, one of floats.
    out : Array, optional
        Takes the result.
    keepdims : bool
        Whether folded axes stay, with size one.
    where : array_like of bool, optional
        The elements that count.
    split_every : optional
        Dask's; it decides nothing.

    Returns
    -------
    Array
        Lazy, without the folded axes; NaN where nothing is left.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.nanmean([[1.0, float("nan")], [3.0, 4.0]], axis=0).compute()
    array([2., 4.])
    """
    array = array_of(a)
    _check_inexact("nanmean", array, dtype)
    return array.mean(axis, dtype, out, keepdims, where=_numbers(array, where))


def _check_inexact(name: str, array: Array, dtype: Any) -> None:
    """Refuse, as NumPy does, a mean or a spread of floats as integers."""
    if dtype is None or not dtypes.is_inexact(array._expr.dtype):
        return
    if not dtypes.is_inexact(dtypes.check(dtype)):
        raise DTypeError(
            f"{name} of {array.dtype} has no dtype {dtypes.check(dtype)}: its result is a "
            "fraction; leave dtype= out, and convert that"
        )


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
    split_every: Any = None,
) -> Array:
    """The variance of what is no NaN: the exact sum of squared deviations over the count.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int or tuple of int, optional
        What is folded; all axes by default.
    dtype : dtype, optional
        Of the result, one of floats.
    out : Array, optional
        Takes the result.
    ddof : float
        What is taken off the count.
    keepdims : bool
        Whether folded axes stay, with size one.
    where : array_like of bool, optional
        The elements that count.
    mean : array_like, optional
        Known means, with the folded axes kept.
    correction : float, optional
        The Array API's word for `ddof`.
    split_every : optional
        Dask's; it decides nothing.

    Returns
    -------
    Array
        Lazy, without the folded axes; NaN where no more than `ddof` are left.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.nanvar([[1.0, float("nan")], [3.0, 4.0]], axis=0).compute()
    array([1., 0.])
    """
    return _spread("var", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
    split_every: Any = None,
) -> Array:
    """The square root of `nanvar`, with its arguments.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int or tuple of int, optional
        What is folded; all axes by default.
    dtype : dtype, optional
        Of the result, one of floats.
    out : Array, optional
        Takes the result.
    ddof : float
        What is taken off the count.
    keepdims : bool
        Whether folded axes stay, with size one.
    where : array_like of bool, optional
        The elements that count.
    mean : array_like, optional
        Known means, with the folded axes kept.
    correction : float, optional
        The Array API's word for `ddof`.
    split_every : optional
        Dask's; it decides nothing.

    Returns
    -------
    Array
        Lazy, without the folded axes.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.nanstd([[1.0, float("nan")], [5.0, 4.0]], axis=0).compute()
    array([2., 0.])
    """
    return _spread("std", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


def _spread(
    op: str,
    a: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    ddof: float,
    keepdims: bool,
    where: Any,
    mean: Any,
    correction: float | None,
) -> Array:
    array = array_of(a)
    _check_inexact(f"nan{op}", array, dtype)
    known = _numbers(array, where)
    nothing = math.nan if is_of_floats(array) else 0.0  # what NumPy's nanvar divides by then
    result = spread(op, array, axis, dtype, ddof, keepdims, known, mean, correction, nothing)
    return put(out, result, f"nan{op}")
