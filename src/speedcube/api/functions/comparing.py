"""Whether arrays are near or equal, and what stands in for NaN and infinities."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ParameterError, ShapeError, SpeedcubeError
from ...expr import views
from ...expr.nodes import const
from ..array import Array, array_of, elementwise
from ..complexes.of_parts import by_parts, real
from ..devices import checked_order
from ..elementwise import as_the_other
from .floats import either, floats, is_of_floats, magnitude


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Array:
    """Whether ``abs(a - b) <= atol + rtol * abs(b)``, element by element.

    Parameters
    ----------
    a, b : array_like
        Shapes that broadcast. Infinities are near those of their own sign.
    rtol, atol : array_like
        The relative and the absolute tolerance.
    equal_nan : bool
        Whether NaN is near NaN.

    Returns
    -------
    Array
        Of bool.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.isclose([1.0, 2.0], [1.0 + 1e-9, 2.1]).compute()
    array([ True, False])
    """
    x, y = as_the_other(a, b), floats(as_the_other(b, a))
    apart = elementwise("multiply", rtol, magnitude(y)) + atol
    near = elementwise("less_equal", magnitude(x - y), apart)
    near = elementwise("logical_and", near, elementwise("isfinite", y))
    close = elementwise("logical_or", near, elementwise("equal", x, y))
    return elementwise("logical_or", close, _both_nan(x, y)) if equal_nan else close


def _both_nan(x: Array, y: Array) -> Array:
    return elementwise("logical_and", elementwise("isnan", x), elementwise("isnan", y))


def allclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Array:
    """Whether `isclose` holds for all elements: lazy, and computed where Python asks for a bool.

    Parameters
    ----------
    a, b : array_like
        Shapes that broadcast.
    rtol, atol : array_like
        The relative and the absolute tolerance.
    equal_nan : bool
        Whether NaN is near NaN.

    Returns
    -------
    Array
        One bool.

    Examples
    --------
    >>> import speedcube as sc
    >>> bool(sc.allclose([1.0, 2.0], [1.0, 2.0 + 1e-9]))
    True
    """
    return isclose(a, b, rtol, atol, equal_nan).all()


def _readable(value: Any) -> bool:
    """Whether ``value`` is an array of numbers: texts and the like equal nothing, as in NumPy."""
    try:
        array_of(value)
    except SpeedcubeError:
        return False
    return True


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Array:
    """Whether two arrays have one shape and equal elements: lazy, as `allclose` is.

    Parameters
    ----------
    a1, a2 : array_like
        Any shapes.
    equal_nan : bool
        Whether NaN equals NaN.

    Returns
    -------
    Array
        One bool.

    Examples
    --------
    >>> import speedcube as sc
    >>> bool(sc.array_equal([1, 2], [1, 2]))
    True
    """
    if not (_readable(a1) and _readable(a2)):
        return Array(const(False, "bool"))
    x, y = array_of(a1), array_of(a2)
    if x.shape != y.shape:
        return Array(const(False, "bool"))
    same = elementwise("equal", x, y)
    return (elementwise("logical_or", same, _both_nan(x, y)) if equal_nan else same).all()


def array_equiv(a1: Any, a2: Any) -> Array:
    """Whether two arrays broadcast and are equal then: lazy, as `allclose` is.

    Parameters
    ----------
    a1, a2 : array_like
        Any shapes.

    Returns
    -------
    Array
        One bool.

    Examples
    --------
    >>> import speedcube as sc
    >>> bool(sc.array_equiv([1, 2], [[1, 2], [1, 2]]))
    True
    """
    if not (_readable(a1) and _readable(a2)):
        return Array(const(False, "bool"))
    x, y = array_of(a1), array_of(a2)
    try:
        views.broadcast_shapes(x.shape, y.shape)
    except ShapeError:
        return Array(const(False, "bool"))
    return elementwise("equal", x, y).all()


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Array:
    """Numbers for NaN and infinities.

    Parameters
    ----------
    x : array_like
        Any shape; integers and bool stay as they are.
    copy : bool
        Taken because NumPy takes it: nothing is written into `x`.
    nan : array_like
        Stands in for NaN.
    posinf, neginf : array_like, optional
        Stand in for infinities; by default the largest numbers of the dtype.

    Returns
    -------
    Array
        Of the dtype of `x`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.nan_to_num([1.0, float("nan"), float("inf")], posinf=9.0).compute()
    array([1., 0., 9.])
    """
    array = array_of(x)
    if not is_of_floats(array):
        return array._view(array._expr, array._grid)  # another one, to be assigned to
    if array.dtype.kind == "c":
        return by_parts(lambda part: nan_to_num(part, copy, nan, posinf, neginf), array)
    largest = float(np.finfo(array._expr.dtype).max)
    high, low = (largest if posinf is None else posinf), (-largest if neginf is None else neginf)
    endless = elementwise("isinf", array)
    held = either(elementwise("isnan", array), nan, array)
    held = either(endless, either(array > 0, high, low), held)
    return held.astype(array.dtype)


def isreal(x: Any) -> Array:
    """Whether the imaginary part is 0, as it is of real numbers.

    Parameters
    ----------
    x : array_like
        Any shape.

    Returns
    -------
    Array
        Of bool.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.isreal([1.0, 2.0j]).compute()
    array([ True, False])
    """
    array = array_of(x)
    if array.dtype.kind == "c":
        return elementwise("equal", array.imag, 0)
    return array._view(const(True, "bool", array.shape), array._grid)


def iscomplex(x: Any) -> Array:
    """Whether the imaginary part is not 0, which it is of real numbers.

    Parameters
    ----------
    x : array_like
        Any shape.

    Returns
    -------
    Array
        Of bool.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.iscomplex([1.0, 2.0j]).compute()
    array([False,  True])
    """
    array = array_of(x)
    if array.dtype.kind == "c":
        return elementwise("not_equal", array.imag, 0)
    return array._view(const(False, "bool", array.shape), array._grid)


def real_if_close(a: Any, tol: float = 100) -> Array:
    """The real parts where all imaginary ones are small; whether they are is computed at once.

    Parameters
    ----------
    a : array_like
        Any shape.
    tol : float
        How many epsilons an imaginary part may have; up to 1, its size.

    Returns
    -------
    Array
        The real parts, or `a`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.real_if_close([1.0, 2.0 + 1e-15j]).compute()
    array([1., 2.])
    """
    array = array_of(a)
    if array.dtype.kind != "c":
        return array
    most = tol * float(np.finfo(array.dtype).eps) if tol > 1 else tol
    return real(array) if bool((magnitude(array.imag) < most).all()) else array


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Array:
    """`asarray` of what has no NaN and no infinity: that is computed at once.

    Parameters
    ----------
    a : array_like
        Any shape.
    dtype : dtype, optional
        Of the result.
    order : {"C", "F", "A", "K"}, optional
        NumPy's word for the layout in memory; it decides no value.

    Returns
    -------
    Array
        The values.

    Raises
    ------
    ParameterError
        Where one is NaN or infinite.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.asarray_chkfinite([1.0, 2.0]).compute()
    array([1., 2.])
    """
    checked_order("asarray_chkfinite", order)
    array = array_of(a) if dtype is None else array_of(a).astype(dtype)
    if is_of_floats(array) and not bool(elementwise("isfinite", array).all()):
        raise ParameterError("asarray_chkfinite: the array holds NaN or infinities")
    return array
