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
_LOW: Final = (1 << 26) - 1  # of a count of steps: what is added as a double of its own


class RowLoops(ManyNest, RowNest):
    """Emits a kernel of results one after the other."""

    # A row ---------------------------------------------------------------------------------

    def begin(self) -> None:
        t, d = self.text, self.d
        zero = "zeroinitializer"
        self.begun = t.variable("i1", "false", "begun")
        self.units = [t.variable(d.double, zero, "unit") for _ in range(self.many.sums)]
        self.taken = [self.sums.variables(unit, dict.fromkeys(TAKEN, zero)) for unit in self.units]

    def add(self, tile: Tile, start: str) -> None:
        """Add a tile's elements, the first tile's once units are known."""
        t, d, sums = self.text, self.d, self.sums
        begun, units, taken = self.begun, self.units, self.taken
        again = len(self.program.element.instrs) <= SHORT or any(
            name == "error" for name, _ in self.program.element.outputs
        )
        largest = t.variable(d.word, "zeroinitializer", "largest")

        def look(outputs: dict[str, str], j: str, mask: str | None) -> None:
            x = masked(t, "double", mask, outputs["x"], "zeroinitializer")
            t.store(d.word, sums.larger(t.load(d.word, largest), x), largest)
            if not again:
                t.store(d.double, x, self.waiting(j), 8)

        def begin() -> None:
            name = f"llvm.vector.reduce.smax.v{t.lanes}i64"
            most = t.splat("i64", t.call("i64", name, d.word, t.load(d.word, largest)))
            found = zip(units, taken, sums.units(most), strict=True)
            for k, (unit, one, value) in enumerate(found):
                t.store(d.double, value, unit)
                words = sums.start(k, value)
                for name, place in one.places():
                    t.store(sums.kind(name), words[name], place)
            t.store("i1", "true", begun)

        first = t.op(f"xor i1 {t.load('i1', begun)}, true")
        if again:
            with t.when(first):
                self.some(tile, look, largest)
                begin()
        else:
            self.elements.element_loop(tile, look)
            with t.when(first):
                begin()
        held = [self.held(unit, one) for unit, one in zip(units, taken, strict=True)]

        def consume(outputs: dict[str, str], j: str, mask: str | None) -> None:
            x, error = (
                masked(t, "double", mask, outputs[name], "zeroinitializer")
                if name in outputs
                else None
                for name in ("x", "error")
            )
            assert x is not None
            sums.add(held, x, error)

        if again:
            self.elements.element_loop(tile, consume)
        else:
            with t.loop(0, tile.count, t.lanes) as j:
                sums.add(held, t.load(d.double, self.waiting(j), 8))

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

    def held(self, unit: str, one: Taken) -> Taken:
        """The sums with their unit read."""
        value = self.text.load(self.d.double, unit)
        return replace(one, unit=value)

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
        low = t.i64("and", count, _LOW)
        rest = t.load(d.double, one.rest)
        if self.many.is_fine(k):
            rest = d.sub(rest, self.sums.rest_of_nothing(unit))
        words = {
            "unit": t.op(f"extractelement {d.double} {unit}, i64 0"),
            "total": self.in_steps(t.i64("sub", count, low), step),
            "low": self.in_steps(low, step),
            "rest": self.sum_of_lanes(rest),
            "deep": self.sum_of_lanes(t.load(d.double, one.deep)),
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
