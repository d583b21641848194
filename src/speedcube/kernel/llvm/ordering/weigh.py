"""Sums of weights by number: each weight as two integers, multiples of a coarse and a fine unit.

    void kernel(words, index, state, weights, sums)

``words`` (int64): how many elements there are, a length, then the answer: how many weights were
left out; from one of four arrays of sums to the next, so that a sum that was just written need not
be waited for; and the answer which is the greatest number, unsigned. ``state``: two anchors,
``1.5 * 2**(52 + unit)``, a limit, and room for the places of what is left out, and one more:
weights that are not below the limit, or have bits below the fine unit, or are NaN. Adding an anchor
rounds a weight to a multiple of its unit, and the bits of the sum count the units. ``sums`` has two
integers a number, which one load, addition and store takes. What is no number below the length is
added at the length.
"""

from __future__ import annotations

from typing import Final

from ...program import Weigh
from ..function import function
from ..memory import prefetch
from ..text import Text

COUNT, LENGTH, LEFT, STRIDE, MOST = range(5)
WORDS: Final = 5
COPIES: Final = 4
PIECES: Final = 2
LIMIT: Final = PIECES  # where it is in the state
ROOM: Final = PIECES + 1
_LANES: Final = 8
_LATER: Final = 64  # elements between those that are added and those whose sums are asked for
_FAR: Final = 1 << 13  # numbers whose sums are in a cache that is near


def emit_weigh(program: Weigh) -> str:
    """The LLVM text of ``program``."""
    return _WeighText().emit()


class _WeighText:
    """The text under construction: several weights at a time, then one after the other."""

    def __init__(self) -> None:
        self.text = t = Text(PIECES)
        self.count, self.length = (t.load("i64", t.at("%words", k)) for k in (COUNT, LENGTH))
        state = [t.at("%state", k) for k in range(ROOM + 1)]
        self.anchors = [t.load("double", state[k]) for k in range(PIECES)]
        self.zeros = [t.load("i64", state[k]) for k in range(PIECES)]
        self.limit, self.room = t.load("double", state[LIMIT]), state[ROOM]
        self.left = t.variable("i64", "0", "left")
        self.far = t.op(f"icmp ugt i64 {self.length}, {_FAR}")
        self.most = t.variable("i64", "0", "most")
        stride = t.load("i64", t.at("%words", STRIDE))
        self.sums = [t.at("%out", t.i64("mul", stride, k)) for k in range(COPIES)]

    def emit(self) -> str:
        t = self.text
        words, whole = f"<{_LANES} x i64>", t.i64("and", self.count, -_LANES)
        greatest = t.variable(words, "zeroinitializer", "greatest")
        with t.loop(0, whole, _LANES) as j:
            numbers = self._some(j, _LANES, whole)
            some = t.load(words, greatest)
            t.store(words, t.call(words, f"llvm.umax.v{_LANES}i64", words, some, numbers), greatest)
        reduced = f"llvm.vector.reduce.umax.v{_LANES}i64"
        t.store("i64", t.call("i64", reduced, words, t.load(words, greatest)), self.most)
        with t.loop(whole, self.count) as j:
            one = t.op(f"extractelement <1 x i64> {self._some(j, 1, whole)}, i64 0")
            most = t.call("i64", "llvm.umax.i64", "i64", t.load("i64", self.most), one)
            t.store("i64", most, self.most)
        for word, value in ((LEFT, self.left), (MOST, self.most)):
            t.store("i64", t.load("i64", value), t.at("%words", word))
        return function(t, ("words", "values", "state", "scratch", "out"), ())

    def _some(self, j: str, lanes: int, whole: str) -> str:
        """Add ``lanes`` weights, of which the first is number ``j``; what their numbers are."""
        t = self.text
        t.lanes = lanes
        doubles, words, mask = t.vector("double"), t.vector("i64"), t.vector("i1")
        t.declares.add(f"declare {doubles} @llvm.fabs.v{lanes}f64({doubles})")
        weight = rest = t.load(doubles, t.at("%scratch", j, "double"), 8)
        units = []
        for anchor, zero in zip(self.anchors, self.zeros, strict=True):
            many = t.splat("double", anchor)
            near = t.op(f"fadd {doubles} {rest}, {many}")
            bits = t.op(f"bitcast {doubles} {near} to {words}")
            units.append(t.op(f"sub {words} {bits}, {t.splat('i64', zero)}"))
            near = t.op(f"fsub {doubles} {near}, {many}")
            rest = t.op(f"fsub {doubles} {rest}, {near}")
        size = t.op(f"call {doubles} @llvm.fabs.v{lanes}f64({doubles} {weight})")
        below = t.op(f"fcmp olt {doubles} {size}, {t.splat('double', self.limit)}")
        same = t.op(f"fcmp oeq {doubles} {rest}, zeroinitializer")
        fits = t.op(f"and {mask} {below}, {same}")
        units = [
            t.op(f"select {mask} {fits}, {words} {unit}, {words} zeroinitializer") for unit in units
        ]
        if lanes > 1:
            prefetch(t, t.at("%values", j), lanes * 8)
            prefetch(t, t.at("%scratch", j), lanes * 8)
            with t.when(self.far, rarely=False):
                self._ask(j, whole)
        numbers = t.load(words, t.at("%values", j), 8)
        inside = self._all_inside(numbers)
        for test, choose in ((inside, False), (t.op(f"xor i1 {inside}, true"), True)):
            with t.when(test, rarely=choose):
                for k in range(lanes):
                    self._add(self._number(t.i64("add", j, k), choose), units, k, lanes)
        bits = t.op(f"bitcast {mask} {fits} to i{lanes}")
        with t.when(t.op(f"icmp ne i{lanes} {bits}, -1"), rarely=True):
            for k in range(lanes):
                self._leave_out(t.i64("add", j, k), t.op(f"extractelement {mask} {fits}, i64 {k}"))
        return numbers

    def _ask(self, j: str, whole: str) -> None:
        """Ask for the sums of the numbers that come some vectors later."""
        t = self.text
        later = t.minimum(t.i64("add", j, _LATER), t.i64("sub", whole, _LANES))
        t.declares.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        for k in range(_LANES):
            number = t.load("i64", t.at("%values", t.i64("add", later, k)))
            place = t.at(self.sums[k % COPIES], t.i64("mul", number, PIECES))
            t.line(f"call void @llvm.prefetch.p0(ptr {place}, i32 1, i32 3, i32 1)")

    def _all_inside(self, numbers: str) -> str:
        """Whether all ``numbers`` are below the length."""
        t = self.text
        words, mask = t.vector("i64"), t.vector("i1")
        below = t.op(f"icmp ult {words} {numbers}, {t.splat('i64', self.length)}")
        return t.op(f"icmp eq i{t.lanes} {t.op(f'bitcast {mask} {below} to i{t.lanes}')}, -1")

    def _number(self, j: str, choose: bool) -> str:
        """The number at ``j``; the length where it is none below it and one has to ``choose``."""
        t = self.text
        number = t.load("i64", t.at("%values", j))
        if not choose:
            return number
        inside = t.op(f"icmp ult i64 {number}, {self.length}")
        return t.op(f"select i1 {inside}, i64 {number}, i64 {self.length}")

    def _add(self, number: str, units: list[str], lane: int, lanes: int) -> None:
        t = self.text
        both = f"<2 x i32> <i32 {lane}, i32 {lanes + lane}>"
        words = t.vector("i64")
        vector = t.op(f"shufflevector {words} {units[0]}, {words} {units[1]}, {both}")
        place = t.at(self.sums[lane % COPIES], t.i64("mul", number, PIECES))
        before = t.load("<2 x i64>", place, 8)
        t.store("<2 x i64>", t.op(f"add <2 x i64> {before}, {vector}"), place, 8)

    def _leave_out(self, j: str, fits: str) -> None:
        """Note the place ``j`` of a weight, which the next one overwrites where it ``fits``."""
        t = self.text
        known = t.load("i64", self.left)
        t.store("i64", j, t.at(self.room, known))
        more = t.op(f"zext i1 {t.op(f'xor i1 {fits}, true')} to i64")
        t.store("i64", t.i64("add", known, more), self.left)
