"""Numbers taken apart and put together: quotient and rest, fraction and exponent, neighbours."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Final

import numpy as np

from ... import dtypes
from ...errors import DTypeError, ShapeError
from ...expr import build
from ..array import Array, array_of, elementwise
from ..joining import stack
from ..namespace.axes import moveaxis
from .floats import bits_as, copied_sign, either, held, magnitude, together
from .ufuncs import binary, documented, pair_of_one, pair_of_two, unary

# The signed integer as wide, the places of the fraction in it, and the exponent of infinity.
_LAYOUT: Final = {
    "float16": ("int16", 10, 31),
    "float32": ("int32", 23, 255),
    "float64": ("int64", 52, 2047),
}


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


def _power_of_two(exponent: Array) -> Array:
    """2 to whole numbers, int64, that are normal exponents of float64: made of bits."""
    return bits_as((exponent + 1023) << 52, "float64")


def _ldexp(x: Any, exponent: Any) -> Array:
    """In three steps: only the last can round a result that is not 0."""
    by = array_of(exponent)
    if type(x) is int and not isinstance(exponent, int) and by.dtype != bool:
        with np.errstate(over="ignore"):
            x = np.float16(x)  # NumPy's choice, which no other ufunc's is
    array = held(x)
    if not np.can_cast(by.dtype, np.int64):
        raise DTypeError(f"ldexp takes integers for exponents; got {by.dtype}")
    whole = by.astype("int64").clip(-2100, 2100)
    last = whole.clip(-1022, 1023)
    half = (whole - last) >> 1
    scaled = array.astype("float64") * _power_of_two(half) * _power_of_two(whole - last - half)
    return elementwise("multiply", scaled, _power_of_two(last)).astype(array.dtype)


def _mantissa(x: Any) -> Array:
    array = held(x)
    return _Taken(_carried(array)).mantissa().astype(array.dtype)


def _exponent(x: Any) -> Array:
    return _Taken(_carried(held(x))).exponent().astype("int32")


def _carried(array: Array) -> Array:
    """float16 as float32, in which it has no subnormal numbers."""
    return array.astype(dtypes.carrier(array._expr.dtype))


frexp = pair_of_one(
    "frexp",
    (_mantissa, _exponent),
    "A number from 0.5 up to 1 and an exponent of two whose product is `x`, exact.",
    "tuple of two Arrays\n        The numbers, with the sign of `x`; the exponents, int32.",
    "    >>> number, exponent = sc.frexp([6.0, -0.25])\n"
    "    >>> number.compute(), exponent.compute()\n"
    "    (array([ 0.75, -0.5 ]), array([ 3, -1], dtype=int32))\n",
)


class _Taken:
    """A number by its bits; 0, infinities and NaN are their own mantissa, with exponent 0.

    Subnormal numbers are lifted first, which is exact.
    """

    def __init__(self, array: Array) -> None:
        name = array._expr.dtype
        word, self.places, most = _LAYOUT[name]
        self.array, self.half = array, most // 2 - 1  # the biased exponent of 1/2
        self.tiny = magnitude(array) < float(np.finfo(name).tiny)
        self.bits = bits_as(either(self.tiny, array * 2.0 ** (self.places + 2), array), word)
        self.biased = self.bits & (most << self.places)
        self.plain = (array != 0) & (self.biased != most << self.places)

    def mantissa(self) -> Array:
        exchanged = (self.bits ^ self.biased) | (self.half << self.places)
        return either(self.plain, bits_as(exchanged, self.array._expr.dtype), self.array)

    def exponent(self) -> Array:
        off = either(self.tiny, self.half + self.places + 2, self.half)
        return either(self.plain, (self.biased >> self.places) - off, 0)


def _spacing(x: Any) -> Array:
    array = held(x)
    word, _, _ = _LAYOUT[array._expr.dtype]
    bits = bits_as(array, word)
    away = bits + 1
    if array.dtype == "float16":  # NumPy's looks up from every number, and has no sign
        away = either(array < 0, bits - 1, away)
    unit = bits_as(away, array._expr.dtype) - array
    unit = either(array == 0, float(_least(array._expr.dtype)), unit)
    return either(elementwise("isfinite", array), unit, math.nan)


def _nextafter(x: Any, y: Any) -> Array:
    a, b = together(x, y, as_floats=True)
    name = a._expr.dtype
    word, _, _ = _LAYOUT[name]
    bits = bits_as(a, word)
    away = elementwise("logical_xor", b > a, a < 0)  # from 0
    moved = bits_as(either(away, bits + 1, bits - 1), name)
    moved = either(a == 0, copied_sign(array_of(_least(name)), b), moved)
    unknown = elementwise("isnan", a) | elementwise("isnan", b)
    alike = a if name == "float16" else b  # as NumPy has it, of two zeros
    return either(unknown, math.nan, either(a == b, alike, moved))


def _least(name: str) -> Any:
    return np.finfo(name).smallest_subnormal


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
    """The cross products of vectors of three elements; a third that is missing is 0.

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
        Each component two products, rounded, and their difference; of vectors of two elements the
        last component alone.

    Raises
    ------
    ShapeError
        Where vectors have neither two nor three elements.

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
    if not {x.shape[-1], y.shape[-1]} <= {2, 3}:
        raise ShapeError(
            f"cross takes vectors of two or three elements, not {x.shape[-1]} and {y.shape[-1]}"
        )
    parts = ([z[..., k] for k in range(z.shape[-1])] for z in (x, y))
    return _crossed(next(parts), next(parts), axisc)


def _crossed(x: list[Array], y: list[Array], axis: int) -> Array:
    """The components, along ``axis``; the last alone where there are no others."""
    last: Array = x[0] * y[1] - x[1] * y[0]
    if len(x) == len(y) == 2:
        return last
    if len(x) == len(y):
        parts = [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], last]
    elif len(y) == 2:
        parts = [-(x[2] * y[1]), x[2] * y[0], last]
    else:
        parts = [x[1] * y[2], -(x[0] * y[2]), last]
    return stack(parts, build.check_axis(axis, last.ndim + 1))
