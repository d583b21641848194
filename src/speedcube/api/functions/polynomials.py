"""Polynomials as NumPy's lines of coefficients, the highest power first."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ... import dtypes
from ...errors import ParameterError, ParameterTypeError, ShapeError
from ...expr import build
from ..array import Array, array_of, elementwise
from ..creation import full, zeros
from ..joining import concatenate, stack
from ..namespace.padding import pad
from ..shapes import broadcast_to
from ..sources import asarray
from .floats import floats
from .signals.convolving import convolve

_LOOKED_AT: Final = 1 << 16  # coefficients of which those that are zero are dropped in front


def line(p: Any) -> Array:
    """Coefficients along one axis; a number is one of them."""
    array = array_of(p)
    return array.reshape(1) if not array.ndim else array


def polyval(p: Any, x: Any) -> Array:
    """The polynomial with coefficients `p` at `x`, by Horner's rule: a product and a sum a step.

    Parameters
    ----------
    p : array_like
        One axis of coefficients, the highest power first.
    x : array_like
        Any shape.

    Returns
    -------
    Array
        Of the shape of `x`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.polyval([3, 0, 1], [0, 5]).compute()
    array([ 1, 76])
    """
    array, coefficients = array_of(x), line(p)
    truth = array.dtype == bool
    value = elementwise("logical_and" if truth else "multiply", array, False if truth else 0)
    for k in range(len(coefficients)):
        value = elementwise("add", elementwise("multiply", value, array), coefficients[k])
    return value


def polyadd(a1: Any, a2: Any) -> Array:
    """The sum of two polynomials.

    Parameters
    ----------
    a1, a2 : array_like
        Coefficients, the highest power first.

    Returns
    -------
    Array
        Coefficients, as many as the longer has.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.polyadd([1, 2], [9, 5, 4]).compute()
    array([9, 6, 6])
    """
    return elementwise("add", *_level(a1, a2))


def polysub(a1: Any, a2: Any) -> Array:
    """The difference of two polynomials.

    Parameters
    ----------
    a1, a2 : array_like
        Coefficients, the highest power first.

    Returns
    -------
    Array
        Coefficients, as many as the longer has.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.polysub([1, 2], [9, 5, 4]).compute()
    array([-9, -4, -2])
    """
    return elementwise("subtract", *_level(a1, a2))


def _level(*polynomials: Any) -> list[Array]:
    """Polynomials with zeros in front, so that they are as long as the longest."""
    lines = [line(one) for one in polynomials]
    longest = max(map(len, lines))
    if any(one.ndim > 1 and len(one) < longest for one in lines):
        raise ShapeError("the shorter of two polynomials has one axis of coefficients")
    return [pad(one, (longest - len(one), 0)) if len(one) < longest else one for one in lines]


def polymul(a1: Any, a2: Any) -> Array:
    """The product of two polynomials, without zeros in front; up to 65,536 are computed for that.

    Parameters
    ----------
    a1, a2 : array_like
        Coefficients, the highest power first.

    Returns
    -------
    Array
        Coefficients.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.polymul([1, 2], [9, 5, 4]).compute()
    array([ 9, 23, 14,  8])
    """
    first, second = (_trimmed(line(one)) for one in (a1, a2))
    return convolve(first, second)


def _trimmed(coefficients: Array) -> Array:
    """The same from the highest power that is not zero, which is looked for among a few."""
    if coefficients.ndim > 1:
        raise ShapeError(f"polymul takes coefficients along one axis, not {coefficients.shape}")
    if not coefficients.size:
        return zeros(1, coefficients.dtype)
    if coefficients.size > _LOOKED_AT:
        return coefficients
    powers = np.flatnonzero(np.asarray(coefficients[:-1]))
    return coefficients[int(powers[0]) if powers.size else -1 :]


def polyder(p: Any, m: int = 1) -> Array:
    """The derivative of a polynomial.

    Parameters
    ----------
    p : array_like
        Coefficients, the highest power first.
    m : int
        How often.

    Returns
    -------
    Array
        Coefficients, `m` fewer.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.polyder([1, 1, 1, 1]).compute()
    array([3, 2, 1])
    """
    left = line(p)
    times = build.check_integer("m", m)
    if times < 0:
        raise ParameterError(f"polyder: m must be 0 or more, not {m}")
    for _ in range(times):
        left = left[:-1] * asarray(np.arange(len(left) - 1, 0, -1))
    return left


def polyint(p: Any, m: int = 1, k: Any = None) -> Array:
    """The antiderivative of a polynomial.

    Parameters
    ----------
    p : array_like
        Coefficients, the highest power first.
    m : int
        How often.
    k : array_like, optional
        The constants, one for each time; 0 by default.

    Returns
    -------
    Array
        Coefficients, `m` more.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.polyint([6.0, 2.0, 1.0]).compute()
    array([2., 1., 1., 0.])
    """
    grown, times = line(p), build.check_integer("m", m)
    if times < 0:
        raise ParameterError(f"polyint: m must be 0 or more, not {m}")
    given = np.zeros(max(times, 1)) if k is None else np.atleast_1d(np.asarray(array_of(k) * 1.0))
    constants = np.full(times, given[0]) if len(given) == 1 and times > 1 else given
    if len(constants) < times:
        raise ParameterError(f"polyint needs {times} constants, and k has {len(constants)}")
    for place in range(times):
        divided = floats(grown) / asarray(np.arange(len(grown), 0, -1, dtype=float))
        last = asarray(constants[place : place + 1]).astype(divided.dtype)
        grown = concatenate([divided, last])
    return grown


# More columns than this are a running product, fewer are products one by one.
_COLUMNS: Final = 64


def _many_powers(bases: Array, count: int, increasing: bool) -> Array:
    lines = broadcast_to(bases[:, None], build.check_shape((len(bases), count - 1)))
    ones = broadcast_to(full((1, 1), 1, bases.dtype), (len(bases), 1))
    powers = concatenate([ones, lines.cumprod(axis=1, dtype=bases.dtype)], 1)
    return powers if increasing else powers[:, ::-1]


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Array:
    """The powers of numbers, a row for each number.

    Parameters
    ----------
    x : array_like
        One axis.
    N : int, optional
        How many powers; as many as numbers by default.
    increasing : bool
        Whether the power 0 comes first.

    Returns
    -------
    Array
        A matrix.

    Raises
    ------
    ShapeError
        For more axes than one.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.vander([1, 2, 3], 3).compute()
    array([[1, 1, 1],
           [4, 2, 1],
           [9, 3, 1]])
    """
    array = array_of(x)
    if array.ndim != 1:
        raise ShapeError(f"vander takes one axis, not {array.ndim}")
    if N is not None and not isinstance(N, (int, np.integer)):
        raise ParameterTypeError(f"vander: N is a whole number, not {N!r}")
    count = len(array) if N is None else int(N)
    if count < 0:
        raise ParameterError(f"vander: N is 0 or more, not {count}")
    bases = array.astype(dtypes.promote(array._expr.dtype, "int64"))
    if count > _COLUMNS:
        return _many_powers(bases, count, increasing)
    powers = [full(bases.shape, 1, bases.dtype)]
    while len(powers) < count:
        powers.append(elementwise("multiply", powers[-1], bases))
    columns = powers[:count] if increasing else powers[:count][::-1]
    return stack(columns, 1) if columns else bases.reshape(-1, 1)[:, :0]
