"""Rows of which little is left between boxes of numbers: these, and then what is left.

A select reads all rows of what was there before; here only what no box covers is made of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr.graph import below, is_short
from ...expr.nodes import Const, Expr, Leaf, Piece, Shape, Stored
from ...expr.push import in_place, push
from ...expr.views import index, indexed
from ..small.again import MOST_NODES
from .into import PlannedError, Storing, called

Array: TypeAlias = NDArray[Any]

# Microseconds: of a gap that a kernel makes; of a row of it, which lies far from the next one, in
# the cache and in memory; and of a megabyte of what a select reads and writes more.
_GAP: Final = 8.0
_ROW: Final = 0.02, 0.06
_SELECT: Final = 45.0
_IN_CACHE: Final = 1 << 24  # bytes of the rows that have the same gaps
_KERNELS: Final = 8  # to look for one takes 50 us, and 500 at first


@dataclass(eq=False)
class Patched(Piece):
    """Rows that are all ``row``, but for the columns ``gaps``, where they are as in ``base``."""

    row: Array
    gaps: list[slice]
    base: Expr


def is_patched(base: Expr, rows: Sequence[int], gaps: Sequence[Sequence[slice]]) -> bool:
    """Whether bands of so many ``rows`` with these ``gaps`` take less time so than by a select."""
    bands = list(zip(rows, gaps, strict=True))
    shapes = {(n, gap.stop - gap.start) for n, some in bands for gap in some}
    if len(base.shape) != 2 or any(1 in shape for shape in shapes) or not _is_at_hand(base):
        return False
    wide, size = base.shape[1], np.dtype(base.dtype).itemsize
    far = [n * wide * size > _IN_CACHE for n in rows]
    takes = sum([len(gaps[k]) * (_GAP + _ROW[far[k]] * n) for k, n in enumerate(rows)])
    left = sum([n * (gap.stop - gap.start) for n, some in bands for gap in some])
    little = 4 * left <= wide * sum(rows) and takes < _SELECT * 1e-6 * size * wide * sum(rows)
    return little and len(shapes) <= _KERNELS


def gaps_of(put: Array) -> list[slice]:
    """Where ``put`` is false, as slices."""
    if put.ndim != 1:
        return []
    ends = np.flatnonzero(np.diff(put, prepend=True, append=True)).tolist()
    return [slice(*ends[k : k + 2]) for k in range(0, len(ends), 2)]


def _is_at_hand(base: Expr) -> bool:
    """Whether all that ``base`` reads lies in memory: steps along its axes are steps there."""
    leaves = [one for one in below(base) if type(one) is Leaf]
    return all(type(one.source) in (Const, Stored) for one in leaves)


def plain(base: Expr) -> Expr:
    """``base`` without views of operations, where it is short."""
    return in_place(base, MOST_NODES) if is_short(base, MOST_NODES) else base


def part_of(expr: Expr, item: tuple[slice, ...]) -> Expr:
    """``expr[item]``."""
    return index(expr, item) if isinstance(expr, Leaf) else push(expr, indexed(expr.shape, item))


class Gaps:
    """What makes parts of ``base``: a kernel is looked for once for each shape."""

    def __init__(self, base: Expr) -> None:
        self.base = base
        self._known: dict[Shape, tuple[Storing, int, int]] = {}

    def into(self, row: int, column: int, out: Array) -> None:
        """Put what is there from ``row`` and ``column`` on into ``out``."""
        rows, columns = out.shape
        known = self._known.get(out.shape)
        if known is None or 1 in out.shape:  # along an axis of one element there is no step
            item = slice(row, row + rows), slice(column, column + columns)
            storing = called(part_of(self.base, item))
            if storing is None:
                raise PlannedError
            known = self._known[out.shape] = storing, row, column
        storing, first_row, first_column = known
        storing.beside(out, (row - first_row, column - first_column))


@dataclass(frozen=True, eq=False)
class InPatches:
    """Rows ``first`` to ``end`` of the results, as ``made`` says; ``share`` is where they are."""

    first: int
    end: int
    share: Array
    made: Patched
    parts: Gaps

    def make(self, low: int, high: int) -> None:
        """Its rows from ``low`` to ``high`` of the results."""
        low, high = max(low, self.first), min(high, self.end)
        share = self.share[low - self.first : high - self.first]
        share[...] = self.made.row
        for gap in self.made.gaps:
            part = np.empty((high - low, gap.stop - gap.start), share.dtype)
            self.parts.into(low, gap.start, part)
            share[:, gap] = part
