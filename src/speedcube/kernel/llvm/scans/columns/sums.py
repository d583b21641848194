"""Running sums of columns: of integers, which wrap, and of floats, exact and rounded once."""

from __future__ import annotations

from typing import ClassVar

from ..layout import PARTS
from ..limb_sums import SIGNLESS
from ..split_sums import LEAST, MOST, round_parts, split, unit
from .frame import ColumnFrame
from .layout import ODD_COLUMNS


class WrappingColumnSums:
    """cumsum of integers."""

    SUPPORT: ClassVar[tuple[str, ...]] = ()

    def __init__(self, frame: ColumnFrame) -> None:
        self.frame = frame

    def emit(self) -> None:
        frame, t = self.frame, self.frame.text
        with frame.matrices():
            frame.starts((0, 0))
            with t.loop(0, frame.rows) as r:
                self.add_row(frame.row_of(r), frame.out_row_of(r))

    def add_row(self, source: str, out: str) -> None:
        frame, t = self.frame, self.frame.text

        def look(c: str, mask: str | None) -> None:
            x = frame.fetch(t.at(source, c, frame.scalar), mask)
            x = t.op(f"add {frame.kind} {frame.held(0, c)}, {x}")
            frame.hold(x, 0, c)
            frame.put(x, t.at(out, c, frame.out), mask)

        frame.each(frame.columns, look)


class ExactColumnSums:
    """cumsum of floats: each column's elements in three parts, with units of its own."""

    SUPPORT: ClassVar[tuple[str, ...]] = ()
    TOTAL, UNIT, LARGEST = 0, PARTS, 2 * PARTS  # rows of the state

    def __init__(self, frame: ColumnFrame) -> None:
        self.frame = frame
        self.odd = frame.program.odd or frame.program.out == "float32"
        self.i = frame.text.vector("i64")

    def emit(self) -> None:
        frame, t = self.frame, self.frame.text
        odd = t.variable(self.i, "zeroinitializer", "odd")
        with frame.matrices() as m:
            frame.starts(*((self.TOTAL + k, 0) for k in range(PARTS)))
            rests = t.at("%scratch", t.i64("mul", m, frame.width))
            self.find_largest()
            self.choose_units(rests)
            with t.loop(0, frame.rows) as r:
                self.add_row(frame.row_of(r), frame.out_row_of(r), rests)
            with t.loop(0, frame.columns, t.lanes) as c:
                more = t.load(self.i, t.at(rests, c), 8)
                t.store(self.i, t.op(f"or {self.i} {t.load(self.i, odd)}, {more}"), odd)
        name = f"llvm.vector.reduce.or.v{t.lanes}i64"
        frame.answer(ODD_COLUMNS, t.call("i64", name, self.i, t.load(self.i, odd)))

    def size(self, x: str) -> str:
        """The bits of ``x`` without its sign."""
        t = self.frame.text
        bits = t.op(f"bitcast {self.frame.kind} {x} to {self.i}")
        return t.op(f"and {self.i} {bits}, {t.constant(SIGNLESS, 'int64')}")

    def larger(self, a: str, b: str) -> str:
        return self.frame.text.call(self.i, f"llvm.smax.v{self.frame.text.lanes}i64", self.i, a, b)

    def find_largest(self) -> None:
        """Each column's largest magnitude, of its rows and of the sum before them."""
        frame, t = self.frame, self.frame.text
        with t.loop(0, frame.columns, t.lanes) as c:
            sizes = [self.size(frame.held(self.TOTAL + k, c)) for k in range(PARTS)]
            most = self.larger(self.larger(*sizes[:2]), sizes[2])
            t.store(self.i, most, frame.state(self.LARGEST, c), 8)
        with t.loop(0, frame.rows) as r:
            row = frame.row_of(r)

            def look(c: str, mask: str | None, row: str = row) -> None:
                x = self.size(frame.fetch(t.at(row, c, frame.scalar), mask))
                place = frame.state(self.LARGEST, c)
                t.store(self.i, self.larger(x, t.load(self.i, place, 8)), place, 8)

            frame.each(frame.columns, look)

    def choose_units(self, rests: str) -> None:
        """Each column's units; the sum before it in them; bits that tell an odd column."""
        frame, t = self.frame, self.frame.text
        least, most = t.constant(LEAST, "int64"), t.constant(MOST, "int64")
        with t.loop(0, frame.columns, t.lanes) as c:
            largest = t.load(self.i, frame.state(self.LARGEST, c), 8)
            exponent = t.op(f"lshr {self.i} {largest}, {t.constant(52, 'int64')}")
            exponent = self.larger(exponent, least)
            above = t.op(f"icmp sgt {self.i} {exponent}, {most}")
            left = t.op(f"zext {t.vector('i1')} {above} to {self.i}")
            units = [unit(t, self.i, exponent, k) for k in range(PARTS)]
            totals = [f"splat (double {0.0})"] * PARTS
            for k in range(PARTS):
                x = frame.held(self.TOTAL + k, c)
                for j in range(PARTS):
                    near, x = split(t, frame.kind, x, units[j])
                    totals[j] = t.op(f"fadd {frame.kind} {totals[j]}, {near}")
                left = t.op(f"or {self.i} {left}, {self.size(x)}")
            for k in range(PARTS):
                frame.hold(totals[k], self.TOTAL + k, c)
                frame.hold(units[k], self.UNIT + k, c)
            t.store(self.i, left, t.at(rests, c), 8)

    def add_row(self, source: str, out: str, rests: str) -> None:
        """Split the elements of a row, add the parts, round the sums."""
        frame, t = self.frame, self.frame.text

        def look(c: str, mask: str | None) -> None:
            x = frame.fetch(t.at(source, c, frame.scalar), mask)
            totals = []
            for k in range(PARTS):
                near, x = split(t, frame.kind, x, frame.held(self.UNIT + k, c))
                total = frame.held(self.TOTAL + k, c)
                totals.append(t.op(f"fadd {frame.kind} {total}, {near}"))
                frame.hold(totals[-1], self.TOTAL + k, c)
            rest = t.at(rests, c)
            left = t.op(f"or {self.i} {t.load(self.i, rest, 8)}, {self.size(x)}")
            t.store(self.i, left, rest, 8)
            y = round_parts(t, totals, self.odd)
            if frame.out == "float":
                y = t.op(f"fptrunc {frame.kind} {y} to {t.vector('float')}")
            frame.put(y, t.at(out, c, frame.out), mask)

        frame.each(frame.columns, look)
