"""Sums and products whose rounding errors are kept: pairs (high, low) with high + low exact.

Dekker (1971), Knuth's TAOCP 4.2.2; Muller et al., Handbook of Floating-Point Arithmetic, chapters
4 and 14. All are float64.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from ..ir import Builder, Value
from ..streams import horner

__all__ = ["horner"]

Pair: TypeAlias = tuple[Value, Value]

F64: Final = "float64"
SIGN: Final = 1 << 63
EXPONENT: Final = 0x7FF << 52
SHIFTER: Final = 1.5 * 2.0**52  # adding it rounds to a whole number, which the low bits then hold


def number(b: Builder, value: float) -> Value:
    return b.const(value, F64)


def word(b: Builder, value: int) -> Value:
    return b.const(value, "uint64")


def fast_two_sum(a: Value, c: Value) -> Pair:
    """A + c where |a| >= |c|, or a is a multiple of c's last place."""
    total = a + c
    return total, c - (total - a)


def two_sum(a: Value, c: Value) -> Pair:
    total = a + c
    part = total - a
    return total, (a - (total - part)) + (c - part)


def two_product(b: Builder, a: Value, c: Value) -> Pair:
    product = a * c
    return product, b.fma(a, c, -product)


def times(b: Builder, x: Pair, y: Pair) -> Pair:
    """The product of two pairs, to about 2**-102 of it."""
    high, low = two_product(b, x[0], y[0])
    low = b.fma(x[0], y[1], b.fma(x[1], y[0], low))
    return fast_two_sum(high, low)


def quotient(b: Builder, x: Pair, y: Pair) -> Pair:
    """X / y by one division; the first part is the second's rounding away from x / y."""
    inverse = b.emit("div", F64, number(b, 1.0), y[0])
    first = x[0] * inverse
    rest = b.fma(-first, y[0], x[0]) + b.fma(-first, y[1], x[1])
    return first, rest * inverse


def low_bits(x: Value) -> Value:
    """The bits of a number that holds a whole number in its lowest ones."""
    return x.bitcast("uint64")


def magnitude(b: Builder, x: Value) -> Value:
    return (x.bitcast("uint64") & word(b, SIGN - 1)).bitcast(F64)


def sign_of(b: Builder, x: Value) -> Value:
    """The sign bit of ``x``, in place."""
    return x.bitcast("uint64") & word(b, SIGN)


def flipped(x: Value, sign: Value) -> Value:
    """``x``, negated where ``sign`` is set."""
    return (x.bitcast("uint64") ^ sign).bitcast(F64)


def at_most(b: Builder, x: Value, limit: float) -> Value:
    """The lesser of ``x`` and ``limit``; NaN stays."""
    bound = b.const(limit, x.type)
    return b.select(bound.compare("lt", x), bound, x)


def at_least(b: Builder, x: Value, limit: float) -> Value:
    """The greater of ``x`` and ``limit``; NaN stays."""
    bound = b.const(limit, x.type)
    return b.select(bound.compare("gt", x), bound, x)
