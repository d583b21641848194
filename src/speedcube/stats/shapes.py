"""What a distribution looks like: central moments, and the numbers that are made of them.

The definitions are those of D. N. Joanes and C. A. Gill, "Comparing measures of sample skewness and
kurtosis", The Statistician 47 (1998): g1 and g2, and G1 and G2 with ``bias=False``.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

from ..api.array import Array
from ..api.elementwise import where
from ..api.sources import asarray

_WORD = "nan_policy: only 'propagate' is there; use nanmean and the like of your own formula"


def moment(a: Any, moment: int = 1, axis: int | None = 0, nan_policy: str = "propagate") -> Array:
    """The mean of a power of the distances from the mean.

    Parameters
    ----------
    a : array
        Numbers.
    moment : int
        The power, 0 or more. The first central moment is 0.
    axis : int or None
        The axis along which the mean is taken; None takes all elements.
    nan_policy : str
        ``"propagate"``.

    Returns
    -------
    Array
        float64, or float32 of float32; without `axis`.

    Raises
    ------
    NotImplementedError
        For another `nan_policy`.
    ValueError
        If `moment` is no whole number, or below 0.

    Examples
    --------
    >>> float(sc.stats.moment([1.0, 2.0, 6.0], 3))
    6.0
    """
    _check(nan_policy)
    if moment != int(moment) or moment < 0:
        raise ValueError(f"moment={moment!r}: central moments are of whole numbers, 0 or more")
    x = _numbers(a)
    if moment <= 1:  # which rounding would make a little more, or less
        power = 0 * x + (1 - int(moment))
    else:
        away = x - x.mean(axis=axis, keepdims=True)
        power = reduce(Array.__mul__, [away] * int(moment))
    return asarray(power.mean(axis=axis))


def skew(a: Any, axis: int | None = 0, bias: bool = True, nan_policy: str = "propagate") -> Array:
    """How far the numbers reach to one side: the third moment in units of the spread.

    Parameters
    ----------
    a : array
        Numbers.
    axis : int or None
        The axis along which they are taken; None takes all elements.
    bias : bool
        False corrects for the number of samples.
    nan_policy : str
        ``"propagate"``.

    Returns
    -------
    Array
        Without unit; 0 where all numbers are equal, as Dask has it.

    Raises
    ------
    NotImplementedError
        For another `nan_policy`.

    Examples
    --------
    >>> float(sc.stats.skew([1.0, 2.0, 6.0]).round(6))
    0.59517
    """
    _check(nan_policy)
    x = _numbers(a)
    second, third = moment(x, 2, axis), moment(x, 3, axis)
    value = where(second == 0, 0.0, third / second**1.5)
    n = _count(x, axis)
    if bias or n <= 2:
        return value
    return asarray(value * (math.sqrt(n * (n - 1)) / (n - 2)))


def kurtosis(
    a: Any,
    axis: int | None = 0,
    fisher: bool = True,
    bias: bool = True,
    nan_policy: str = "propagate",
) -> Array:
    """How far the numbers reach from their mean: the fourth moment in units of the spread.

    Parameters
    ----------
    a : array
        Numbers.
    axis : int or None
        The axis along which they are taken; None takes all elements.
    fisher : bool
        Whether 3 is subtracted, which a normal distribution has.
    bias : bool
        False corrects for the number of samples.
    nan_policy : str
        ``"propagate"``.

    Returns
    -------
    Array
        Without unit; 0 (or -3) where all numbers are equal, as Dask has it.

    Raises
    ------
    NotImplementedError
        For another `nan_policy`.

    Examples
    --------
    >>> float(sc.stats.kurtosis([1.0, 2.0, 3.0, 4.0, 10.0]).round(6))
    -0.212
    """
    _check(nan_policy)
    x = _numbers(a)
    second, fourth = moment(x, 2, axis), moment(x, 4, axis)
    value = where(second == 0, 0.0, fourth / second**2)
    n = _count(x, axis)
    if not bias and n > 3:
        corrected = ((n**2 - 1) * value - 3 * (n - 1) ** 2) / ((n - 2) * (n - 3)) + 3
        value = where(second == 0, value, corrected)
    return asarray(value - 3) if fisher else value


def _check(nan_policy: str) -> None:
    if nan_policy != "propagate":
        raise NotImplementedError(_WORD)


def _numbers(a: Any) -> Array:
    return a if isinstance(a, Array) else asarray(a)


def _count(x: Array, axis: int | None) -> int:
    return x.size if axis is None else x.shape[axis]
