"""atan2, atan, asin, acos: one arc tangent of a quotient of pairs.

The smaller of `|y|` and `|x|` is divided by the larger; above `tan(pi/8)`, `(y - x) / (y + x)` is
taken instead and an eighth of a turn added. What remains is an odd polynomial of `|t| <= 0.4143`,
and one rounded sum with the multiple of `pi/4`. `asin(x)` is the angle of `(sqrt(1 - x x), x)`.
"""

from __future__ import annotations

from typing import Final

from ...builder import Builder, Value
from ..bits import magnitude, sign_of
from . import tables as T
from .doubles import (
    Pair,
    chosen,
    fast_two_sum,
    flipped,
    number,
    plus,
    polynomial,
    quotient,
    root,
    times,
    two_sum,
    widened,
    word,
)

EIGHTH: Final = 0.41421356237309503  # tan(pi/8)


def _angle(b: Builder, y: Pair, x: Pair, left: Value, single: bool = False) -> Value:
    """The angle in 0 .. pi of (x, y), both not negative and not too small or large to divide;
    ``left``: x is to be taken as negative. ``single``: the second parts of both are zero.
    """
    zero, one, two, four = (number(b, v) for v in (0.0, 1.0, 2.0, 4.0))
    steep = y[0].compare("gt", x[0])
    top, below = chosen(b, steep, x, y), chosen(b, steep, y, x)
    over = top[0].compare("gt", below[0] * number(b, EIGHTH))
    minus = (-below[0], -below[1])
    if single:
        turned_by = two_sum(top[0], minus[0]), two_sum(top[0], below[0])
    else:
        turned_by = plus(top, minus), plus(top, below)
    t, low = quotient(b, chosen(b, over, turned_by[0], top), chosen(b, over, turned_by[1], below))
    z = t * t
    small = b.fma(t * z, polynomial(b, z, T.ATAN), low)
    eighths = b.select(over, one, zero)
    eighths = b.select(steep, two - eighths, eighths)
    eighths = b.select(left, four - eighths, eighths)
    turned = b.select(steep, word(b, 1 << 63), word(b, 0))
    turned = turned ^ b.select(left, word(b, 1 << 63), word(b, 0))
    t, small = flipped(t, turned), flipped(small, turned)
    first, second = fast_two_sum(eighths * number(b, T.QUARTER_PI[0]), t)
    return first + (second + b.fma(eighths, number(b, T.QUARTER_PI[1]), small))


@widened
def atan2(b: Builder, y: Value, x: Value) -> Value:
    """The angle of (x, y); C's rules for zeros and infinities."""
    zero, one, infinite = (number(b, v) for v in (0.0, 1.0, float("inf")))
    left = sign_of(b, x).compare("ne", word(b, 0))
    high, wide = magnitude(b, y), magnitude(b, x)
    endless = high.compare("eq", infinite) | wide.compare("eq", infinite)
    p = b.select(endless, b.select(high.compare("eq", infinite), one, zero), high)
    q = b.select(endless, b.select(wide.compare("eq", infinite), one, zero), wide)
    q = b.select(p.compare("eq", zero) & q.compare("eq", zero), one, q)
    larger = b.select(p.compare("gt", q), p, q)
    factor = b.select(larger.compare("gt", number(b, 2.0**1000)), number(b, 2.0**-100), one)
    factor = b.select(larger.compare("lt", number(b, 2.0**-900)), number(b, 2.0**150), factor)
    angle = _angle(b, (p * factor, zero), (q * factor, zero), left, single=True)
    # Far to the right the angle is the quotient, which may be subnormal.
    flat = p.compare("lt", q * number(b, 2.0**-30)) & b.unary("not", left)
    angle = b.select(flat, b.emit("div", y.type, p, q), angle)
    no_number = x.compare("ne", x) | y.compare("ne", y)
    return b.select(no_number, number(b, float("nan")), flipped(angle, sign_of(b, y)))


@widened
def atan(b: Builder, x: Value) -> Value:
    zero, one = number(b, 0.0), number(b, 1.0)
    size = magnitude(b, x)
    inside = b.select(size.compare("lt", number(b, 2.0**60)), size, number(b, 2.0**60))
    angle = _angle(b, (inside, zero), (one, zero), b.const(False, "bool"), single=True)
    angle = b.select(size.compare("lt", number(b, 2.0**-30)), size, angle)
    angle = b.select(x.compare("ne", x), x, angle)
    return flipped(angle, sign_of(b, x))


def _other(b: Builder, x: Value) -> Pair:
    """`sqrt(1 - x x)` for `0 <= x < 1`, and 0 for 1."""
    one = number(b, 1.0)
    square = times(b, two_sum(one, -x), two_sum(one, x))
    end = x.compare("ge", one)
    nothing = number(b, 0.0), number(b, 0.0)
    return chosen(b, end, nothing, root(b, chosen(b, end, (one, nothing[0]), square)))


def _outside(b: Builder, x: Value, angle: Value) -> Value:
    inside = magnitude(b, x).compare("le", number(b, 1.0))
    return b.select(inside, angle, number(b, float("nan")))


@widened
def asin(b: Builder, x: Value) -> Value:
    size = magnitude(b, x)
    angle = _angle(b, (size, number(b, 0.0)), _other(b, size), b.const(False, "bool"))
    angle = b.select(size.compare("lt", number(b, 2.0**-30)), size, angle)
    return flipped(_outside(b, x, angle), sign_of(b, x))


@widened
def acos(b: Builder, x: Value) -> Value:
    size = magnitude(b, x)
    left = x.compare("lt", number(b, 0.0))
    angle = _angle(b, _other(b, size), (size, number(b, 0.0)), left)
    return _outside(b, x, angle)
