"""What a kernel of pairs of rows is given, where in its scratch memory all lies, and shuffles.

``words`` has how many rows both sides have, at most `ROWS` each; the columns from the first to
before the last that are taken now; in both arrays the distance of rows and of columns; whether the
right rows are the left ones, whether these columns are the first, the last; from row to row and
from column to column of ``out``; whether each result goes to a second place, as of the pair turned
round, and where its rows begin; and the answer: whether some result is not certain.

``scratch`` has rows of `COLUMNS` columns, packed, with zeros where there are none; the accumulators
of each pair; and from `anchors_at` on, of the rows of both sides, numbers whose products are what
accumulators begin with; numbers whose products are so large that nothing is rounded away where that
size, which a rest may have, is no larger; and what is taken off the rows' elements. Then a factor
of the first, and in units of these products the error of a sum, and that size.
"""

from __future__ import annotations

from typing import Final

from ...orders import RowPairs
from ..many.doubles import Doubles
from ..text import Text

ROWS: Final = 48
COLUMNS: Final = 512
SETTLED: Final = 256  # columns after which what has become of rests is put into the totals
ROW: Final = COLUMNS + 8  # no two rows begin at the same place of a page
SIDE: Final = ROWS * ROW
LEFT_ROWS, RIGHT_ROWS, FIRST, LAST = range(4)
LEFT, RIGHT = (4, 5), (6, 7)  # distances of rows, of columns
SAME, BEGINS, ENDS, OUT_ROW, OUT_COLUMN, TURNS, TURNED, UNCERTAIN = range(8, 16)
WORDS: Final = 16
SHAPES: Final = {8: (4, 2), 4: (2, 2), 2: (2, 1)}  # of a tile, by lanes
SHIFTS: Final = 4 * ROWS  # where those of the left rows are among the anchors, and all constants
_CONSTANTS: Final = 6 * ROWS


def anchors_at(lanes: int) -> int:
    """Where in the scratch memory, in doubles, the anchors begin."""
    return 2 * SIDE + 2 * lanes * ROWS * ROWS


def scratch_length(lanes: int) -> int:
    """Doubles of scratch memory."""
    return anchors_at(lanes) + _CONSTANTS + 3


class PairsFrame:
    """The text under construction, and what all of it knows."""

    def __init__(self, program: RowPairs) -> None:
        self.lanes, self.fused = program.lanes, program.fused
        self.text = t = Text(self.lanes)
        self.d = Doubles(t)
        self.high, self.wide = SHAPES[self.lanes]
        self.word = [t.load("i64", t.at("%words", k)) for k in range(WORDS - 1)]
        self.same, self.begins, self.ends, self.turns = (
            t.op(f"icmp ne i64 {self.word[k]}, 0") for k in (SAME, BEGINS, ENDS, TURNS)
        )
        self.anchors = t.at("%scratch", anchors_at(self.lanes), "double")
        self.uncertain = t.variable("i64", "0", "uncertain")

    def constant(self, number: int) -> str:
        """One of the numbers that all pairs have in common."""
        t = self.text
        return t.splat("double", t.load("double", t.at(self.anchors, _CONSTANTS + number)))

    def anchor(self, i: str, j: str, first: int) -> str:
        """The products of both sides' numbers from ``first`` on, a lane each."""
        t, d = self.text, self.d
        sides = ((i, self.high, first), (j, self.wide, first + ROWS))
        each = []
        for which, (start, length, offset) in enumerate(sides):
            place = t.at(self.anchors, t.i64("add", start, offset), "double")
            some = t.load(f"<{length} x double>", place, 8)
            lanes = [k % self.wide if which else k // self.wide for k in range(self.lanes)]
            each.append(self.shuffled(f"<{length} x double>", some, some, lanes))
        return d.mul(*each)

    def lane(self, x: str, lane: int) -> str:
        """Lane ``lane`` of ``x`` in every lane."""
        return self.shuffled(self.d.double, x, x, [lane] * self.lanes)

    def shuffled(self, kind: str, x: str, y: str, lanes: list[int]) -> str:
        mask = ", ".join(f"i32 {lane}" for lane in lanes)
        return self.text.op(f"shufflevector {kind} {x}, {kind} {y}, <{len(lanes)} x i32> <{mask}>")

    def halves(self, size: int) -> list[int]:
        """Of two vectors the first lanes of each block of two times ``size``."""
        blocks = range(0, self.lanes, 2 * size)
        return [b + s + k for b in blocks for s in (0, self.lanes) for k in range(size)]
