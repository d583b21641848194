"""`x = n pi/2 + r` with `|r| <= pi/4`, `r` as a pair, for every finite x.

Below `2**30`: three parts of `pi/2` and fma (Cody and Waite 1980). n is a whole number, so
`x - n P1` is exact, and the second product is taken with its rounding error. Above: Payne and Hanek
(1983). x is `m 2**e` with a 53-bit m; digits of `2/pi` that contribute multiples of 4 are left out,
and m times the next 192 digits modulo `2**192` is the quadrant and the fraction of `x 2/pi` to
`2**-137`.
"""

from __future__ import annotations

from typing import Final

from ...builder import Builder, Value
from ..arithmetic import high_product
from . import tables as T
from .doubles import F64, Pair, fast_two_sum, number, two_product, word
from .exponential import nearest

LIMIT: Final = 2.0**30


def near(b: Builder, x: Value) -> tuple[Pair, Value]:
    """r, and a word whose low bits are n, for `0 <= x < LIMIT`."""
    n, shifted = nearest(b, x, T.TWO_OVER_PI[0])
    first = b.fma(-n, number(b, T.HALF_PI[0]), x)
    second, lost = two_product(b, n, number(b, T.HALF_PI[1]))
    r = first - second
    low = ((first - r) - second) - lost
    return (r, b.fma(-n, number(b, T.HALF_PI[2]), low)), shifted.bitcast("uint64")


def _window(b: Builder, bits: Value) -> tuple[Value, Value, Value]:
    """The 192 digits of `2/pi` that matter for x with these bits, at least `2**30`."""
    exponent = (bits >> 52) & word(b, 2047)
    start = exponent - word(b, 1075 + 2 - 64)  # the digit's place among the stored ones
    start = b.select(exponent.compare("lt", word(b, 1053)), word(b, 40), start)
    place, shift = (start >> 6).bitcast("int64"), start & word(b, 63)
    words = [
        b.table(T.TWO_OVER_PI_BITS, place + b.const(k, "int64") if k else place) for k in range(4)
    ]

    def joined(high: Value, low: Value) -> Value:
        back = b.emit("shrv", "uint64", low >> 1, word(b, 63) - shift)
        return b.emit("shlv", "uint64", high, shift) | back

    return joined(words[0], words[1]), joined(words[1], words[2]), joined(words[2], words[3])


def far(b: Builder, x: Value) -> tuple[Pair, Value]:
    """As `near`, for `x >= LIMIT` (infinities and NaN give some number)."""
    bits = x.bitcast("uint64")
    digits = _window(b, bits)
    m = (bits & word(b, (1 << 52) - 1)) | word(b, 1 << 52)
    high2, low2 = high_product(b, m, digits[2])
    high1, low1 = high_product(b, m, digits[1])
    middle = high2 + low1
    carry = b.select(middle.compare("lt", low1), word(b, 1), word(b, 0))
    top = high1 + m * digits[0] + carry
    # Quadrant in two bits, then 128 bits of fraction; above one half it is counted downwards.
    fraction = (top << 2) | (middle >> 62)
    below = (middle << 2) | (low2 >> 62)
    over = fraction >> 63
    turned = word(b, 0) - over
    fraction, below = fraction ^ turned, below ^ turned
    r = _radians(b, fraction, below)
    sign = over << 63
    pair = tuple((part.bitcast("uint64") ^ sign).bitcast(F64) for part in r)
    return (pair[0], pair[1]), (top >> 62) + over


def _radians(b: Builder, high: Value, low: Value) -> Pair:
    """The fraction of a quarter turn in 128 bits, in radians."""
    parts = (
        ((high >> 20).cast(F64), -44),
        ((((high & word(b, (1 << 20) - 1)) << 32) | (low >> 32)).cast(F64), -96),
        ((low & word(b, (1 << 32) - 1)).cast(F64), -128),
    )
    scaled = [part * number(b, 2.0**place) for part, place in parts]
    first, second = fast_two_sum(scaled[0], scaled[1])
    first, second = fast_two_sum(first, second + scaled[2])
    r, lost = two_product(b, first, number(b, T.HALF_PI[0]))
    lost = b.fma(second, number(b, T.HALF_PI[0]), b.fma(first, number(b, T.HALF_PI[1]), lost))
    return fast_two_sum(r, lost)
