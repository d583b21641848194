"""Polynomials whose number of coefficients depends on values, and fits: computed at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import MatrixError, ParameterError, ShapeError, ShapeTypeError
from ...expr import build
from ..array import Array, array_of
from ..complexes.of_parts import real
from ..joining import concatenate
from ..sources import asarray
from .polynomials import line
from .signals.convolving import convolve


def poly(seq_of_zeros: Any) -> Array:
    """The polynomial with leading coefficient 1 that has the given zeros. Of reals it is lazy.

    Parameters
    ----------
    seq_of_zeros : array_like
        One axis of numbers, or a square matrix, whose eigenvalues (NumPy's) are the zeros. Whether
        coefficients are real depends on values: complex zeros and matrices are computed at once.

    Returns
    -------
    Array
        One coefficient more than there are zeros, the highest power first.

    Raises
    ------
    ShapeError
        Of a matrix that is not square.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.poly([1.0, 2.0]).compute()
    array([ 1., -3.,  2.])
    """
    zeros = array_of(seq_of_zeros)
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] > 0:
        try:
            return asarray(np.poly(_values(zeros)))
        except np.linalg.LinAlgError as err:
            raise MatrixError(f"poly: {err}: see isfinite(seq_of_zeros).all()") from err
    if zeros.ndim > 1:
        raise ShapeError(f"poly takes zeros or a square matrix, not an array of {zeros.shape}")
    factors = line(zeros)
    kept = factors.dtype == "float32" or factors.dtype.kind == "c"
    name = str(factors.dtype) if kept else "float64"  # as in NumPy
    coefficients = one = asarray(np.ones(1, name))
    for k in range(len(factors)):
        coefficients = convolve(coefficients, concatenate([one, -factors[k : k + 1].astype(name)]))
    if factors.dtype.kind == "c" and len(factors):
        known = _values(factors)
        if np.array_equal(np.sort(known), np.sort(known.conj())):  # of conjugate pairs
            return real(coefficients)
    return coefficients if len(factors) else asarray(1.0)


def polydiv(u: Any, v: Any) -> tuple[Array, Array]:
    """The quotient and the remainder of two polynomials: NumPy's, computed at once.

    How many coefficients the remainder has depends on their values.

    Parameters
    ----------
    u, v : array_like
        Coefficients of the dividend and the divisor, the highest power first.

    Returns
    -------
    tuple of two Arrays
        Coefficients, in memory.

    Examples
    --------
    >>> import speedcube as sc
    >>> quotient, rest = sc.polydiv([3.0, 5.0, 2.0], [2.0, 1.0])
    >>> quotient.compute(), rest.compute()
    (array([1.5 , 1.75]), array([0.25]))
    """
    dividend, divisor = (np.atleast_1d(_values(array_of(one))) for one in (u, v))
    if dividend.ndim > 1 or divisor.ndim > 1:
        raise ShapeError("polydiv takes coefficients along one axis")
    quotient, rest = np.polydiv(dividend, divisor)
    return asarray(quotient), asarray(rest)


def roots(p: Any) -> Array:
    """The zeros of a polynomial, computed at once by NumPy: no law covers them.

    Parameters
    ----------
    p : array_like
        Coefficients along one axis, the highest power first.

    Returns
    -------
    Array
        The zeros: complex numbers where one is not real.

    Raises
    ------
    ValueError
        If the coefficients have more than one axis.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.roots([1.0, -3.0, 2.0]).compute()
    array([2., 1.])
    """
    coefficients = array_of(p)
    if coefficients.ndim != 1:
        raise ShapeTypeError(
            f"roots takes coefficients along one axis, not an array of shape {coefficients.shape}"
        )
    try:
        return asarray(np.roots(np.asarray(coefficients.compute())))
    except np.linalg.LinAlgError as err:
        raise MatrixError(f"roots: {err}: see isfinite(p).all()") from err


def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """The polynomial of degree `deg` next to points, by least squares: NumPy's, computed at once.

    Its bits are those of the machine's LAPACK, not ours.

    Parameters
    ----------
    x : array_like
        Where the points are: one axis.
    y : array_like
        What they are: one axis as long as `x`, or several such as columns.
    deg : int or sequence of int
        The degree, or the powers that count.
    rcond : float, optional
        Singular values below so much of the largest count as 0.
    full : bool
        Whether residuals, rank, singular values and `rcond` are given, too.
    w : array_like, optional
        Weights of the points.
    cov : bool or "unscaled"
        Whether the covariances of the coefficients are given, too.

    Returns
    -------
    Array, or a tuple with it
        The coefficients, the highest power first; and what `full` or `cov` asks for.

    Raises
    ------
    ParameterError
        For a degree below 0.
    ShapeTypeError
        Where shapes do not fit; it is a TypeError, as in NumPy.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1).compute().round(9)
    array([2., 1.])
    """
    numpys: Any = np.polyfit  # whose kind of result its stubs tell from constants
    weights = None if w is None else _values(w)
    try:
        found = numpys(_values(x), _values(y), deg, rcond, full, weights, cov)
    except TypeError as err:
        raise ShapeTypeError(f"polyfit: {err}") from err
    except ValueError as err:
        raise ParameterError(f"polyfit: {err}") from err
    if not isinstance(found, tuple):
        return asarray(found)
    return tuple(asarray(one) if isinstance(one, np.ndarray) else one for one in found)


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Array:
    """An array without the zeros at its ends, which are looked for at once.

    Parameters
    ----------
    filt : array_like
        Of one axis or more.
    trim : {"fb", "f", "b"}
        Whether zeros go in front, behind, or both.
    axis : int or tuple of int, optional
        Along which axes; all by default. A slice goes where all of it is 0.

    Returns
    -------
    Array
        A view.

    Raises
    ------
    ParameterError
        For other letters in `trim`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.trim_zeros([0, 0, 3, 0, 5, 0]).compute()
    array([3, 0, 5])
    """
    if not isinstance(trim, str) or trim.lower() not in ("fb", "bf", "f", "b"):
        raise ParameterError(f"trim_zeros: trim must be 'f', 'b' or 'fb', not {trim!r}")
    array = array_of(filt)
    key = [slice(None)] * array.ndim
    for k in build.normalise_axes(axis, array.ndim):
        others = tuple(j for j in range(array.ndim) if j != k)
        kept = np.flatnonzero(_values((array != 0).any(axis=others)))
        first, last = (int(kept[0]), int(kept[-1])) if kept.size else (0, -1)
        front, back = (end in trim.lower() or not kept.size for end in "fb")
        key[k] = slice(first if front else None, last + 1 if back else None)
    return array[tuple(key)]


def _values(value: Any) -> Any:
    """``value``, computed, as NumPy's array."""
    return np.asarray(value)
