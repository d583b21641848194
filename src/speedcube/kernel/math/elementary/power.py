"""`pow(x, y) = exp(y log(x))`, the logarithm and the product as pairs.

An error of `log(x)` comes out up to 745 times as large, so it is kept to `2**-65` of itself, and
`y log(x)` is a product with its rounding error. Signs, zeros, infinities and NaNs are decided where
they occur (IEEE 754-2019, 9.2.1). Integers are multiplied, modulo `2**64`.
"""

from __future__ import annotations

from typing import Final

from .... import dtypes
from ...builder import Builder, Value
from ..bits import magnitude, sign_of
from . import tables as T
from .doubles import (
    F64,
    Pair,
    at_least,
    at_most,
    flipped,
    low_bits,
    number,
    polynomial,
    two_product,
    word,
)
from .exponential import TWICE, by_power, grown, nearest, reduced
from .logarithm import log_pair, split, unusual

INF: Final = float("inf")


def power(b: Builder, x: Value, y: Value) -> Value:
    if x.type == "float32":
        return _power32(b, x, y)
    if dtypes.is_integer(x.type):
        return _integer(b, x, y)
    usual = _exp(b, _product(b, log_pair(b, x), y))
    return b.rare(unusual(b, x) | y.compare("ne", y), usual, _unusual, x, y)


def _within(b: Builder, x: Value, limit: float) -> Value:
    return at_least(b, at_most(b, x, limit), -limit)


def _product(b: Builder, log: Pair, y: Value) -> Pair:
    """`y log(x)` within the range that `_exp` takes; beyond `2**64` `y` can as well be that."""
    y = _within(b, y, 2.0**64)
    high, low = two_product(b, y, log[0])
    low = _within(b, b.fma(y, log[1], low), 2.0**-40)
    return at_least(b, at_most(b, high, 710.0), -746.0), low


def _exp(b: Builder, x: Pair) -> Value:
    n, shifted = nearest(b, x[0], T.LOG2E[0], TWICE)
    return by_power(grown(b, reduced(b, x[0], n, x[1])), shifted)


def _unusual(b: Builder, x: Value, y: Value) -> Value:
    """Every x and y, most of them needlessly."""
    zero, one, infinite = (number(b, v) for v in (0.0, 1.0, INF))
    size = magnitude(b, x)
    tiny = size.compare("lt", number(b, 2.0**-1022))
    scaled = b.select(tiny, size * number(b, 2.0**54), size)
    log = log_pair(b, scaled, b.select(tiny, number(b, -54.0), zero))
    power = _exp(b, _product(b, log, y))
    grows = y.compare("gt", zero)
    power = b.select(size.compare("eq", zero), b.select(grows, zero, infinite), power)
    power = b.select(size.compare("eq", infinite), b.select(grows, infinite, zero), power)
    half = y * number(b, 0.5)
    whole = b.unary("rint", y).compare("eq", y)
    odd = whole & b.unary("rint", half).compare("ne", half)
    power = flipped(power, b.select(odd, sign_of(b, x), word(b, 0)))
    negative = x.compare("lt", zero) & size.compare("lt", infinite)
    no_number = (negative & b.unary("not", whole)) | x.compare("ne", x) | y.compare("ne", y)
    power = b.select(no_number, number(b, float("nan")), power)
    return b.select(x.compare("eq", one) | y.compare("eq", zero), one, power)


def _power32(b: Builder, x: Value, y: Value) -> Value:
    """In float64, whose own rounding errors are small enough; rounded once."""
    wide, by = x.cast(F64), y.cast(F64)
    f, e = split(b, wide)
    g = f - number(b, 1.0)
    s = b.emit("div", F64, g, f + number(b, 1.0))
    z = s * s
    series = b.fma(s * z, polynomial(b, z, T.LOG_SHORT), s + s)
    log = b.fma(e, number(b, T.LN2[0] + T.LN2[1]), series)
    product = at_least(b, at_most(b, log * _within(b, by, 2.0**64), 89.0), -104.0)
    n, shifted = nearest(b, product, T.LOG2E[0])
    r = b.fma(n, number(b, -(T.LN2[0] + T.LN2[1])), product)
    value = b.fma(r, polynomial(b, r, T.EXP_32), number(b, 1.0))
    usual = (low_bits(value) + (low_bits(shifted) << 52)).bitcast(F64).cast("float32")
    bits = x.bitcast("uint32") - b.const(1, "uint32")
    odd = bits.compare("ge", b.const(0x7F7F_FFFF, "uint32")) | y.compare("ne", y)
    return b.rare(odd, usual, _unusual32, x, y)


def _unusual32(b: Builder, x: Value, y: Value) -> Value:
    return _unusual(b, x.cast(F64), y.cast(F64)).cast("float32")


USUAL_BITS: Final = 6  # of an exponent; the others take multiplications only where there are any


def _integer(b: Builder, x: Value, y: Value) -> Value:
    """`x**y` by squaring, wrapped; for `y < 0` the true value towards zero (`0**y` is 0)."""
    count = 8 * dtypes.itemsize(x.type)
    most = b.const(1 << USUAL_BITS, x.type)
    result, square = b.const(1, x.type), x
    for k in range(USUAL_BITS):
        result, square = _round(b, result, square, y, k)

    def rest(b: Builder, result: Value, square: Value, y: Value) -> Value:
        for k in range(USUAL_BITS, count - (x.type in dtypes.SIGNED)):
            result, square = _round(b, result, square, y, k)
        return result

    power = b.rare(y.compare("ge", most), result, rest, result, square, y)
    return _inverse(b, x, y, power) if x.type in dtypes.SIGNED else power


def _round(b: Builder, result: Value, square: Value, y: Value, k: int) -> tuple[Value, Value]:
    used = (y & b.const(1 << k, y.type)).compare("ne", b.const(0, y.type))
    return b.select(used, result * square, result), square * square


def _inverse(b: Builder, x: Value, y: Value, power: Value) -> Value:
    zero, one = b.const(0, x.type), b.const(1, x.type)
    odd = (y & one).compare("ne", zero)
    minus = b.select(odd, x, one)  # of x = -1
    inverse = b.select(x.compare("eq", -one), minus, zero)
    inverse = b.select(x.compare("eq", one), one, inverse)
    return b.select(y.compare("lt", zero), inverse, power)
