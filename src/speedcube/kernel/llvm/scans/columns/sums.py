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
        frame = self.frame
        with frame.matrices():
            frame.starts((0, 0))
            frame.each_row({0: frame.kind}, self.add)

    def add(self, source: str, out: str, c: str, mask: str | None) -> None:
        frame, t = self.frame, self.frame.text
        x = frame.fetch(t.at(source, c, frame.scalar), mask)
        x = t.op(f"add {frame.kind} {frame.held(0, c)}, {x}")
        frame.hold(x, 0, c)
        frame.put(x, t.at(out, c, frame.out), mask)


class ExactColumnSums:
    """cumsum of floats: each column's elements in three parts, with units of its own."""

    SUPPORT: ClassVar[tuple[str, ...]] = ()
    TOTAL, UNIT, LARGEST, LEFT = 0, PARTS, 2 * PARTS, 2 * PARTS + 1  # rows of the state

    def __init__(self, frame: ColumnFrame) -> None:
        self.frame = frame
        self.odd = frame.program.odd or frame.program.out == "float32"
        self.i = frame.text.vector("i64")

    def emit(self) -> None:
        frame, t = self.frame, self.frame.text
        odd = t.variable(self.i, "zeroinitializer", "odd")
        with frame.matrices() as m:
            frame.starts(*((self.TOTAL + k, 0) for k in range(PARTS)))
            self.find_largest()
            self.choose_units()
            numbers = dict.fromkeys(range(self.LARGEST), frame.kind)
            frame.each_row({**numbers, self.LEFT: self.i}, self.add)
            rests = t.at("%scratch", t.i64("mul", m, frame.width))
            with t.loop(0, frame.columns, t.lanes) as c:
                more = frame.held(self.LEFT, c, self.i)
                t.store(self.i, more, t.at(rests, c), 8)
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
            frame.hold(most, self.LARGEST, c, self.i)

        def look(source: str, _: str, c: str, mask: str | None) -> None:
            x = self.size(frame.fetch(t.at(source, c, frame.scalar), mask))
            largest = self.larger(x, frame.held(self.LARGEST, c, self.i))
            frame.hold(largest, self.LARGEST, c, self.i)

        frame.each_row({self.LARGEST: self.i}, look)

    def choose_units(self) -> None:
        """Each column's units; the sum before it in them; bits that tell an odd column."""
        frame, t = self.frame, self.frame.text
        least, most = t.constant(LEAST, "int64"), t.constant(MOST, "int64")
        with t.loop(0, frame.columns, t.lanes) as c:
            largest = frame.held(self.LARGEST, c, self.i)
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
            frame.hold(left, self.LEFT, c, self.i)

    def add(self, source: str, out: str, c: str, mask: str | None) -> None:
        """Split the elements of a row, add the parts, round the sums."""
        frame, t = self.frame, self.frame.text
        x = frame.fetch(t.at(source, c, frame.scalar), mask)
        totals = []
        for k in range(PARTS):
            near, x = split(t, frame.kind, x, frame.held(self.UNIT + k, c))
            total = frame.held(self.TOTAL + k, c)
            totals.append(t.op(f"fadd {frame.kind} {total}, {near}"))
            frame.hold(totals[-1], self.TOTAL + k, c)
        left = t.op(f"or {self.i} {frame.held(self.LEFT, c, self.i)}, {self.size(x)}")
        frame.hold(left, self.LEFT, c, self.i)
        y = round_parts(t, totals, self.odd)
        if frame.out == "float":
            y = t.op(f"fptrunc {frame.kind} {y} to {t.vector('float')}")
        frame.put(y, t.at(out, c, frame.out), mask)
