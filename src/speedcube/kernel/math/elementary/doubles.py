"""Sums and products whose rounding errors are kept: pairs `(high, low)` with `high + low` exact.

Dekker (1971), Knuth's TAOCP 4.2.2; Muller et al., Handbook of Floating-Point Arithmetic, chapters
4 and 14. All are float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from ...builder import Builder, Value
from ..arithmetic import horner

Pair: TypeAlias = tuple[Value, Value]

F64: Final = "float64"
EXPONENT: Final = 0x7FF << 52
SHIFTER: Final = 1.5 * 2.0**52  # adding it rounds to a whole number, which the low bits then hold


def number(b: Builder, value: float) -> Value:
    return b.const(value, F64)


def word(b: Builder, value: int) -> Value:
    return b.const(value, "uint64")


def polynomial(b: Builder, x: Value, coefficients: tuple[float, ...]) -> Value:
    """Lowest degree first; the first is added last, and rounded with the sum alone.

    The even and the odd terms of the rest apart: half the wait for one operation more.
    """
    first, rest = coefficients[0], coefficients[1:]
    square = x * x
    tail = b.fma(x, horner(b, square, rest[1::2]), horner(b, square, rest[0::2]))
    return b.fma(x, tail, number(b, first))


def fast_two_sum(a: Value, c: Value) -> Pair:
    """`a + c` where `|a| >= |c|`, or a is a multiple of c's last place."""
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
    """The product of two pairs, to about `2**-102` of it."""
    high, low = two_product(b, x[0], y[0])
    low = b.fma(x[0], y[1], b.fma(x[1], y[0], low))
    return fast_two_sum(high, low)


def quotient(b: Builder, x: Pair, y: Pair) -> Pair:
    """`x / y` by one division; the first part is the second's rounding away from `x / y`."""
    inverse = b.emit("div", F64, number(b, 1.0), y[0])
    first = x[0] * inverse
    rest = b.fma(-first, y[0], x[0]) + b.fma(-first, y[1], x[1])
    return first, rest * inverse


def low_bits(x: Value) -> Value:
    """The bits of a number that holds a whole number in its lowest ones."""
    return x.bitcast("uint64")


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


def plus(x: Pair, y: Pair) -> Pair:
    """The sum of two pairs; its error is small beside the larger of them."""
    high, low = two_sum(x[0], y[0])
    return fast_two_sum(high, low + (x[1] + y[1]))


def scaled(b: Builder, x: Pair, factor: float) -> Pair:
    """``x`` times a power of two."""
    return x[0] * number(b, factor), x[1] * number(b, factor)


def root(b: Builder, x: Pair) -> Pair:
    """The square root of a positive pair (NaN of zero)."""
    first = b.unary("sqrt", x[0])
    rest = b.fma(-first, first, x[0]) + x[1]
    half = b.emit("div", F64, number(b, 0.5), first)
    return fast_two_sum(first, rest * half)


def chosen(b: Builder, condition: Value, x: Pair, y: Pair) -> Pair:
    return b.select(condition, x[0], y[0]), b.select(condition, x[1], y[1])


def zero_stays(b: Builder, x: Value, value: Value) -> Value:
    """``value``, but a zero keeps its sign."""
    return b.select(x.compare("eq", number(b, 0.0)), x, value)


def widened(rule: Callable[..., Value]) -> Callable[..., Value]:
    """``rule`` for float64, and float32 by way of float64: its last place is no `2**-28` ulp."""

    def both(b: Builder, *args: Value) -> Value:
        if args[0].type == F64:
            return rule(b, *args)
        return rule(b, *(a.cast(F64) for a in args)).cast("float32")

    both.__doc__ = rule.__doc__
    return both
