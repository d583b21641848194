"""Many exact sums at once: what `limbs.py` does for one record, by NumPy for a block of them.

A block of big integers is a list of digits in base 2**32, least first, each a row with one entry
per record; only the digits that some record uses are looked at. The schoolbook methods are those
of Knuth, The Art of Computer Programming, volume 2, section 4.3.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .limbs import DIGITS, FORMATS, LEAST, special_bits
from .program import NAN_WORD, NEGATIVE_WORD, POSITIVE_WORD

Words: TypeAlias = NDArray[np.uint64]
_LOW = np.uint64(0xFFFF_FFFF)
_32 = np.uint64(32)


@dataclass(frozen=True, eq=False)
class Digits:
    """Magnitudes ``sum(words[k] << 32 * k) * 2**scale``, one for each record."""

    words: list[Words]
    scale: int


def magnitudes(limbs: NDArray[np.int64]) -> tuple[Digits, NDArray[np.bool_]]:
    """The sums in ``limbs`` (records, words): their sizes, and which are negative."""
    used = np.flatnonzero(limbs[:, :DIGITS].any(axis=0))
    first, last = (int(used[0]), int(used[-1])) if len(used) else (0, 0)
    columns = [np.ascontiguousarray(limbs[:, k]) for k in range(first, last + 1)]
    nothing = np.zeros(len(limbs), np.int64)
    words, carry = [], nothing
    for column in [*columns, nothing, nothing]:
        total = column + carry
        words.append(total.astype(np.uint64) & _LOW)
        carry = total >> 32
    negative = carry < 0
    flip = np.where(negative, _LOW, np.uint64(0))  # two's complement: invert and add one
    one = negative.astype(np.uint64)
    for k, word in enumerate(words):
        total_ = (word ^ flip) + one
        words[k], one = total_ & _LOW, total_ >> _32
    return Digits(words, 32 * first + LEAST), negative


def times(a: Digits, factor: int) -> Digits:
    """``a * factor`` for a factor below 2**32."""
    words, carry = [], np.zeros_like(a.words[0])
    for word in a.words:
        total = word * np.uint64(factor) + carry
        words.append(total & _LOW)
        carry = total >> _32
    return Digits([*words, carry], a.scale)


def squared(a: Digits) -> Digits:
    """``a * a``."""
    count = len(a.words)
    words = [np.zeros_like(a.words[0]) for _ in range(2 * count)]
    for i, x in enumerate(a.words):
        carry = np.zeros_like(x)
        for j, y in enumerate(a.words):
            total = x * y + words[i + j] + carry  # at most (2**32 - 1)**2 + 2 * (2**32 - 1)
            words[i + j] = total & _LOW
            carry = total >> _32
        words[i + count] = carry
    return Digits(words, 2 * a.scale)


def rescaled(a: Digits, scale: int) -> Digits:
    """The same numbers in units of 2**scale, which is no coarser than theirs."""
    whole, bits = divmod(a.scale - scale, 32)
    shifted = times(a, 1 << bits) if bits else a
    zero = np.zeros_like(a.words[0])
    return Digits([*[zero] * whole, *shifted.words], scale)


def minus(a: Digits, b: Digits) -> Digits:
    """``a - b`` where that is never negative."""
    scale = min(a.scale, b.scale)
    left, right = rescaled(a, scale).words, rescaled(b, scale).words
    zero = np.zeros_like(left[0])
    length = max(len(left), len(right))
    left, right = ([*w, *[zero] * (length - len(w))] for w in (left, right))
    words, borrow = [], zero.astype(np.int64)
    for x, y in zip(left, right, strict=True):
        total = x.astype(np.int64) - y.astype(np.int64) + borrow
        words.append(total.astype(np.uint64) & _LOW)
        borrow = total >> 32
    return Digits(words, scale)


def divided(a: Digits, divisor: int) -> tuple[Digits, NDArray[np.bool_]]:
    """``a / divisor`` (below 2**32) rounded down, and where something was left over."""
    rest = np.zeros_like(a.words[0])
    words = []
    for word in reversed(a.words):
        total = (rest << _32) | word
        quotient = total // np.uint64(divisor)
        rest = total - quotient * np.uint64(divisor)
        words.append(quotient)
    return Digits(words[::-1], a.scale), rest != 0


def extended(a: Digits, digits: int) -> Digits:
    """The same numbers with ``digits`` zero digits below, so that a quotient has bits enough."""
    return Digits([*[np.zeros_like(a.words[0])] * digits, *a.words], a.scale - 32 * digits)


def rounded(a: Digits, inexact: NDArray[np.bool_], dtype: str) -> Words:
    """Bits of the sizes rounded to nearest, ties to even; ``inexact``: a little more than `a`."""
    mantissa, least, top = FORMATS[dtype]
    significant, exponent, sticky = _leading(a)
    sticky |= inexact
    place = np.maximum(exponent + 64 - mantissa, least)
    drop = place - exponent  # bits of the 64 to round away; 65 and more leave less than half
    shift = np.minimum(drop, 63).astype(np.uint64)
    kept = significant >> shift
    rest = significant & ((np.uint64(1) << shift) - np.uint64(1))
    half = np.uint64(1) << (shift - np.uint64(1))
    up = (rest > half) | ((rest == half) & (sticky | ((kept & np.uint64(1)) != 0)))
    half_64 = np.uint64(1 << 63)
    up = np.where(drop > 63, (drop == 64) & ((significant > half_64) | sticky), up)
    kept = np.where(drop > 63, np.uint64(0), kept) + up.astype(np.uint64)
    over = place + mantissa + (kept == np.uint64(1 << mantissa)) > top
    # A quotient of full width carries into the exponent field by itself.
    bits = ((place - least).astype(np.uint64) << np.uint64(mantissa - 1)) + kept
    bits = np.where(over, np.uint64(special_bits(math.inf, dtype)), bits)
    return np.where(significant == 0, np.uint64(0), bits)


def _leading(a: Digits) -> tuple[Words, NDArray[np.int64], NDArray[np.bool_]]:
    """The first 64 bits of each number, the power of two of the last of them, and whether more."""
    zero = np.zeros_like(a.words[0])
    table = np.stack([zero, zero, *a.words])
    used = table != 0
    at = len(table) - 1 - np.argmax(used[::-1], axis=0)
    at = np.where(used.any(axis=0), at, 2)
    row = np.arange(table.shape[1])
    top, second, third = (table[at - k, row] for k in range(3))
    below = np.cumsum(used, axis=0)  # nonzero digits up to and including each
    more = np.where(at > 2, below[np.maximum(at - 3, 0), row], 0) > 0
    length = np.frexp(top.astype(np.float64))[1].astype(np.uint64)  # bits of the top digit
    lift = np.where(top == 0, np.uint64(0), _32 - length)
    significant = (((top << _32) | second) << lift) | (third >> (_32 - lift))
    sticky = more | ((third & ((np.uint64(1) << (_32 - lift)) - np.uint64(1))) != 0)
    exponent = a.scale + 32 * (at - 3) - lift.astype(np.int64)
    return significant, exponent, sticky


def signed(bits: Words, negative: NDArray[np.bool_], dtype: str) -> Words:
    """``bits`` with the sign bit set where ``negative``."""
    sign = np.uint64(1 << (8 * np.dtype(dtype).itemsize - 1))
    return bits | np.where(negative, sign, np.uint64(0))


def specials(limbs: NDArray[np.int64], bits: Words, dtype: str, deviation: bool = False) -> Words:
    """``bits``, but NaN or an infinity where such a term decides (any of them: NaN, a deviation)."""
    nans, up, down = (limbs[:, w] != 0 for w in (NAN_WORD, POSITIVE_WORD, NEGATIVE_WORD))
    infinity, nan = (np.uint64(special_bits(v, dtype)) for v in (math.inf, math.nan))
    if deviation:
        return np.where(nans | up | down, nan, bits)
    bits = np.where(up, infinity, bits)
    bits = signed(np.where(down, infinity, bits), down & ~up, dtype)
    return np.where(nans | (up & down), nan, bits)


def _total(limbs: NDArray[Any], dtype: str, count: int, freedom: int) -> Words:
    sizes, negative = magnitudes(limbs[:, 0])
    bits = rounded(sizes, np.zeros(len(limbs), bool), dtype)
    return specials(limbs[:, 0], signed(bits, negative, dtype), dtype)


def _mean(limbs: NDArray[Any], dtype: str, count: int, freedom: int) -> Words:
    sizes, negative = magnitudes(limbs[:, 0])
    quotient, inexact = divided(extended(sizes, 3), count)
    bits = rounded(quotient, inexact, dtype)
    return specials(limbs[:, 0], signed(bits, negative, dtype), dtype)


def _variance(limbs: NDArray[Any], dtype: str, count: int, freedom: int) -> Words:
    """(count * sum of squares - square of sum) / (count * freedom)."""
    sums, _ = magnitudes(limbs[:, 0])
    squares, _ = magnitudes(limbs[:, 1])
    spread = minus(times(squares, count), squared(sums))
    quotient, lost = divided(extended(spread, 4), count)
    quotient, also = divided(quotient, freedom)
    bits = rounded(quotient, lost | also, dtype)
    bits = specials(limbs[:, 0], bits, dtype, deviation=True)
    return specials(limbs[:, 1], bits, dtype, deviation=True)


FINISH_MANY = {"sum": _total, "mean": _mean, "var": _variance}


def many(
    op: str, limbs: NDArray[np.int64], dtype: str, count: int, ddof: float
) -> Words | None:
    """The results of ``op`` for ``limbs`` (records, groups, words) as bits of ``dtype``.

    None where the numbers are out of these methods' reach and each record must go alone.
    """
    freedom = count - ddof
    plain = 0 < count < 2**31 and float(ddof).is_integer() and 0 < freedom < 2**31
    if op not in FINISH_MANY or not plain or (op == "var" and limbs.shape[1] > 2):
        return None
    return FINISH_MANY[op](limbs, dtype, count, int(freedom))
