"""Sums, means and spreads of a group with Python's integers: whatever its elements are."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...kernel.exact.integers import round_once
from ...late import fractions

Array: TypeAlias = NDArray[Any]

_UNIT = 1 << 1074  # the least double is one of so many parts of 1


@dataclass(frozen=True)
class GroupSums:
    """Sums of numbers and of their squares in least doubles, and which are no number."""

    count: int = 0
    total: int = 0
    squares: int = 0
    nan: bool = False
    above: bool = False
    under: bool = False

    def __add__(self, other: GroupSums) -> GroupSums:
        return GroupSums(
            self.count + other.count,
            self.total + other.total,
            self.squares + other.squares,
            self.nan or other.nan,
            self.above or other.above,
            self.under or other.under,
        )


def exact_sums(values: Array, skip: bool, squares: bool) -> GroupSums:
    """What ``values``, floats or integers, add up to; ``skip``: NaN is left out."""
    if values.dtype.kind == "f":
        values = values.astype(np.float64)
        nan = np.isnan(values)
        if skip:
            values, nan = values[~nan], nan[:0]
        if not np.isfinite(values).all():
            above, under = bool((values == np.inf).any()), bool((values == -np.inf).any())
            return GroupSums(len(values), 0, 0, bool(nan.any()), above, under)
    return GroupSums(len(values), _total(values), _total_of_squares(values) if squares else 0)


def exactly(op: str, values: Array, dtype: Any, ddof: float, skip: bool) -> Any:
    """``op`` of ``values``, floats or integers, rounded once to ``dtype``."""
    return rounded_once(op, exact_sums(values, skip, op in ("var", "std")), dtype, ddof)


def rounded_once(op: str, sums: GroupSums, dtype: Any, ddof: float) -> Any:
    """``op`` (sum, mean, var, std) of what has these ``sums``, rounded once to ``dtype``."""
    special = _special(op, sums)
    if special is not None:
        return special
    name = np.dtype(dtype).name
    count, total = sums.count, sums.total
    if op != "sum" and not count:
        return np.nan
    if op in ("sum", "mean"):
        bits = round_once(total, _UNIT * (count if op == "mean" else 1), name)
        return _value(bits, dtype)
    left = count * sums.squares - total * total
    freedom = fractions.Fraction(count) - fractions.Fraction(ddof)
    if freedom <= 0:
        return np.nan if left == 0 else np.inf
    over = _UNIT * _UNIT * count * freedom.numerator
    left *= freedom.denominator
    if op == "var":
        return _value(round_once(left, over, name), dtype)
    shift = 128 + max(0, over.bit_length() - left.bit_length())
    square, lost = divmod(left << (2 * shift), over)
    root = math.isqrt(square)
    inexact = lost != 0 or root * root != square
    return _value(round_once(2 * root + inexact, 2 << shift, name), dtype)


def _value(bits: int, dtype: Any) -> Any:
    word = np.dtype(f"uint{8 * np.dtype(dtype).itemsize}")
    return np.array(bits, word).view(dtype)[()]


def _special(op: str, sums: GroupSums) -> float | None:
    """The result where an element is NaN or infinite."""
    if not (sums.nan or sums.above or sums.under):
        return None
    if op in ("var", "std") or sums.nan or (sums.above and sums.under):
        return math.nan
    return math.inf if sums.above else -math.inf


def _scaled(values: Array) -> tuple[list[int], list[int]]:
    """Whole numbers, and by how many bits each is to be shifted to count least doubles."""
    fractions, exponents = np.frexp(values)
    whole = np.ldexp(fractions, 53).astype(np.int64)
    shifts = exponents.astype(np.int64) - 53 + 1074
    deep = shifts < 0  # what is subnormal ends in zeros
    whole = np.where(deep, whole >> np.where(deep, -shifts, 0), whole)
    return whole.tolist(), np.where(deep, 0, shifts).tolist()


def _total(values: Array) -> int:
    if values.dtype.kind != "f":
        return int(sum(values.tolist())) * _UNIT
    return sum(a << b for a, b in zip(*_scaled(values), strict=True))


def _total_of_squares(values: Array) -> int:
    if values.dtype.kind != "f":
        return int(sum(a * a for a in values.tolist())) * _UNIT * _UNIT
    return sum((a * a) << (2 * b) for a, b in zip(*_scaled(values), strict=True))
