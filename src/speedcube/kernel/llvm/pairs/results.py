"""From the accumulators of a tile to its results: given where they are certain.

A result is its total and its rest, rounded, where that is so whatever the error of the rest is: it
may be no further from the sum of both than half the way to the next double below. Where nothing
was rounded away, a tie is none.
"""

from __future__ import annotations

from ..many.nest import SENTINEL
from .frame import LEFT_ROWS, OUT_COLUMN, OUT_ROW, RIGHT_ROWS, ROWS, TURNED, PairsFrame


class PairsResults:
    """The text that gives the results of a tile."""

    def __init__(self, frame: PairsFrame) -> None:
        self.frame, self.text, self.d, self.lanes = frame, frame.text, frame.d, frame.lanes

    def give(self, i: str, j: str, anchor: str, totals: list[str], rests: list[str]) -> None:
        """The results of a tile: where they are not certain, the sentinel."""
        t, d, v = self.text, self.d, self.d.double
        whole = self._sums(
            [d.sub(t.load(v, total), self.frame.lane(anchor, k)) for k, total in enumerate(totals)]
        )
        value, tail = d.two_sum(whole, self._sums([t.load(v, rest) for rest in rests]))
        error, rest = (d.mul(anchor, self.frame.constant(k)) for k in (1, 2))
        exact = d.is_("le", rest, self.frame.anchor(i, j, 2 * ROWS))
        size = d.size(value)
        before = d.of_bits(d.words("sub", d.bits(size), d.splat_bits(1)))
        room = d.mul(d.sub(size, before), d.constant(0.5))
        certain = d.either(
            d.is_("lt", d.add(d.size(tail), error), room),
            exact,
        )
        value = d.choose(certain, value, d.of_bits(d.splat_bits(SENTINEL["float64"])))
        self._all(i, j, value, certain)

    def _sums(self, vectors: list[str]) -> str:
        """The sum of the lanes of each of ``vectors``, a lane each."""
        size = 1
        while len(vectors) > 1:
            low = self.frame.halves(size)
            pairs = zip(vectors[::2], vectors[1::2], strict=True)
            v = self.d.double
            vectors = [
                self.d.add(
                    self.frame.shuffled(v, x, y, low),
                    self.frame.shuffled(v, x, y, [k + size for k in low]),
                )
                for x, y in pairs
            ]
            size *= 2
        return vectors[0]

    def _all(self, i: str, j: str, value: str, certain: str) -> None:
        """The results of a tile to their places: all of them, or those that there are."""
        t, lanes = self.text, self.lanes
        ends = [
            t.op(f"icmp sle i64 {t.i64('add', start, size)}, {self.frame.word[end]}")
            for start, size, end in (
                (i, self.frame.high, LEFT_ROWS),
                (j, self.frame.wide, RIGHT_ROWS),
            )
        ]
        whole = t.op(f"and i1 {ends[0]}, {ends[1]}")
        whole = t.op(f"and i1 {whole}, {t.op(f'icmp eq i64 {self.frame.word[OUT_COLUMN]}, 1')}")
        with t.when(whole):
            bits = t.op(f"bitcast {self.d.one} {certain} to i{lanes}")
            with t.when(t.op(f"icmp ne i{lanes} {bits}, -1"), rarely=True):
                t.store("i64", "1", self.frame.uncertain)
            self._lines(
                value,
                [
                    [k * self.frame.wide + n for n in range(self.frame.wide)]
                    for k in range(self.frame.high)
                ],
                i,
                j,
                "0",
            )
            with t.when(self.frame.turns):
                turned = [
                    [k * self.frame.wide + n for k in range(self.frame.high)]
                    for n in range(self.frame.wide)
                ]
                self._lines(value, turned, j, i, self.frame.word[TURNED])
        with t.when(t.op(f"xor i1 {whole}, true")):
            self._each(i, j, value, certain)

    def _lines(self, value: str, lines: list[list[int]], row: str, column: str, first: str) -> None:
        """The lanes of each of ``lines`` side by side, from ``row`` and ``column`` on."""
        t = self.text
        at = t.i64("add", t.i64("mul", row, self.frame.word[OUT_ROW]), t.i64("add", column, first))
        for k, line in enumerate(lines):
            some = self.frame.shuffled(self.d.double, value, value, line)
            place = t.i64("add", at, t.i64("mul", self.frame.word[OUT_ROW], k))
            t.store(f"<{len(line)} x double>", some, t.at("%out", place, "double"), 8)

    def _each(self, i: str, j: str, value: str, certain: str) -> None:
        t, d, v = self.text, self.d, self.d.double
        for k in range(self.lanes):
            row = t.i64("add", i, k // self.frame.wide)
            column = t.i64("add", j, k % self.frame.wide)
            inside = [
                t.op(f"icmp slt i64 {at}, {self.frame.word[end]}")
                for at, end in ((row, LEFT_ROWS), (column, RIGHT_ROWS))
            ]
            with t.when(t.op(f"and i1 {inside[0]}, {inside[1]}")):
                self._put(row, column, t.op(f"extractelement {v} {value}, i64 {k}"))
                sure = t.op(f"extractelement {d.one} {certain}, i64 {k}")
                with t.when(t.op(f"xor i1 {sure}, true"), rarely=True):
                    t.store("i64", "1", self.frame.uncertain)

    def _put(self, row: str, column: str, value: str) -> None:
        """A result to its place, and to that of the pair turned round."""
        t, (down, across) = self.text, (self.frame.word[OUT_ROW], self.frame.word[OUT_COLUMN])
        place = t.i64("add", t.i64("mul", row, down), t.i64("mul", column, across))
        t.store("double", value, t.at("%out", place, "double"))
        with t.when(self.frame.turns):
            place = t.i64("add", t.i64("mul", column, down), t.i64("mul", row, across))
            place = t.i64("add", place, self.frame.word[TURNED])
            t.store("double", value, t.at("%out", place, "double"))
