"""How many numbers in memory lie in each of bins of one width, whose edges decide.

    void kernel(words, values, numbers, edges, counts)

``words`` (int64): how many ``values`` there are, how many bins, and from one of four arrays of
counts to the next, each a uint32 (`tally`). ``numbers``: the first edge, the last one, how many
bins a width of 1 has, and a margin. The place of a number between the ends tells its bin; it rises
with the number, and no edge is further than the margin from where its own would be. So only what is
so near to an edge has to be compared with ``edges``. What is in no bin is counted behind them.
"""

from __future__ import annotations

from typing import Final

from ...orders import EvenTally
from ..function import function
from ..memory import prefetch
from ..text import Text
from .tally import COPIES

COUNT, LENGTH, STRIDE = range(3)
WORDS: Final = 3
FIRST, LAST, SCALE, MARGIN = range(4)
NUMBERS: Final = 4
_LANES: Final = 8


def emit_even_tally(program: EvenTally) -> str:
    """The LLVM text of ``program``."""
    return _EvenText().emit()


class _EvenText:
    """The text under construction: several numbers at a time, then one after the other."""

    def __init__(self) -> None:
        self.text = t = Text(_LANES)
        self.count, self.length, stride = (
            t.load("i64", t.at("%words", k)) for k in (COUNT, LENGTH, STRIDE)
        )
        self.numbers = [t.load("double", t.at("%state", k, "double")) for k in range(NUMBERS)]
        self.last_bin = t.i64("sub", self.length, 1)
        self.arrays = [t.at("%out", t.i64("mul", stride, k), "i32") for k in range(COPIES)]
        self.held = t.variable(t.vector("i32"), "zeroinitializer", "held")

    def emit(self) -> str:
        t = self.text
        whole = t.i64("and", self.count, -_LANES)
        with t.loop(0, whole, _LANES) as j:
            prefetch(t, t.at("%values", j, "double"), _LANES * 8)
            self._some(j)
        with t.loop(whole, self.count) as j:
            self._one(j, 0)
        return function(t, ("words", "values", "state", "scratch", "out"), ())

    def _some(self, j: str) -> None:
        """Count the numbers from ``j`` on, by their places where all of these are certain."""
        t = self.text
        doubles, mask = t.vector("double"), t.vector("i1")
        first, last, scale, margin = (t.splat("double", one) for one in self.numbers)
        x = t.load(doubles, t.at("%values", j, "double"), 8)
        reach = t.op(f"fcmp oge {doubles} {x}, {first}")
        under = t.op(f"fcmp ole {doubles} {x}, {last}")
        inside = t.op(f"and {mask} {reach}, {under}")
        place = t.op(f"fmul {doubles} {t.op(f'fsub {doubles} {x}, {first}')}, {scale}")
        place = t.op(f"select {mask} {inside}, {doubles} {place}, {doubles} zeroinitializer")
        bins = t.op(f"fptosi {doubles} {place} to {t.vector('i32')}")
        floor = t.op(f"sitofp {t.vector('i32')} {bins} to {doubles}")
        rest = t.op(f"fsub {doubles} {place}, {floor}")
        above = t.op(f"fcmp ogt {doubles} {rest}, {margin}")
        one = t.op(f"fsub {doubles} {t.constant(1.0, 'float64')}, {margin}")
        below = t.op(f"fcmp olt {doubles} {rest}, {one}")
        sure = t.op(f"and {mask} {above}, {below}")
        outside = t.op(f"xor {mask} {inside}, splat (i1 true)")
        bits = t.op(f"bitcast {mask} {t.op(f'or {mask} {sure}, {outside}')} to i{_LANES}")
        narrow = t.op(f"trunc i64 {self.length} to i32")
        bins = t.op(
            f"select {mask} {inside}, {t.vector('i32')} {bins}, "
            f"{t.vector('i32')} {t.splat('i32', narrow)}"
        )
        t.store(t.vector("i32"), bins, self.held)
        certain = t.op(f"icmp eq i{_LANES} {bits}, -1")
        with t.when(certain):
            for lane in range(_LANES):
                number = t.load("i32", t.at(self.held, lane, "i32"))
                self._add(t.op(f"zext i32 {number} to i64"), lane)
        with t.when(t.op(f"xor i1 {certain}, true"), rarely=True), t.loop(0, str(_LANES)) as k:
            self._one(t.i64("add", j, k), 0)

    def _one(self, j: str, copy: int) -> None:
        """Count the number at ``j``, compared with the edges of the bin where it seems to be."""
        t = self.text
        first, last, scale, _ = self.numbers
        x = t.load("double", t.at("%values", j, "double"), 8)
        reach = t.op(f"fcmp oge double {x}, {first}")
        inside = t.op(f"and i1 {reach}, {t.op(f'fcmp ole double {x}, {last}')}")
        place = t.op(f"fmul double {t.op(f'fsub double {x}, {first}')}, {scale}")
        place = t.op(f"select i1 {inside}, double {place}, double 0.0")
        held = t.minimum(t.op(f"fptosi double {place} to i64"), self.last_bin)
        low = t.load("double", t.at("%scratch", held, "double"))
        high = t.load("double", t.at("%scratch", t.i64("add", held, 1), "double"))
        lower = t.op(f"zext i1 {t.op(f'fcmp olt double {x}, {low}')} to i64")
        higher = t.op(f"fcmp oge double {x}, {high}")
        more = t.op(f"icmp slt i64 {held}, {self.last_bin}")
        higher = t.op(f"zext i1 {t.op(f'and i1 {higher}, {more}')} to i64")
        right = t.i64("add", t.i64("sub", held, lower), higher)
        self._add(t.op(f"select i1 {inside}, i64 {right}, i64 {self.length}"), copy)

    def _add(self, number: str, lane: int) -> None:
        t = self.text
        place = t.at(self.arrays[lane % COPIES], number, "i32")
        t.store("i32", t.op(f"add i32 {t.load('i32', place)}, 1"), place)
