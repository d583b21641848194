"""From sums that miss hardly a bit to numbers that are rounded once, where that is certain.

A sum is ``high + low``, give or take twice its bound. Each step keeps what it rounds away; a result
is certain where all numbers that the exact one may be round to it.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...kernel.llvm.grouping.near import BOUND, COUNT, HIGH, HIGH2, LOW, LOW2

Array: TypeAlias = NDArray[Any]

_SPLIT: Final = 2.0**27 + 1
_NEAR: Final = 2.0**-49  # more than a double and its bound are off
_LEAST, _MOST = 2.0**-400, 2.0**400  # between them products and what they round away are doubles


@dataclass(frozen=True)
class Nearby:
    """Numbers within ``error`` of ``high + low``, of which ``high`` is the nearest double."""

    high: Array
    low: Array
    error: Array

    def rounded(self, dtype: Any) -> tuple[Array, Array]:
        """The numbers in ``dtype``, and whether that is certain."""
        if dtype == np.float64:
            error = self.error * 2
            sure = (self.high + (self.low + error) == self.high) & (
                self.high + (self.low - error) == self.high
            )
            return self.high, (sure | (self.error == 0)) & np.isfinite(self.high)
        exact = (self.low == 0) & (self.error == 0)
        result = self.high.astype(dtype)
        one = np.nextafter(self.high, -np.inf).astype(dtype)
        other = np.nextafter(self.high, np.inf).astype(dtype)
        return result, (exact | (one == other)) & np.isfinite(self.high)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    c = total - a
    return total, (a - (total - c)) + (b - c)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    product = a * b
    a_high = a * _SPLIT
    a_high = a_high - (a_high - a)
    b_high = b * _SPLIT
    b_high = b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    rest = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, rest


def _over(x: Nearby, n: Array) -> Nearby:
    """``x / n``."""
    q = x.high / n
    product, rest = _two_product(q, n)
    left, lost = _two_sum((x.high - product) - rest, x.low)
    more = left / n
    product, rest = _two_product(more, n)
    open_ = (((left - product) - rest) + lost != 0) | (x.error != 0)
    error = np.where(open_, x.error / n * 1.01 + np.abs(more) * 2.0**-50, 0.0)
    return Nearby(*_two_sum(q, more), error)


def _root(x: Nearby) -> Nearby:
    """The square root of ``x``."""
    root = np.sqrt(x.high)
    square, rest = _two_product(root, root)
    left = ((x.high - square) - rest) + x.low
    more = np.where(root > 0, left / (2 * root), 0.0)
    error = x.error / root + np.abs(more) * 2.0**-48
    error = np.where((left == 0) & (x.error == 0), 0.0, error)
    return Nearby(*_two_sum(root, more), error)


def _far(*values: Array) -> Array:
    """Where a number is so large or small that products of it may be no exact pair."""
    found = np.zeros(values[0].shape, bool)
    for value in values:
        size = np.abs(value)
        found |= (size != 0) & ~((size > _LEAST) & (size < _MOST))
    return found


def _spread(sums: Array, ddof: float) -> tuple[Nearby, Array]:
    """The variance, and where it is not to be trusted."""
    n, error = sums[COUNT], 2 * sums[BOUND]
    one, one_low = _two_sum(sums[HIGH], sums[LOW])
    two, two_low = _two_sum(sums[HIGH2], sums[LOW2])
    a, a_low = _two_product(n, two)
    b, b_low = _two_product(one, one)
    left, lost = _two_sum(a, -b)
    tail = ((lost + a_low) - b_low) + (n * two_low - 2 * one * one_low)
    exact = (a_low == 0) & (b_low == 0) & (one_low == 0) & (two_low == 0) & (error == 0)
    size = np.abs(a) + b
    error = np.where(exact, 0.0, size * 2.0**-98 + error * (n + 2 * np.abs(one) + error) * 2)
    over = n * (n - ddof)
    spread = _over(Nearby(*_two_sum(left, tail), error), over)
    single = n == 1  # which is as far from its mean as can be told
    spread = Nearby(
        *(np.where(single, 0.0, one) for one in (spread.high, spread.low, spread.error))
    )
    bad = (
        _far(one, two)
        | ~((n > ddof) & (over < 2.0**52))
        | ((over % 1 != 0) & (over * 2**20 % 1 != 0))
    )
    return spread, bad | (~single & (spread.high <= spread.error))


def exact_finished(op: str, sums: Array, count: int, dtype: Any) -> tuple[Array, Array]:
    """The same of ``sums`` of ``count`` numbers that are exactly these doubles."""
    with np.errstate(all="ignore"):
        if op == "sum":
            return sums.astype(dtype), np.array(True)
        result = sums / count
        if dtype == np.float64:
            return result, np.array(True)
        found = (result * (1 - _NEAR)).astype(dtype)
        sure = found == (result * (1 + _NEAR)).astype(dtype)
        few = np.flatnonzero(~sure)
        if len(few):
            zero = np.zeros(len(few))
            given = np.stack([sums[few], zero, zero, zero + count])
            found[few], sure[few] = _finished(op, given, dtype, 0.0)
    return found, sure


def finished(op: str, sums: Array, dtype: Any, ddof: float) -> tuple[Array, Array]:
    """``op`` of each of ``sums`` (parts first), rounded to ``dtype``, and whether it is certain."""
    if dtype == np.float64 or op not in ("sum", "mean"):
        return _finished(op, sums, dtype, ddof)
    with np.errstate(all="ignore"):  # nearly all doubles lie far from a tie of shorter numbers
        result = sums[HIGH] + sums[LOW]
        sure = sums[BOUND] <= np.abs(result) * 2.0**-54
        if op == "mean":
            result /= sums[COUNT]
        found = (result * (1 - _NEAR)).astype(dtype)
        sure &= found == (result * (1 + _NEAR)).astype(dtype)
        sure &= np.isfinite(found)
    if not sure.all():
        few = np.flatnonzero(~sure)
        found[few], sure[few] = _finished(op, sums[:, few], dtype, ddof)
    return found, sure


def _finished(op: str, sums: Array, dtype: Any, ddof: float) -> tuple[Array, Array]:
    """The same, every number with its tail."""
    with np.errstate(all="ignore"):
        total = Nearby(*_two_sum(sums[HIGH], sums[LOW]), 2 * sums[BOUND])
        if op == "sum":
            return total.rounded(dtype)
        n = sums[COUNT]
        if op == "mean":
            result, sure = _over(total, n).rounded(dtype)
            sure &= ~_far(total.high)
        else:
            spread, bad = _spread(sums, ddof)
            exactly = (spread.high == 0) & (spread.low == 0) & (spread.error == 0)
            spread = _root(spread) if op == "std" else spread
            spread = Nearby(
                *(np.where(exactly, 0.0, one) for one in (spread.high, spread.low, spread.error))
            )
            result, sure = spread.rounded(dtype)
            sure &= ~bad | exactly & (n > ddof) & ~_far(total.high)
        nothing = n == 0
        result = np.where(nothing, np.asarray(np.nan, dtype), result)
        return result, sure | nothing
