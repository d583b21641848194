"""erf and erfc; gammaln, the logarithm of `|gamma(x)|`.

Below 1/2 erf is an odd polynomial. Above, `erfc(x) = exp(-x x) erfcx(x)`: `x x` and its rounding
error go into the exponential, and erfcx is a polynomial around the middle of one of 48 pieces.

gammaln is Stirling's series from 8 on. Below 8 it is taken at `x + 8`, less the logarithm of
`x (x + 1) ... (x + 7)`; left of zero `pi / (a sin(pi a))` is reflected. All in pairs, since the
terms cancel near the zeros: the absolute error stays below `2**-53` where the relative one does
not.
"""

from __future__ import annotations

from typing import Final

from ...builder import Builder, Value
from ..bits import magnitude, sign_of
from . import tables as T
from .doubles import (
    F64,
    Pair,
    at_least,
    at_most,
    chosen,
    fast_two_sum,
    flipped,
    number,
    plus,
    polynomial,
    times,
    two_product,
    two_sum,
    widened,
    word,
)
from .erfcx import ERFCX
from .exponential import TWICE, by_power, grown_pair, nearest, reduced
from .logarithm import log, log_pair
from .trigonometric import sine_and_cosine

HALF_BITS: Final = 0x3FE << 52


def _near(b: Builder, x: Value) -> Pair:
    """`erf(x)` for `|x| <= 1/2`."""
    z = x * x
    high, low = two_product(b, x, number(b, T.TWO_OVER_ROOT_PI[0]))
    low = b.fma(x, number(b, T.TWO_OVER_ROOT_PI[1]), low)
    return high, b.fma(x * z, polynomial(b, z, T.ERF), low)


def _far(b: Builder, size: Value) -> tuple[Pair, Value]:
    """`erfc(x) / 2**n` as a pair for `1/2 <= x <= 28`, and `n + TWICE`."""
    bits = size.bitcast("uint64")
    piece = (bits >> 49) - word(b, HALF_BITS >> 49)
    middle = ((bits & word(b, -(1 << 49) % 2**64)) | word(b, 1 << 48)).bitcast(F64)
    d = size - middle
    index = piece.bitcast("int64")
    high, low, *others = (b.table(row, index).bitcast(F64) for row in ERFCX)
    tail = others[-1]
    for coefficient in others[-2::-1]:
        tail = b.fma(tail, d, coefficient)
    scaled = fast_two_sum(high, b.fma(tail, d, low))
    square, lost = two_product(b, size, size)
    n, shifted = nearest(b, -square, T.LOG2E[0], TWICE)
    return times(b, scaled, grown_pair(b, reduced(b, -square, n, -lost))), shifted


def _outer(b: Builder, x: Value, limit: float) -> Value:
    """`|x|` within `1/2 .. limit`, which `_far` takes."""
    outer = at_least(b, at_most(b, magnitude(b, x), limit), 0.5)
    return b.select(x.compare("ne", x), number(b, 1.0), outer)


@widened
def erf(b: Builder, x: Value) -> Value:
    size = magnitude(b, x)
    small = size.compare("lt", number(b, 0.5))
    (high, low), shifted = _far(b, _outer(b, x, 6.5))
    high, low = by_power(high, shifted), by_power(low, shifted)
    one, rest = fast_two_sum(number(b, 1.0), -high)
    first, second = _near(b, b.select(small, size, number(b, 0.25)))
    value = b.select(small, first + second, one + (rest - low))
    return flipped(b.select(x.compare("ne", x), x, value), sign_of(b, x))


@widened
def erfc(b: Builder, x: Value) -> Value:
    """On the left `2 - erfc(-x)`; about zero `1 - erf(x)`."""
    small = magnitude(b, x).compare("lt", number(b, 0.5))
    (high, low), shifted = _far(b, _outer(b, x, 28.0))
    right = by_power(high + low, shifted)
    high, low = by_power(high, shifted), by_power(low, shifted)
    two, rest = fast_two_sum(number(b, 2.0), -high)
    left = two + (rest - low)
    first, second = _near(b, b.select(small, x, number(b, 0.25)))
    one, rest = fast_two_sum(number(b, 1.0), -first)
    value = b.select(x.compare("lt", number(b, 0.0)), left, right)
    value = b.select(small, one + (rest - second), value)
    return b.select(x.compare("ne", x), x, value)


HUGE: Final = 2.5e305
TINY: Final = 2.0**-70


@widened
def gammaln(b: Builder, x: Value) -> Value:
    zero, one, infinite = (number(b, v) for v in (0.0, 1.0, float("inf")))
    size = magnitude(b, x)
    a = at_least(b, at_most(b, size, HUGE), TINY)
    a = b.select(x.compare("ne", x), one, a)
    value = _positive(b, a)
    left = x.compare("lt", zero)
    result = b.rare(left, value[0] + value[1], _left, a, *value)
    root = x.compare("eq", one) | x.compare("eq", number(b, 2.0))
    result = b.select(root, zero, result)
    result = b.rare(size.compare("lt", number(b, TINY)), result, lambda b, x: -log(b, x), size)
    pole = left & b.unary("rint", x).compare("eq", x)
    result = b.select(pole | size.compare("eq", infinite), infinite, result)
    result = b.select(x.compare("gt", number(b, 2.6e305)), infinite, result)
    return b.select(x.compare("ne", x), x, result)


def _log(b: Builder, x: Pair) -> Pair:
    high, low = log_pair(b, x[0])
    return fast_two_sum(high, low + b.emit("div", F64, x[1], x[0]))


def _positive(b: Builder, a: Value) -> Pair:
    zero, one = number(b, 0.0), number(b, 1.0)
    small = a.compare("lt", number(b, 8.0))
    product: Pair = (a, zero)
    for k in range(1, 8):
        product = times(b, product, two_sum(number(b, float(k)), a))
    x = chosen(b, small, two_sum(number(b, 8.0), a), (a, zero))
    below = chosen(b, small, product, (one, zero))
    inverse = b.emit("div", F64, one, x[0])
    main = times(b, plus(x, (number(b, -0.5), zero)), _log(b, x))
    main = plus(main, (-x[0], -x[1]))
    constant = number(b, T.HALF_LOG_TWO_PI[0]), number(b, T.HALF_LOG_TWO_PI[1])
    main = plus(main, constant)
    series = polynomial(b, inverse * inverse, T.GAMMALN) * inverse
    shift = _log(b, below)
    return plus(plus(main, (series, zero)), (-shift[0], -shift[1]))


def _left(b: Builder, a: Value, high: Value, low: Value) -> Value:
    high, low = _reflected(b, a, (high, low))
    return high + low


def _reflected(b: Builder, a: Value, value: Pair) -> Pair:
    """`log(pi / (a |sin(pi a)|)) - gammaln(a)`."""
    part = magnitude(b, a - b.unary("rint", a))
    steep = part.compare("gt", number(b, 0.25))
    turned = b.select(steep, number(b, 0.5) - part, part)
    angle, lost = two_product(b, turned, number(b, T.PI[0]))
    lost = b.fma(turned, number(b, T.PI[1]), lost)
    sine, cosine = sine_and_cosine(b, (angle, lost))
    wave = chosen(b, steep, cosine, sine)
    whole = part.compare("eq", number(b, 0.0))
    wave = chosen(b, whole, (number(b, 1.0), number(b, 0.0)), wave)
    less = plus(_log(b, times(b, wave, (a, number(b, 0.0)))), value)
    pi = number(b, T.LOG_PI[0]), number(b, T.LOG_PI[1])
    return plus(pi, (-less[0], -less[1]))
