"""expm1, exp2, sinh and cosh: a power of two, an entry of a table, and a series of what is left."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from .....dataclass import dataclass
from ....builder import Builder, Value
from ...arithmetic import horner
from ...bits import magnitude, sign_of
from .. import tables32 as S
from ..doubles import Pair, at_least, fast_two_sum, two_product, two_sum
from ..single import F32, bits_of, exponent_of, nearest, number, word
from . import tables as T
from .rule import OFF, Enclosure

FAR: Final = 87.0  # beyond it a power of two is no normal number
# Of what ends in a power times `r r`: what the roundings of that term come to, and more.
SQUARE: Final = 1.5 * 2.0**-23


def _far(b: Builder, x: Value, limit: float = FAR) -> Value:
    return b.unary("not", x.compare("lt", number(b, limit)))


def _power(b: Builder, low: Value) -> Value:
    """`2**(n/16)` of the ``low`` bits of n, rounded."""
    return (bits_of(b.pick(S.POWERS, low)) + exponent_of(b, low)).bitcast(F32)


def expm1(b: Builder, x: Value) -> Enclosure:
    """`s - 1 + s expm1(r)`, `s = 2**(n/16)` and `x = n ln(2)/16 + r`."""
    inside = at_least(b, x, -FAR)
    n, bits = nearest(b, inside, S.PER_LN2[0])
    r = b.fma(n, number(b, -S.LN2_16[0]), inside)
    rest = b.fma(n, number(b, -S.LN2_16[1]), b.pick(S.POWERS_OVER, bits))
    high, low = _expm1(b, r)
    low = b.fma(rest, high, low) + rest
    power = _power(b, bits)
    less, lost = two_sum(power, number(b, -1.0))
    first, second = two_product(b, power, high)
    total, left = fast_two_sum(less, first)
    low = b.fma(power, low, second) + (lost + left)
    return Enclosure(total, low, odd=_far(b, x), sign=sign_of(b, x), part=2 * OFF)


def _expm1(b: Builder, r: Value) -> Pair:
    """`expm1(r)` of `|r| <= ln(2)/32`."""
    square, half = r * r, number(b, 0.5)
    high = b.fma(square, half, r)
    low = b.fma(square, half, r - high)
    low = b.fma(b.fma(r, r, -square), half, low)
    return high, b.fma(r * square, horner(b, r, T.EXPM1), low)


def exp2(b: Builder, x: Value) -> Enclosure:
    """`s exp(r)`, `x = n/16 + r / ln(2)`."""
    n, bits = nearest(b, x, 16.0)
    part = b.fma(n, number(b, -1.0 / 16.0), x)
    r, lost = two_product(b, part, number(b, T.LN2[0]))
    rest = b.fma(part, number(b, T.LN2[1]), lost + b.pick(S.POWERS_OVER, bits))
    power = _power(b, bits)
    high = b.fma(power, r, power)
    low = b.fma(power, r, power - high)
    second = power * (r * r)
    low = b.fma(high, rest, b.fma(second, horner(b, r, S.EXP), low))
    off = second * number(b, SQUARE)
    return Enclosure(high, low, off, _far(b, magnitude(b, x), 100.0))


@dataclass(frozen=True)
class Halves:
    """`exp(x) / 2` and `exp(-x) / 2` are `up (1 + more) exp(r)` and `down (1 - less) exp(-r)`."""

    r: Value
    up: Value
    down: Value
    more: Value
    less: Value


def _halves(b: Builder, size: Value) -> Halves:
    n, bits = nearest(b, size, S.PER_LN2[0])
    r = b.fma(n, number(b, -S.LN2_16[0]), size)
    rest = n * number(b, -S.LN2_16[1])
    back = word(b, 0) - bits
    up, down = _power(b, bits), _power(b, back)
    half = number(b, 0.5)
    more, less = rest + b.pick(S.POWERS_OVER, bits), rest - b.pick(S.POWERS_OVER, back)
    return Halves(r, up * half, down * half, more, less)


def _hyperbolic(b: Builder, main: Pair, other: Pair, x: Halves, turn: Value) -> Enclosure:
    """``main`` times `cosh(r)`, ``other`` times `sinh(r)`, and what the table's entries lack."""
    r = x.r
    square = r * r
    sine, cosine = horner(b, square, T.SINH), horner(b, square, T.COSH)
    more, less = x.up * x.more, (x.down * x.less) * turn
    lacking, other_lacking = main[1] + (more + less), other[1] + (more - less)
    first, second = two_product(b, other[0], r)
    low = b.fma(other[0], (r * square) * sine, b.fma(other_lacking, r, second))
    bent = (main[0] + lacking) * square
    low = b.fma(bent, cosine, low) + lacking
    total, lost = fast_two_sum(main[0], first)
    return Enclosure(total, low + lost, bent * number(b, SQUARE))


def sinh(b: Builder, x: Value) -> Enclosure:
    size = magnitude(b, x)
    parts = _halves(b, size)
    difference, total = fast_two_sum(parts.up, -parts.down), fast_two_sum(parts.up, parts.down)
    found = _hyperbolic(b, difference, total, parts, number(b, 1.0))
    return replace(found, odd=_far(b, size), sign=sign_of(b, x))


def cosh(b: Builder, x: Value) -> Enclosure:
    size = magnitude(b, x)
    parts = _halves(b, size)
    difference, total = fast_two_sum(parts.up, -parts.down), fast_two_sum(parts.up, parts.down)
    found = _hyperbolic(b, total, difference, parts, number(b, -1.0))
    return replace(found, odd=_far(b, size))
