"""exp and its kin: `x = n ln 2 + r`, `exp(x) = 2**n exp(r)`, `|r| <= ln(2)/2` (Cody & Waite 1980).

n is found by adding `1.5 * 2**52`, which leaves it in the sum's low bits; ln 2 has so many zeros at
its end that n times its first part is exact. A power of two beyond the normal numbers is
multiplied in two factors, so that a subnormal result is rounded once more and never twice.
"""

from __future__ import annotations

from typing import Final

from ...builder import Builder, Value
from ..bits import magnitude
from . import single
from . import tables as T
from .doubles import (
    F64,
    SHIFTER,
    Pair,
    at_least,
    at_most,
    chosen,
    fast_two_sum,
    low_bits,
    number,
    polynomial,
    quotient,
    two_product,
    widened,
    zero_stays,
)

BIAS: Final = 1023
TWICE: Final = SHIFTER + 2 * BIAS  # half the low bits are then the exponent field of 2**(n // 2)


def nearest(b: Builder, x: Value, scale: float, shifter: float = SHIFTER) -> tuple[Value, Value]:
    """The whole number nearest to `x * scale`, and it with ``shifter`` added."""
    shifted = b.fma(x, number(b, scale), number(b, shifter))
    return shifted - number(b, shifter), shifted


def reduced(b: Builder, x: Value, n: Value, more: Value | None = None) -> Pair:
    """`x - n ln 2`, and ``more`` on top."""
    first = b.fma(n, number(b, -T.LN2[0]), x)
    second = n * number(b, T.LN2[1])
    r = first - second
    low = (first - r) - second
    return (r, low) if more is None else fast_two_sum(r, low + more)


def by_power(value: Value, shifted: Value) -> Value:
    """`value * 2**n`, `shifted = n + TWICE`: overflow and underflow as they should be."""
    bits = low_bits(shifted)
    half = bits >> 1
    rest = bits - half
    return value * (half << 52).bitcast(F64) * (rest << 52).bitcast(F64)


def power_of_two(shifted: Value) -> Value:
    """`2**n` of `n + BIAS + SHIFTER`, within the normal numbers."""
    return (low_bits(shifted) << 52).bitcast(F64)


def exp(b: Builder, x: Value) -> Value:
    return single.exp(b, x, _exp32) if x.type == "float32" else _exp64(b, x)


def _exp64(b: Builder, x: Value) -> Value:
    x = at_least(b, at_most(b, x, 710.0), -746.0)
    n, shifted = nearest(b, x, T.LOG2E[0], TWICE)
    r = b.fma(n, number(b, -T.LN2[1]), b.fma(n, number(b, -T.LN2[0]), x))
    value = b.fma(r, polynomial(b, r, (1.0, *T.EXP)), number(b, 1.0))
    return by_power(value, shifted)


def _exp32(b: Builder, x: Value) -> Value:
    """In float64, rounded once. A NaN's low bits are zero here, so that it stays one."""
    wide = at_least(b, at_most(b, x, 89.0), -104.0).cast(F64)
    n, shifted = nearest(b, wide, T.LOG2E[0])
    r = b.fma(n, number(b, -(T.LN2[0] + T.LN2[1])), wide)
    value = b.fma(r, polynomial(b, r, T.EXP_32), number(b, 1.0))
    return (low_bits(value) + (low_bits(shifted) << 52)).bitcast(F64).cast("float32")


def expm1_pair(b: Builder, x: Value) -> Pair:
    """`expm1(x)` as a pair for `0 <= x < 45`."""
    n, shifted = nearest(b, x, T.LOG2E[0], SHIFTER + BIAS)
    high, low = _tail(b, reduced(b, x, n))
    scale = power_of_two(shifted)
    total, rest = fast_two_sum(scale - number(b, 1.0), scale * high)
    return total, b.fma(scale, low, rest)


def grown_pair(b: Builder, r: Pair) -> Pair:
    """`exp(r)` of a reduced pair."""
    first, second = fast_two_sum(number(b, 1.0), r[0])
    rest = b.fma(r[0] * r[0], polynomial(b, r[0], T.EXP), r[1])
    return first, second + rest


def grown(b: Builder, r: Pair) -> Value:
    """`exp(r)` of a reduced pair, rounded."""
    first, second = grown_pair(b, r)
    return first + second


def _tail(b: Builder, r: Pair) -> Pair:
    """`expm1(r)` of a reduced pair, as a pair."""
    return fast_two_sum(r[0], b.fma(r[0] * r[0], polynomial(b, r[0], T.EXP), r[1]))


def _long_tail(b: Builder, r: Pair) -> Pair:
    """As `_tail`, with `r r / 2` kept exactly: for where the sum cancels."""
    high, low = r
    square, lost = two_product(b, high, high)
    half = number(b, 0.5)
    rest = polynomial(b, high, (T.EXP[0] - 0.5, *T.EXP[1:]))
    first, second = fast_two_sum(high, square * half)
    return first, second + b.fma(square, rest, b.fma(lost, half, low))


@widened
def expm1(b: Builder, x: Value) -> Value:
    """`2**n (expm1(r) + (1 - 2**-n))`."""
    inside = at_least(b, at_most(b, x, 710.0), -40.0)
    n, shifted = nearest(b, inside, T.LOG2E[0], TWICE)
    high, low = _long_tail(b, reduced(b, inside, n))
    inverse = power_of_two(number(b, SHIFTER + BIAS) - at_most(b, n, 64.0))
    base, lost = fast_two_sum(number(b, 1.0), -inverse)
    total, rest = fast_two_sum(base, high)
    return zero_stays(b, x, by_power(total + (rest + (low + lost)), shifted))


@widened
def exp2(b: Builder, x: Value) -> Value:
    """As exp, n the nearest whole number itself."""
    inside = at_least(b, at_most(b, x, 1030.0), -1080.0)
    n, shifted = nearest(b, inside, 1.0, TWICE)
    part = inside - n
    r, lost = two_product(b, part, number(b, T.LN2_PAIR[0]))
    value = grown(b, (r, b.fma(part, number(b, T.LN2_PAIR[1]), lost)))
    return by_power(value, shifted)


def exp_near(b: Builder, x: Value) -> Pair:
    """`exp(x)` as a pair for `|x| <= 700`."""
    n, shifted = nearest(b, x, T.LOG2E[0], SHIFTER + BIAS)
    high, low = _tail(b, reduced(b, x, n))
    scale = power_of_two(shifted)
    total, rest = fast_two_sum(number(b, 1.0), high)
    return total * scale, (rest + low) * scale


@widened
def sigmoid(b: Builder, x: Value) -> Value:
    """`1 / (1 + exp(-x))`, on the left `e / (1 + e)` of `e = exp(-|x|)`; `exp(x)` far left."""
    one = number(b, 1.0)
    small = exp_near(b, -at_most(b, magnitude(b, x), 50.0))
    below, lost = fast_two_sum(one, small[0])
    left = x.compare("lt", number(b, 0.0))
    top = chosen(b, left, small, (one, number(b, 0.0)))
    first, second = quotient(b, top, (below, lost + small[1]))
    far = x.compare("lt", number(b, -40.0))
    return b.rare(far, first + second, _exp64, x)
