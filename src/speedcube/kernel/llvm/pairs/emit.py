"""The kernel of sums of rounded products of pairs of rows, of which a block stays in the cache.

    void kernel(words, left, right, scratch, out)

What it is given: `frame.py`. A sum is, in each lane, a multiple of a coarse unit and the sum of
what is finer, as in `many/sums.py`. The unit follows from the greatest numbers of both rows, so no
element is out of range, and nothing is compared. Rests are put into the totals now and then. So
their error is known beforehand, too: `engine/finished/pairs.py` has the bound. A tile has as many
pairs as a vector has lanes.
"""

from __future__ import annotations

from ...orders import RowPairs
from ..function import function
from .frame import (
    COLUMNS,
    FIRST,
    LAST,
    LEFT,
    LEFT_ROWS,
    RIGHT,
    RIGHT_ROWS,
    ROW,
    SETTLED,
    SIDE,
    UNCERTAIN,
    PairsFrame,
)
from .packing import Packing
from .results import PairsResults


def emit_pairs(program: RowPairs) -> str:
    """The LLVM text of ``program``."""
    return _PairsText(PairsFrame(program)).emit()


class _PairsText:
    """The text under construction: blocks of columns, in each of them tiles of pairs."""

    def __init__(self, frame: PairsFrame) -> None:
        self.frame, self.text, self.d, self.lanes = frame, frame.text, frame.d, frame.lanes
        self.packing, self.results = Packing(frame), PairsResults(frame)
        t = self.text
        side = t.op(f"select i1 {frame.same}, i64 0, i64 {SIDE}", "i")
        self.packed = "%scratch", t.at("%scratch", side, "double")
        self.sums = t.at("%scratch", 2 * SIDE, "double")
        self.next = t.variable("i64", "0", "next")  # the column at which the next block begins

    def emit(self) -> str:
        t, word = self.text, self.frame.word
        with t.loop(word[FIRST], word[LAST], COLUMNS) as first:
            left = t.i64("sub", word[LAST], first)
            t.store("i64", t.i64("add", first, COLUMNS), self.next)
            count = t.minimum(left, str(COLUMNS))
            more = t.i64("add", count, self.lanes - 1)
            whole = t.i64("and", more, -self.lanes)
            self.packing.pack("%values", "%scratch", LEFT, word[LEFT_ROWS], first, count, whole)
            with t.when(t.op(f"xor i1 {self.frame.same}, true")):
                to = t.at("%scratch", SIDE, "double")
                self.packing.pack("%state", to, RIGHT, word[RIGHT_ROWS], first, count, whole)
            begins = t.op(f"icmp eq i64 {first}, {word[FIRST]}")
            begins = t.op(f"and i1 {begins}, {self.frame.begins}")
            ends = t.op(f"icmp sle i64 {left}, {COLUMNS}")
            self._tiles(whole, begins, t.op(f"and i1 {ends}, {self.frame.ends}"))
        t.store("i64", t.load("i64", self.frame.uncertain), t.at("%words", UNCERTAIN))
        return function(t, ("words", "values", "state", "scratch", "out"), ())

    def _tiles(self, columns: str, begins: str, ends: str) -> None:
        """All tiles of this block of ``columns``, but those whose pairs others have turned."""
        t = self.text
        counter = t.variable("i64", "0", "tile")
        with (
            t.loop(0, self.frame.word[RIGHT_ROWS], self.frame.wide) as j,
            t.loop(0, self.frame.word[LEFT_ROWS], self.frame.high) as i,
        ):
            below = t.op(f"icmp sge i64 {i}, {t.i64('add', j, self.frame.wide)}")
            skipped = t.op(f"and i1 {below}, {self.frame.same}")
            with t.when(t.op(f"xor i1 {skipped}, true")):
                tile = t.load("i64", counter)
                t.store("i64", t.i64("add", tile, 1), counter)
                self._tile(i, j, tile, columns, begins, ends)

    def _tile(self, i: str, j: str, number: str, columns: str, begins: str, ends: str) -> None:
        t, v = self.text, self.d.double
        later = self._later(number)
        size = 2 * self.lanes * self.lanes
        place = t.at(self.sums, t.i64("mul", number, size), "double")
        places = [t.at(place, k * self.lanes, "double") for k in range(2 * self.lanes)]
        anchor = self.d.mul(self.frame.anchor(i, j, 0), self.frame.constant(0))
        variables = [t.variable(v, "zeroinitializer") for _ in places]
        totals, rests = variables[: self.lanes], variables[self.lanes :]
        with t.when(begins):
            for k, total in enumerate(totals):
                t.store(v, self.frame.lane(anchor, k), total)
        with t.when(t.op(f"xor i1 {begins}, true")):
            for at, variable in zip(places, variables, strict=True):
                t.store(v, t.load(v, at, 8), variable)
        with t.loop(0, columns, SETTLED) as first:
            end = t.minimum(t.i64("add", first, SETTLED), columns)
            self._add(i, j, (first, end), later, totals, rests)
            for total, rest in zip(totals, rests, strict=True):
                self._settle(total, rest)
        self._end(i, j, places, anchor, totals, rests, ends)

    def _end(
        self,
        i: str,
        j: str,
        places: list[str],
        anchor: str,
        totals: list[str],
        rests: list[str],
        ends: str,
    ) -> None:
        """The results of a tile, or its accumulators for the next block."""
        t, v = self.text, self.d.double
        with t.when(ends):
            self.results.give(i, j, anchor, totals, rests)
        with t.when(t.op(f"xor i1 {ends}, true")):
            for at, variable in zip(places, (*totals, *rests), strict=True):
                t.store(v, t.load(v, variable), at, 8)

    def _ask(self, row: str, column: str) -> None:
        """Ask for what the next block has in this ``column`` of the ``row``."""
        t = self.text
        t.declares.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        place = t.at(row, column, "double")
        t.line(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 2, i32 1)")

    def _later(self, tile: str) -> str:
        """The row that tile number ``tile`` asks for: both sides' rows in turn, the next columns.

        A row is read a page at a time, which processors do not foresee.
        """
        t, word = self.text, self.frame.word
        right = t.i64("sub", tile, word[LEFT_ROWS])
        is_left = t.op(f"icmp slt i64 {right}, 0")
        is_left = t.op(f"or i1 {is_left}, {self.frame.same}")
        end = t.op(f"select i1 {is_left}, i64 {word[LEFT_ROWS]}, i64 {word[RIGHT_ROWS]}")
        number = t.op(f"select i1 {is_left}, i64 {tile}, i64 {right}")
        number = t.minimum(number, t.i64("sub", end, 1))
        step = t.op(f"select i1 {is_left}, i64 {word[LEFT[0]]}, i64 {word[RIGHT[0]]}")
        rows = t.op(f"select i1 {is_left}, ptr %values, ptr %state", "p")
        at = t.i64("add", t.i64("mul", number, step), t.load("i64", self.next))
        apart = t.op(f"select i1 {is_left}, i64 {word[LEFT[1]]}, i64 {word[RIGHT[1]]}")
        beside = t.op(f"icmp eq i64 {apart}, 1")
        return t.op(f"select i1 {beside}, ptr {t.at(rows, at, 'double')}, ptr %scratch", "p")

    def _add(
        self,
        i: str,
        j: str,
        columns: tuple[str, str],
        later: str,
        totals: list[str],
        rests: list[str],
    ) -> None:
        """Add the products of all pairs of a tile, of columns from the first to the end."""
        t, v = self.text, self.d.double
        rows = []
        for packed, start, length in zip(
            self.packed, (i, j), (self.frame.high, self.frame.wide), strict=True
        ):
            first = t.at(packed, t.i64("mul", start, ROW), "double")
            rows.append([t.at(first, k * ROW, "double") for k in range(length)])
        with t.loop(*columns, self.lanes) as c:
            self._ask(later, c)
            left, right = ([t.load(v, t.at(r, c, "double"), 8) for r in side] for side in rows)
            for k, (total, rest) in enumerate(zip(totals, rests, strict=True)):
                self._product(
                    left[k // self.frame.wide], right[k % self.frame.wide], total, rest, k % 2 > 0
                )

    def _product(self, x: str, y: str, total: str, rest: str, beside: bool) -> None:
        """Add the rounded ``x * y``; ``beside``: its rest by the units that multiply.

        Any multiple of the unit near the product will do, as what is left of it is added, too. So
        it is found by the product that is not rounded, in one operation.
        """
        t, d, v = self.text, self.d, self.d.double
        product, before = d.mul(x, y), t.load(v, total)
        after = d.fma(x, y, before) if self.frame.fused else d.add(before, product)
        fine = d.sub(product, d.sub(after, before))
        t.store(v, after, total)
        more = t.load(v, rest)
        one = d.constant(1.0)
        t.store(
            v, d.fma(fine, one, more) if self.frame.fused and beside else d.add(more, fine), rest
        )

    def _settle(self, total: str, rest: str) -> None:
        """Put what the rest has of units into the total."""
        t, d, v = self.text, self.d, self.d.double
        before, fine = t.load(v, total), t.load(v, rest)
        after = d.add(before, fine)
        t.store(v, after, total)
        t.store(v, d.sub(fine, d.sub(after, before)), rest)
