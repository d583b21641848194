"""Logarithms, and what is made of one: a polynomial of `f - 1` in place of a division."""

from __future__ import annotations

from typing import Final

from ....builder import Builder, Value
from ...bits import magnitude, sign_of
from .. import tables as E
from ..doubles import F64, flipped, number, polynomial, two_sum, zero_stays
from ..logarithm import normal_log, split
from . import tables as T
from .rule import only


def _log(b: Builder, x: Value) -> Value:
    """Of a positive normal number."""
    f, e = split(b, x)
    g = f - number(b, 1.0)
    return b.fma(g, polynomial(b, g, T.LOG), e * number(b, E.LN2_PAIR[0]))


def _based(b: Builder, x: Value, unit: float, two: float) -> Value:
    f, e = split(b, x)
    g = f - number(b, 1.0)
    value = b.fma(g * number(b, unit), polynomial(b, g, T.LOG), e * number(b, two))
    inside = x.compare("gt", number(b, 0.0)) & x.compare("lt", number(b, float("inf")))
    return only(b, inside, value)


def log2(b: Builder, x: Value) -> Value:
    return _based(b, x, E.LOG2E[0], 1.0)


def log10(b: Builder, x: Value) -> Value:
    return _based(b, x, E.LOG10E[0], E.LOG10_2[0] + E.LOG10_2[1])


def _log1p(b: Builder, x: Value) -> Value:
    """`log(1 + x)`; NaN but for -1 < x < infinity. What `1 + x` loses counts for small x alone."""
    total, lost = two_sum(number(b, 1.0), x)
    small = magnitude(b, x).compare("lt", number(b, 0.5))
    value = _log(b, total) + b.select(small, lost, number(b, 0.0))
    inside = x.compare("gt", number(b, -1.0)) & x.compare("lt", number(b, float("inf")))
    return only(b, inside, value)


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
    return only(b, x.compare("ge", number(b, 1.0)), area)


def atanh(b: Builder, x: Value) -> Value:
    a = magnitude(b, x)
    area = _log1p(b, b.emit("div", F64, a + a, number(b, 1.0) - a)) * number(b, 0.5)
    return flipped(only(b, a.compare("lt", number(b, 1.0)), area), sign_of(b, x))


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
    series = polynomial(b, inverse * inverse, E.GAMMALN) * inverse
    main = b.fma(a - number(b, 0.5), normal_log(b, a), number(b, E.HALF_LOG_TWO_PI[0]) - a)
    value = main + (series - normal_log(b, b.select(small, product, one)))
    inside = x.compare("gt", zero) & x.compare("lt", number(b, float("inf")))
    return only(b, inside, value)
