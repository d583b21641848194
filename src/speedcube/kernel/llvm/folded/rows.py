"""Folds of many results one after the other: the tile loop walks along the elements of a result.

Every lane folds for itself; at the end of a row lanes are folded into one word, and words wait
until a batch of results is given at once.
"""

from __future__ import annotations

from typing import Final

from ..elements import Tile
from ..text import masked
from .nest import PLACE, PLACES, SINK, FoldedNest

BATCH: Final = 512  # rows whose results are given at once


class FoldedRows(FoldedNest):
    """Emits a kernel of results one after the other."""

    def boxes(self) -> None:
        t, word = self.text, self.elements.word
        end = word(1)
        with t.loop(word(0), end, BATCH) as first:
            count = t.minimum(str(BATCH), t.i64("sub", end, first))
            with t.loop(0, count) as q:
                self.row(t.i64("add", first, q), q)
            with t.loop(0, count, t.lanes) as j:
                self.give(first, j, count)

    def row(self, o: str, q: str) -> None:
        """Fold row ``o``, into place ``q`` of the batch."""
        t, program, word = self.text, self.program, self.elements.word
        bases = [self.elements.leaf_word(k, 0) for k in range(len(program.leaves) + 1)]
        bases = self.decompose(o, bases, 0, program.kept)
        words = t.variable(self.word, self.start, "word")
        places = t.variable(self.places, "zeroinitializer", "place")
        with t.loop(word(2), word(3)) as r:
            at = self.decompose(r, bases, program.kept, program.reduced)
            step = t.variable("i64", word(4), "j")
            head, body, done = (t.name(h) for h in ("tile", "tilebody", "tiledone"))
            t.line(f"br label %{head}")
            t.label(head)
            j = t.load("i64", step)
            t.line(f"br i1 {t.op(f'icmp slt i64 {j}, {word(5)}')}, label %{body}, label %{done}")
            t.label(body)
            tile = self.tile_at(at, j)
            self.add(tile, j, words, places)
            t.store("i64", t.i64("add", j, tile.count), step)
            t.line(f"br label %{head}")
            t.label(done)
        self.end(t.load(self.word, words), t.load(self.places, places), q)

    def tile_at(self, bases: list[str], j: str) -> Tile:
        """The tile at step ``j``."""
        t, strides = self.text, self.elements.strides
        at = [t.i64("add", base, t.i64("mul", j, strides[k])) for k, base in enumerate(bases)]
        left = t.i64("sub", self.elements.word(5), j)
        return self.drawn(at, self.aligned_rows(at, t.minimum(self.elements.word(6), left)))

    def add(self, tile: Tile, start: str, words: str, places: str) -> None:
        """Fold a tile, which begins at step ``start``, into variables."""
        t = self.text

        def take(j: str, mask: str | None) -> None:
            place = ""
            if self.folded.first:  # of lane 0; the others' are added at the end
                step = t.op(f"trunc i64 {t.i64('add', start, j)} to {PLACE}")
                place = t.splat(PLACE, step)
            x = self.elements.element(tile, j, mask)["x"]
            x = masked(t, self.scalar, mask, x, self.start)
            held = t.load(self.word, words), t.load(self.places, places)
            word, found = self.fold(held, x, place)
            t.store(self.word, word, words)
            if self.folded.first:
                t.store(self.places, found, places)

        whole = t.i64("and", tile.count, -t.lanes)
        with t.loop(0, whole, t.lanes) as j:
            take(j, None)
        rest = t.i64("sub", tile.count, whole)
        with t.when(t.op(f"icmp sgt i64 {rest}, 0")):
            take(whole, self.lanes_below(rest))

    def end(self, words: str, places: str, q: str) -> None:
        """The lanes as one word, into place ``q`` of the batch: of equal ones the first place."""
        t = self.text
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
