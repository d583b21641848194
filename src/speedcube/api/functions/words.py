"""Numbers taken apart and put together: quotient and rest, fraction and exponent, neighbours."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Final

import numpy as np

from ...errors import DTypeError, ShapeError
from ...expr import build
from ..array import Array, array_of, elementwise
from ..joining import stack
from ..namespace.axes import moveaxis
from .floats import copied_sign, either, held, magnitude, together
from .ufuncs import binary, documented, pair_of_one, pair_of_two, unary

# Places of the fraction, and the exponent of the least number above 0.
_PLACES: Final = {"float16": (11, -24), "float32": (24, -149), "float64": (53, -1074)}


def _quotient(x: Any, y: Any) -> Array:
    return elementwise("floor_divide", x, y)


def _rest(x: Any, y: Any) -> Array:
    return elementwise("remainder", x, y)


def _whole_part(x: Any) -> Array:
    return elementwise("trunc", held(x))


def _fraction(x: Any) -> Array:
    array = held(x)
    rest = either(elementwise("isinf", array), 0.0, array - _whole_part(array))
    return copied_sign(rest, array)


divmod = pair_of_two(
    "divmod",
    (_quotient, _rest),
    "The floor of the quotient, and what it leaves: ``x1 // x2`` and ``x1 % x2``.",
    "tuple of two Arrays\n        Exact where the quotient is no more than its dtype holds.",
    "    >>> quotient, rest = sc.divmod([7, -7], 4)\n    >>> rest.compute()\n    array([3, 1])\n",
)
modf = pair_of_one(
    "modf",
    (_fraction, _whole_part),
    "The fraction and the whole part, both with the sign of `x`, exact.",
    "tuple of two Arrays\n        Of floats.",
    "    >>> fraction, whole = sc.modf([2.5, -1.25])\n    >>> fraction.compute()\n"
    "    array([ 0.5 , -0.25])\n",
)


def _scaled(array: Array, exponent: Array) -> Array:
    """``array``, float64, times 2 to ``exponent``, rounded once: `exp2` of whole numbers is exact.

    In three steps, of which only the last can round: a double holds powers from -1074 to 1023.
    """
    left = exponent.astype("float64").clip(-2200.0, 2200.0)
    first = left.clip(-1000.0, 1023.0)
    last = (left - first).clip(-1074.0, 1023.0)
    array = array * elementwise("exp2", first) * elementwise("exp2", left - first - last)
    scaled: Array = array * elementwise("exp2", last)
    return scaled


def _ldexp(x: Any, exponent: Any) -> Array:
    by = array_of(exponent)
    array = held(x)
    if not np.can_cast(by.dtype, np.int64):
        raise DTypeError(f"ldexp takes integers for exponents; got {by.dtype}")
    return _scaled(array.astype("float64"), by).astype(array.dtype)


def _mantissa(x: Any) -> Array:
    array = held(x)
    return _apart(array.astype("float64"))[0].astype(array.dtype)


def _exponent(x: Any) -> Array:
    return _apart(held(x).astype("float64"))[1].astype("int32")


frexp = pair_of_one(
    "frexp",
    (_mantissa, _exponent),
    "A number from 0.5 up to 1 and an exponent of two whose product is `x`, exact.",
    "tuple of two Arrays\n        The numbers, with the sign of `x`; the exponents, int32.",
    "    >>> number, exponent = sc.frexp([6.0, -0.25])\n"
    "    >>> number.compute(), exponent.compute()\n"
    "    (array([ 0.75, -0.5 ]), array([ 3, -1], dtype=int32))\n",
)


def _apart(array: Array) -> tuple[Array, Array]:
    """Fraction and exponent of float64: by the logarithm, put right by one where it is off."""
    plain = elementwise("isfinite", array) & (array != 0)
    size = either(plain, magnitude(array), 1.0)
    tiny = size < 2.0**-1000
    size = either(tiny, size * 2.0**100, size)
    near = elementwise("floor", elementwise("log2", size)) + 1.0
    # In two steps: the power may be too small for a double.
    half = elementwise("trunc", near / 2.0)
    fraction = size * elementwise("exp2", -half) * elementwise("exp2", half - near)
    over, under = fraction >= 1, fraction < 0.5
    fraction = either(over, fraction / 2.0, either(under, fraction * 2.0, fraction))
    near = near + either(over, 1.0, either(under, -1.0, 0.0)) - either(tiny, 100.0, 0.0)
    return either(plain, copied_sign(fraction, array), array), either(plain, near, 0.0)


def _ulp(array: Array) -> tuple[Array, Array]:
    """The distance to the next number away from 0, float64, and whether that towards 0 is half."""
    places, least = _PLACES[array._expr.dtype]
    wide = array.astype("float64")
    fraction, exponent = _apart(wide)
    place = elementwise("maximum", exponent - float(places), float(least))
    place = either(wide == 0, float(least), place)
    return elementwise("exp2", place), (magnitude(fraction) == 0.5) & (place > least)


def _spacing(x: Any) -> Array:
    array = held(x)
    largest = float(np.finfo(array._expr.dtype).max)
    unit, halved = _ulp(array)
    if array.dtype == "float16":  # NumPy's looks up from every number, and has no sign
        signed = either((array < 0) & halved, unit / 2.0, either(array == largest, math.inf, unit))
    else:
        unit = either(magnitude(array) == largest, math.inf, unit)
        signed = either(array < 0, -unit, unit)
    strange = elementwise("logical_not", elementwise("isfinite", array))
    return either(strange, math.nan, signed).astype(array.dtype)


def _nextafter(x: Any, y: Any) -> Array:
    a, b = together(x, y, as_floats=True)
    name = a._expr.dtype
    unit, halved = _ulp(a)
    up, wide = b > a, a.astype("float64")
    inward = elementwise("logical_xor", up, a > 0)
    unit = either(halved & inward, unit / 2.0, unit)
    moved = either(up, wide + unit, wide - unit)
    largest = float(np.finfo(name).max)
    moved = either(elementwise("isinf", a), either(a > 0, largest, -largest), moved)
    moved = either(moved == 0, copied_sign(moved, wide), moved)
    unknown = elementwise("isnan", a) | elementwise("isnan", b)
    moved = either(a == b, b.astype("float64"), moved)
    return either(unknown, math.nan, moved).astype(name)


def _lcm(x: Any, y: Any) -> Array:
    a, b = together(x, y)
    shared = elementwise("gcd", a, b)  # 0 of two zeros, and a quotient by it is 0
    return elementwise("multiply", elementwise("floor_divide", magnitude(a), shared), magnitude(b))


gcd = binary(
    "gcd",
    partial(elementwise, "gcd"),
    documented(
        "The greatest common divisor of integers, without a sign.", 2,
        "sc.gcd([12, -18, 0], 8) -> array([4, 2, 8])",
    ),
)  # fmt: skip
lcm = binary(
    "lcm",
    _lcm,
    documented(
        "The least common multiple of integers, without a sign; it wraps.", 2,
        "sc.lcm([12, -18, 0], 8) -> array([24, 72,  0])",
    ),
)  # fmt: skip
ldexp = binary(
    "ldexp",
    _ldexp,
    documented(
        "`x1` times 2 to the power `x2`, rounded once.", 2,
        "sc.ldexp([3.0, -1.0], [2, -1]) -> array([12. , -0.5])",
    ),
)  # fmt: skip
nextafter = binary(
    "nextafter",
    _nextafter,
    documented(
        "The next number after `x1` on the side of `x2`.", 2,
        "sc.nextafter([0.0, 0.0], [1.0, -1.0]) -> array([ 5.e-324, -5.e-324])",
    ),
)  # fmt: skip
spacing = unary(
    "spacing",
    _spacing,
    documented(
        "The distance to the next number away from 0, with the sign of `x`.", 1,
        "sc.spacing([1.0, -1.0]) -> array([ 2.22044605e-16, -2.22044605e-16])",
    ),
)  # fmt: skip


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Array:
    """The cross products of vectors of three elements.

    Parameters
    ----------
    a, b : array_like
        Vectors along an axis; the other axes broadcast.
    axisa, axisb, axisc : int
        The axes of the vectors in `a`, `b` and the result.
    axis : int, optional
        All three of them.

    Returns
    -------
    Array
        Each component two products, rounded, and their difference.

    Raises
    ------
    ShapeError
        Where vectors have no three elements.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.cross([1, 0, 0], [0, 1, 0]).compute()
    array([0, 0, 1])
    """
    first, second = array_of(a), array_of(b)
    if axis is not None:
        axis = build.check_integer("axis", axis)
        axisa = axisb = axisc = axis
    if not first.ndim or not second.ndim:
        raise ShapeError("cross takes arrays of one axis or more")
    x, y = moveaxis(first, axisa, -1), moveaxis(second, axisb, -1)
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise ShapeError(
            f"cross takes vectors of three elements, not {x.shape[-1]} and {y.shape[-1]}"
        )
    (x0, x1, x2), (y0, y1, y2) = ([z[..., k] for k in range(3)] for z in (x, y))
    parts = [x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0]
    return stack(parts, build.check_axis(axisc, parts[0].ndim + 1))
