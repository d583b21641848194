"""Rows to where they lie side by side, less a number each: in blocks of columns, zeros behind."""

from __future__ import annotations

from typing import Final

from ..memory import masked_load
from .frame import RIGHT, ROW, ROWS, SHIFTS, PairsFrame
from .sizes import first_lanes

_SEVERAL: Final = 4  # rows from which on vectors are turned: of fewer they are nearly empty


class Packing:
    """The text that packs rows, which lie row by row, or column by column."""

    def __init__(self, frame: PairsFrame) -> None:
        self.frame, self.text, self.d, self.lanes = frame, frame.text, frame.d, frame.lanes

    def pack(
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
        by_row, by_column = (self.frame.word[k] for k in strides)
        shifts = t.at(self.frame.anchors, SHIFTS + (strides == RIGHT) * ROWS, "double")
        beside = t.op(f"icmp eq i64 {by_column}, 1")
        turned = t.op(f"icmp eq i64 {by_row}, 1")
        turned = t.op(f"and i1 {turned}, {t.op(f'icmp sge i64 {count}, {_SEVERAL}')}")
        either = t.op(f"or i1 {beside}, {turned}")
        vectors = t.op(f"select i1 {either}, i64 {t.i64('and', columns, -self.lanes)}, i64 0", "i")
        with t.loop(0, count) as row:
            at = t.i64("add", t.i64("mul", row, by_row), t.i64("mul", first, by_column))
            source = t.at(rows, at, "double")
            place = t.at(to, t.i64("mul", row, ROW), "double")
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
        full = t.i64("and", t.i64("add", count, self.frame.high - 1), -self.frame.high)
        with t.loop(count, full) as row:
            place = t.at(to, t.i64("mul", row, ROW), "double")
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
                    at = t.i64("add", t.i64("mul", t.i64("add", row, k), ROW), j)
                    t.store(v, one, t.at(to, at, "double"), 8)

    def _turned(self, vectors: list[str]) -> list[str]:
        """Lane k of each of ``vectors`` in turn, for each k."""
        size, v = 1, self.d.double
        while size < self.lanes:
            low = self.frame.halves(size)
            made = list(vectors)
            for k in range(self.lanes):
                if not k & size:
                    pair = vectors[k], vectors[k + size]
                    made[k] = self.frame.shuffled(v, *pair, low)
                    made[k + size] = self.frame.shuffled(v, *pair, [n + size for n in low])
            vectors, size = made, 2 * size
        return vectors
