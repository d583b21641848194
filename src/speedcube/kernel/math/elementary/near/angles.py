"""Angles, tan and cbrt: one division at most, and one root where an angle needs it."""

from __future__ import annotations

from ....builder import Builder, Value
from ...bits import magnitude, sign_of
from .. import tables as E
from ..doubles import F64, SHIFTER, flipped, number, polynomial, word
from ..exponential import BIAS, nearest, power_of_two
from ..inverse import EIGHTH
from ..logarithm import split
from ..reduction import LIMIT
from . import tables as T
from .rule import only


def _angle(b: Builder, y: Value, x: Value, left: Value | None = None) -> Value:
    """As in `inverse`."""
    zero, one, two, four = (number(b, v) for v in (0.0, 1.0, 2.0, 4.0))
    steep = y.compare("gt", x)
    top, below = b.select(steep, x, y), b.select(steep, y, x)
    over = top.compare("gt", below * number(b, EIGHTH))
    above, under = b.select(over, top - below, top), b.select(over, top + below, below)
    t = b.emit("div", F64, above, under)
    z = t * t
    t = b.fma(t * z, polynomial(b, z, T.ATAN), t)
    eighths = b.select(over, one, zero)
    eighths = b.select(steep, two - eighths, eighths)
    turned = b.select(steep, word(b, 1 << 63), word(b, 0))
    if left is not None:
        eighths = b.select(left, four - eighths, eighths)
        turned = turned ^ b.select(left, word(b, 1 << 63), word(b, 0))
    return b.fma(eighths, number(b, E.QUARTER_PI[0]), flipped(t, turned))


def atan(b: Builder, x: Value) -> Value:
    return flipped(_angle(b, magnitude(b, x), number(b, 1.0)), sign_of(b, x))


def atan2(b: Builder, y: Value, x: Value) -> Value:
    left = sign_of(b, x).compare("ne", word(b, 0))
    return flipped(_angle(b, magnitude(b, y), magnitude(b, x), left), sign_of(b, y))


def _arc(b: Builder, size: Value) -> tuple[Value, Value]:
    """Whether ``size`` is above 1/2, and `asin` of it or of `sqrt((1 - size) / 2)`.

    Above one that is NaN.
    """
    half = number(b, 0.5)
    large = size.compare("gt", half)
    other = b.fma(size, -half, half)
    s = b.select(large, b.unary("sqrt", other), size)
    z = b.select(large, other, size * size)
    return large, b.fma(s * z, polynomial(b, z, T.ASIN), s)


def asin(b: Builder, x: Value) -> Value:
    """`pi/2 - 2 asin(sqrt((1 - x) / 2))` above 1/2."""
    large, arc = _arc(b, magnitude(b, x))
    right = number(b, E.HALF_PI[0])
    return flipped(b.select(large, b.fma(arc, number(b, -2.0), right), arc), sign_of(b, x))


def acos(b: Builder, x: Value) -> Value:
    """`2 asin(sqrt((1 - x) / 2))` above 1/2, `pi` less that on the left."""
    large, arc = _arc(b, magnitude(b, x))
    left = x.compare("lt", number(b, 0.0))
    zero, right, half = (number(b, v) for v in (0.0, E.PI[0], E.HALF_PI[0]))
    turned = flipped(arc, b.select(large, word(b, 0), word(b, 1 << 63)) ^ sign_of(b, x))
    base = b.select(large, b.select(left, right, zero), half)
    return b.fma(turned, b.select(large, number(b, 2.0), number(b, 1.0)), base)


def tan(b: Builder, x: Value) -> Value:
    """`sin(r) / cos(r)`, or `-cos(r) / sin(r)` in odd quadrants."""
    size = magnitude(b, x)
    n, shifted = nearest(b, size, E.TWO_OVER_PI[0])
    r = b.fma(n, number(b, -E.HALF_PI[1]), b.fma(n, number(b, -E.HALF_PI[0]), size))
    z = r * r
    sine = b.fma(r * z, polynomial(b, z, T.SIN), r)
    cosine = b.fma(z, polynomial(b, z, T.COS), number(b, 1.0))
    quadrant = shifted.bitcast("uint64")
    odd = (quadrant & word(b, 1)).compare("ne", word(b, 0))
    top, below = b.select(odd, cosine, sine), b.select(odd, sine, cosine)
    ratio = flipped(b.emit("div", F64, top, below), (quadrant << 63) ^ sign_of(b, x))
    return only(b, size.compare("lt", number(b, LIMIT)), ratio)


def cbrt(b: Builder, x: Value) -> Value:
    """`f y y (1 - e)**(-2/3)`, `y` near the inverse root of f and `e = 1 - f y y y`."""
    size = magnitude(b, x)
    f, e = split(b, size)
    q, shifted = nearest(b, e, 1.0 / 3.0, SHIFTER + BIAS)
    rest = e - q * number(b, 3.0)
    zero = number(b, 0.0)
    up, down = rest.compare("gt", zero), rest.compare("lt", zero)
    third = b.select(down, number(b, T.THIRDS[0]), number(b, T.THIRDS[1]))
    third = b.select(up, number(b, T.THIRDS[2]), third)
    y = polynomial(b, f, T.INVERSE_CBRT)
    square = f * (y * y)
    off = b.fma(-square, y, number(b, 1.0))
    more = b.fma(off, number(b, 5.0 / 9.0), number(b, 2.0 / 3.0))
    value = b.fma(square, off * more, square) * (third * power_of_two(shifted))
    odd = size.compare("eq", zero) | b.unary("not", size.compare("lt", number(b, float("inf"))))
    return flipped(b.select(odd, size, value), sign_of(b, x))
