"""Folds of many results one after the other: the tile loop walks along the elements of a result.

Every lane folds for itself; at the end of a row lanes are folded into one word, and words wait
until a batch of results is given at once.
"""

from __future__ import annotations

from ..elements import Tile
from ..nests.rows import RowNest
from ..text import masked
from .nest import PLACE, PLACES, SINK, FoldedNest


class FoldedRows(FoldedNest, RowNest):
    """Emits a kernel of results one after the other."""

    def begin(self) -> None:
        t = self.text
        self.words = t.variable(self.word, self.start, "word")
        self.found = t.variable(self.places, "zeroinitializer", "place")

    def add(self, tile: Tile, start: str) -> None:
        t = self.text
        whole = t.i64("and", tile.count, -t.lanes)
        with t.loop(0, whole, t.lanes) as j:
            self.take(start, self.elements.element(tile, j, None), j, None)
        rest = t.i64("sub", tile.count, whole)
        with t.when(t.op(f"icmp sgt i64 {rest}, 0")):
            mask = self.lanes_below(rest)
            self.take(start, self.elements.element(tile, whole, mask), whole, mask)

    def take(self, start: str, outputs: dict[str, str], j: str, mask: str | None) -> None:
        """Fold elements j, j + 1, ... of a tile, which begins at step ``start``, into variables."""
        t, words, places = self.text, self.words, self.found
        place = ""
        if self.folded.first:  # of lane 0; the others' are added at the end
            step = t.op(f"trunc i64 {t.i64('add', start, j)} to {PLACE}")
            place = t.splat(PLACE, step)
        x = masked(t, self.scalar, mask, outputs["x"], self.start)
        held = t.load(self.word, words), t.load(self.places, places)
        word, found = self.fold(held, x, place)
        t.store(self.word, word, words)
        if self.folded.first:
            t.store(self.places, found, places)

    def end(self, q: str) -> None:
        """The lanes as one word, into place ``q`` of the batch: of equal ones the first place."""
        t = self.text
        words, places = t.load(self.word, self.words), t.load(self.places, self.found)
        names = {"sum": "add", "least": f"{self.sign}min", "most": f"{self.sign}max"}
        word = self.lanes_folded(names[self.folded.op], self.scalar, words)
        t.store(self.scalar, word, self.slot(SINK, q))
        if not self.folded.first:
            return
        numbers = ", ".join(f"{PLACE} {k}" for k in range(t.lanes))
        found = t.op(f"add {self.places} {places}, <{numbers}>")
        same = t.op(f"icmp eq {self.word} {words}, {t.splat(self.scalar, word)}")
        none = t.constant(2**31 - 1, "int32")
        found = t.op(f"select {self.one} {same}, {self.places} {found}, {self.places} {none}")
        t.store(PLACE, self.lanes_folded("smin", PLACE, found), self.slot(PLACES, q))
