"""From limbs to numbers: an exact sum is a big integer times 2**-1074, rounded once at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .program import LIMBS, NAN_WORD

DIGITS: Final = 68
LEAST: Final = -1074  # exponent of the least digit's unit
_SCALE: Final = 1 << -LEAST
# (mantissa bits, exponent of the least subnormal, exponent of the first overflow)
FORMATS: Final = {"float64": (53, -1074, 1024), "float32": (24, -149, 128)}


def carry(limbs: NDArray[np.int64]) -> None:
    """Propagate carries in place, along the last axis, so that 2**30 more additions have room."""
    for k in range(DIGITS - 1):
        high = limbs[..., k] >> 32
        limbs[..., k] -= high << 32
        limbs[..., k + 1] += high


@dataclass(frozen=True)
class Exact:
    """An exact sum: ``units * 2**-1074``, and how many terms were NaN or infinite."""

    units: int
    nans: int = 0
    positive: int = 0
    negative: int = 0

    @property
    def special(self) -> float | None:
        """NaN or an infinity where such a term decides the sum."""
        if self.nans or (self.positive and self.negative):
            return math.nan
        if self.positive or self.negative:
            return math.inf if self.positive else -math.inf
        return None

    def __add__(self, other: Exact) -> Exact:
        return Exact(
            self.units + other.units,
            self.nans + other.nans,
            self.positive + other.positive,
            self.negative + other.negative,
        )


def read(limbs: NDArray[np.int64]) -> Exact:
    """The sum held in one group of limbs."""
    units, odd = 0, [0] * (LIMBS - DIGITS)
    for k in limbs.nonzero()[0].tolist():  # a handful of the 72
        if k < DIGITS:
            units += int(limbs[k]) << 32 * k
        else:
            odd[k - NAN_WORD] = int(limbs[k])
    return Exact(units, *odd[:3])


def round_once(numerator: int, denominator: int, dtype: str) -> int:
    """The bits of ``numerator / denominator`` correctly rounded to ``dtype``, ties to even.

    Integers only: a caller's flush-to-zero mode cannot change them.
    """
    mantissa, least, top = FORMATS[dtype]
    sign = _sign_bit(dtype) if numerator < 0 else 0
    size = abs(numerator)
    if size == 0:
        return 0
    exponent = size.bit_length() - denominator.bit_length()  # |value| in 2**(exponent -1 .. +1)
    if (size << max(0, -exponent)) < (denominator << max(0, exponent)):
        exponent -= 1
    place = max(exponent - mantissa + 1, least)
    divisor = denominator << max(0, place)
    quotient, rest = divmod(size << max(0, -place), divisor)
    if 2 * rest > divisor or (2 * rest == divisor and quotient & 1):
        quotient += 1
    if quotient.bit_length() + place > top:
        return sign | special_bits(math.inf, dtype)
    # A quotient of full width carries into the exponent field by itself.
    return sign | (((place - least) << (mantissa - 1)) + quotient)


def _sign_bit(dtype: str) -> int:
    return 1 << (8 * np.dtype(dtype).itemsize - 1)


def special_bits(value: float, dtype: str) -> int:
    """The bits of an infinity or NaN."""
    word = f"uint{8 * np.dtype(dtype).itemsize}"
    return int(np.array(value, dtype).view(word)[()])


def total(sums: list[Exact], dtype: str, count: int, ddof: float) -> int:
    """The sum, rounded once."""
    special = sums[0].special
    if special is not None:
        return special_bits(special, dtype)
    return round_once(sums[0].units, _SCALE, dtype)


def mean(sums: list[Exact], dtype: str, count: int, ddof: float) -> int:
    """The exact quotient, rounded once; NaN of nothing."""
    special = math.nan if count == 0 else sums[0].special
    if special is not None:
        return special_bits(special, dtype)
    return round_once(sums[0].units, _SCALE * count, dtype)


def _quotient(sums: list[Exact], count: int, ddof: float) -> tuple[int, int] | float:
    """(sum of squares - square of sum / n) / (n - ddof): a ratio, or NaN or infinity.

    Squares come in one group, or in three: of moderate terms, of huge ones scaled by 2**-600, of
    tiny ones scaled by 2**600.
    """
    if count == 0 or any(s.special is not None for s in sums):
        return math.nan
    first, second, unit = sums[0].units, sums[1].units, _SCALE
    if len(sums) > 2:  # in units 2**-1200 times finer
        second = (second << 1200) + (sums[2].units << 2400) + sums[3].units
        first, unit = first << 1200, unit << 1200
    spread = count * second * unit - first * first
    freedom = Fraction(count) - Fraction(ddof)
    if freedom <= 0:
        return math.nan if spread == 0 else math.inf
    return spread * freedom.denominator, unit * unit * count * freedom.numerator


def variance(sums: list[Exact], dtype: str, count: int, ddof: float) -> int:
    """The variance, rounded once."""
    found = _quotient(sums, count, ddof)
    if isinstance(found, float):
        return special_bits(found, dtype)
    return round_once(*found, dtype)


def deviation(sums: list[Exact], dtype: str, count: int, ddof: float) -> int:
    """The square root of the variance: of integers with 128 bits to spare, then rounded once."""
    found = _quotient(sums, count, ddof)
    if isinstance(found, float):
        return special_bits(found, dtype)
    numerator, denominator = found
    shift = 128 + max(0, denominator.bit_length() - numerator.bit_length())
    square, lost = divmod(numerator << (2 * shift), denominator)
    root = math.isqrt(square)
    inexact = lost != 0 or root * root != square  # a sticky bit below the root's last
    return round_once(2 * root + inexact, 2 << shift, dtype)


FINISH: Final[dict[str, Any]] = {"sum": total, "mean": mean, "var": variance, "std": deviation}
