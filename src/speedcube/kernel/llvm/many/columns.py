"""Many results side by side: the tile loop walks across results, the reduced loops down.

The sums of a tile of results lie in the L1 cache. Elements are taken several rows at a time, so
that sums are loaded and stored once for all of them, and so many streams of memory are read at
once. Units come from the first rows; where a total left its binade the tile is made once more, with
units from all rows, or such as grow (`blocks.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Final

from ..elements import Tile
from .blocks import by_blocks
from .quick import Quick
from .short import Short
from .sums import OUTSIDE, SPARE, Taken
from .walk import ColumnWalk, rows_at_once

_IN_BLOCKS: Final = 4  # rows that are taken at once


class ColumnLoops(ColumnWalk):
    """Emits a kernel of results side by side."""

    def boxes(self) -> None:
        t, program, word = self.text, self.program, self.elements.word
        if not self.many.short:
            self.elements.look_rows_ahead(rows_at_once(program))
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

    # A tile of results ---------------------------------------------------------------------

    def tile(self, at: list[str], count: str) -> None:
        t = self.text
        if self.many.short:
            self.short(at, count)
            return
        if not (self.many.whole and self.program.sink.dtype == "float32"):
            self.exact(at, count)
            return
        with t.when(self.quick(at, count), rarely=True):
            self.exact(at, count)

    def short(self, at: list[str], count: str) -> None:
        """All rows of one vector of results before the next vector."""
        t, leaves = self.text, len(self.program.leaves)
        short = Short(self.sums, self.elements.word(3))

        def results(j: str, mask: str | None) -> None:
            def row(r: str) -> str:
                bases = self.decompose(r, at, self.program.kept, self.program.reduced)
                tile = Tile(count, bases[:leaves], ["0"] * leaves, at[leaves])
                return self.elements.element(tile, j, mask)["x"]

            lanes = mask or t.constant(True, "bool")
            for number in range(len(self.many.ops)):
                value, certain = short.result(number, row)
                self._store(number, value, certain, lanes, at[leaves], j)
                self._count(certain, lanes)

        whole = t.i64("and", count, -t.lanes)
        with t.loop(0, whole, t.lanes) as j:
            results(j, None)
        rest = t.i64("sub", count, whole)
        with t.when(t.op(f"icmp sgt i64 {rest}, 0")):
            results(whole, t.op(f"icmp slt {self.d.word} {t.iota('0')}, {t.splat('i64', rest)}"))

    def quick(self, at: list[str], count: str) -> str:
        """The quick way; whether a result is not certain by it."""
        t, quick = self.text, Quick(self.sums)
        with t.loop(0, count, t.lanes) as j:
            quick.start(j)

        def add(tiles: list[Tile], j: str, mask: str | None) -> None:
            quick.add([self.elements.element(tile, j, mask)["x"] for tile in tiles], j)

        self.down(at, count, add)
        out = at[len(self.program.leaves)]
        flags = t.variable(self.d.one, "zeroinitializer", "flags")
        with t.loop(0, count, t.lanes) as j:
            mask = t.op(f"icmp slt {self.d.word} {t.iota(j)}, {t.splat('i64', count)}")
            for number, op in enumerate(self.many.ops):
                value, certain = quick.result(op, self.many.spread(number), j)
                self._store(number, value, certain, mask, out, j)
                wrong = t.op(f"xor {self.d.one} {certain}, {t.constant(True, 'bool')}")
                wrong = self.d.both(wrong, mask)
                t.store(self.d.one, self.d.either(t.load(self.d.one, flags), wrong), flags)
        return self.any_lane(t.load(self.d.one, flags))

    def exact(self, at: list[str], count: str) -> None:
        """The way whose results are certain but for ties, and made by records where not."""
        t, rows = self.text, self.elements.word(3)
        step = t.variable("i64", t.load("i64", t.at("%params", self.many.parameter + 4)), "step")
        head, again, done = (t.name(name) for name in ("attempt", "again", "taken"))
        begun, at_once = t.variable("i64", "0", "begun"), rows_at_once(self.program)
        t.line(f"br label %{head}")
        t.label(head)
        t.store("i64", "0", begun)
        if at_once > 1:
            several = t.op(f"icmp sge i64 {rows}, {at_once}")
            fresh = t.op(f"icmp sgt i64 {t.load('i64', step)}, 1")
            with t.when(t.op(f"and i1 {several}, {fresh}")):
                self.begin(at, count, at_once)
                t.store("i64", str(at_once), begun)
        with t.when(t.op(f"icmp eq i64 {t.load('i64', begun)}, 0")):
            self.probe(at, count, rows, t.load("i64", step))

        def check() -> None:
            """Leave for another attempt, if there is one, where the units are too small."""
            more = t.op(f"icmp sgt i64 {t.load('i64', step)}, 1")
            wrong, on = t.op(f"and i1 {more}, {self.outside(count)}"), t.name("on")
            t.line(f"br i1 {wrong}, label %{again}, label %{on}")
            t.label(on)

        self.down(at, count, self.add, t.load("i64", begun), check)
        check()
        t.line(f"br label %{done}")
        t.label(again)
        t.store("i64", "1", step)
        if at_once == 1 or self.many.sums > 1 or not self.many.fine:
            t.line(f"br label %{head}")
        else:
            self.blocks(at, count)
            t.line(f"br label %{done}")
        t.label(done)
        out = at[len(self.program.leaves)]
        drawn = any(leaf.stream is not None for leaf in self.program.leaves)
        look = None if drawn else partial(self.again, at)
        with t.loop(0, count, t.lanes) as j:
            self.give(out, j, count, look)

    def blocks(self, at: list[str], count: str) -> None:
        """All rows, with units that grow; fewer at once, which are less text."""
        t, rows = self.text, self.elements.word(3)

        def look(first: str, last: str) -> None:
            with t.loop(first, last) as r:
                self.look(at, count, r, "low")

        def add(first: str, last: str) -> None:
            whole = t.i64("and", last, -_IN_BLOCKS)
            with t.loop(first, whole, _IN_BLOCKS) as r:
                self.take(at, count, r, _IN_BLOCKS, self.add)
            with t.loop(whole, last) as r:
                self.take(at, count, r, 1, self.add)

        by_blocks(self.sums, count, rows, look, add)

    def again(
        self, at: list[str], op: str, j: str, mask: str, value: str, certain: str
    ) -> tuple[str, str]:
        """NaN where an element is; zero where a spread's are one number, which squares cannot tell.

        That is looked for only where results are not certain.
        """
        t, d = self.text, self.d

        def element(r: str) -> str:
            return self.elements.element(self.row(at, t.i64("add", j, t.lanes), r), j, mask)["x"]

        first = element("0")
        finite = d.is_("eq", d.sub(first, first), d.constant(0.0))
        same, nan = t.variable(d.one, finite, "same"), t.variable(d.one, "zeroinitializer", "nan")
        with t.loop(0, self.elements.word(3)) as r:
            x = element(r)
            t.store(d.one, d.both(t.load(d.one, same), d.is_("eq", x, first)), same)
            is_nan = t.op(f"fcmp uno {d.double} {x}, {x}")
            t.store(d.one, d.either(t.load(d.one, nan), is_nan), nan)
        is_nan = t.load(d.one, nan)
        value = d.choose(is_nan, d.of_bits(d.splat_bits(0x7FF8 << 48)), value)
        certain = d.either(certain, is_nan)
        if op in ("var", "std"):
            zero = t.load(d.one, same)
            value, certain = d.choose(zero, d.constant(0.0), value), d.either(certain, zero)
        return value, certain

    def probe(self, at: list[str], count: str, rows: str, step: str) -> None:
        """Units from the largest magnitudes of every ``step``-th row; nothing summed yet."""
        t, sums = self.text, self.sums
        with t.loop(0, count, t.lanes) as j:
            sums.store(0, "left", j, "zeroinitializer")
        with t.loop(0, rows, step) as r:
            self.look(at, count, r, "left")
        with t.loop(0, count, t.lanes) as j:
            for k, unit in enumerate(sums.units(sums.load(0, "left", j))):
                for name, value in {"unit": unit, **sums.start(k, unit)}.items():
                    sums.store(k, name, j, value)
                if self.many.settles(k):
                    sums.store(k, "low", j, "zeroinitializer")

    def look(self, at: list[str], count: str, r: str, word: str) -> None:
        """The largest magnitudes so far, row ``r`` among them, in each sum's ``word``."""
        sums, kind = self.sums, self.d.word

        def larger(outputs: dict[str, str], j: str, mask: str | None) -> None:
            slot = sums.slot(0, word, j)
            before = self.text.load(kind, slot, 8)
            self.text.store(kind, sums.larger(before, outputs["x"]), slot, 8)

        self.elements.element_loop(self.row(at, count, r), larger)

    def begin(self, at: list[str], count: str, rows: int) -> None:
        """The first ``rows`` rows, with units from their own largest magnitudes."""
        sums = self.sums

        def add(tiles: list[Tile], j: str, mask: str | None) -> None:
            each = [self.elements.element(tile, j, mask) for tile in tiles]
            largest = "zeroinitializer"
            for outputs in each:
                largest = sums.larger(largest, outputs["x"])
            taken = []
            for k, unit in enumerate(sums.units(largest, SPARE)):
                sums.store(k, "unit", j, unit)
                if self.many.settles(k):
                    sums.store(k, "low", j, "zeroinitializer")
                    sums.store(k, "deep", j, "zeroinitializer")
                taken.append(sums.variables(unit, sums.start(k, unit)))
            self.added(taken, each, j)

        self.take(at, count, "0", rows, add)

    def add(self, tiles: list[Tile], j: str, mask: str | None) -> None:
        sums, taken = self.sums, []
        for k in range(self.many.sums):
            words = {name: sums.load(k, name, j) for name in sums.taken(k)}
            taken.append(sums.variables(sums.load(k, "unit", j), words))
        self.added(taken, (self.elements.element(tile, j, mask) for tile in tiles), j)

    def added(self, taken: list[Taken], each: Iterable[dict[str, str]], j: str) -> None:
        """Add the elements of ``each`` row, and keep the sums."""
        t, sums = self.text, self.sums
        for outputs in each:
            sums.add(taken, outputs["x"], outputs.get("error"))
        for k, one in enumerate(taken):
            places = [(name, place) for name, place in one.places() if name in sums.taken(k)]
            values = {name: t.load(sums.kind(name), place) for name, place in places}
            for name, value in values.items():
                sums.store(k, name, j, value)

    def outside(self, count: str) -> str:
        """Whether a total left its binade that may not with a better unit (NaN stays NaN)."""
        t, d, sums = self.text, self.d, self.sums
        flags = t.variable(d.one, "zeroinitializer", "flags")
        with t.loop(0, count, t.lanes) as j:
            lanes = t.op(f"icmp slt {d.word} {t.iota(j)}, {t.splat('i64', count)}")
            for k in range(self.many.sums):
                unit = sums.load(k, "unit", j)
                out = d.words("and", sums.load(k, "out", j), d.splat_bits(OUTSIDE))
                wrong = t.op(f"icmp ne {d.word} {out}, zeroinitializer")
                wrong = d.either(wrong, d.is_("eq", unit, d.constant(math.inf)))
                total = sums.load(k, "total", j)
                wrong = d.both(wrong, lanes, d.is_("eq", unit, unit), d.is_("eq", total, total))
                t.store(d.one, d.either(t.load(d.one, flags), wrong), flags)
        return self.any_lane(t.load(d.one, flags))
