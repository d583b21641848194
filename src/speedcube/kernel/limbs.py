"""From limbs to numbers: an exact sum is a big integer times 2**-1074, rounded once at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .program import NAN_WORD, NEGATIVE_WORD, POSITIVE_WORD

_DIGITS: Final = 68
_SCALE: Final = 1 << 1074
# (mantissa bits, exponent of the least subnormal, exponent of the first overflow)
_FORMATS: Final = {"float32": (24, -149, 128)}


def carry(limbs: NDArray[np.int64]) -> None:
    """Propagate carries in place, along the last axis, so that 2**30 more additions have room."""
    for k in range(_DIGITS - 1):
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
    words = limbs.tolist()
    units = 0
    for word in reversed(words[:_DIGITS]):
        units = (units << 32) + word
    return Exact(units, words[NAN_WORD], words[POSITIVE_WORD], words[NEGATIVE_WORD])


def round_once(numerator: int, denominator: int, dtype: str) -> float:
    """``numerator / denominator`` correctly rounded, ties to even, overflow to infinity."""
    if dtype == "float64":
        try:
            return numerator / denominator  # Python rounds the quotient of integers correctly
        except OverflowError:
            return math.inf if numerator > 0 else -math.inf
    if numerator == 0:
        return 0.0
    mantissa, least, top = _FORMATS[dtype]
    size = abs(numerator)
    exponent = size.bit_length() - denominator.bit_length()  # |value| in 2**(exponent -1 .. +1)
    if (size << max(0, -exponent)) < (denominator << max(0, exponent)):
        exponent -= 1
    place = max(exponent - mantissa + 1, least)
    divisor = denominator << max(0, place)
    quotient, rest = divmod(size << max(0, -place), divisor)
    if 2 * rest > divisor or (2 * rest == divisor and quotient & 1):
        quotient += 1
    if quotient.bit_length() + place > top:
        return math.inf if numerator > 0 else -math.inf
    return math.ldexp(quotient if numerator > 0 else -quotient, place)


def total(sums: list[Exact], dtype: str, count: int, ddof: float) -> float:
    """The sum, rounded once."""
    special = sums[0].special
    return round_once(sums[0].units, _SCALE, dtype) if special is None else special


def mean(sums: list[Exact], dtype: str, count: int, ddof: float) -> float:
    """The exact quotient, rounded once; NaN of nothing."""
    special = sums[0].special
    if special is not None or count == 0:
        return math.nan if special is None else special
    return round_once(sums[0].units, _SCALE * count, dtype)


def variance(sums: list[Exact], dtype: str, count: int, ddof: float) -> float:
    """(sum of squares - square of sum / n) / (n - ddof), exact, rounded once."""
    if sums[0].special is not None or sums[1].special is not None or count == 0:
        return math.nan
    freedom = Fraction(count) - Fraction(ddof)
    first, second = Fraction(sums[0].units, _SCALE), Fraction(sums[1].units, _SCALE)
    spread = second - first * first / count
    if freedom <= 0:
        return math.nan if spread == 0 else math.inf
    found = spread / freedom
    return round_once(found.numerator, found.denominator, dtype)


def deviation(sums: list[Exact], dtype: str, count: int, ddof: float) -> float:
    """The square root of the variance."""
    found = variance(sums, "float64", count, ddof)
    return float(np.dtype(dtype).type(math.sqrt(found))) if found == found else found


FINISH: Final[dict[str, Any]] = {"sum": total, "mean": mean, "var": variance, "std": deviation}
