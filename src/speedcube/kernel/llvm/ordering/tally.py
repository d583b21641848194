"""How often each number comes: integers in memory, counted by a loop of four counts side by side.

    void kernel(words, values, counts, nothing, nothing)

``words`` (int64): how many ``values`` there are, a length, and from one of four arrays of counts to
the next, each a uint32. What is no number below the length is counted at the length. A count that
was just written is not ready when the next element is the same number: four elements have an array
each. A line of memory is compared with the length at once; only where one is no such number each
of its elements is chosen for.
"""

from __future__ import annotations

from typing import Final

from ....dtypes import SIGNED, itemsize
from ...program import Tally
from ..function import function
from ..memory import LINE, prefetch
from ..text import SCALAR, Text

COPIES: Final = 4
COUNT, LENGTH, STRIDE = range(3)
WORDS: Final = 3


def emit_tally(program: Tally) -> str:
    """The LLVM text of ``program``."""
    return _TallyText(program).emit()


class _TallyText:
    """The text under construction: a line of memory at a time, then one after the other."""

    def __init__(self, program: Tally) -> None:
        self.kind, self.size = SCALAR[program.dtype], itemsize(program.dtype)
        self.signed = program.dtype in SIGNED
        self.lanes = max(COPIES, min(16, LINE // self.size))
        self.text = t = Text(self.lanes)
        self.count, self.length, stride = (
            t.load("i64", t.at("%words", k)) for k in (COUNT, LENGTH, STRIDE)
        )
        self.arrays = [t.at("%state", t.i64("mul", stride, k), "i32") for k in range(COPIES)]

    def emit(self) -> str:
        t = self.text
        whole = t.i64("and", self.count, -self.lanes)
        with t.loop(0, whole, self.lanes) as j:
            prefetch(t, t.at("%values", j, self.kind), self.lanes * self.size)
            inside = self._all_inside(j)
            for test, choose in ((inside, False), (t.op(f"xor i1 {inside}, true"), True)):
                with t.when(test, rarely=choose):
                    for k in range(self.lanes):
                        self._add(t.i64("add", j, k), k % COPIES, choose)
        with t.loop(whole, self.count) as j:
            self._add(j, 0, True)
        return function(t, ("words", "values", "state", "scratch", "out"), ())

    def _all_inside(self, j: str) -> str:
        """Whether the elements from ``j`` on are numbers below the length."""
        t = self.text
        values, mask = t.vector(self.kind), t.vector("i1")
        found = t.load(values, t.at("%values", j, self.kind), 1)
        wide = self._wide(found, values, t.vector("i64"))
        below = t.op(f"icmp ult {t.vector('i64')} {wide}, {t.splat('i64', self.length)}")
        bits = t.op(f"bitcast {mask} {below} to i{self.lanes}")
        return t.op(f"icmp eq i{self.lanes} {bits}, -1")

    def _wide(self, x: str, kind: str, wide: str) -> str:
        if self.size == 8:
            return x
        return self.text.op(f"{'sext' if self.signed else 'zext'} {kind} {x} to {wide}")

    def _add(self, j: str, copy: int, choose: bool) -> None:
        """Count the element at ``j``, which is to be looked at where one has to ``choose``."""
        t = self.text
        x = t.load(self.kind, t.at("%values", j, self.kind), 1)
        number = self._wide(x, self.kind, "i64")
        if choose:
            inside = t.op(f"icmp ult i64 {number}, {self.length}")
            number = t.op(f"select i1 {inside}, i64 {number}, i64 {self.length}")
        place = t.at(self.arrays[copy], number, "i32")
        t.store("i32", t.op(f"add i32 {t.load('i32', place)}, 1"), place)
