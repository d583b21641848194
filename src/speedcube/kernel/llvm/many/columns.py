"""Many results side by side: the tile loop walks across results, the reduced loops down.

The sums of a tile of results lie in the L1 cache. Elements are taken several rows at a time, so
that sums are loaded and stored once for all of them, and so many streams of memory are read at
once. Units come from the first rows; where a total left its binade the tile is made once more, with
units from all rows, or such as grow (`blocks.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, partial

from ...many import AT_ONCE
from ...program import Program
from ..elements import Tile
from ..memory import LINE, NEAREST, NEXT
from ..nests.columns import ColumnNest, Outputs
from .adding import ColumnSums
from .onto import Onto
from .quick import Quick
from .short import Short


def rows_at_once(program: Program) -> int:
    """Rows whose elements are taken together: fewer, where an element is much text."""
    if any(leaf.stream is not None for leaf in program.leaves):
        return 1  # whose values lie in one buffer a leaf
    length = len(program.element.instrs)
    return 8 if length <= 6 else 4 if length <= 16 else 1


class ColumnLoops(ColumnSums):
    """Emits a kernel of results side by side."""

    @cached_property
    def quick(self) -> Quick | None:
        """What makes results quickly, where some way does; a few are not certain by it."""
        is_quick = self.many.whole and self.program.sink.dtype == "float32"
        return Quick(self.sums) if is_quick else None

    def boxes(self) -> None:
        if not self.many.short:
            nearness = NEAREST if self.elements.style.asks else NEXT
            self.elements.look_rows_ahead(rows_at_once(self.program), nearness)
        ColumnNest.boxes(self)

    # A tile of results ---------------------------------------------------------------------

    def tile(self, at: list[str], count: str) -> None:
        if self.many.short:
            (self.onto if self.many.onto else self.short)(at, count)
            return
        if self.quick is None:
            self.exact(at, count)
            return
        self.first(at, count)
        self.walk(at, count)
        self.last(at, count)

    def first(self, at: list[str], count: str) -> None:
        """A tile of results begins, which is walked down once."""
        if self.quick is None:
            self.probe(at, count, self.elements.word(3), self.step())
            return
        with self.text.loop(0, count, self.text.lanes) as j:
            self.quick.start(j)

    def walk(self, at: list[str], count: str) -> None:
        """Take all elements of a tile."""
        settle = self.settle if self.quick is None else None
        self.down(at, count, self.add, rows_at_once(self.program), settle)

    def last(self, at: list[str], count: str) -> None:
        """All elements of a tile were taken; where that did not do, they are once more."""
        t = self.text
        if self.quick is not None:
            with t.when(self.quick_results(self.quick, at, count), rarely=True):
                self.exact(at, count)
            return
        again = t.op(f"icmp sgt i64 {self.step()}, 1")
        again = t.op(f"and i1 {again}, {self.outside(count)}")
        with t.when(again, rarely=True):
            self.probe(at, count, self.elements.word(3), "1")
            self.walk(at, count)
        self.results(at, count)

    def short(self, at: list[str], count: str) -> None:
        """All rows of one vector of results before the next vector."""
        t, leaves = self.text, len(self.program.leaves)
        short = Short(self.sums, self.elements.word(3))

        def results(j: str, mask: str | None) -> None:
            def row(r: str) -> dict[str, str]:
                bases = self.decompose(r, at, self.program.kept, self.program.reduced)
                tile = Tile(count, bases[:leaves], ["0"] * leaves, at[leaves])
                return self.elements.element(tile, j, mask)

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

    def onto(self, at: list[str], count: str) -> None:
        """All rows of a line of memory before the next, added to the sums that lie there."""
        t, d, leaves = self.text, self.d, len(self.program.leaves)
        out, rows = at[leaves], self.elements.word(3)
        at_once = AT_ONCE // 8 * rows_at_once(self.program)
        whole = t.i64("sub", rows, t.i64("urem", rows, at_once))
        further = self.further(at_once)

        def element(r: str, j: str, mask: str | None) -> str:
            return self.elements.element(self.row(at, count, r), j, mask)["x"]

        def add(j: str, vectors: int, mask: str | None = None) -> None:
            held = []
            for k in range(vectors):
                place = t.i64("add", j, k * t.lanes)
                words = [t.at(one, t.i64("add", out, place), "double") for one in self.outs]
                own = Onto(d, words, self.many.plain)
                own.load(mask)
                held.append((place, own))
            with t.loop("0", whole, at_once) as r:
                for place, own in held:
                    each = self.rows(at, count, r, further)
                    own.add_all([self.elements.element(one, place, mask)["x"] for one in each])
            with t.loop(whole, rows) as r:
                for place, own in held:
                    own.add(element(r, place, mask))
            for place, own in held:
                own.store(rows, partial(element, j=place, mask=mask), mask)

        vectors = max(1, LINE // (8 * t.lanes))
        lines = t.i64("and", count, -vectors * t.lanes)
        with t.loop("0", lines, vectors * t.lanes) as j:
            add(j, vectors)
        with t.loop(lines, count, t.lanes) as j:
            add(j, 1, t.op(f"icmp slt {d.word} {t.iota(j)}, {t.splat('i64', count)}"))

    def quick_results(self, quick: Quick, at: list[str], count: str) -> str:
        """The results that were made the quick way; whether one is not certain by it."""
        t, out = self.text, at[len(self.program.leaves)]
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
        step = t.variable("i64", self.step(), "step")
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

        first = t.load("i64", begun)
        self.down(at, count, self.add_exactly, at_once, self.settle, first, check)
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
        self.results(at, count)

    def step(self) -> str:
        """How many rows lie between two that are probed at first."""
        return self.text.load("i64", self.text.at("%params", self.many.parameter + 4))

    def results(self, at: list[str], count: str) -> None:
        """The results of a tile, those that are certain."""
        out = at[len(self.program.leaves)]
        drawn = any(leaf.stream is not None for leaf in self.program.leaves)
        look = None if drawn else partial(self.again, at)
        with self.text.loop(0, count, self.text.lanes) as j:
            self.give(out, j, count, look)

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

    def add(self, elements: Iterable[Outputs], places: list[str], j: str, mask: str | None) -> None:
        """Add elements to the sums of results j, j + 1, ..., in the way that is tried first."""
        if self.quick is None:
            self.add_exactly(elements, places, j, mask)
        else:
            self.quick.add([outputs["x"] for outputs in elements], j)
