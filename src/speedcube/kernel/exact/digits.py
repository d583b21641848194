"""Many exact sums at once: what `integers.py` does for one record, by columns of digits in NumPy.

A block of big integers is a list of digits in base 2**32, least first, each a row with one entry
per record; only the digits that some record uses are looked at. The schoolbook methods are those
of Knuth, The Art of Computer Programming, volume 2, section 4.3.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ..program import NAN_WORD, NEGATIVE_WORD, POSITIVE_WORD
from .integers import DIGITS, FORMATS, LEAST, SHIFTS, special_bits

Words: TypeAlias = NDArray[np.uint64]
_LOW = np.uint64(0xFFFF_FFFF)
_32 = np.uint64(32)


@dataclass(frozen=True, eq=False)
class Digits:
    """Magnitudes ``sum(words[k] << 32 * k) * 2**scale``, one for each record."""

    words: list[Words]
    scale: int


def magnitudes(groups: NDArray[np.int64]) -> tuple[Digits, NDArray[np.bool_]]:
    """The sums in ``groups`` (records, groups, words): their sizes, and which are negative."""
    digits, least = _in_a_row(groups)
    used = np.flatnonzero(np.bitwise_or.reduce(digits, axis=0))
    first, last = (int(used[0]), int(used[-1])) if len(used) else (0, 0)
    columns = [np.ascontiguousarray(digits[:, k]) for k in range(first, last + 1)]
    nothing = np.zeros(len(digits), np.int64)
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
    return Digits(words, 32 * first + least), negative


def _in_a_row(groups: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """The digits of one group, or of the groups of products together; the first one's exponent."""
    if not groups[:, 1:].any():
        return groups[:, 0, :DIGITS], LEAST
    digits = np.zeros((len(groups), DIGITS + SHIFTS[-1] // 32), np.int64)
    for k in range(groups.shape[1]):
        at = SHIFTS[k] // 32
        digits[:, at : at + DIGITS] += groups[:, k, :DIGITS]
    return digits, LEAST - SHIFTS[0]


def times(a: Digits, factor: int | Words) -> Digits:
    """``a * factor`` for a factor, or one for each, below 2**32."""
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
    """The same numbers in units of `2**scale`, which is no coarser than theirs."""
    whole, bits = divmod(a.scale - scale, 32)
    shifted = times(a, 1 << bits) if bits else a
    zero = np.zeros_like(a.words[0])
    return Digits([*[zero] * whole, *shifted.words], scale)


def plus(a: Digits, b: Digits, sign: int = 1) -> Digits:
    """``a + b``, or ``a - b`` (``sign`` -1) where that is never negative."""
    scale = min(a.scale, b.scale)
    left, right = rescaled(a, scale).words, rescaled(b, scale).words
    zero = np.zeros_like(left[0])
    length = max(len(left), len(right)) + (sign > 0)
    left, right = ([*w, *[zero] * (length - len(w))] for w in (left, right))
    words, carry = [], zero.astype(np.int64)
    for x, y in zip(left, right, strict=True):
        total = x.astype(np.int64) + sign * y.astype(np.int64) + carry
        words.append(total.astype(np.uint64) & _LOW)
        carry = total >> 32
    return Digits(words, scale)


def divided(a: Digits, divisor: int | Words) -> tuple[Digits, NDArray[np.bool_]]:
    """``a / divisor`` (or one for each, below 2**32), down, and where something was left over."""
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
    high, low, exponent, more = _leading(a)
    return _round(high, exponent + 64, more | (low != 0) | inexact, dtype)


def rounded_roots(a: Digits, inexact: NDArray[np.bool_], dtype: str) -> Words:
    """Bits of the square roots of the sizes, as `rounded`."""
    high, low, exponent, more = _leading(a)
    odd = (exponent & 1).astype(np.uint64)  # halve once more where the unit is no square
    more = more | inexact | ((low & odd) != 0)
    low = (low >> odd) | np.where(odd != 0, high << np.uint64(63), np.uint64(0))
    root, rest = _square_root(high >> odd, low)
    return _round(root, (exponent + odd.astype(np.int64)) >> 1, more | rest, dtype)


def _round(
    significant: Words, exponent: NDArray[np.int64], sticky: NDArray[np.bool_], dtype: str
) -> Words:
    """Bits of ``significant * 2**exponent`` (its first bit set, or zero) and a bit more."""
    mantissa, least, top = FORMATS[dtype]
    place = np.maximum(exponent + 64 - mantissa, least)
    drop = place - exponent  # bits of the 64 to round away; 65 and more leave less than half
    shift = np.minimum(drop, 63).astype(np.uint64)
    quotient = significant >> shift
    rest = significant & ((np.uint64(1) << shift) - np.uint64(1))
    half = np.uint64(1) << (shift - np.uint64(1))
    up = (rest > half) | ((rest == half) & (sticky | ((quotient & np.uint64(1)) != 0)))
    half_64 = np.uint64(1 << 63)
    up = np.where(drop > 63, (drop == 64) & ((significant > half_64) | sticky), up)
    quotient = np.where(drop > 63, np.uint64(0), quotient) + up.astype(np.uint64)
    over = place + mantissa + (quotient == np.uint64(1 << mantissa)) > top
    # A quotient of full width carries into the exponent field by itself.
    bits = ((place - least).astype(np.uint64) << np.uint64(mantissa - 1)) + quotient
    bits = np.where(over, np.uint64(special_bits(math.inf, dtype)), bits)
    return np.where(significant == 0, np.uint64(0), bits)


def _leading(a: Digits) -> tuple[Words, Words, NDArray[np.int64], NDArray[np.bool_]]:
    """The first 128 bits of each number in two words, the exponent of their unit, whether more."""
    zero = np.zeros_like(a.words[0])
    table = np.stack([zero] * 4 + a.words)
    at = np.full(table.shape[1], 4)  # the first digit that is not zero, from above
    last = np.full(table.shape[1], len(table))  # and from below
    for k in range(4, len(table)):
        np.copyto(at, k, where=table[k] != 0)
    for k in reversed(range(4, len(table))):
        np.copyto(last, k, where=table[k] != 0)
    row = np.arange(table.shape[1]) + at * table.shape[1]
    flat = table.reshape(-1)
    first, second, third, fourth, fifth = (flat[row - k * table.shape[1]] for k in range(5))
    length = np.frexp(first.astype(np.float64))[1].astype(np.uint64)  # bits of the first digit
    lift = np.where(first == 0, np.uint64(0), _32 - length)
    high = (((first << _32) | second) << lift) | (third >> (_32 - lift))
    low = (((third << _32) | fourth) << lift) | (fifth >> (_32 - lift))
    more = last < at - 4
    more |= (fifth & ((np.uint64(1) << (_32 - lift)) - np.uint64(1))) != 0
    return high, low, a.scale + 32 * (at - 7) - lift.astype(np.int64), more


def _square_root(high: Words, low: Words) -> tuple[Words, NDArray[np.bool_]]:
    """The whole square root of ``high * 2**64 + low`` (high at least 2**62, or zero).

    And whether something is left. Zimmermann, Karatsuba Square Root, INRIA report 3805 (1999).
    """
    one, two, most = np.uint64(1), np.uint64(2), np.uint64(0xFFFF_FFFF)
    root = np.minimum(np.sqrt(high.astype(np.float64)), 2.0**32 - 1).astype(np.uint64)
    root -= (root * root > high).astype(np.uint64)
    next_root = np.minimum(root + one, most)
    root = np.where(next_root * next_root <= high, next_root, root)
    rest = high - root * root  # at most 2 * root
    # (rest * 2**32 + top half of low) / (2 * root), both halved so that they fit.
    upper = low >> _32
    dividend = (rest << np.uint64(31)) | (upper >> one)
    digit = np.minimum(dividend // np.maximum(root, one), most)
    left = two * (dividend - root * digit) + (upper & one)
    square = digit * digit
    tail = low & _LOW
    short = (left < square >> _32) | ((left == square >> _32) & (tail < (square & _LOW)))
    whole = (left == square >> _32) & (tail == (square & _LOW))
    return ((root << _32) | digit) - short.astype(np.uint64), ~whole


def signed(bits: Words, negative: NDArray[np.bool_], dtype: str) -> Words:
    """``bits`` with the sign bit set where ``negative``."""
    sign = np.uint64(1 << (8 * np.dtype(dtype).itemsize - 1))
    return bits | np.where(negative, sign, np.uint64(0))


def specials(groups: NDArray[np.int64], bits: Words, dtype: str, deviation: bool = False) -> Words:
    """``bits``, but NaN or an infinity where such a term decides (in a deviation: NaN)."""
    counts = groups[:, :, NAN_WORD:].sum(axis=1)
    nans, up, down = (
        counts[:, w - NAN_WORD] != 0 for w in (NAN_WORD, POSITIVE_WORD, NEGATIVE_WORD)
    )
    if not (nans | up | down).any():
        return bits
    infinity, nan = (np.uint64(special_bits(v, dtype)) for v in (math.inf, math.nan))
    if deviation:
        return np.where(nans | up | down, nan, bits)
    bits = np.where(up, infinity, bits)
    bits = signed(np.where(down, infinity, bits), down & ~up, dtype)
    return np.where(nans | (up & down), nan, bits)


def _total(groups: NDArray[Any], dtype: str, count: int | Words, freedom: int | Words) -> Words:
    sizes, negative = magnitudes(groups)
    bits = rounded(sizes, np.zeros(len(groups), bool), dtype)
    return specials(groups, signed(bits, negative, dtype), dtype)


def _mean(groups: NDArray[Any], dtype: str, count: int | Words, freedom: int | Words) -> Words:
    sizes, negative = magnitudes(groups)
    quotient, inexact = divided(extended(sizes, 3), count)
    bits = rounded(quotient, inexact, dtype)
    return specials(groups, signed(bits, negative, dtype), dtype)


def _moments(rounding: Callable[[Digits, NDArray[np.bool_], str], Words], room: int) -> _Finish:
    def finish(groups: NDArray[Any], dtype: str, count: int | Words, freedom: int | Words) -> Words:
        """`(count * sum of squares - square of sum) / (count * freedom)`, or its root."""
        sums, _ = magnitudes(groups[:, :1])
        squares, _ = magnitudes(groups[:, 1:])
        spread = plus(times(squares, count), squared(sums), -1)
        quotient, lost = divided(extended(spread, room), count)
        quotient, also = divided(quotient, freedom)
        bits = rounding(quotient, lost | also, dtype)
        return specials(groups, bits, dtype, deviation=True)

    return finish


_Finish: TypeAlias = Callable[[NDArray[Any], str, int | Words, int | Words], Words]
FINISH_MANY: Final[dict[str, _Finish]] = {
    "sum": _total,
    "dot": _total,
    "mean": _mean,
    # The divisors are below 2**62; a variance needs 66 bits, its root 130.
    "var": _moments(rounded, 4),
    "std": _moments(rounded_roots, 6),
}


def many(op: str, limbs: NDArray[np.int64], dtype: str, count: int, ddof: float) -> Words | None:
    """The results of ``op`` for ``limbs`` (records, groups, words) as bits of ``dtype``.

    None where the numbers are out of these methods' reach and each record must go alone.
    """
    freedom = count - ddof
    plain = 0 < count < 2**31 and float(ddof).is_integer() and 0 < freedom < 2**31
    if not plain:
        return None
    return FINISH_MANY[op](limbs, dtype, count, int(freedom))


def each(op: str, limbs: NDArray[np.int64], dtype: str, counts: Any, freedom: Any) -> NDArray[Any]:
    """The results of ``op`` for ``limbs``, each of as many terms as ``counts`` has, below 2**32.

    NaN of none. A spread without ``freedom`` is infinite, or NaN where all terms are one number.
    """
    some, free = (np.maximum(one, 1).astype(np.uint64) for one in (counts, freedom))
    bits = FINISH_MANY[op](limbs, dtype, some, free)
    values = bits.astype(f"uint{8 * np.dtype(dtype).itemsize}").view(dtype)
    if op in ("var", "std"):
        values[(freedom <= 0) & (values != 0) & ~np.isnan(values)] = np.inf
        values[(freedom <= 0) & (values == 0)] = np.nan
    if op != "sum":
        values[counts == 0] = np.nan
    return values
