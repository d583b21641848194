"""Spreads of integers of at most 32 bits along rows: sums of integers, which lose nothing.

A lane has the sum of its elements and that of their squares, those of 32 bits in halves: no such
sum overflows below 2**32 elements. Doubles would need a square's error beside it, and what a total
rounds away, which is twice as many operations.
"""

from __future__ import annotations

from typing import Final

from .... import dtypes
from ...many import Many
from ..elements import Consume, Tile
from ..text import masked
from .rows import LOW_STEPS, RowLoops
from .singles import SinglesRows
from .sums import SLOTS

HALF: Final = 32  # bits of a square's lower half
_BOTTOM: Final = 40  # bits of a sum of squares that are a double of their own
_ONE: Final = 0x3FF << 52  # the bits of 1.0, as good a unit as any where nothing is rounded away


class IntegerRows(RowLoops):
    """Emits a kernel of spreads of integers one after the other."""

    @property
    def again(self) -> bool:
        """Nothing has to be known of elements before they are taken."""
        return True

    def begin(self) -> None:
        t, word = self.text, self.d.word
        names = ("sum", "low", "high") if self.halves else ("sum", "low")
        self.held_in = [t.variable(word, "zeroinitializer", name) for name in names]

    @property
    def halves(self) -> bool:
        """Whether squares are added up in halves."""
        return dtypes.itemsize(self.many.integers) * 16 > HALF

    def begin_with(self, tile: Tile) -> None:
        """No units."""

    def settle(self) -> None:
        """Nothing is put aside."""

    def add(self, tile: Tile, start: str) -> None:
        self.elements.element_loop(tile, self.taker())

    def taker(self) -> Consume:
        """What adds a vector of elements."""
        t, word = self.text, self.d.word
        below = t.constant((1 << HALF) - 1, "int64")

        def consume(outputs: dict[str, str], j: str, mask: str | None) -> None:
            x = masked(t, "i64", mask, outputs["x"], "zeroinitializer")
            square = t.op(f"mul {word} {x}, {x}")
            more = [x, square]
            if self.halves:
                low = t.op(f"and {word} {square}, {below}")
                more = [x, low, t.op(f"lshr {word} {square}, {t.constant(HALF, 'int64')}")]
            for place, one in zip(self.held_in, more, strict=True):
                t.store(word, t.op(f"add {word} {t.load(word, place)}, {one}"), place)

        return consume

    def end(self, q: str) -> None:
        """What the lanes have as two doubles a sum, into place ``q`` of the batch."""
        t = self.text
        total, low, *high = (self.lanes("i64", "add", t.load(self.d.word, x)) for x in self.held_in)
        fine = t.i64("and", total, LOW_STEPS)
        self.keep_integer(0, t.i64("sub", total, fine), 0, fine, q)
        whole = t.op(f"zext i64 {low} to i128")
        for half in high:
            above = t.op(f"shl i128 {t.op(f'zext i64 {half} to i128')}, {HALF}")
            whole = t.op(f"add i128 {whole}, {above}")
        top = t.op(f"trunc i128 {t.op(f'lshr i128 {whole}, {_BOTTOM}')} to i64")
        bottom = t.op(f"trunc i128 {t.op(f'and i128 {whole}, {(1 << _BOTTOM) - 1}')} to i64")
        self.keep_integer(1, top, _BOTTOM, bottom, q)

    def keep_integer(self, k: int, top: str, bits: int, bottom: str, q: str) -> None:
        """Sum ``k`` is `top * 2**bits + bottom`, both of which are doubles."""
        t = self.text
        step = t.op(f"bitcast i64 {(0x3FF + bits) << 52} to double")
        one = t.op(f"bitcast i64 {_ONE} to double")
        words = {"unit": one, "total": self.in_steps(top, step), "low": self.in_steps(bottom, one)}
        for name in SLOTS:
            kind = "i64" if name in ("left", "out") else "double"
            nothing = "0" if kind == "i64" else "0.0"
            t.store(kind, words.get(name, nothing), self.sums.slot(k, name, q))


def rows_of(many: Many | None) -> type[RowLoops]:
    """What emits the kernel of ``many`` along rows."""
    if many is not None and many.singles:
        return SinglesRows
    return IntegerRows if many is not None and many.integers else RowLoops
