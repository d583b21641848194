"""Folds of many results side by side: the tile loop walks across results, reduced loops down.

The words of a tile of results lie in the L1 cache, and several rows are folded into them at once.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...program import Program
from ..nests.columns import ColumnNest, Outputs
from ..text import masked
from .nest import PLACE, FoldedNest

MOST_ROWS = 8


def rows_at_once(program: Program) -> int:
    """Rows whose elements are taken together: fewer, where an element is much text."""
    if any(leaf.stream is not None for leaf in program.leaves):
        return 1  # whose values lie in one buffer a leaf
    length = len(program.element.instrs)
    return MOST_ROWS if length <= 12 else 4 if length <= 24 else 1


class FoldedColumns(FoldedNest, ColumnNest):
    """Emits a kernel of results side by side."""

    def tile(self, at: list[str], count: str) -> None:
        self.first(at, count)
        self.down(at, count, self.add, rows_at_once(self.program))
        self.last(at, count)

    def first(self, at: list[str], count: str) -> None:
        """A tile of results begins."""
        t = self.text
        nothing = self.start, "zeroinitializer"
        with t.loop(0, count, t.lanes) as j:
            self.keep(nothing, j)

    def last(self, at: list[str], count: str) -> None:
        """All elements of a tile were taken."""
        t = self.text
        with t.loop(0, count, t.lanes) as j:
            self.give(at[len(self.program.leaves)], j, count)

    def place(self, r: str) -> str:
        t = self.text
        if not self.folded.first:
            return ""
        return t.splat(PLACE, t.op(f"trunc i64 {r} to {PLACE}"))

    def add(self, elements: Iterable[Outputs], places: list[str], j: str, mask: str | None) -> None:
        held = self.held(j)
        for outputs, place in zip(elements, places, strict=True):
            x = masked(self.text, self.scalar, mask, outputs["x"], self.start)
            held = self.fold(held, x, place)
        self.keep(held, j)
