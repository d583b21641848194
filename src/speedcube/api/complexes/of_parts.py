"""Functions of the parts of complex numbers, and what makes complex numbers of parts.

`complex_of` is how other modules make complex arrays of two real ones (users write
``re + 1j * im``); ``x.real`` and ``x.imag`` take them apart. Neither computes or copies anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import dtypes
from ...errors import DTypeError
from ...expr import build, views
from ...expr.pairs import apply
from ...expr.pairs.node import pair
from ..array import Array, array_of
from ..functions.ufuncs import documented, unary


def complex_of(re: Any, im: Any) -> Array:
    """The complex array with these parts, which broadcast: complex64 of floats up to float32.

    Every bit of the parts stays: no arithmetic is done, as ``re + 1j * im`` does.
    """
    x, y = array_of(re), array_of(im)
    common = dtypes.promote(x._expr.dtype, y._expr.dtype, "float32")
    if common in dtypes.COMPLEX:
        raise DTypeError(f"the parts of a complex number must be real, not {x.dtype} and {y.dtype}")
    shape = views.broadcast_shapes(x.shape, y.shape)
    parts = (views.broadcast_to(build.cast(one._expr, common), shape) for one in (x, y))
    grid = x._grid if x.shape == shape else y._grid if y.shape == shape else None
    return Array(pair(*parts), gpu=x._gpu or y._gpu, hint=grid)


def by_rule(op: str, x: Array) -> Array:
    """What the rule ``op``, which real numbers have no operation of, makes of a complex array."""
    return x._view(apply.elementwise(op, [x._expr], str(x.dtype)), x._grid)


def by_parts(function: Callable[..., Any], *values: Any) -> Array:
    """The complex array of what ``function`` makes of real parts, and of imaginary ones."""
    return complex_of(function(*map(real, values)), function(*map(imag, values)))


def real(val: Any) -> Array:
    """Return the real part; of real numbers, the numbers themselves.

    Parameters
    ----------
    val : array
        The values.

    Returns
    -------
    Array
        Of float32 for complex64, float64 for complex128.

    Examples
    --------
    >>> sc.real(sc.asarray([1.0, 2.0 + 3.0j])).compute()
    array([1., 2.])
    """
    part: Array = array_of(val).real
    return part


def imag(val: Any) -> Array:
    """Return the imaginary part; of real numbers, zeros.

    Parameters
    ----------
    val : array
        The values.

    Returns
    -------
    Array
        Of float32 for complex64, float64 for complex128.

    Examples
    --------
    >>> sc.imag(sc.asarray([1.0, 2.0 + 3.0j])).compute()
    array([0., 3.])
    """
    part: Array = array_of(val).imag
    return part


def _conj(x: Any) -> Array:
    array = array_of(x)
    if array.dtype.kind == "c":
        return array.conj()
    return array.astype("int8" if array.dtype.kind == "b" else array.dtype)


conj = unary(
    "conj",
    _conj,
    documented(
        "The complex conjugate: the other sign of the imaginary part; real numbers as they are.",
        1,
        "sc.conj([1.0, 2.0 + 3.0j]) -> array([1.-0.j, 2.-3.j])",
    ),
)
conjugate = conj


def angle(z: Any, deg: bool = False) -> Array:
    """Return the angle of complex numbers in the plane, from the positive real axis.

    Parameters
    ----------
    z : array_like
        The numbers; real ones have the angle 0, or pi below 0.
    deg : bool
        In degrees instead of radians.

    Returns
    -------
    Array
        From -pi to pi, by `atan2` within one ulp.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.angle([1.0, 1.0j, -1.0], deg=True).compute()
    array([  0.,  90., 180.])
    """
    array = array_of(z)
    if array.dtype.kind == "c":
        x, y = array.real, array.imag
    else:
        x = array.astype("float64") if array.dtype == bool else array
        y = x.imag
    found = array._elementwise("atan2", y, x)
    return found * (180 / math.pi) if deg else found
