"""Exact sums of the weights of each number: whole multiples of a few units, added in any order.

A unit holds weights of 23 binades, exactly; what is finer or coarser goes to another one. Where
the numbers are so many that further units would take much memory, such weights are sorted by their
number and added as integers of any length. All is rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np

from ...dataclass import dataclass
from ...expr.through.node import Through
from ...plan.working import levels_of
from .elements import BLOCK, AllElements, Array, in_step
from .fixed import Weighing

_APART: Final = 1 << 20  # pairs that are kept before they are sorted
_LATE: Final = 1 << 14  # weights that wait for another unit
_FEW: Final = 1 << 9  # weights that are worth none
_LEAST: Final = -1074  # the exponent of the least double
_SPARE: Final = 2  # binades above the first weights
_EXACT: Final = 1 << (52 - Weighing.BITS)  # highest limbs of which two limbs are one double
_CACHED: Final = 1 << 14  # numbers whose sums are rounded at a time
_NAN, _ABOVE, _UNDER = 1, 2, 4  # which weights without a size a number has
Limbs: TypeAlias = tuple[Array, Array, Array]


@dataclass(eq=False)
class WeighedSums:
    """The sums of one thread: those of each unit, by its top, and of what lies apart."""

    length: int
    top: int  # of the unit of most weights; the others' tops are whole steps away
    levels: dict[int, Weighing] = field(default_factory=dict)
    special: Array | None = None
    late: list[tuple[Array, Array]] = field(default_factory=list)  # for other units, if many
    apart: list[tuple[Array, Array]] = field(default_factory=list)
    integers: dict[int, int] = field(default_factory=dict)  # of the least double

    @property
    def greatest(self) -> int:
        """The greatest number so far; of negative ones beyond 2**63."""
        return self._level(self.top).greatest

    def add(self, index: Array, weights: Array) -> None:
        left = self._level(self.top).add(index, weights)
        if len(left):
            self.late.append((index[left], weights[left]))
            if sum(len(one) for one, _ in self.late) >= _LATE:
                self._add_late()

    def _add_late(self) -> None:
        index, weights = (np.concatenate(both) for both in zip(*self.late, strict=True))
        self.late = []
        finite = np.isfinite(weights)
        if not finite.all():
            self._add_special(index[~finite], weights[~finite])
            index, weights = index[finite], weights[finite]
        if 0 < len(index) < _FEW:
            self._keep(index, weights)
        else:
            self._add_left(index, weights)

    def _level(self, top: int) -> Weighing:
        if top not in self.levels:
            self.levels[top] = Weighing(self.length, top)
        return self.levels[top]

    def _add_left(self, index: Array, weights: Array) -> None:
        while len(index):
            size = math.frexp(float(np.abs(weights).max()))[1]
            top = self._top_above(size)
            if size > top or (
                top not in self.levels and len(self.levels) >= levels_of(self.length)
            ):
                self._keep(index, weights)
                return
            left = self._level(top).add(index, weights)
            index, weights = index[left], weights[left]

    def _top_above(self, size: int) -> int:
        step = Weighing.REACH
        top = self.top + step * -((self.top - size) // step)
        return min(max(top, Weighing.LOWEST), Weighing.HIGHEST)

    def _add_special(self, index: Array, weights: Array) -> None:
        if self.special is None:
            self.special = np.zeros(self.length + 1, np.uint8)
        kinds = (
            (_NAN, np.isnan(weights)),
            (_ABOVE, weights == np.inf),
            (_UNDER, weights == -np.inf),
        )
        index = np.where((index >= 0) & (index < self.length), index, self.length)
        for bit, mask in kinds:
            self.special[index[mask]] |= bit

    def _keep(self, index: Array, weights: Array) -> None:
        self.apart.append((index, weights))
        if sum(len(one) for one, _ in self.apart) >= _APART:
            self.sort()

    def sort(self) -> None:
        """Add up what lies apart, number after number."""
        if not self.apart:
            return
        index, weights = (np.concatenate(both) for both in zip(*self.apart, strict=True))
        self.apart = []
        order = np.argsort(index, kind="stable")
        index, weights = index[order], weights[order]
        ends = [0, *(np.flatnonzero(np.diff(index)) + 1).tolist(), len(index)]
        for start, stop in pairwise(ends):
            total = sum(map(_units, weights[start:stop].tolist()))
            number = int(index[start])
            self.integers[number] = self.integers.get(number, 0) + total

    def finish(self) -> WeighedSums:
        if self.late:
            self._add_late()
        self.sort()
        for level in self.levels.values():
            level.carry()
        return self

    def join(self, other: WeighedSums) -> None:
        """Add what another thread found."""
        for top, level in other.levels.items():
            if top in self.levels:
                self.levels[top].join(level)
            else:
                self.levels[top] = level
        for number, total in other.integers.items():
            self.integers[number] = self.integers.get(number, 0) + total
        if self.special is None:
            self.special = other.special
        elif other.special is not None:
            self.special |= other.special


def _units(weight: float) -> int:
    """How many of the least double a number is."""
    numerator, denominator = weight.as_integer_ratio()
    return numerator * ((1 << -_LEAST) // denominator)


def weighed(source: Through, given: list[AllElements]) -> Array:
    """The exact sum of the weights of each number below the length, rounded once."""
    return rounded(sums_of(source, given, first_top(given)))


def sums_of(source: Through, given: list[AllElements], top: int) -> WeighedSums:
    """The sums of the weights; ``top``: the exponent that most of them are below."""
    index, weights = given
    length, spans = source.options[0], given[0].spans()
    if 4 * length > index.size:
        spans = [(0, index.size)]  # joining what threads found would take longer

    def share(span: tuple[int, int]) -> WeighedSums:
        sums = WeighedSums(length, top)
        for numbers, values in streams(index, weights, span):
            sums.add(numbers, values)
        return sums.finish()

    whole, *others = index.each(share, spans)
    for other in others:
        whole.join(other)
    return whole


def first_top(given: list[AllElements]) -> int:
    """An exponent that the first weights are below, with binades to spare."""
    weights, most = given[1], 0.0
    for block in weights.blocks(0, min(weights.size, BLOCK)):
        size = np.abs(block.astype(np.float64, copy=False))
        most = max(most, float(size[np.isfinite(size)].max(initial=0.0)))
    top = math.frexp(most)[1] + _SPARE if most else 0
    return min(max(top, Weighing.LOWEST), Weighing.HIGHEST)


def streams(
    index: AllElements, weights: AllElements, span: tuple[int, int], step: int = BLOCK
) -> Iterator[tuple[Array, Array]]:
    """Numbers and their weights, about ``step`` at a time; each pair is gone with the next."""
    for numbers, values in in_step(index, weights, span, step):
        yield numbers.astype(np.int64, copy=False), values.astype(np.float64, copy=False)


def rounded(sums: WeighedSums) -> Array:
    """The sum of each number, rounded."""
    there = {top: _limbs(level, sums.length) for top, level in sums.levels.items()}
    found, several = _of_one_level(sums, there) if len(there) == 1 else _of_levels(sums, there)
    for number in several:
        total = sums.integers.get(number, 0)
        for top, limbs in there.items():
            total += _whole(*(int(limb[number]) for limb in limbs)) << (
                sums.levels[top].unit - _LEAST
            )
        found[number] = _quotient(total, 1 << -_LEAST)
    if sums.special is not None:
        special = sums.special[: sums.length]
        found[special & _ABOVE > 0], found[special & _UNDER > 0] = np.inf, -np.inf
        found[(special & _NAN > 0) | (special & (_ABOVE | _UNDER) == _ABOVE | _UNDER)] = np.nan
    return found


def _of_one_level(sums: WeighedSums, there: dict[int, Limbs]) -> tuple[Array, list[int]]:
    """What the sums of one unit are, and the numbers of which other weights lie apart."""
    ((top, limbs),) = there.items()
    found = np.empty(sums.length)
    for first in range(0, sums.length, _CACHED):
        part = slice(first, first + _CACHED)
        found[part] = _nearest(*_part(limbs, part), sums.levels[top].unit)
    return found, [number for number in sums.integers if number < sums.length]


def _of_levels(sums: WeighedSums, there: dict[int, Limbs]) -> tuple[Array, list[int]]:
    """What the sums of numbers with weights of one unit are, and the numbers with several."""
    found = np.zeros(sums.length)
    several = np.zeros(sums.length, np.uint8)
    for number in sums.integers:
        if number < sums.length:
            several[number] = 2
    used = {top: (a != 0) | (b != 0) | (c != 0) for top, (a, b, c) in there.items()}
    for mask in used.values():
        several += mask
    for top, limbs in there.items():
        for first in range(0, sums.length, _CACHED):
            part = slice(first, first + _CACHED)
            alone = used[top][part] & (several[part] == 1)
            if alone.any():
                some = _nearest(*_part(limbs, part), sums.levels[top].unit)
                np.copyto(found[part], some, where=alone)
    return found, np.flatnonzero(several > 1).tolist()


def _part(limbs: Limbs, part: slice) -> Limbs:
    high, middle, low = limbs
    return high[part], middle[part], low[part]


def _limbs(level: Weighing, length: int) -> Limbs:
    return level.carried[:length], level.sums[:length, 0], level.sums[:length, 1]


def _whole(high: int, middle: int, low: int) -> int:
    return (((high << Weighing.BITS) + middle) << Weighing.BITS) + low


def _nearest(high: Array, middle: Array, low: Array, unit: int) -> Array:
    """The doubles nearest to integers of three limbs, each a multiple of ``2**unit``.

    The two upper limbs of their size are one double, the last another: one addition rounds them.
    """
    bits, mask = Weighing.BITS, (1 << Weighing.BITS) - 1
    if not ((high + _EXACT) >> (_EXACT.bit_length())).any():  # the upper two are one double
        upper = (high << bits) + middle
        with np.errstate(over="ignore"):
            return np.asarray(np.ldexp(np.ldexp(upper.astype(np.float64), bits) + low, unit))
    negative = high < 0
    sign = np.where(negative, -1, 1)
    borrow = (low != 0) & negative
    few = np.where(negative, -low & mask, low)
    some = np.where(negative, (-middle - borrow) & mask, middle)
    many = high * sign - (negative & ((middle != 0) | borrow))
    large = many >> (52 - bits) > 0
    upper = ((np.where(large, 0, many) << bits) + some).astype(np.float64)
    with np.errstate(over="ignore"):
        found = np.ldexp((np.ldexp(upper, bits) + few) * sign, unit)
    for k in np.flatnonzero(large).tolist():  # of thousands of weights each
        total = _whole(int(high[k]), int(middle[k]), int(low[k])) << (unit - _LEAST)
        found[k] = _quotient(total, 1 << -_LEAST)
    return np.asarray(found)


def _quotient(total: int, one: int) -> float:
    try:
        return total / one  # Python rounds it once
    except OverflowError:
        return math.inf if total > 0 else -math.inf
