"""Results one after the other: the tile loop walks along the elements of a result.

At the end of a row what its lanes hold is put together, and waits until a batch of results is
given at once.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

from .... import dtypes
from ..elements import Tile
from ..loops import WHOLE, Nest, Row
from ..memory import AHEAD

BATCH: Final = 512  # rows whose results are given at once
# Elements up to which a stretch is asked for while the ones before it are taken, and how many those
# are.
STRETCH: Final = 1 << 10
LATER: Final = 2


class RowNest(Nest):
    """Emits the loops of a kernel of results one after the other."""

    coming: list[Row]

    def boxes(self) -> None:
        t, word = self.text, self.elements.word
        self.look_stretches_ahead()
        self.coming = self.rows_to_come(WHOLE) if self.elements.outer else []
        begin, end, backwards = word(0), word(1), self.backwards()
        with t.loop(begin, end, BATCH) as later:
            count = t.minimum(str(BATCH), t.i64("sub", end, later))
            first = later
            if backwards:
                turned = t.i64("sub", t.i64("add", begin, end), t.i64("add", later, count))
                first = t.op(f"select i1 {backwards}, i64 {turned}, i64 {later}", "i")
            with t.loop(0, count) as n:
                q = n
                if backwards:
                    turned = t.i64("sub", t.i64("sub", count, 1), n)
                    q = t.op(f"select i1 {backwards}, i64 {turned}, i64 {n}", "i")
                self.row(t.i64("add", first, q), q)
            with t.loop(0, count, t.lanes) as j:
                self.give(first, j, count)

    def look_stretches_ahead(self) -> None:
        """Where a result's elements are stretches far apart: ask for those of later ones.

        Processors see what comes next within a stretch, but not where the next one begins. Of the
        shortest `rows_to_come` are asked for as a whole.
        """
        t, program, word, elements = self.text, self.program, self.elements.word, self.elements
        if not program.reduced:
            return
        steps = t.i64("sub", word(5), word(4))
        short = t.op(f"icmp sle i64 {steps}, {STRETCH}")
        beside = AHEAD if elements.style.asks else 0
        for k, leaf in enumerate(program.leaves):
            if leaf.kind == "stored" and leaf.mode == "unit":
                size = dtypes.itemsize(leaf.dtype)
                step = t.i64("mul", elements.leaf_word(k, elements.outer), LATER * size)
                whole = t.op(f"icmp sle i64 {steps}, {WHOLE // size}")
                step = t.op(f"select i1 {whole}, i64 0, i64 {step}")
                elements.ahead[k] = t.op(f"select i1 {short}, i64 {step}, i64 {beside}")

    def backwards(self) -> str:
        """Whether each row lies before the last one, so that the last row is taken first.

        Memory is read forwards then, which takes half as long. No name: never.
        """
        t, kept = self.text, self.program.kept
        stored = [k for k, leaf in enumerate(self.program.leaves) if leaf.kind == "stored"]
        if not kept or not stored:
            return ""
        steps = [self.elements.leaf_word(k, kept) for k in stored]
        down = [t.op(f"icmp slt i64 {step}, 0") for step in steps]
        return reduce(lambda a, b: t.op(f"and i1 {a}, {b}"), down)

    def row(self, o: str, q: str) -> None:
        """Take row ``o``, into place ``q`` of the batch."""
        t, program, word = self.text, self.program, self.elements.word
        bases = [self.elements.leaf_word(k, 0) for k in range(len(program.leaves) + 1)]
        bases = self.decompose(o, bases, 0, program.kept)
        self.begin()
        with t.loop(word(2), word(3)) as r:
            at = self.decompose(r, bases, program.kept, program.reduced)
            for one in self.coming:
                self.ask_for_row(one, at[one.leaf])
            step = t.variable("i64", word(4), "j")
            head, body, done = (t.name(h) for h in ("tile", "tilebody", "tiledone"))
            t.line(f"br label %{head}")
            t.label(head)
            j = t.load("i64", step)
            t.line(f"br i1 {t.op(f'icmp slt i64 {j}, {word(5)}')}, label %{body}, label %{done}")
            t.label(body)
            tile = self.tile_at(at, j)
            self.add(tile, j)
            t.store("i64", t.i64("add", j, tile.count), step)
            t.line(f"br label %{head}")
            t.label(done)
        self.end(q)

    def tile_at(self, bases: list[str], j: str) -> Tile:
        """The tile at step ``j``, its random leaves generated."""
        t, strides = self.text, self.elements.strides
        at = [t.i64("add", base, t.i64("mul", j, strides[k])) for k, base in enumerate(bases)]
        left = t.i64("sub", self.elements.word(5), j)
        return self.drawn(at, self.aligned_rows(at, t.minimum(self.elements.word(6), left)))

    def begin(self) -> None:
        """A row begins."""
        raise NotImplementedError

    def add(self, tile: Tile, start: str) -> None:
        """Take a tile, which begins at step ``start``."""
        raise NotImplementedError

    def end(self, q: str) -> None:
        """The row ends: what it gave goes to place ``q`` of the batch."""
        raise NotImplementedError

    def give(self, out: str, j: str, count: str) -> None:
        """Results j, j + 1, ... of a batch of ``count`` to their places from ``out`` on."""
        raise NotImplementedError
