"""Exact sums of the weights of each number: whole multiples of a few units, added in any order.

A weight is cut into pieces, each a multiple of a unit and below ``2**_BITS`` of it. Doubles add the
pieces of a block without rounding; integers add the blocks. What is left is rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from ...expr.through.node import Through
from .elements import BLOCK, AllElements, Array
from .fixed import Weighing

_BITS: Final = 36  # of a piece: with those of a block's count, 53 hold the sum
_EXACT: Final = 1 << 16  # weights of a block
_READ: Final = 1 << 20  # of one that lies in memory
_CARRY: Final = 1 << 10  # blocks between two carries: 63 bits hold what they add
_LEAST: Final = -1074  # the exponent of the least double


@dataclass(frozen=True, eq=False)
class WeighedParts:
    """Sums as whole numbers of each of ``units``; ``special``: how many are NaN, inf, -inf."""

    units: list[int]
    words: list[Array]
    special: Array | None


@dataclass(eq=False)
class WeighedSums:
    """The sums of one thread: for each unit, from the coarsest on, a whole number for each bin."""

    length: int
    top: int  # all weights are below 2**top
    words: list[Array] = field(default_factory=list)
    pieces: Weighing = field(init=False)  # of weights that are not too different, by a kernel
    special: Array | None = None  # (3, length): how many are NaN, inf, -inf
    blocks: int = 0

    def __post_init__(self) -> None:
        self.pieces = Weighing(self.length, self.top)
        self.words = [self._zeros()]  # what is carried out of the first unit

    def _zeros(self) -> Array:
        return np.zeros(self.length + 1, np.int64)

    def add(self, index: Array, weights: Array) -> None:
        finite = np.isfinite(weights)
        if not finite.all():
            self._add_special(index, weights)
            weights = np.where(finite, weights, 0.0)
        level, rest = 1, weights
        while True:
            unit = self.top - _BITS * level
            if unit <= _LEAST:
                piece = rest
                unit = _LEAST
            else:
                anchor = math.ldexp(1.5, unit + 52) if unit + 52 < 1023 else 0.0
                if not anchor:
                    piece = np.ldexp(np.rint(np.ldexp(rest, -unit)), unit)
                else:
                    piece = (rest + anchor) - anchor
                rest = rest - piece
            if level == len(self.words):
                self.words.append(self._zeros())
            sums = np.bincount(index, np.ldexp(piece, -unit), minlength=self.length + 1)
            self.words[level] += sums.astype(np.int64)
            if unit == _LEAST or not rest.any():
                break
            level += 1
        self.blocks += 1
        if self.blocks % _CARRY == 0:
            self.carry()

    def _add_special(self, index: Array, weights: Array) -> None:
        if self.special is None:
            self.special = np.zeros((3, self.length + 1), np.int64)
        kinds = np.isnan(weights), weights == np.inf, weights == -np.inf
        for row, mask in zip(self.special, kinds, strict=True):
            row += np.bincount(index[mask], minlength=self.length + 1)

    def carry(self) -> None:
        for level in range(len(self.words) - 1, 0, -1):
            bits = self._bits(level)
            carried = self.words[level] >> bits
            self.words[level - 1] += carried
            self.words[level] -= carried << bits

    def _bits(self, level: int) -> int:
        """By how many bits the unit of ``level`` is finer than the one before."""
        return self.unit(level - 1) - self.unit(level)

    def portable(self) -> WeighedParts:
        """The sums without what made them."""
        units = [*map(self.unit, range(len(self.words))), *self.pieces.units]
        return WeighedParts(units, [*self.words, *self.pieces.totals], self.special)

    def unit(self, level: int) -> int:
        return max(self.top - _BITS * level, _LEAST)


def weighed(source: Through, given: list[AllElements]) -> Array:
    """The exact sum of the weights of each number below the length, rounded once."""
    return rounded(sums_of(source, given, greatest(given)), source.options[0])


def greatest(given: list[AllElements]) -> int:
    """An exponent of two that is above all finite weights."""
    weights = given[1]
    return max(weights.each(lambda span: _top(weights, span), weights.spans()), default=0)


def sums_of(source: Through, given: list[AllElements], top: int) -> list[WeighedParts]:
    """The sums of each thread; all finite weights are below ``2**top``."""
    index, weights = given
    length = source.options[0]

    def share(span: tuple[int, int]) -> WeighedParts:
        sums = WeighedSums(length, top)
        for numbers, values in _pairs(index, weights, span, max(BLOCK, 4 * length)):
            if not sums.pieces.add(numbers, values):
                for first in range(0, len(numbers), _EXACT):
                    few = slice(first, first + _EXACT)
                    sums.add(numbers[few], values[few])
        sums.carry()
        return sums.portable()

    return index.each(share, index.spans())


def _pairs(
    index: AllElements, weights: AllElements, span: tuple[int, int], step: int
) -> Iterator[tuple[Array, Array]]:
    """Numbers and their weights, about ``step`` at a time; each pair is gone with the next."""
    here = index.memory, weights.memory
    if here[0] is not None and here[1] is not None and here[1].dtype == np.float64:
        step = max(step, _READ)
        for first in range(*span, step):
            if index.stop.is_set():
                return
            some = slice(first, min(span[1], first + step))
            yield here[0][some], here[1][some]
        return
    numbers, values = np.empty(step, np.int64), np.empty(step, weights.dtype)
    for first in range(*span, step):
        count = min(step, span[1] - first)
        index.fill(numbers[:count], first)
        weights.fill(values[:count], first)
        yield numbers[:count], values[:count].astype(np.float64, copy=False)


def _top(weights: AllElements, span: tuple[int, int]) -> int:
    """An exponent that all finite weights of ``span`` are below."""
    most = 0.0
    for block in weights.blocks(*span):
        size = np.abs(block.astype(np.float64, copy=False))
        greatest = float(size.max(initial=0.0))
        if not math.isfinite(greatest):
            greatest = float(size[np.isfinite(size)].max(initial=0.0))
        most = max(most, greatest)
    return math.frexp(most)[1] if most else 0


def rounded(parts: list[WeighedParts], length: int) -> Array:
    """The sums of all ``parts``, rounded."""
    totals = [0] * length
    for part in parts:
        for unit, words in zip(part.units, part.words, strict=True):
            if not words.any():
                continue
            shift = unit - _LEAST
            for k in np.flatnonzero(words[:length]).tolist():
                totals[k] += int(words[k]) << shift
    one = 1 << -_LEAST
    sums = np.array([_quotient(total, one) for total in totals], np.float64)
    specials = [part.special[:, :length] for part in parts if part.special is not None]
    if specials:
        nans, above, under = sum(specials[1:], start=specials[0])
        sums[above > 0], sums[under > 0] = np.inf, -np.inf
        sums[(nans > 0) | ((above > 0) & (under > 0))] = np.nan
    return sums


def _quotient(total: int, one: int) -> float:
    try:
        return total / one  # Python rounds it once
    except OverflowError:
        return math.inf if total > 0 else -math.inf
