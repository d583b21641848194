"""Exact sums of many results that blocks give one after the other, and the results rounded once.

A sum is ``high + low``, at most ``bound`` away from the exact one; what is added is added by
two-sums (Knuth), of which only the last rest is lost, and counted in the bound. In the end a result
is certain where all that is within the bound rounds to it (Ziv 1991); it is computed by records of
all its digits where it is not.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...kernel.llvm.many.nest import SENTINEL
from ...plan.streams import BLOCK

Array: TypeAlias = NDArray[Any]

SLACK: Final = 1.0 + 2.0**-30  # more than the roundings of a few sums of bounds
# As in the kernels: outside of these, zero excepted, products and remainders could be inexact.
_LEAST, _MOST = 2.0**-700, 2.0**900
_SPLIT: Final = 2.0**27 + 1.0
# Memory of sums that is kept: fresh pages of 3 MiB cost as much as reading 25. Bytes, and how many.
_LEAST_KEPT: Final = 1 << 17
_MOST_KEPT: Final = 4
_KEPT: Final[list[Array]] = []


@dataclass(frozen=True, eq=False)
class Bounded:
    """Doubles whose exact values are ``high + low``, at most ``bound`` away; NaN is itself."""

    high: Array
    low: Array
    bound: Array

    def __add__(self, other: Bounded) -> Bounded:
        high, a = two_sum(self.high, other.high)
        low, b = two_sum(self.low, other.low)
        low, c = two_sum(low, a)
        lost = (self.bound + other.bound + np.abs(b) + np.abs(c)) * SLACK
        return Bounded(*two_sum(high, low), lost)

    def at(self, here: Any) -> Bounded:
        """Those at the places ``here``."""
        return Bounded(self.high[here], self.low[here], self.bound[here])

    def flat(self, here: slice) -> Bounded:
        """Those at the places ``here`` of all in a row."""
        return Bounded(*(x.reshape(-1)[here] for x in (self.high, self.low, self.bound)))

    def set(self, other: Bounded) -> None:
        """Become ``other``."""
        self.high[...], self.low[...] = other.high, other.low
        self.bound[...] = other.bound


def nothing(shape: tuple[int, ...]) -> Bounded:
    """Sums of no elements, in memory that is used again when nobody has them any more."""
    size = 3 * math.prod(shape)
    if not _LEAST_KEPT <= 8 * size <= BLOCK:
        return Bounded(np.zeros(shape), np.zeros(shape), np.zeros(shape))
    memory = next((one for one in _taken() if one.size >= size), None)
    memory = np.empty(size) if memory is None else memory
    words = memory[:size].reshape(3, *shape)
    words[...] = 0.0
    found = Bounded(*words)
    weakref.finalize(found, _given_back, memory).atexit = False
    return found


def _taken() -> Iterator[Array]:
    """What there is of such memory, each until it is large enough."""
    with suppress(IndexError):  # nothing is left, or another thread was sooner
        while True:
            yield _KEPT.pop()


def _given_back(memory: Array) -> None:
    if len(_KEPT) < _MOST_KEPT:
        _KEPT.append(memory)


def given(value: Array, tail: Array, bound: Array) -> Bounded:
    """What a kernel gave; zero, with an endless bound, where it says nothing.

    Of a sum with a NaN all three are NaN, of one that it says nothing of the sentinel.
    """
    silent = bound.view(np.uint64) == SENTINEL["float64"]
    nan = np.isnan(value) & ~silent
    value[silent], tail[silent], bound[silent] = 0.0, 0.0, np.inf
    tail[nan], bound[nan] = 0.0, 0.0
    return Bounded(value, tail, bound)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """``a + b`` rounded, and what was rounded away, exactly."""
    s = a + b
    z = s - a
    return s, (a - (s - z)) + (b - z)


def two_product(a: Array, b: Array | float) -> tuple[Array, Array]:
    """``a * b`` rounded, and what was rounded away (Dekker 1971)."""
    p = a * b
    (u, v), (x, y) = _halves(a), _halves(np.asarray(b))
    return p, ((u * x - p) + u * y + v * x) + v * y


def _halves(a: Array) -> tuple[Array, Array]:
    c = a * _SPLIT
    high = c - (c - a)
    return high, a - high


def finished(
    op: str, sums: list[Bounded], count: int, ddof: float, dtype: str
) -> tuple[Array, Array]:
    """The results of ``op`` by ``sums``, of elements and of squares, and where they are certain."""
    with np.errstate(all="ignore"):
        near, nan = sums[0], np.isnan(sums[0].high)
        if op == "mean":
            near = _quotient(near, float(count))
        elif op in ("var", "std"):
            near = _quotient(
                _spread(sums[0], sums[1], float(count)), float(count) * float(count - ddof)
            )
        if op == "std":
            near = _root(near)
        result, certain = _rounded(near, dtype, op in ("var", "std"))
        return np.where(nan, np.asarray(np.nan, dtype), result), certain | nan


def _quotient(a: Bounded, divisor: float) -> Bounded:
    value = a.high / divisor
    p, e = two_product(value, divisor)
    rest, lost = two_sum((a.high - p) - e, a.low)
    tail = rest / divisor
    p, e = two_product(tail, divisor)
    left = np.abs((rest - p) - e)
    return Bounded(value, tail, (a.bound + np.abs(lost) + left) / divisor * SLACK)


def _spread(total: Bounded, squares: Bounded, count: float) -> Bounded:
    """``count * squares - total * total``: of each product two doubles and a rest."""
    a, a_left = two_product(squares.high, count)
    a_rest = count * squares.low
    b, b_left = two_product(total.high, total.high)
    b_rest = 2.0 * total.high * total.low
    high, low = two_sum(a, -b)
    middle = a_left - b_left
    value, tail = two_sum(high, low + middle + (a_rest - b_rest))
    sizes = np.abs(low) + np.abs(middle) + np.abs(a_rest) + np.abs(b_rest)
    own = sizes * 2.0**-49 + total.low * total.low
    of_total = (2.0 * (np.abs(total.high) + np.abs(total.low)) + total.bound) * total.bound
    return Bounded(value, tail, (own + of_total + count * squares.bound) * SLACK)


def _root(a: Bounded) -> Bounded:
    """The square root, by one step of Newton's."""
    value = np.sqrt(a.high)
    p, e = two_product(value, value)
    rest = ((a.high - p) - e) + a.low
    tail = rest / (value + value)
    bound = (a.bound + np.abs(rest) * 2.0**-51) / value + tail * tail / value
    none = (a.high == 0) & (a.low == 0) & (a.bound == 0)
    return Bounded(*(np.where(none, 0.0, x) for x in (value, tail, bound * SLACK)))


def _rounded(a: Bounded, dtype: str, positive: bool) -> tuple[Array, Array]:
    """``a`` rounded once to ``dtype``, and where that is certain."""
    value, tail = two_sum(a.high, a.low)
    more = np.where(a.bound == 0, 0.0, a.bound + np.abs(tail) * 2.0**-51)
    ends = value + (tail + more), value + (tail - more)
    size = np.abs(value)
    usual = ((size >= _LEAST) & (size <= _MOST)) | ((a.bound == 0) & (value == 0) & (tail == 0))
    if positive:
        usual &= value >= 0
    if dtype == "float64":
        result, certain = value, (ends[0] == value) & (ends[1] == value)
    else:
        result, exact = value.astype(dtype), (tail == 0) & (more == 0)
        certain = exact | _within(result, value, tail, more)  # one that is known may be a tie
    return result, certain & usual


def _within(result: Array, value: Array, tail: Array, more: Array) -> Array:
    """Where all that is ``more`` or less from ``value + tail`` rounds to the shorter ``result``."""
    up, down = (np.nextafter(result, result.dtype.type(end)) for end in (np.inf, -np.inf))
    center = result.astype(np.float64)
    off = value - center  # exact
    above = (up.astype(np.float64) - center) * (0.5 - 2.0**-40)
    below = (center - down.astype(np.float64)) * (0.5 - 2.0**-40)
    inside = (off + tail + more < above) & (off + tail - more > -below)
    return np.asarray(inside & np.isfinite(up) & np.isfinite(down))
