"""Exact running sums of any floats, by NumPy: the slow way, for what the kernel does not take.

Every element becomes a row of limbs (`limbs.py`); rows are summed one after the other, and each is
rounded once, by the methods of `digits.py`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .digits import many
from .limbs import LEAST, carry, read, round_once
from .program import LIMBS, NAN_WORD, NEGATIVE_WORD, POSITIVE_WORD

Array: TypeAlias = NDArray[Any]
Limbs: TypeAlias = NDArray[np.int64]
_LOW = np.uint64(0xFFFF_FFFF)
_32 = np.uint64(32)


def limbs_of(values: NDArray[np.float64]) -> Limbs:
    """Each of ``values`` as limbs, (values, `LIMBS`)."""
    rows = np.zeros((len(values), LIMBS), np.int64)
    bits = np.ascontiguousarray(values).view(np.uint64)
    exponent = (bits >> np.uint64(52)) & np.uint64(2047)
    fraction = bits & np.uint64((1 << 52) - 1)
    finite = exponent != 2047
    mantissa = fraction + np.where(exponent != 0, np.uint64(1 << 52), np.uint64(0))
    mantissa = np.where(finite, mantissa, np.uint64(0))
    place = np.where(finite & (exponent != 0), exponent - np.uint64(1), np.uint64(0))
    shift = place & np.uint64(31)
    low, high = (mantissa & _LOW) << shift, (mantissa >> _32) << shift
    digits = (low & _LOW, (low >> _32) + (high & _LOW), high >> _32)
    negative = bits >> np.uint64(63) != 0
    row, digit = np.arange(len(values)), (place >> np.uint64(5)).astype(np.int64)
    for k, found in enumerate(digits):
        rows[row, digit + k] = np.where(negative, -found.astype(np.int64), found.astype(np.int64))
    rows[:, NAN_WORD] = ~finite & (fraction != 0)
    rows[:, POSITIVE_WORD] = ~finite & (fraction == 0) & ~negative
    rows[:, NEGATIVE_WORD] = ~finite & (fraction == 0) & negative
    return rows


def running_sums(
    values: NDArray[np.float64], before: Limbs, left: int, length: int, dtype: str
) -> tuple[Array, Limbs]:
    """The running sums of ``values``, and the limbs of what the next element adds to.

    ``before`` is the sum of the elements before in the first one's line, which has ``left`` more;
    the lines after it have ``length``.
    """
    rows = limbs_of(values)
    rows[0] += before
    np.cumsum(rows, axis=0, out=rows)
    starts = np.arange(left, len(values) + 1, length)  # of the lines after the first one
    line = np.searchsorted(starts, np.arange(len(values)), side="right")
    rows[left:] -= rows[starts - 1][line[left:] - 1]
    ended = len(starts) > 0 and starts[-1] == len(values)
    after = np.zeros(LIMBS, np.int64) if ended else rows[-1].copy()
    word = f"uint{8 * np.dtype(dtype).itemsize}"
    bits = many("sum", rows.reshape(len(rows), 1, LIMBS), dtype, 1, 0)
    assert bits is not None
    carry(after)
    return bits.astype(word, copy=False).view(dtype), after


def limbs_of_state(state: NDArray[np.float64]) -> Limbs:
    """The sum of a kernel's parts."""
    total = limbs_of(state).sum(axis=0, dtype=np.int64)
    carry(total)
    return np.asarray(total)


def state_of_limbs(limbs: Limbs, parts: int) -> NDArray[np.float64] | None:
    """The sum as ``parts`` doubles; None where it needs more, or is not finite."""
    exact = read(limbs)
    if exact.special is not None:
        return None
    state, units = np.zeros(parts), exact.units
    for k in range(parts):
        state.view(np.uint64)[k] = round_once(units, 1 << -LEAST, "float64")
        if not np.isfinite(state[k]):
            return None
        units -= _units(float(state[k]))
    return None if units else state


def _units(value: float) -> int:
    numerator, denominator = value.as_integer_ratio()
    return (numerator << -LEAST) // denominator


def special_sums(values: NDArray[np.float64], before: Limbs, dtype: str) -> tuple[Array, Limbs]:
    """`running_sums` of a line that already has a NaN or an infinity: only those count."""
    special = read(before).special or 0.0
    finite = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        found = np.add.accumulate(np.append(special, np.where(finite, 0.0, values)))[1:]
    return np.where(np.isnan(found), np.nan, found).astype(dtype), before + limbs_of(
        values[~finite]
    ).sum(axis=0, dtype=np.int64)
