"""Elementary functions of complex numbers, with NumPy's branch cuts and special values.

They are made of real functions whose bits are the same everywhere. Formulas are Kahan's ("Branch
cuts for complex elementary functions", 1987) where he has one, so that no digits cancel. complex64
is computed in float64 and rounded once (`apply`), so ranges are of no concern there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, TypeAlias

from .arithmetic import Pair, chosen, multiply
from .reals import Number, Real, of, where

Formula: TypeAlias = Callable[..., Pair]

RULES: Final[dict[str, Formula]] = {}
LARGE: Final = 700.0  # above it exp(x) may overflow where a part of exp(z) does not
LN2: Final = math.log(2.0)
_LN2_REST: Final = 2.3190468138462996e-17  # of the logarithm of 2


def rule(name: str) -> Callable[[Formula], Formula]:
    """What the operation ``name`` makes of pairs."""

    def register(function: Formula) -> Formula:
        RULES[name] = function
        return function

    return register


def signed(size: Number, sign: Real) -> Real:
    """``size``, which is not negative, with the sign of ``sign``; a NaN has none."""
    below = of("signbit", sign) & ~of("isnan", sign)
    return where(below, -1.0, 1.0) * size


def wild(x: Real) -> Real:
    """Whether it is infinite or NaN."""
    return ~of("isfinite", x)


# Exponentials ------------------------------------------------------------------------------------


def scaled(x: Real, number: Real) -> Real:
    """``exp(x) * number``, where exp(x) alone may overflow."""
    far = x > LARGE
    near = of("exp", where(far, x - LARGE, x)) * number
    return where(far, near * math.exp(LARGE), near)


@rule("exp")
def exp(z: Pair) -> Pair:
    """``exp(x) (cos y + i sin y)``."""
    x, y = z
    return _of_wild_angle(x, y, scaled(x, of("cos", y)), scaled(x, of("sin", y)))


def _of_wild_angle(x: Real, y: Real, re: Real, im: Real) -> Pair:
    """The parts of an exponential, and what C says where x, y or both are infinite or NaN."""
    nothing = wild(y) & x.equals(-math.inf)
    re = where(wild(y) & x.equals(math.inf), math.inf, where(nothing, 0.0, re))
    return re, where(y.equals(0.0), y, where(nothing, signed(0.0, y), im))


@rule("expm1")
def expm1(z: Pair) -> Pair:
    """``exp(z) - 1``, near 0 too."""
    x, y = z
    half = of("sin", y * 0.5)
    re = of("expm1", x) * of("cos", y) - 2.0 * half * half
    return re, where(y.equals(0.0), y, of("exp", x) * of("sin", y))


# Logarithms --------------------------------------------------------------------------------------

_SPLIT: Final = 134217729.0  # 2**27 + 1


def _square(x: Real) -> tuple[Real, Real]:
    """The square, rounded, and what rounding left over; for sizes near 1."""
    big = x * _SPLIT
    high = big - (big - x)
    low = x - high
    rounded = x * x
    return rounded, ((high * high - rounded) + 2.0 * high * low) + low * low


def _product_rest(x: Real, factor: float) -> Real:
    """What rounding leaves over of ``x * factor``."""
    big = x * _SPLIT
    high = big - (big - x)
    low = x - high
    first = math.ldexp(round(math.ldexp(factor, 26)), -26)
    second = factor - first
    return ((high * first - x * factor) + (high * second + low * first)) + low * second


def _sum(a: Real, b: Number) -> tuple[Real, Real]:
    """The sum, rounded, and what rounding left over."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def log_modulus(x: Real, y: Real) -> Real:
    """``log |z|``, also near the unit circle, where the squares' last digits are what is left."""
    great = where(abs(x) > abs(y), abs(x), abs(y))  # a NaN's place is the other's
    huge, tiny = great > 2.0**1000, great < 2.0**-1000
    scale = where(huge, 2.0**-200, where(tiny, 2.0**200, 1.0))
    shift = where(huge, 200.0 * LN2, where(tiny, -200.0 * LN2, 0.0))
    size = of("hypot", x * scale, y * scale)
    near = (size > 0.5) & (size < 2.0)
    a, b = (where(near, part, 0.75) for part in (x, y))
    (p, p_rest), (q, q_rest) = _square(a), _square(b)
    above, below = where(p >= q, p, q), where(p >= q, q, p)
    first, rest = _sum(above, -1.0)
    total, more = _sum(first, below)
    excess = total + (more + rest + (p_rest + q_rest))
    return where(near, 0.5 * of("log1p", excess), of("log", size) + shift)


@rule("log")
def log(z: Pair) -> Pair:
    """``log |z| + i arg z``."""
    return log_modulus(*z), of("atan2", z[1], z[0])


@rule("log2")
def log2(z: Pair) -> Pair:
    """The logarithm over that of 2."""
    re, im = log(z)
    return re * (1 / LN2), im * (1 / LN2)


@rule("log10")
def log10(z: Pair) -> Pair:
    """The logarithm over that of 10."""
    re, im = log(z)
    return re * (1 / math.log(10.0)), im * (1 / math.log(10.0))


@rule("log1p")
def log1p(z: Pair) -> Pair:
    """``log(1 + z)``, near 0 too."""
    x, y = z
    excess = x * (2.0 + x) + y * y
    near = (excess > -0.5) & (excess < 1.0)
    re = where(
        near, 0.5 * of("log1p", where(near, excess, 0.0)), of("log", of("hypot", 1.0 + x, y))
    )
    return re, of("atan2", y, 1.0 + x)


@rule("exp2")
def exp2(z: Pair) -> Pair:
    """``2**x (cos t + i sin t)`` of the angle ``t = y log 2``, with what its rounding left over."""
    x, y = z
    held = where(abs(y) < 2.0**50, y, 0.0)
    angle, rest = y * LN2, _product_rest(held, LN2) + held * _LN2_REST
    cos, sin = of("cos", angle), of("sin", angle)
    far = x > 1000.0
    size, back = of("exp2", where(far, x - 1000.0, x)), where(far, 2.0**1000, 1.0)
    re, im = size * (cos - rest * sin) * back, size * (sin + rest * cos) * back
    return _of_wild_angle(x, y, re, im)


# Roots and powers --------------------------------------------------------------------------------


@rule("sqrt")
def sqrt(z: Pair) -> Pair:
    """The root with a real part that is not negative."""
    x, y = z
    size = of("maximum", abs(x), abs(y))
    huge, tiny = size > 2.0**1020, size < 2.0**-960
    scale = where(huge, 2.0**-4, where(tiny, 2.0**110, 1.0))
    back = where(huge, 2.0**2, where(tiny, 2.0**-55, 1.0))
    a, b = x * scale, y * scale
    root = of("sqrt", (abs(a) + of("hypot", a, b)) * 0.5)
    other = where(size.equals(0.0), 0.0, abs(b) / (2.0 * root))
    right = ~(x < 0.0)
    re = where(right, root, other) * back
    im = where(right, other, root) * back
    return _root_at_infinity(x, y, re, im)


def _root_at_infinity(x: Real, y: Real, re: Real, im: Real) -> Pair:
    """``re``, and ``im`` with the sign of ``y``; what C says where a part is infinite."""
    above, below = x.equals(math.inf), x.equals(-math.inf)
    none = where(of("isnan", y), math.nan, 0.0)
    re = where(above, math.inf, where(below, none, re))
    im = where(above, none, where(below, math.inf, im))
    endless = of("isinf", y)
    re, im = where(endless, math.inf, re), where(endless, math.inf, im)
    return re, signed(im, y)


def reciprocal(z: Pair) -> Pair:
    """One over it, by the greater part first."""
    x, y = z
    wide = abs(x) >= abs(y)
    great, small = where(wide, x, y), where(wide, y, x)
    ratio = small / great
    size = great + small * ratio
    return where(wide, 1.0, ratio) / size, -where(wide, ratio, 1.0) / size


RULES["reciprocal"] = reciprocal


def number_power(z: Pair, exponent: float) -> Pair | None:
    """To one exponent, where NumPy multiplies or takes the root; None elsewhere."""
    if exponent in (0.5, 2):
        found: Pair = sqrt(z) if exponent == 0.5 else multiply(z, z)
        return found
    if abs(exponent) >= _WHOLE or exponent != int(exponent):
        return None
    nothing = z[0].equals(0.0) & z[1].equals(0.0)
    re, im = _multiplied(z, int(exponent))
    if exponent <= 0:
        return re, im
    return where(nothing, 0.0, re), where(nothing, 0.0, im)


def _multiplied(z: Pair, exponent: int) -> Pair:
    """To a whole power by repeated squaring."""
    if not exponent:
        never = z[0] < z[0]
        return where(never, 0.0, 1.0), where(never, 1.0, 0.0)
    result: Pair | None = None
    square, bits = z, abs(exponent)
    while bits:
        if bits & 1:
            result = square if result is None else multiply(result, square)
        bits >>= 1
        if bits:
            square = multiply(square, square)
    assert result is not None
    return result if exponent > 0 else reciprocal(result)


_WHOLE: Final = 100  # below it NumPy multiplies


@rule("power")
def power(z: Pair, w: Pair) -> Pair:
    """``exp(w log z)``; whole powers by multiplication."""
    (x, y), (u, v) = z, w
    is_whole = v.equals(0.0) & (abs(u) < _WHOLE) & of("rint", u).equals(u)
    by_product = _whole_powers(z, where(is_whole, abs(u), 0.0))
    by_product = chosen(u < 0.0, reciprocal(by_product), by_product)
    endless = (of("isinf", x) | of("isinf", y)) & ((u < 0.0) | (u > 3.0))  # times 1 + 0j in NumPy
    by_product = where(endless, math.nan, by_product[0]), where(endless, math.nan, by_product[1])
    logarithm = log(z)
    sign = _direction(w, logarithm)
    re, im = exp(multiply(w, logarithm))
    re = where(sign > 0.0, math.inf, where(sign < 0.0, 0.0, re))
    found = chosen(is_whole, by_product, (re, where(sign < 0.0, 0.0, im)))
    zero = x.equals(0.0) & y.equals(0.0) & ~(u.equals(0.0) & v.equals(0.0))
    of_zero = where(u > 0.0, 0.0, math.nan)
    return where(zero, of_zero, found[0]), where(zero, of_zero, found[1])


def _direction(w: Pair, z: Pair) -> Real:
    """Where C's product of ``w`` and ``z`` is infinite and ours NaN, the sign of its real part.

    Else 0, or NaN. C takes infinite parts as 1 then, the other part beside them and NaN as 0
    (C11, annex G.5.1).
    """
    (a, b), (c, d) = _boxed(w), _boxed(z)
    product = multiply(w, z)
    lost = of("isnan", product[0]) & of("isnan", product[1])
    endless = of("isinf", w[0]) | of("isinf", w[1]) | of("isinf", z[0]) | of("isinf", z[1])
    return where(lost & endless, a * c - b * d, 0.0)


def _boxed(z: Pair) -> Pair:
    endless = of("isinf", z[0]) | of("isinf", z[1])
    x, y = (where(endless, where(of("isinf", one), signed(1.0, one), 0.0), one) for one in z)
    return where(of("isnan", z[0]), 0.0, x), where(of("isnan", z[1]), 0.0, y)


def _whole_powers(z: Pair, count: Real) -> Pair:
    """To each power of ``count``, whole numbers from 0 up to `_WHOLE`."""
    bits = []
    for size in (64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0):
        bits.append(count >= size)
        count = where(bits[-1], count - size, count)
    result, square = (1.0 + 0.0 * count, 0.0 * count), z
    fresh = count.equals(0.0)  # nothing is left of it: everywhere
    for number, use in enumerate(reversed(bits)):
        square = multiply(square, square) if number else z
        result = chosen(use, chosen(fresh, square, multiply(result, square)), result)
        fresh = fresh & ~use
    return result
