"""Products and running products of columns."""

from __future__ import annotations

from typing import Any, ClassVar

from .....expr.space import TILE
from .frame import ColumnFrame
from .layout import FIRST_LEVEL, GROUP, GROUP_SHIFT


class Levels:
    """The products of the aligned groups of ``GROUP * 2**k`` rows, in the state."""

    def __init__(self, frame: ColumnFrame) -> None:
        self.frame = frame
        self.first = FIRST_LEVEL[frame.program.op]

    def push(self) -> None:
        """All whole groups of the call's rows: groups of equal size become one."""
        frame, t = self.frame, self.frame.text
        before = t.i64("lshr", frame.place, GROUP_SHIFT)
        t.declares.add("declare i64 @llvm.cttz.i64(i64, i1)")
        with t.loop(0, t.i64("lshr", frame.rows, GROUP_SHIFT)) as b:
            free = t.i64("xor", t.i64("add", before, b), -1)
            merged = t.op(f"call i64 @llvm.cttz.i64(i64 {free}, i1 false)")
            rows = frame.group_rows(t.i64("shl", b, GROUP_SHIFT))

            def look(c: str, mask: str | None, rows: Any = rows, merged: str = merged) -> None:
                total = t.variable(frame.kind, frame.group(rows, mask, c), "group")
                with t.loop(0, merged) as k:
                    self.take_in(k, c, total)
                level = t.i64("add", merged, self.first)
                frame.hold(t.load(frame.kind, total), level, c)

            frame.each(frame.columns, look)

    def take_in(self, level: str, column: str, total: str) -> None:
        """The group of ``level`` times ``total``, into ``total``."""
        frame, t = self.frame, self.frame.text
        group = frame.held(t.i64("add", level, self.first), column)
        t.store(frame.kind, frame.times(group, t.load(frame.kind, total)), total)

    def before(self, groups: str, column: str, total: str) -> None:
        """The product of the first ``groups`` times ``total``, into ``total``: last ones first."""
        t = self.frame.text
        t.declares.add("declare i64 @llvm.ctlz.i64(i64, i1)")
        used = t.i64("sub", 64, t.op(f"call i64 @llvm.ctlz.i64(i64 {groups}, i1 false)"))
        with t.loop(0, used) as k:
            bit = t.i64("and", t.i64("lshr", groups, k), 1)
            with t.when(t.op(f"icmp ne i64 {bit}, 0")):
                self.take_in(k, column, total)


class ColumnProducts:
    """prod: a row of results where the lines end."""

    SUPPORT: ClassVar[tuple[str, ...]] = ()

    def __init__(self, frame: ColumnFrame) -> None:
        self.frame = frame

    def emit(self) -> None:
        frame, t = self.frame, self.frame.text
        levels = Levels(frame)
        with frame.matrices():
            levels.push()
            end = t.i64("add", frame.place, frame.rows)
            with t.when(t.op(f"icmp eq i64 {end}, {frame.length}")):
                groups = t.i64("lshr", end, GROUP_SHIFT)
                rest = t.i64("and", frame.rows, GROUP - 1)
                rows = frame.group_rows(t.i64("sub", frame.rows, rest), rest)

                def look(c: str, mask: str | None) -> None:
                    total = t.variable(frame.kind, frame.group(rows, mask, c), "total")
                    levels.before(groups, c, total)
                    x = frame.finished(t.load(frame.kind, total), t.vector)
                    frame.put(x, t.at(frame.results, c, frame.out), mask)

                frame.each(frame.columns, look)


class RunningColumnProducts:
    """cumprod: the products of the pieces before, times what the piece has had."""

    SUPPORT: ClassVar[tuple[str, ...]] = ()
    RUN, BASE = range(2)  # rows of the state

    def __init__(self, frame: ColumnFrame) -> None:
        self.frame = frame

    def emit(self) -> None:
        frame, t = self.frame, self.frame.text
        levels = Levels(frame)
        with frame.matrices():
            with t.when(frame.begins_piece()):
                groups = t.i64("lshr", frame.place, GROUP_SHIFT)
                one = t.constant(1, frame.program.dtype)
                with t.loop(0, frame.columns, t.lanes) as c:
                    total = t.variable(frame.kind, one, "base")
                    levels.before(groups, c, total)
                    frame.hold(t.load(frame.kind, total), self.BASE, c)
                    frame.hold(one, self.RUN, c)
            frame.each_row(dict.fromkeys((self.RUN, self.BASE), frame.kind), self.multiply)
            with t.when(t.op(f"icmp sgt i64 {frame.length}, {TILE}")):
                levels.push()

    def multiply(self, source: str, out: str, c: str, mask: str | None) -> None:
        frame, t = self.frame, self.frame.text
        x = frame.fetch(t.at(source, c, frame.scalar), mask)
        run = frame.times(frame.held(self.RUN, c), x)
        frame.hold(run, self.RUN, c)
        x = frame.finished(frame.times(frame.held(self.BASE, c), run), t.vector)
        frame.put(x, t.at(out, c, frame.out), mask)
