"""Results of float32 by plain float64 arithmetic where that decides them, as nearly always.

A function of float32 is the exact rule's result, made in pairs of float64, rounded. Plain float64
comes within ``2**-38`` of that; where all that is so near rounds to one float32, it is the same
one. Elsewhere, once in four thousand, and where the plain result is NaN, the exact rule is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from ...builder import Builder, Value
from ..bits import magnitude, sign_of
from . import tables as T
from .doubles import F64, flipped, number, polynomial, two_sum, word, zero_stays
from .inverse import EIGHTH
from .logarithm import normal_log
from .roots import rounded_cbrt

Rule: TypeAlias = Callable[..., Value]
NEAR: Final = 2.0**-38


def nearly(plain: Rule, exact: Rule, off: float = 0.0) -> Rule:
    """``exact``, for float32 by way of ``plain``, which takes float64, and may be ``off`` more."""

    def narrowed(b: Builder, *args: Value) -> Value:
        return exact(b, *(a.cast(F64) for a in args)).cast("float32")

    def both(b: Builder, *args: Value) -> Value:
        if args[0].type == F64:
            return exact(b, *args)
        value = plain(b, *(a.cast(F64) for a in args))
        below, above = value * number(b, 1 - NEAR), value * number(b, 1 + NEAR)
        if off:
            margin = magnitude(b, value) * number(b, NEAR) + number(b, off)
            below, above = value - margin, value + margin
        below, above = below.cast("float32"), above.cast("float32")
        return b.rare(below.compare("ne", above), below, narrowed, *args)

    both.__doc__ = exact.__doc__
    return both


def _only(b: Builder, condition: Value, value: Value) -> Value:
    return b.select(condition, value, number(b, float("nan")))


def _log1p(b: Builder, x: Value) -> Value:
    """`log(1 + x)`; NaN but for -1 < x < infinity. What `1 + x` loses counts for small x alone."""
    total, lost = two_sum(number(b, 1.0), x)
    small = magnitude(b, x).compare("lt", number(b, 0.5))
    value = normal_log(b, total) + b.select(small, lost, number(b, 0.0))
    inside = x.compare("gt", number(b, -1.0)) & x.compare("lt", number(b, float("inf")))
    return _only(b, inside, value)


def log1p(b: Builder, x: Value) -> Value:
    return zero_stays(b, x, _log1p(b, x))


def asinh(b: Builder, x: Value) -> Value:
    a, one = magnitude(b, x), number(b, 1.0)
    below = one + b.unary("sqrt", b.fma(a, a, one))
    area = _log1p(b, a + b.emit("div", F64, a * a, below))
    return flipped(area, sign_of(b, x))


def acosh(b: Builder, x: Value) -> Value:
    t = x - number(b, 1.0)
    area = _log1p(b, t + b.unary("sqrt", t * (t + number(b, 2.0))))
    return _only(b, x.compare("ge", number(b, 1.0)), area)


def atanh(b: Builder, x: Value) -> Value:
    a = magnitude(b, x)
    area = _log1p(b, b.emit("div", F64, a + a, number(b, 1.0) - a)) * number(b, 0.5)
    return flipped(_only(b, a.compare("lt", number(b, 1.0)), area), sign_of(b, x))


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
    return b.fma(eighths, number(b, T.QUARTER_PI[0]), flipped(t, turned))


def atan(b: Builder, x: Value) -> Value:
    return flipped(_angle(b, magnitude(b, x), number(b, 1.0)), sign_of(b, x))


def atan2(b: Builder, y: Value, x: Value) -> Value:
    left = sign_of(b, x).compare("ne", word(b, 0))
    return flipped(_angle(b, magnitude(b, y), magnitude(b, x), left), sign_of(b, y))


def _other(b: Builder, size: Value) -> Value:
    one = number(b, 1.0)
    return b.unary("sqrt", (one - size) * (one + size))


def asin(b: Builder, x: Value) -> Value:
    size = magnitude(b, x)
    return flipped(_angle(b, size, _other(b, size)), sign_of(b, x))


def acos(b: Builder, x: Value) -> Value:
    size = magnitude(b, x)
    left = x.compare("lt", number(b, 0.0))
    inside = size.compare("le", number(b, 1.0))
    return _only(b, inside, _angle(b, _other(b, size), size, left))


TERMS_OFF: Final = 2.0**-42  # what plain gammaln is off near its zeros, and more


def gammaln(b: Builder, x: Value) -> Value:
    """Of positive numbers, as `special` has it."""
    one, zero = number(b, 1.0), number(b, 0.0)
    small = x.compare("lt", number(b, 8.0))
    product = x
    for k in range(1, 8):
        product = product * (x + number(b, float(k)))
    a = b.select(small, x + number(b, 8.0), x)
    inverse = b.emit("div", F64, one, a)
    series = polynomial(b, inverse * inverse, T.GAMMALN) * inverse
    main = b.fma(a - number(b, 0.5), normal_log(b, a), number(b, T.HALF_LOG_TWO_PI[0]) - a)
    value = main + (series - normal_log(b, b.select(small, product, one)))
    inside = x.compare("gt", zero) & x.compare("lt", number(b, float("inf")))
    return _only(b, inside, value)


def cbrt(b: Builder, x: Value) -> Value:
    return rounded_cbrt(b, x, remainder=False)
