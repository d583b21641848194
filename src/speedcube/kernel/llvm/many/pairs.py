"""Sums of the rounded products of pairs of rows, of which a block stays in the cache.

    void kernel(words, left, right, scratch, out)

``words`` (int64, `WORDS` of them): how many rows ``left`` and ``right`` have, at most `ROWS` each;
the columns from the first to before the last that are taken now; in both arrays the distance of
rows and of columns; whether the right rows are the left ones, whether these columns are the first,
the last; from row to row and from column to column of ``out``; where in ``out``, turned, each
result goes as well, if it does; and the answer: whether some result is not certain.

``scratch`` has rows of `COLUMNS` columns, packed, with zeros where there are none; the accumulators
of each pair; and from `anchors_at` on numbers of both sides: those whose products are what the pairs'
accumulators begin with; those whose products are so large that nothing is rounded away where a
size, that of a rest, is no larger; those that are taken off the rows' elements; then a factor of
the first, and in units of them the error of a sum, and that size.

A sum is, in each lane, a multiple of a coarse unit and the sum of what is finer, as in `sums.py`.
The unit follows from the greatest numbers of both rows, so no element is out of range, and nothing
is compared. Rests are put into the totals now and then. So its error is known beforehand, too:
`engine/finished/pairs.py` has the bound. A tile has as many pairs as a vector has lanes.
"""

from __future__ import annotations

from typing import Final

from ...orders import RowPairs
from ..function import function
from ..memory import masked_load
from ..text import Text
from .doubles import Doubles
from .nest import SENTINEL
from .sizes import first_lanes

ROWS: Final = 48
COLUMNS: Final = 512
SETTLED: Final = 256  # columns after which what has become of rests is put into the totals
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
    return anchors_at(lanes) + 6 * ROWS + 3


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
        self.next = t.variable("i64", "0", "next")  # the column at which the next block begins

    def emit(self) -> str:
        t, word = self.text, self.word
        with t.loop(word[FIRST], word[LAST], COLUMNS) as first:
            left = t.i64("sub", word[LAST], first)
            t.store("i64", t.i64("add", first, COLUMNS), self.next)
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
        shifts = t.at(self.anchors, (4 + (strides == RIGHT)) * ROWS, "double")
        beside = t.op(f"icmp eq i64 {by_column}, 1")
        turned = t.op(f"icmp eq i64 {by_row}, 1")
        either = t.op(f"or i1 {beside}, {turned}")
        vectors = t.op(f"select i1 {either}, i64 {t.i64('and', columns, -self.lanes)}, i64 0", "i")
        with t.loop(0, count) as row:
            at = t.i64("add", t.i64("mul", row, by_row), t.i64("mul", first, by_column))
            source = t.at(rows, at, "double")
            place = t.at(to, t.i64("mul", row, _ROW), "double")
            shift = t.load("double", t.at(shifts, row, "double"))
            with t.when(beside), t.loop(0, vectors, self.lanes) as j:
                some = t.load(self.d.double, t.at(source, j, "double"), 8)
                some = self.d.sub(some, t.splat("double", shift))
                t.store(self.d.double, some, t.at(place, j, "double"), 8)
            with t.loop(vectors, columns) as j:
                one = t.load("double", t.at(source, t.i64("mul", j, by_column), "double"))
                one = t.op(f"fsub double {one}, {shift}")
                t.store("double", one, t.at(place, j, "double"))
            with t.loop(columns, whole) as j:
                t.store("double", "0.0", t.at(place, j, "double"))
        with t.when(t.op(f"and i1 {turned}, {t.op(f'xor i1 {beside}, true')}")):
            source = t.at(rows, t.i64("mul", first, by_column), "double")
            self._turn(source, to, shifts, count, vectors, by_column)
        full = t.i64("and", t.i64("add", count, self.high - 1), -self.high)
        with t.loop(count, full) as row:
            place = t.at(to, t.i64("mul", row, _ROW), "double")
            with t.loop(0, whole, self.lanes) as j:
                t.store(self.d.double, "zeroinitializer", t.at(place, j, "double"), 8)

    def _turn(
        self, source: str, to: str, shifts: str, count: str, vectors: str, by_column: str
    ) -> None:
        """Pack rows whose elements lie side by side column by column, as many as there are lanes.

        Those behind the last row are packed, too: there is room for as many.
        """
        t, v, lanes = self.text, self.d.double, self.lanes
        with t.loop(0, count, lanes) as row:
            mask = first_lanes(t, t.i64("sub", count, row))
            shift = t.load(v, t.at(shifts, row, "double"), 8)
            with t.loop(0, vectors, lanes) as j:
                some = []
                for k in range(lanes):
                    at = t.i64("add", t.i64("mul", t.i64("add", j, k), by_column), row)
                    place = t.at(source, at, "double")
                    some.append(self.d.sub(masked_load(t, "double", place, mask), shift))
                for k, one in enumerate(self._turned(some)):
                    at = t.i64("add", t.i64("mul", t.i64("add", row, k), _ROW), j)
                    t.store(v, one, t.at(to, at, "double"), 8)

    def _turned(self, vectors: list[str]) -> list[str]:
        """Lane k of each of ``vectors`` in turn, for each k."""
        size, v = 1, self.d.double
        while size < self.lanes:
            low = self._halves(size)
            made = list(vectors)
            for k in range(self.lanes):
                if not k & size:
                    pair = vectors[k], vectors[k + size]
                    made[k] = self._shuffled(v, *pair, low)
                    made[k + size] = self._shuffled(v, *pair, [n + size for n in low])
            vectors, size = made, 2 * size
        return vectors

    def _halves(self, size: int) -> list[int]:
        """Of two vectors the first lanes of each block of two times ``size``."""
        blocks = range(0, self.lanes, 2 * size)
        return [b + s + k for b in blocks for s in (0, self.lanes) for k in range(size)]

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
                t.store("i64", t.i64("add", tile, 1), counter)
                self._tile(i, j, tile, columns, begins, ends)

    def _tile(self, i: str, j: str, number: str, columns: str, begins: str, ends: str) -> None:
        t, v = self.text, self.d.double
        later = self._later(number)
        size = 2 * self.lanes * self.lanes
        place = t.at(self.sums, t.i64("mul", number, size), "double")
        places = [t.at(place, k * self.lanes, "double") for k in range(2 * self.lanes)]
        anchor = self.d.mul(self._anchor(i, j, 0), self._constant(0))
        variables = [t.variable(v, "zeroinitializer") for _ in places]
        totals, rests = variables[: self.lanes], variables[self.lanes :]
        with t.when(begins):
            for k, total in enumerate(totals):
                t.store(v, self._lane(anchor, k), total)
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
            self._results(i, j, anchor, totals, rests)
        with t.when(t.op(f"xor i1 {ends}, true")):
            for at, variable in zip(places, (*totals, *rests), strict=True):
                t.store(v, t.load(v, variable), at, 8)

    def _constant(self, number: int) -> str:
        """One of the numbers that all pairs have in common."""
        t = self.text
        return t.splat("double", t.load("double", t.at(self.anchors, 6 * ROWS + number)))

    def _anchor(self, i: str, j: str, first: int) -> str:
        """The products of both sides' numbers from ``first`` on, a lane each."""
        t, d = self.text, self.d
        sides = ((i, self.high, first), (j, self.wide, first + ROWS))
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
        return self.text.op(f"shufflevector {kind} {x}, {kind} {y}, <{len(lanes)} x i32> <{mask}>")

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
        t, word = self.text, self.word
        right = t.i64("sub", tile, word[LEFT_ROWS])
        is_left = t.op(f"icmp slt i64 {right}, 0")
        is_left = t.op(f"or i1 {is_left}, {self.same}")
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
        for packed, start, length in zip(self.packed, (i, j), (self.high, self.wide), strict=True):
            first = t.at(packed, t.i64("mul", start, _ROW), "double")
            rows.append([t.at(first, k * _ROW, "double") for k in range(length)])
        with t.loop(*columns, self.lanes) as c:
            self._ask(later, c)
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
            low = self._halves(size)
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

    def _results(self, i: str, j: str, anchor: str, totals: list[str], rests: list[str]) -> None:
        """The results of a tile: where they are not certain, the sentinel."""
        t, d, v = self.text, self.d, self.d.double
        whole = self._sums(
            [d.sub(t.load(v, total), self._lane(anchor, k)) for k, total in enumerate(totals)]
        )
        value, tail = d.two_sum(whole, self._sums([t.load(v, rest) for rest in rests]))
        error, rest = (d.mul(anchor, self._constant(k)) for k in (1, 2))
        exact = d.is_("le", rest, self._anchor(i, j, 2 * ROWS))
        size = d.size(value)
        before = d.of_bits(d.words("sub", d.bits(size), d.splat_bits(1)))
        room = d.mul(d.sub(size, before), d.constant(0.5))
        certain = d.either(
            d.is_("lt", d.add(d.size(tail), error), room),
            exact,
        )
        value = d.choose(certain, value, d.of_bits(d.splat_bits(SENTINEL["float64"])))
        self._give(i, j, value, certain)

    def _give(self, i: str, j: str, value: str, certain: str) -> None:
        """The results of a tile to their places: all of them, or those that there are."""
        t, lanes = self.text, self.lanes
        ends = [
            t.op(f"icmp sle i64 {t.i64('add', start, size)}, {self.word[end]}")
            for start, size, end in ((i, self.high, LEFT_ROWS), (j, self.wide, RIGHT_ROWS))
        ]
        whole = t.op(f"and i1 {ends[0]}, {ends[1]}")
        whole = t.op(f"and i1 {whole}, {t.op(f'icmp eq i64 {self.word[OUT_COLUMN]}, 1')}")
        with t.when(whole):
            bits = t.op(f"bitcast {self.d.one} {certain} to i{lanes}")
            with t.when(t.op(f"icmp ne i{lanes} {bits}, -1"), rarely=True):
                t.store("i64", "1", self.uncertain)
            self._lines(
                value,
                [[k * self.wide + n for n in range(self.wide)] for k in range(self.high)],
                i,
                j,
                "0",
            )
            with t.when(self.turns):
                turned = [[k * self.wide + n for k in range(self.high)] for n in range(self.wide)]
                self._lines(value, turned, j, i, self.word[TURNED])
        with t.when(t.op(f"xor i1 {whole}, true")):
            self._each(i, j, value, certain)

    def _lines(self, value: str, lines: list[list[int]], row: str, column: str, first: str) -> None:
        """The lanes of each of ``lines`` side by side, from ``row`` and ``column`` on."""
        t = self.text
        at = t.i64("add", t.i64("mul", row, self.word[OUT_ROW]), t.i64("add", column, first))
        for k, line in enumerate(lines):
            some = self._shuffled(self.d.double, value, value, line)
            place = t.i64("add", at, t.i64("mul", self.word[OUT_ROW], k))
            t.store(f"<{len(line)} x double>", some, t.at("%out", place, "double"), 8)

    def _each(self, i: str, j: str, value: str, certain: str) -> None:
        t, d, v = self.text, self.d, self.d.double
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
                with t.when(t.op(f"xor i1 {sure}, true"), rarely=True):
                    t.store("i64", "1", self.uncertain)

    def _put(self, row: str, column: str, value: str) -> None:
        """A result to its place, and to that of the pair turned round."""
        t, (down, across) = self.text, (self.word[OUT_ROW], self.word[OUT_COLUMN])
        place = t.i64("add", t.i64("mul", row, down), t.i64("mul", column, across))
        t.store("double", value, t.at("%out", place, "double"))
        with t.when(self.turns):
            place = t.i64("add", t.i64("mul", column, down), t.i64("mul", row, across))
            place = t.i64("add", place, self.word[TURNED])
            t.store("double", value, t.at("%out", place, "double"))
