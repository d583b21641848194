"""Adding the elements of rows to the sums of a tile of results, in the way that is certain."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from ..nests.columns import Add, ColumnNest, Outputs
from .blocks import by_blocks
from .nest import ManyNest
from .sums import OUTSIDE, SPARE, Taken

_IN_BLOCKS: Final = 4  # rows that are taken at once


class ColumnSums(ManyNest, ColumnNest):
    """What emits the sums of results side by side: their units, what is added, whether that did."""

    def lanes_below(self, count: str) -> str:
        t = self.text
        return t.op(f"icmp slt {self.d.word} {t.iota('0')}, {t.splat('i64', count)}")

    @property
    def settle(self) -> Callable[[str], None] | None:
        """What puts the rests of results j, j + 1, ... aside, where there are such."""
        settled = [k for k in range(self.many.sums) if self.many.settles(k)]

        def settle(j: str) -> None:
            for k in settled:
                self.sums.settle(k, j)

        return settle if settled else None

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

    def look_at_some(
        self, elements: Iterable[Outputs], places: list[str], j: str, mask: str | None
    ) -> None:
        """The same in ``low`` of the elements of several rows."""
        sums, slot = self.sums, self.sums.slot(0, "low", j)
        largest = self.text.load(self.d.word, slot, 8)
        for outputs in elements:
            largest = sums.larger(largest, outputs["x"])
        self.text.store(self.d.word, largest, slot, 8)

    def begin(self, at: list[str], count: str, rows: int) -> None:
        """The first ``rows`` rows, with units from their own largest magnitudes."""
        sums = self.sums

        def add(elements: Iterable[Outputs], places: list[str], j: str, mask: str | None) -> None:
            each = list(elements)
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

    def add_exactly(
        self, elements: Iterable[Outputs], places: list[str], j: str, mask: str | None
    ) -> None:
        """The same in the way whose results are certain."""
        sums, taken = self.sums, []
        for k in range(self.many.sums):
            words = {name: sums.load(k, name, j) for name in sums.taken(k)}
            taken.append(sums.variables(sums.load(k, "unit", j), words))
        self.added(taken, elements, j)

    def added(self, taken: list[Taken], elements: Iterable[Outputs], j: str) -> None:
        """Add elements, and keep the sums."""
        t, sums = self.text, self.sums
        for outputs in elements:
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

    def blocks(self, at: list[str], count: str) -> None:
        """All rows, with units that grow; fewer at once, which are less text."""
        t, rows = self.text, self.elements.word(3)

        def some(add: Add, first: str, last: str) -> None:
            whole = t.i64("and", last, -_IN_BLOCKS)
            with t.loop(first, whole, _IN_BLOCKS) as r:
                self.take(at, count, r, _IN_BLOCKS, add)
            with t.loop(whole, last) as r:
                self.take(at, count, r, 1, add)

        look, add = partial(some, self.look_at_some), partial(some, self.add_exactly)

        by_least, self.sums.by_least = self.sums.by_least, False
        by_blocks(self.sums, count, rows, look, add)
        self.sums.by_least = by_least
        if by_least:
            with t.loop(0, count, t.lanes) as j:
                self.sums.ordinary(j)
