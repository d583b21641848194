"""Sums of the rounded products of pairs of rows, of which a block stays in the cache.

    void kernel(words, left, right, scratch, out)

``words`` (int64, `WORDS` of them): how many rows ``left`` and ``right`` have, at most `ROWS` each;
the columns from the first to before the last that are taken now; in both arrays the distance of
rows and of columns; whether the right rows are the left ones, whether these columns are the first,
the last; from row to row and from column to column of ``out``; where in ``out``, turned, each
result goes as well, if it does; and the answer: how many results are not certain.

``scratch`` has rows of `COLUMNS` columns, packed, with zeros where there are none; the accumulators
of each pair; and `ANCHORS`: numbers whose products are what the pairs' accumulators begin with, and
behind those of both sides the error of a sum, in units of that.

A sum is, in each lane, a multiple of a coarse unit and the sum of what is finer, as in `sums.py`.
The unit follows from the greatest numbers of both rows, so no element is out of range, and nothing
is compared. What is finer is put aside after each block. So its error is known beforehand, too:
`engine/finished/pairs.py` has the bound. A tile has as many pairs as a vector has lanes.
"""

from __future__ import annotations

from typing import Final

from ...orders import RowPairs
from ..function import function
from ..text import Text
from .doubles import Doubles
from .nest import SENTINEL

ROWS: Final = 48
COLUMNS: Final = 512
_ROW: Final = COLUMNS + 8  # no two rows begin at the same place of a page
_SIDE: Final = ROWS * _ROW
LEFT_ROWS, RIGHT_ROWS, FIRST, LAST = range(4)
LEFT, RIGHT = (4, 5), (6, 7)  # distances of rows, of columns
SAME, BEGINS, ENDS, OUT_ROW, OUT_COLUMN, TURNS, TURNED, UNCERTAIN = range(8, 16)
WORDS: Final = 16
SHAPES: Final = {8: (4, 2), 4: (2, 2), 2: (2, 1)}  # of a tile, by lanes


def anchors_at(lanes: int) -> int:
    """Where in the scratch memory, in doubles, the anchors begin."""
    return 2 * _SIDE + 2 * lanes * ROWS * ROWS


def scratch_length(lanes: int) -> int:
    """Doubles of scratch memory."""
    return anchors_at(lanes) + 2 * ROWS + 1


def emit_pairs(program: RowPairs) -> str:
    """The LLVM text of ``program``."""
    return _PairsText(program).emit()


class _PairsText:
    """The text under construction: blocks of columns, in each of them tiles of pairs."""

    def __init__(self, program: RowPairs) -> None:
        self.lanes, self.fused = program.lanes, program.fused
        self.text = t = Text(self.lanes)
        self.d = Doubles(t)
        self.high, self.wide = SHAPES[self.lanes]
        self.word = [t.load("i64", t.at("%words", k)) for k in range(WORDS - 1)]
        self.same, self.begins, self.ends, self.turns = (
            t.op(f"icmp ne i64 {self.word[k]}, 0") for k in (SAME, BEGINS, ENDS, TURNS)
        )
        side = t.op(f"select i1 {self.same}, i64 0, i64 {_SIDE}", "i")
        self.packed = "%scratch", t.at("%scratch", side, "double")
        self.sums = t.at("%scratch", 2 * _SIDE, "double")
        self.anchors = t.at("%scratch", anchors_at(self.lanes), "double")
        self.uncertain = t.variable("i64", "0", "uncertain")

    def emit(self) -> str:
        t, word = self.text, self.word
        with t.loop(word[FIRST], word[LAST], COLUMNS) as first:
            left = t.i64("sub", word[LAST], first)
            count = t.minimum(left, str(COLUMNS))
            more = t.i64("add", count, self.lanes - 1)
            whole = t.i64("and", more, -self.lanes)
            self._pack("%values", "%scratch", LEFT, word[LEFT_ROWS], first, count, whole)
            with t.when(t.op(f"xor i1 {self.same}, true")):
                to = t.at("%scratch", _SIDE, "double")
                self._pack("%state", to, RIGHT, word[RIGHT_ROWS], first, count, whole)
            begins = t.op(f"icmp eq i64 {first}, {word[FIRST]}")
            begins = t.op(f"and i1 {begins}, {self.begins}")
            ends = t.op(f"icmp sle i64 {left}, {COLUMNS}")
            self._tiles(whole, begins, t.op(f"and i1 {ends}, {self.ends}"))
        t.store("i64", t.load("i64", self.uncertain), t.at("%words", UNCERTAIN))
        return function(t, ("words", "values", "state", "scratch", "out"), ())

    # Packing -------------------------------------------------------------------------------

    def _pack(
        self,
        rows: str,
        to: str,
        strides: tuple[int, int],
        count: str,
        first: str,
        columns: str,
        whole: str,
    ) -> None:
        """``columns`` from ``first`` on of ``count`` ``rows``; zeros behind both."""
        t = self.text
        by_row, by_column = (self.word[k] for k in strides)
        beside = t.op(f"icmp eq i64 {by_column}, 1")
        vectors = t.op(f"select i1 {beside}, i64 {t.i64('and', columns, -self.lanes)}, i64 0", "i")
        with t.loop(0, count) as row:
            at = t.i64("add", t.i64("mul", row, by_row), t.i64("mul", first, by_column))
            source = t.at(rows, at, "double")
            place = t.at(to, t.i64("mul", row, _ROW), "double")
            with t.loop(0, vectors, self.lanes) as j:
                some = t.load(self.d.double, t.at(source, j, "double"), 8)
                t.store(self.d.double, some, t.at(place, j, "double"), 8)
            with t.loop(vectors, columns) as j:
                one = t.load("double", t.at(source, t.i64("mul", j, by_column), "double"))
                t.store("double", one, t.at(place, j, "double"))
            with t.loop(columns, whole) as j:
                t.store("double", "0.0", t.at(place, j, "double"))
        full = t.i64("and", t.i64("add", count, self.high - 1), -self.high)
        with t.loop(count, full) as row:
            place = t.at(to, t.i64("mul", row, _ROW), "double")
            with t.loop(0, whole, self.lanes) as j:
                t.store(self.d.double, "zeroinitializer", t.at(place, j, "double"), 8)

    # Tiles ---------------------------------------------------------------------------------

    def _tiles(self, columns: str, begins: str, ends: str) -> None:
        """All tiles of this block of ``columns``, but those whose pairs others have turned."""
        t = self.text
        counter = t.variable("i64", "0", "tile")
        with (
            t.loop(0, self.word[RIGHT_ROWS], self.wide) as j,
            t.loop(0, self.word[LEFT_ROWS], self.high) as i,
        ):
            below = t.op(f"icmp sge i64 {i}, {t.i64('add', j, self.wide)}")
            skipped = t.op(f"and i1 {below}, {self.same}")
            with t.when(t.op(f"xor i1 {skipped}, true")):
                tile = t.load("i64", counter)
                t.store("i64", t.i64("add", tile, 2 * self.lanes * self.lanes), counter)
                self._tile(i, j, t.at(self.sums, tile, "double"), columns, begins, ends)

    def _tile(self, i: str, j: str, place: str, columns: str, begins: str, ends: str) -> None:
        t, v = self.text, self.d.double
        places = [t.at(place, k * self.lanes, "double") for k in range(2 * self.lanes)]
        anchor = self._anchor(i, j)
        variables = [t.variable(v, "zeroinitializer") for _ in places]
        totals, rests = variables[: self.lanes], variables[self.lanes :]
        with t.when(begins):
            for k, total in enumerate(totals):
                t.store(v, self._lane(anchor, k), total)
        with t.when(t.op(f"xor i1 {begins}, true")):
            for at, variable in zip(places, variables, strict=True):
                t.store(v, t.load(v, at, 8), variable)
        self._add(i, j, columns, totals, rests)
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
            self._results(i, j, anchor, totals, rests)
        with t.when(t.op(f"xor i1 {ends}, true")):
            for at, variable in zip(places, (*totals, *rests), strict=True):
                t.store(v, t.load(v, variable), at, 8)

    def _anchor(self, i: str, j: str) -> str:
        """What the pairs' totals begin with, a lane each."""
        t, d = self.text, self.d
        sides = ((i, self.high, 0), (j, self.wide, ROWS))
        each = []
        for which, (start, length, offset) in enumerate(sides):
            place = t.at(self.anchors, t.i64("add", start, offset), "double")
            some = t.load(f"<{length} x double>", place, 8)
            lanes = [k % self.wide if which else k // self.wide for k in range(self.lanes)]
            each.append(self._shuffled(f"<{length} x double>", some, some, lanes))
        return d.mul(*each)

    def _lane(self, x: str, lane: int) -> str:
        """Lane ``lane`` of ``x`` in every lane."""
        return self._shuffled(self.d.double, x, x, [lane] * self.lanes)

    def _shuffled(self, kind: str, x: str, y: str, lanes: list[int]) -> str:
        mask = ", ".join(f"i32 {lane}" for lane in lanes)
        return self.text.op(
            f"shufflevector {kind} {x}, {kind} {y}, <{self.lanes} x i32> <{mask}>"
        )

    def _add(self, i: str, j: str, columns: str, totals: list[str], rests: list[str]) -> None:
        """Add the products of all pairs of a tile."""
        t, v = self.text, self.d.double
        rows = []
        for packed, start, length in zip(
            self.packed, (i, j), (self.high, self.wide), strict=True
        ):
            first = t.at(packed, t.i64("mul", start, _ROW), "double")
            rows.append([t.at(first, k * _ROW, "double") for k in range(length)])
        with t.loop(0, columns, self.lanes) as c:
            left, right = ([t.load(v, t.at(r, c, "double"), 8) for r in side] for side in rows)
            for k, (total, rest) in enumerate(zip(totals, rests, strict=True)):
                self._product(left[k // self.wide], right[k % self.wide], total, rest, k % 2 > 0)

    def _product(self, x: str, y: str, total: str, rest: str, beside: bool) -> None:
        """Add the rounded ``x * y``; ``beside``: its rest by the units that multiply.

        Any multiple of the unit near the product will do, as what is left of it is added, too. So
        it is found by the product that is not rounded, in one operation.
        """
        t, d, v = self.text, self.d, self.d.double
        product, before = d.mul(x, y), t.load(v, total)
        after = d.fma(x, y, before) if self.fused else d.add(before, product)
        fine = d.sub(product, d.sub(after, before))
        t.store(v, after, total)
        more = t.load(v, rest)
        one = d.constant(1.0)
        t.store(v, d.fma(fine, one, more) if self.fused and beside else d.add(more, fine), rest)

    def _settle(self, total: str, rest: str) -> None:
        """Put what the rest has of units into the total."""
        t, d, v = self.text, self.d, self.d.double
        before, fine = t.load(v, total), t.load(v, rest)
        after = d.add(before, fine)
        t.store(v, after, total)
        t.store(v, d.sub(fine, d.sub(after, before)), rest)

    # Results -------------------------------------------------------------------------------

    def _sums(self, vectors: list[str]) -> str:
        """The sum of the lanes of each of ``vectors``, a lane each."""
        size = 1
        while len(vectors) > 1:
            blocks = range(0, self.lanes, 2 * size)
            low = [b + s + k for b in blocks for s in (0, self.lanes) for k in range(size)]
            pairs = zip(vectors[::2], vectors[1::2], strict=True)
            v = self.d.double
            vectors = [
                self.d.add(
                    self._shuffled(v, x, y, low),
                    self._shuffled(v, x, y, [k + size for k in low]),
                )
                for x, y in pairs
            ]
            size *= 2
        return vectors[0]

    def _results(
        self, i: str, j: str, anchor: str, totals: list[str], rests: list[str]
    ) -> None:
        """The results of a tile: where they are not certain, the sentinel."""
        t, d, v = self.text, self.d, self.d.double
        whole = self._sums(
            [d.sub(t.load(v, total), self._lane(anchor, k)) for k, total in enumerate(totals)]
        )
        value, tail = d.two_sum(whole, self._sums([t.load(v, rest) for rest in rests]))
        error = t.load("double", t.at(self.anchors, 2 * ROWS, "double"))
        off = d.add(d.size(tail), d.mul(d.size(anchor), t.splat("double", error)))
        size = d.size(value)
        before = d.of_bits(d.words("sub", d.bits(size), d.splat_bits(1)))
        room = d.mul(d.sub(size, before), d.constant(0.5))
        certain = d.is_("lt", off, room)
        value = d.choose(certain, value, d.of_bits(d.splat_bits(SENTINEL["float64"])))
        for k in range(self.lanes):
            row = t.i64("add", i, k // self.wide)
            column = t.i64("add", j, k % self.wide)
            inside = [
                t.op(f"icmp slt i64 {at}, {self.word[end]}")
                for at, end in ((row, LEFT_ROWS), (column, RIGHT_ROWS))
            ]
            with t.when(t.op(f"and i1 {inside[0]}, {inside[1]}")):
                self._put(row, column, t.op(f"extractelement {v} {value}, i64 {k}"))
                sure = t.op(f"extractelement {d.one} {certain}, i64 {k}")
                left = t.op(f"zext i1 {t.op(f'xor i1 {sure}, true')} to i64")
                count = t.i64("add", t.load("i64", self.uncertain), left)
                t.store("i64", count, self.uncertain)

    def _put(self, row: str, column: str, value: str) -> None:
        """A result to its place, and to that of the pair turned round."""
        t, (down, across) = self.text, (self.word[OUT_ROW], self.word[OUT_COLUMN])
        place = t.i64("add", t.i64("mul", row, down), t.i64("mul", column, across))
        t.store("double", value, t.at("%out", place, "double"))
        with t.when(self.turns):
            place = t.i64("add", t.i64("mul", column, down), t.i64("mul", row, across))
            place = t.i64("add", place, self.word[TURNED])
            t.store("double", value, t.at("%out", place, "double"))
