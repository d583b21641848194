"""Folds of many results side by side: the tile loop walks across results, reduced loops down.

The words of a tile of results lie in the L1 cache, and several rows are folded into them at once.
"""

from __future__ import annotations

from ...program import Program
from ..elements import Tile
from ..text import masked
from .nest import PLACE, FoldedNest

MOST_ROWS = 8


def rows_at_once(program: Program) -> int:
    """Rows whose elements are taken together: fewer, where an element is much text."""
    if any(leaf.stream is not None for leaf in program.leaves):
        return 1  # whose values lie in one buffer a leaf
    length = len(program.element.instrs)
    return MOST_ROWS if length <= 12 else 4 if length <= 24 else 1


class FoldedColumns(FoldedNest):
    """Emits a kernel of results side by side."""

    def boxes(self) -> None:
        t, program, word = self.text, self.program, self.elements.word
        with t.loop(word(0), word(1)) as o:
            bases = [self.elements.leaf_word(k, 0) for k in range(len(program.leaves) + 1)]
            bases = self.decompose(o, bases, 0, program.kept)
            rows, end = word(6), word(5)
            with t.loop(word(4), end, rows) as j:
                at = [
                    t.i64("add", base, t.i64("mul", j, self.elements.strides[k]))
                    for k, base in enumerate(bases)
                ]
                self.tile(at, t.minimum(rows, t.i64("sub", end, j)))

    def tile(self, at: list[str], count: str) -> None:
        """Fold a tile of results."""
        t, rows = self.text, self.elements.word(3)
        nothing = self.start, "zeroinitializer"
        with t.loop(0, count, t.lanes) as j:
            self.keep(nothing, j)
        at_once = rows_at_once(self.program)
        whole = t.i64("and", rows, -at_once)
        with t.loop(0, whole, at_once) as r:
            self.take(at, count, r, at_once)
        while at_once > 1:
            at_once //= 2
            some = t.i64("and", rows, at_once)
            r = t.i64("and", rows, -2 * at_once)
            with t.when(t.op(f"icmp ne i64 {some}, 0")):
                self.take(at, count, r, at_once)
        with t.loop(0, count, t.lanes) as j:
            self.give(at[len(self.program.leaves)], j, count)

    def take(self, at: list[str], count: str, first: str, rows: int) -> None:
        """Fold the elements of ``rows`` rows, one after the other while words are in registers."""
        t, program = self.text, self.program
        numbers = [first, *(t.i64("add", first, k) for k in range(1, rows))]
        tiles = [
            self.drawn(self.decompose(r, at, program.kept, program.reduced), count) for r in numbers
        ]
        places = [self.place(r) for r in numbers]
        whole = t.i64("and", count, -t.lanes)
        with t.loop(0, whole, t.lanes) as j:
            self.add(tiles, places, j, None)
        rest = t.i64("sub", count, whole)
        with t.when(t.op(f"icmp sgt i64 {rest}, 0")):
            self.add(tiles, places, whole, self.lanes_below(rest))

    def place(self, r: str) -> str:
        """The place of row ``r``, in every lane."""
        t = self.text
        if not self.folded.first:
            return ""
        return t.splat(PLACE, t.op(f"trunc i64 {r} to {PLACE}"))

    def add(self, tiles: list[Tile], places: list[str], j: str, mask: str | None) -> None:
        held = self.held(j)
        for tile, place in zip(tiles, places, strict=True):
            x = self.elements.element(tile, j, mask)["x"]
            held = self.fold(held, masked(self.text, self.scalar, mask, x, self.start), place)
        self.keep(held, j)
