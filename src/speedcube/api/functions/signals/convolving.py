"""Convolution and correlation of two lines."""

from __future__ import annotations

from typing import Any

from ....errors import ParameterError, ShapeError
from ...array import Array, array_of
from ..floats import together
from .slid import slid


def convolve(a: Any, v: Any, mode: str = "full") -> Array:
    """The convolution of two lines.

    Up to 64 elements in the shorter: products are added in the order of its elements, each rounded.
    Beyond that, and where complex lines overlap in part, each result is the exact sum of exact
    products.

    Parameters
    ----------
    a, v : array_like
        One axis of at least one element.
    mode : str
        "full": wherever they overlap; "same": as long as the longer; "valid": where all do.

    Returns
    -------
    Array
        One axis.

    Raises
    ------
    ParameterError
        For another mode, or nothing to convolve.
    ShapeError
        For more axes than one.

    Examples
    --------
    >>> sc.convolve([1, 2, 3], [0, 1, 1]).compute()
    array([0, 1, 3, 5, 3])
    """
    long, short = _lines("convolve", a, v)
    if len(short) > len(long):
        long, short = short, long
    return slid(long, short[::-1], mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Array:
    """The cross-correlation of two lines; rounded as `convolve` is.

    Parameters
    ----------
    a, v : array_like
        One axis of at least one element.
    mode : str
        "valid": where all overlap; "same": as long as the longer; "full": wherever any do.

    Returns
    -------
    Array
        One axis.

    Examples
    --------
    >>> sc.correlate([1, 2, 3], [0, 1, 2]).compute()
    array([8])
    """
    if not array_of(a).ndim or not array_of(v).ndim:
        raise ShapeError("correlate takes lines of one axis, not numbers")
    x, y = _lines("correlate", a, v)
    y = y.conj()
    return slid(x, y, mode) if len(x) >= len(y) else slid(y, x, mode)[::-1]


def _lines(name: str, a: Any, v: Any) -> tuple[Array, Array]:
    x, y = array_of(a), array_of(v)
    if x._expr.dtype != y._expr.dtype:
        x, y = together(x, y)
    x, y = (one.reshape(1) if not one.ndim else one for one in (x, y))
    if x.ndim > 1 or y.ndim > 1:
        raise ShapeError(f"{name} takes lines of one axis, not {x.ndim} and {y.ndim}")
    if not x.size or not y.size:
        raise ParameterError(f"{name} takes lines of at least one element")
    return x, y
