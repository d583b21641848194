"""One exact sum by Python's integers: limbs are an integer times `2**-1074`, rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...late import fractions
from ..program import LIMBS, NAN_WORD, SCALE

DIGITS: Final = 68
LEAST: Final = -1074  # exponent of the least digit's unit
_UNITS: Final = 1 << -LEAST  # in one
_DIGIT: Final = (1 << 32) - 1
_FEW: Final = 16  # groups of limbs that Python's integers carry sooner than 200 calls of NumPy's
# How far a group's limbs stand above those of tiny products: ordinary ones, tiny, huge.
SHIFTS: Final = (2 * SCALE, 0, 4 * SCALE)
# (mantissa bits, exponent of the least subnormal, exponent of the first overflow)
FORMATS: Final = {
    "float64": (53, -1074, 1024),
    "float32": (24, -149, 128),
    "float16": (11, -24, 16),
}


def carry(limbs: NDArray[np.int64]) -> None:
    """Propagate carries in place, along the last axis, so that `2**30` more additions have room."""
    if limbs.size <= _FEW * limbs.shape[-1]:
        for place in np.ndindex(limbs.shape[:-1]):
            limbs[place] = _carried(limbs[place].tolist())
        return
    for k in range(DIGITS - 1):
        high = limbs[..., k] >> 32
        limbs[..., k] -= high << 32
        limbs[..., k + 1] += high


def _carried(limbs: list[int]) -> list[int]:
    """One group of limbs, each digit but the last from 0 to `2**32`."""
    over = 0
    for k in range(DIGITS - 1):
        digit = limbs[k] + over
        over = digit >> 32
        limbs[k] = digit & _DIGIT
    limbs[DIGITS - 1] += over
    return limbs


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


def read(limbs: NDArray[np.int64]) -> Exact:
    """The sum held in one group of limbs."""
    units, odd = 0, [0] * (LIMBS - DIGITS)
    for k in limbs.nonzero()[0].tolist():  # a handful of the 72
        if k < DIGITS:
            units += int(limbs[k]) << 32 * k
        else:
            odd[k - NAN_WORD] = int(limbs[k])
    return Exact(units, *odd[:3])


def read_all(groups: NDArray[np.int64]) -> tuple[Exact, int]:
    """The sum held in one group, or in the groups of products; and how many units make one."""
    if len(groups) == 1:
        return read(groups[0]), _UNITS
    sums = [read(group) for group in groups]
    units = sum(f.units << SHIFTS[k] for k, f in enumerate(sums))
    counts = (sum(getattr(f, name) for f in sums) for name in ("nans", "positive", "negative"))
    return Exact(units, *counts), _UNITS << SHIFTS[0]


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


def total(limbs: NDArray[np.int64], dtype: str, count: int, ddof: float) -> int:
    """The sum, of elements or of products, rounded once."""
    exact, units = read_all(limbs)
    if exact.special is not None:
        return special_bits(exact.special, dtype)
    return round_once(exact.units, units, dtype)


def mean(limbs: NDArray[np.int64], dtype: str, count: int, ddof: float) -> int:
    """The exact quotient, rounded once; NaN of nothing."""
    exact, units = read_all(limbs)
    special = math.nan if count == 0 else exact.special
    if special is not None:
        return special_bits(special, dtype)
    return round_once(exact.units, units * count, dtype)


def _quotient(limbs: NDArray[np.int64], count: int, ddof: float) -> tuple[int, int] | float:
    """`(sum of squares - square of sum / n) / (n - ddof)`: a ratio, or NaN or infinity."""
    (first, unit), (second, units) = read_all(limbs[:1]), read_all(limbs[1:])
    if count == 0 or first.special is not None or second.special is not None:
        return math.nan
    return _ratio((first.units, second.units), (unit, units), count, ddof)


def _ratio(
    sums: tuple[int, ...], units: tuple[int, int], count: int, ddof: float
) -> tuple[int, int] | float:
    """The same of a sum and the sum of squares, each with how many of its units make one."""
    (first, second), (unit, square) = sums, units
    spread = count * second * unit * unit - first * first * square
    freedom = fractions.Fraction(count) - fractions.Fraction(ddof)
    if freedom <= 0:
        return math.nan if spread == 0 else math.inf
    return spread * freedom.denominator, unit * unit * square * count * freedom.numerator


def variance(limbs: NDArray[np.int64], dtype: str, count: int, ddof: float) -> int:
    """The variance, rounded once."""
    ratio = _quotient(limbs, count, ddof)
    if isinstance(ratio, float):
        return special_bits(ratio, dtype)
    return round_once(*ratio, dtype)


def deviation(limbs: NDArray[np.int64], dtype: str, count: int, ddof: float) -> int:
    """The square root of the variance: of integers with 128 bits to spare, then rounded once."""
    ratio = _quotient(limbs, count, ddof)
    if isinstance(ratio, float):
        return special_bits(ratio, dtype)
    return _root_once(*ratio, dtype)


def _root_once(numerator: int, denominator: int, dtype: str) -> int:
    """The bits of the square root of a ratio."""
    shift = 128 + max(0, denominator.bit_length() - numerator.bit_length())
    square, lost = divmod(numerator << (2 * shift), denominator)
    root = math.isqrt(square)
    inexact = lost != 0 or root * root != square  # a sticky bit below the root's last
    return round_once(2 * root + inexact, 2 << shift, dtype)


# From the limbs of one record (groups, words) to the bits of the result.
FINISH: Final[dict[str, Any]] = {
    "sum": total,
    "dot": total,
    "mean": mean,
    "var": variance,
    "std": deviation,
}


def _near_total(sums: tuple[int, ...], dtype: str, count: int, ddof: float) -> int | None:
    return round_once(sums[0], _UNITS, dtype)


def _near_mean(sums: tuple[int, ...], dtype: str, count: int, ddof: float) -> int | None:
    return round_once(sums[0], _UNITS * count, dtype)


def _near_spread(
    rounded: Callable[[int, int, str], int],
) -> Callable[[tuple[int, ...], str, int, float], int | None]:
    def bits(sums: tuple[int, ...], dtype: str, count: int, ddof: float) -> int | None:
        ratio = _ratio(sums, (_UNITS, _UNITS), count, ddof)
        if isinstance(ratio, float):
            return special_bits(ratio, dtype)
        return None if ratio[0] < 0 else rounded(*ratio, dtype)

    return bits


# The same from sums in units of 2**-1074; None of those that no numbers have.
NEAREST: Final[dict[str, Callable[[tuple[int, ...], str, int, float], int | None]]] = {
    "sum": _near_total,
    "dot": _near_total,
    "mean": _near_mean,
    "var": _near_spread(round_once),
    "std": _near_spread(_root_once),
}
