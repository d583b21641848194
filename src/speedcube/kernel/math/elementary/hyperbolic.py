"""Hyperbolic functions and their inverses, by exponentials and logarithms kept as pairs.

`tanh(x) = expm1(2x) / (expm1(2x) + 2)`, both as pairs, so that one rounding decides.
"""

from __future__ import annotations

from typing import Final

from ...builder import Builder, Value
from ..bits import magnitude, sign_of
from . import single
from . import tables as T
from .doubles import (
    at_most,
    flipped,
    number,
    plus,
    quotient,
    root,
    times,
    two_product,
    two_sum,
    widened,
)
from .exponential import TWICE, by_power, exp_near, expm1_pair, grown, nearest, reduced
from .logarithm import log1p_pair, log_pair


def tanh(b: Builder, x: Value) -> Value:
    if x.type == "float32":
        return single.tanh(b, x)
    size = at_most(b, magnitude(b, x), 20.0)
    m, low = expm1_pair(b, size + size)
    below, lost = two_sum(number(b, 2.0), m)
    first, second = quotient(b, (m, low), (below, lost + low))
    return flipped(first + second, sign_of(b, x))


FAR: Final = 22.0  # from here on exp(-x) is no part of sinh(x) and cosh(x)


def _half_exp(b: Builder, x: Value) -> Value:
    """`exp(x) / 2` for `x >= FAR`, which overflows where it must."""
    inside = at_most(b, x, 712.0)
    n, shifted = nearest(b, inside, T.LOG2E[0], TWICE)
    value = grown(b, reduced(b, inside, n))
    return by_power(value, shifted - number(b, 1.0))


@widened
def sinh(b: Builder, x: Value) -> Value:
    """`(m + m / (m + 1)) / 2` of `m = expm1(|x|)`; `exp(|x|) / 2` far out."""
    size = magnitude(b, x)
    m = expm1_pair(b, at_most(b, size, FAR))
    below = plus(m, (number(b, 1.0), number(b, 0.0)))
    total, rest = plus(m, quotient(b, m, below))
    near = (total + rest) * number(b, 0.5)
    far = size.compare("gt", number(b, FAR))
    return flipped(b.rare(far, near, _half_exp, size), sign_of(b, x))


@widened
def cosh(b: Builder, x: Value) -> Value:
    """`(e + 1 / e) / 2` of `e = exp(|x|)`; `exp(|x|) / 2` far out."""
    size = magnitude(b, x)
    e = exp_near(b, at_most(b, size, FAR))
    total, rest = plus(e, quotient(b, (number(b, 1.0), number(b, 0.0)), e))
    near = (total + rest) * number(b, 0.5)
    return b.rare(size.compare("gt", number(b, FAR)), near, _half_exp, size)


HUGE: Final = 2.0**28  # beyond it the root of x x + 1 and of x x - 1 is x


def _log_double(b: Builder, x: Value) -> Value:
    """`log(2 x)`."""
    high, low = log_pair(b, x, number(b, 1.0))
    return high + low


@widened
def asinh(b: Builder, x: Value) -> Value:
    """`log1p(a + a a / (1 + sqrt(a a + 1)))` of `a = |x|`."""
    one = number(b, 1.0), number(b, 0.0)
    size = magnitude(b, x)
    a = at_most(b, size, HUGE)
    square = two_product(b, a, a)
    below = plus(one, root(b, plus(square, one)))
    high, low = log1p_pair(b, plus((a, one[1]), quotient(b, square, below)))
    area = b.rare(size.compare("gt", number(b, HUGE)), high + low, _log_double, size)
    area = b.select(size.compare("lt", number(b, 2.0**-28)), size, area)
    return flipped(_finite(b, size, area), sign_of(b, x))


def _finite(b: Builder, x: Value, value: Value) -> Value:
    """``value``, but x where x is an infinity or NaN."""
    return b.select(x.compare("lt", number(b, float("inf"))), value, x)


@widened
def acosh(b: Builder, x: Value) -> Value:
    """`log1p(t + sqrt(t (t + 2)))` of `t = x - 1`, which is exact where it matters."""
    t = at_most(b, x, HUGE) - number(b, 1.0)
    zero = number(b, 0.0)
    square = times(b, (t, zero), two_sum(t, number(b, 2.0)))
    high, low = log1p_pair(b, plus((t, zero), root(b, square)))
    area = b.rare(x.compare("gt", number(b, HUGE)), high + low, _log_double, x)
    area = b.select(x.compare("eq", number(b, 1.0)), zero, _finite(b, x, area))
    return b.select(x.compare("lt", number(b, 1.0)), number(b, float("nan")), area)


@widened
def atanh(b: Builder, x: Value) -> Value:
    """`log1p(2 a / (1 - a)) / 2` of `a = |x|`."""
    one = number(b, 1.0)
    size = magnitude(b, x)
    a = b.select(size.compare("lt", one), size, number(b, 0.5))
    double = quotient(b, (a + a, number(b, 0.0)), two_sum(one, -a))
    high, low = log1p_pair(b, double)
    area = (high + low) * number(b, 0.5)
    area = b.select(size.compare("lt", number(b, 2.0**-28)), size, area)
    area = b.select(size.compare("eq", one), number(b, float("inf")), area)
    area = b.select(size.compare("le", one), area, number(b, float("nan")))
    return flipped(area, sign_of(b, x))
