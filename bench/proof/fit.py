"""Goodness of fit: numbers counted in cells of known probability, chi-square and distance.

A cell's edge is a float with twelve bits after the leading one, so that finding a number's cell is
a shift of its bits. The edges lie near the quantiles of about 2000 equally likely cells, and of
levels that fall by factors of two in both tails; each cell's probability is SciPy's, at the edge as
it is. Numbers crowded around a median far from zero are counted by their distance from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import stats

CELLS: Final = 2000
TAIL: Final = 1e-6
LEAST_EXPECTED: Final = 20.0
TINY: Final = 1e-300  # nearer to zero, results may have been rounded to zero
SHIFT: Final = 40
MAGNITUDE: Final = np.int64(2**63 - 1)
MOST: Final = 1.7e308
Numbers = np.ndarray[Any, Any]


def is_discrete(distribution: Any) -> bool:
    return isinstance(getattr(distribution, "dist", distribution), stats.rv_discrete)


def keys_of(values: Numbers, shift: int = SHIFT) -> Numbers:
    """Integers that order as the floats do, one for each number's leading 64 - ``shift`` bits."""
    bits = values.view(np.int64)
    ordered = bits >> 63
    ordered &= MAGNITUDE
    ordered ^= bits
    ordered >>= shift
    return ordered


def least_of(keys: Numbers, shift: int = SHIFT) -> Numbers:
    """The smallest float that has each key."""
    ordered = keys << shift
    return (ordered ^ ((ordered >> 63) & MAGNITUDE)).view(np.float64)


@dataclass(frozen=True)
class Distribution:
    """A frozen distribution of SciPy: the probabilities below an edge and not below."""

    frozen: Any

    @property
    def continuous(self) -> bool:
        return not is_discrete(self.frozen)

    def below(self, edges: Numbers) -> Numbers:
        with np.errstate(all="ignore"):
            return np.asarray(self.frozen.cdf(edges if self.continuous else np.ceil(edges) - 1))

    def above(self, edges: Numbers) -> Numbers:
        with np.errstate(all="ignore"):  # SciPy's inverse Gaussian gives NaN far above
            probabilities = self.frozen.sf(edges if self.continuous else np.ceil(edges) - 1)
        return np.nan_to_num(probabilities)

    def quantiles(self, levels: Numbers, centre: float, shift: int) -> Numbers:
        """The first keys, of numbers less ``centre``, that lie behind each level.

        The levels come twice, from below and from above. Found by halving, so that SciPy's own
        inverse functions, some of which are slow or wrong in the tails, are not needed.
        """
        ends = keys_of(np.array([-MOST, MOST]), shift)
        low = np.full(2 * len(levels), ends[0])
        high = np.full(2 * len(levels), ends[1])
        lower = np.arange(len(low)) < len(levels)
        while (high - 1 > low).any():
            middle = (low >> 1) + (high >> 1) + (low & high & 1)
            edges = np.clip(least_of(middle, shift), -MOST, MOST) + centre
            behind = np.empty(len(low), bool)
            behind[lower] = self.below(edges[lower]) >= levels
            behind[~lower] = self.above(edges[~lower]) <= levels
            low, high = np.where(behind, low, middle), np.where(behind, middle, high)
        return high


@dataclass(frozen=True)
class Cells:
    """Cells of a distribution: cell i holds what lies in [edges[i - 1], edges[i]).

    ``below`` and ``above`` are the distribution's probabilities on both sides of each edge;
    numbers are counted less ``centre``, ``keys`` are the edges' keys.
    """

    centre: float
    keys: Numbers
    below: Numbers
    above: Numbers
    continuous: bool

    @property
    def probabilities(self) -> Numbers:
        """Of the cells: differences taken in the nearer tail."""
        lower = np.diff(self.below, prepend=0.0, append=1.0)
        upper = -np.diff(self.above, prepend=1.0, append=0.0)
        last = int(np.searchsorted(self.below, 0.5))
        probabilities = np.where(np.arange(len(lower)) <= last, lower, upper)
        if 0 < last < len(self.below):
            probabilities[last] = 1.0 - self.below[last - 1] - self.above[last]
        return probabilities


def cells_of(frozen: Any, count: int) -> Cells:
    """About ``count`` cells to count a distribution's numbers in."""
    distribution = Distribution(frozen)
    quartiles = distribution.quantiles(np.array([0.25, 0.5]), 0.0, 0)
    low, high, middle, _ = least_of(quartiles, 0)[[0, 2, 1, 3]]
    centre = 0.0
    if high - low < abs(middle) / 8:
        centre = float(middle if distribution.continuous else np.rint(middle))
    levels = np.concatenate([TAIL * 2.0 ** np.arange(9), np.arange(1, count // 2 + 1) / count])
    keys = np.unique(distribution.quantiles(levels, centre, SHIFT))
    near = least_of(keys)
    if distribution.continuous:
        keys, near = keys[abs(near) > TINY], near[abs(near) > TINY]
    below, above = distribution.below(near + centre), distribution.above(near + centre)
    inside = (below > 0) & (above > 0)
    return Cells(centre, keys[inside], below[inside], above[inside], distribution.continuous)


class Counter:
    """Counts of numbers by cell, piece after piece."""

    def __init__(self, distribution: Any, count: int = CELLS) -> None:
        self.cells = cells_of(distribution, count)
        keys = self.cells.keys
        self.first = int(keys[0]) - 1 if len(keys) else 0
        self.tally = np.zeros(int(keys[-1]) - self.first + 1 if len(keys) else 1, np.int64)

    def add(self, values: Numbers) -> None:
        centre = self.cells.centre
        near = values - int(centre) if values.dtype.kind == "i" else values - centre
        keys = keys_of(np.ascontiguousarray(near, np.float64))
        keys -= self.first
        np.clip(keys, 0, len(self.tally) - 1, out=keys)
        self.tally += np.bincount(keys, minlength=len(self.tally))

    @property
    def counts(self) -> Numbers:
        """One count for each cell."""
        below = np.cumsum(self.tally)[self.cells.keys - self.first - 1]
        return np.diff(below, prepend=0, append=self.tally.sum())


def pooled(expected: Numbers, counts: Numbers) -> tuple[Numbers, Numbers]:
    """Neighbouring cells joined until each expects enough."""
    starts, held = [0], 0.0
    for i, value in enumerate(expected):
        if held >= LEAST_EXPECTED:
            starts.append(i)
            held = 0.0
        held += value
    if held < LEAST_EXPECTED and len(starts) > 1:
        starts.pop()
    return np.add.reduceat(expected, starts), np.add.reduceat(counts, starts)


def judged(counter: Counter) -> dict[str, Any]:
    """The tests of what was counted."""
    cells, counts = counter.cells, counter.counts
    draws = int(counts.sum())
    expected, pooled_counts = pooled(cells.probabilities * draws, counts)
    row: dict[str, Any] = {"draws": draws, "cells": len(expected)}
    if len(expected) == 1:
        return row
    square = float(((pooled_counts - expected) ** 2 / expected).sum())
    row["chi-square"] = square
    row["p"] = float(stats.chi2.sf(square, len(expected) - 1))
    below = np.cumsum(counts[:-1]) / draws
    near_below = abs(below - cells.below)
    near_above = abs((1.0 - below) - cells.above)
    distance = float(np.where(cells.below < 0.5, near_below, near_above).max())
    row["distance"] = distance
    if cells.continuous:
        row["p of distance"] = float(stats.kstwobign.sf(np.sqrt(draws) * distance))
    row["tails"] = [
        tail(cells.below, np.cumsum(counts[:-1]), draws),
        tail(cells.above, np.cumsum(counts[::-1])[:-1][::-1], draws),
    ]
    return row


def tail(probabilities: Numbers, counts: Numbers, draws: int) -> dict[str, float] | None:
    """The count beyond the edge whose probability is nearest to 1e-6; None where none is near."""
    i = int(abs(np.log(probabilities / TAIL)).argmin())
    expected = float(probabilities[i] * draws)
    if not TAIL / 4 < probabilities[i] < TAIL * 4:
        return None
    count = int(counts[i])
    distribution = stats.poisson(expected)
    p = float(min(1.0, 2 * min(distribution.cdf(count), distribution.sf(count - 1))))
    return {"expected": expected, "found": count, "p": p}
