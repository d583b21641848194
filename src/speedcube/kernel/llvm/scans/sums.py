"""Running sums: of integers, which wrap, and of floats, which are exact and rounded once."""

from __future__ import annotations

from typing import ClassVar

from ....expr.space import TILE
from ..accumulator import LIMB_CARRY, LIMB_ROUND, LIMBS_ADD
from .frame import LineFrame
from .layout import LIMBS_AT, PARTS, POSITION, TAKEN
from .limb_sums import LimbSums
from .split_sums import MOST, SplitSums


class WrappingSumScan:
    """cumsum of integers."""

    SUPPORT: ClassVar[tuple[str, ...]] = ()

    def __init__(self, frame: LineFrame) -> None:
        self.frame = frame

    def emit(self) -> None:
        frame, t = self.frame, self.frame.text
        position = t.variable("i64", frame.word(POSITION), "position")
        total = t.variable(frame.scalar, t.load(frame.scalar, "%state"), "total")

        def put(j: str, x: str, kind: str) -> None:
            t.store(kind, x, t.at("%out", j), 8)

        with frame.segments(position) as (first, size, ended):
            frame.running(first, size, "add", total, put)
            with t.when(ended):
                t.store("i64", "0", total)
        t.store("i64", t.load("i64", total), "%state")
        frame.answer(TAKEN, frame.count)


class ExactSumScan:
    """cumsum of floats, a tile at a time: the quick way in parts, or the slow way in limbs."""

    SUPPORT: ClassVar[tuple[str, ...]] = (LIMBS_ADD, LIMB_CARRY, LIMB_ROUND)

    def __init__(self, frame: LineFrame) -> None:
        self.frame = frame
        # What is rounded to float32 afterwards is rounded to odd before.
        self.odd = frame.program.odd or frame.program.out == "float32"

    def emit(self) -> None:
        frame, t = self.frame, self.frame.text
        slow = LimbSums(frame, t.at("%state", LIMBS_AT), self.odd)
        quick = SplitSums(frame, self.odd)
        parts = [t.at("%state", 1 + k) for k in range(PARTS)]
        position = t.variable("i64", frame.word(POSITION), "position")
        with t.loop(0, frame.count, TILE) as first:
            size = t.minimum(str(TILE), t.i64("sub", frame.count, first))
            wide = t.variable("i64", t.load("i64", "%state"), "wide")
            with t.when(t.op(f"icmp eq i64 {t.load('i64', wide)}, 0")):
                before = [t.load("double", part) for part in parts]
                exponent = quick.exponent(first, size, before)
                t.store("i64", "1", wide)
                with t.when(t.op(f"icmp sle i64 {exponent}, {MOST}")):
                    totals, left = quick.split_tile(first, size, before, exponent)
                    with t.when(t.op(f"icmp eq i64 {left}, 0")):
                        t.store("i64", "0", wide)
                        quick.accumulate(size, position, totals)
                        quick.round_tile(first, size)
                        for part, total in zip(parts, totals, strict=True):
                            t.store("double", t.load("double", total), part)
            with t.when(t.op(f"icmp ne i64 {t.load('i64', wide)}, 0"), rarely=True):
                slow.to_limbs(parts)
                slow.one_by_one(first, size, position)
                slow.from_limbs(parts)
        with t.when(frame.last):
            slow.to_limbs(parts)
        frame.answer(TAKEN, frame.count)
