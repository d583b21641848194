"""Many results one after the other: the tile loop walks along the elements of a result.

Every lane of a vector has sums of its own. At the end of a row they are put together, which loses
nothing, and kept until a batch of rows is finished at once. Units come from a row's first tile; a
row that they do not fit later on is left to others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ....expr.space import TILE
from ..elements import Consume, Tile
from ..nests.rows import RowNest
from ..text import masked
from .nest import ManyNest
from .sums import SLOTS, TAKEN, Taken

SHORT: Final = 12  # instructions of a body that may as well be run twice
FIRST: Final = 256  # elements of a long row that its unit comes from
LOW_STEPS: Final = (1 << 26) - 1  # of a count of steps: what is added as a double of its own


class RowLoops(ManyNest, RowNest):
    """Emits a kernel of results one after the other."""

    # A row ---------------------------------------------------------------------------------

    def begin(self) -> None:
        t, d = self.text, self.d
        zero = "zeroinitializer"
        self.begun = t.variable("i1", "false", "begun")
        self.units = [t.variable(d.double, zero, "unit") for _ in range(self.many.sums)]
        self.taken = [self.sums.variables(unit, dict.fromkeys(TAKEN, zero)) for unit in self.units]
        settled = [k for k in range(self.many.sums) if self.many.settles(k)]
        names = ("aside", "tails")
        self.aside = {k: [t.variable(d.double, zero, name) for name in names] for k in settled}

    @property
    def again(self) -> bool:
        """Whether elements that are looked at first are computed twice: there is little to."""
        body = self.program.element
        return len(body.instrs) <= SHORT or any(name == "error" for name, _ in body.outputs)

    def add(self, tile: Tile, start: str) -> None:
        """Add a tile's elements, the first tile's once units are known."""
        if self.again:
            self.begin_with(tile)
            self.elements.element_loop(tile, self.taker())
            self.settle()
            return
        t, d, sums = self.text, self.d, self.sums
        largest = t.variable(d.word, "zeroinitializer", "largest")

        def look(outputs: dict[str, str], j: str, mask: str | None) -> None:
            x = self.larger(largest, outputs, mask)
            t.store(d.double, x, self.waiting(j), 8)

        self.elements.element_loop(tile, look)
        with t.when(self.is_first()):
            self.begin_sums(largest)
        held = self.held()
        with t.loop(0, tile.count, t.lanes) as j:
            sums.add(held, t.load(d.double, self.waiting(j), 8))
        self.settle()

    def begin_with(self, tile: Tile) -> None:
        """Units from the first elements of ``tile``, if it is a row's first."""
        t = self.text
        largest = t.variable(self.d.word, "zeroinitializer", "largest")

        def look(outputs: dict[str, str], j: str, mask: str | None) -> None:
            self.larger(largest, outputs, mask)

        with t.when(self.is_first()):
            self.some(tile, look, largest)
            self.begin_sums(largest)

    def taker(self) -> Consume:
        """What adds a vector of elements, once units are known."""
        held = self.held()

        def consume(outputs: dict[str, str], j: str, mask: str | None) -> None:
            error = outputs.get("error")
            error = None if error is None else self.within(error, mask)
            self.sums.add(held, self.within(self.element(outputs), mask), error)

        return consume

    def element(self, outputs: dict[str, str]) -> str:
        """The elements as doubles."""
        if not self.many.singles:
            return outputs["x"]
        t = self.text
        return t.op(f"fpext {t.vector('float')} {outputs['x']} to {self.d.double}")

    def is_first(self) -> str:
        """Whether there are no units yet."""
        return self.text.op(f"xor i1 {self.text.load('i1', self.begun)}, true")

    def within(self, x: str, mask: str | None) -> str:
        """``x`` where it counts, else zero."""
        return masked(self.text, "double", mask, x, "zeroinitializer")

    def larger(self, largest: str, outputs: dict[str, str], mask: str | None) -> str:
        """The elements that count, and the largest magnitude with them in ``largest``."""
        t, d, x = self.text, self.d, self.within(self.element(outputs), mask)
        t.store(d.word, self.sums.larger(t.load(d.word, largest), x), largest)
        return x

    def begin_sums(self, largest: str) -> None:
        """Sums of nothing, with units for elements up to ``largest``."""
        t, d, sums = self.text, self.d, self.sums
        name = f"llvm.vector.reduce.smax.v{t.lanes}i64"
        most = t.splat("i64", t.call("i64", name, d.word, t.load(d.word, largest)))
        found = zip(self.units, self.taken, sums.units(most), strict=True)
        for k, (unit, one, value) in enumerate(found):
            t.store(d.double, value, unit)
            words = sums.start(k, value)
            for name, place in one.places():
                t.store(sums.kind(name), words[name], place)
        t.store("i1", "true", self.begun)

    def settle(self) -> None:
        """Put rests aside, so that their own errors do not grow with the square of a row."""
        t, d = self.text, self.d
        for k, (aside, tails) in self.aside.items():
            rest = self.taken[k].rest
            total, tail = d.two_sum(t.load(d.double, aside), t.load(d.double, rest))
            t.store(d.double, total, aside)
            t.store(d.double, d.add(t.load(d.double, tails), tail), tails)
            t.store(d.double, "zeroinitializer", rest)

    def some(self, tile: Tile, look: Consume, largest: str) -> None:
        """Look at the first elements of a tile, or at all of it: where they are few or zeros.

        And where they do not lie side by side, for who looks at them brings them near. A long
        row's unit has more room than what the others may be larger by, but for zeros.
        """
        t, leaves = self.text, self.program.leaves
        beside = all(leaf.kind != "stored" or leaf.mode in ("unit", "splat") for leaf in leaves)
        if not beside:
            self.elements.element_loop(tile, look)
            return
        many = t.op(f"icmp sge i64 {tile.count}, {2 * FIRST}")
        with t.when(many), t.loop(0, str(FIRST), t.lanes) as j:
            if self.program.kept:
                self.elements.ask_for_next(tile, j, self.program.kept)
            look(self.elements.element(tile, j, None), j, None)
        most = self.lanes("i64", "smax", t.load(self.d.word, largest))
        with t.when(t.op(f"icmp eq i64 {most}, 0")):
            self.elements.element_loop(tile, look)

    def held(self) -> list[Taken]:
        """The sums with their units read."""
        pairs = zip(self.units, self.taken, strict=True)
        return [replace(one, unit=self.text.load(self.d.double, unit)) for unit, one in pairs]

    def waiting(self, j: str) -> str:
        """Where element j of a tile waits: behind the batch's words in one of their buffers."""
        return self.text.at(self.sums.slot(0, "low", j), TILE)

    # The end of a row ----------------------------------------------------------------------

    def end(self, q: str) -> None:
        for k, one in enumerate(self.taken):
            self.keep(k, self.text.load(self.d.double, self.units[k]), one, q)

    def keep(self, k: int, unit: str, one: Taken, q: str) -> None:
        """Sum ``k``'s lanes as one sum, into place ``q`` of the batch."""
        t, d = self.text, self.d
        start = d.bits(unit)
        steps = d.words("sub", d.bits(t.load(d.double, one.total)), start)
        count = self.lanes("i64", "add", steps)
        exponent = t.op(
            f"extractelement {d.word} {d.words('lshr', start, d.splat_bits(52))}, i64 0"
        )
        power = t.i64("shl", t.i64("sub", exponent, 52), 52)
        step = t.op(f"bitcast i64 {power} to double")
        low = t.i64("and", count, LOW_STEPS)
        rest = t.load(d.double, one.rest)
        if self.many.is_fine(k):
            rest = d.sub(rest, self.sums.rest_of_nothing(unit))
        deep = self.sum_of_lanes(t.load(d.double, one.deep))
        if k in self.aside:
            aside, tails = (t.load(d.double, place) for place in self.aside[k])
            total, tail = d.sum_of_lanes(aside)
            rests, deep = total, t.op(f"fadd double {tail}, {self.sum_of_lanes(tails)}")
        else:
            rests = self.sum_of_lanes(rest)
        words = {
            "unit": t.op(f"extractelement {d.double} {unit}, i64 0"),
            "total": self.in_steps(t.i64("sub", count, low), step),
            "low": self.in_steps(low, step),
            "rest": rests,
            "deep": deep,
            "left": self.lanes("i64", "or", t.load(d.word, one.left)),
            "out": self.lanes("i64", "or", t.load(d.word, one.out)),
        }
        for name in SLOTS:
            kind = "i64" if name in ("left", "out") else "double"
            t.store(kind, words[name], self.sums.slot(k, name, q))

    def lanes(self, kind: str, operation: str, x: str) -> str:
        t = self.text
        return t.call(kind, f"llvm.vector.reduce.{operation}.v{t.lanes}i64", self.d.word, x)

    def sum_of_lanes(self, x: str) -> str:
        """The sum of doubles: exact where rests are fine, within their error where not."""
        t = self.text
        name = f"llvm.vector.reduce.fadd.v{t.lanes}f64"
        t.declares.add(f"declare double @{name}(double, {self.d.double})")
        return t.op(f"call reassoc double @{name}(double 0.0, {self.d.double} {x})")

    def in_steps(self, count: str, step: str) -> str:
        t = self.text
        return t.op(f"fmul double {t.op(f'sitofp i64 {count} to double')}, {step}")
