"""Long rows of float32: sums of a tile that lose nothing, added to those of the row tile by tile.

A sum of a tile's float32 in a double is exact where their exponents lie near each other, which
their least and their greatest magnitude say. Of their squares the sum is a total, which begins at
a unit, and what was rounded away of it, whose sum is exact then, too. So an element costs half of
what it costs where each one's error is looked at. A tile that does not pass is taken element by
element.

Let all |x| be below `2**(E + 1)` and, but for zeros, multiples of `2**(e - 23)`, and let a lane
take `2**s` of a tile. Sums of x stay below `2**(E + 1 + s)`: exact where E - e <= 29 - s. Squares
are multiples of `2**(2 e - 46)`. Their total begins at `1.5 * 2**k` with k = 2 E + 3 + s, in whose
binade it stays. It rounds away half a step of `2**(k - 52)` at most, `2**s` times: less than
`2**(2 E + 2 s - 50)`, so this sum is exact where 2 (E - e) <= 57 - 2 s.

Where sums of squares that are float32 are asked for, too, what their rounding adds has a sum of its
own. It is so small that nobody has to know it exactly: `off_by` says how far off it may be.
"""

from __future__ import annotations

from typing import Final

from ....expr.space import TILE
from ..elements import Consume, Tile
from ..text import masked
from .rows import RowLoops

SLOWLY: Final = 16  # tiles that are taken element by element where one has to be
LATER: Final = 3  # bits by which later elements may be larger than the first ones
_FRACTION: Final = 24  # bits below a float32's exponent once its sign is shifted away
_BIAS: Final = 127
_OFFSET: Final = 1023 - _BIAS  # from the biased exponent of a float32 to that of a double
_MOST: Final = 254  # the greatest biased exponent of a number


def off_by(squares: int, count: int) -> int:
    """What the sum of what rounding adds may be off by, in units of `2**-1074`.

    ``squares`` is the sum of squares in these, of ``count`` elements. A lane adds up fewer than
    `2**7` numbers, each at most `2**-24` of its square, or `2**-150`.
    """
    return (squares >> 24 + 53 - 7) + (count << 1074 - 150 - 53 + 7) + 1


class SinglesRows(RowLoops):
    """Emits a kernel of sums of float32 one after the other."""

    def begin(self) -> None:
        super().begin()
        t = self.text
        self.single, self.int = t.vector("float"), t.vector("i32")
        self.top = t.variable("i64", "0", "top")  # E, biased
        self.tile: Tile | None = None  # the one that is taken by its own sums
        self.later = t.variable("i64", "0", "later")  # tiles until that is tried again

    def add(self, tile: Tile, start: str) -> None:
        """A tile by its own sums, but for some that follow one that did not pass."""
        if not self.again:
            super().add(tile, start)
            return
        t = self.text
        later = t.load("i64", self.later)
        passes = t.variable("i1", "false", "passes")
        with t.when(t.op(f"icmp eq i64 {later}, 0")):
            self.begin_with(tile)
            self.elements.element_loop(tile, self.taker())
            t.store("i1", self.passes(), passes)
            with t.when(t.load("i1", passes)):
                self.add_tile()
        passed = t.load("i1", passes)
        with t.when(t.op(f"xor i1 {passed}, true"), rarely=True):
            self.elements.element_loop(tile, super().taker())
        left = t.i64("and", t.i64("sub", later, 1), SLOWLY - 1)
        t.store("i64", t.op(f"select i1 {passed}, i64 0, i64 {left}"), self.later)
        super().settle()

    def begin_sums(self, largest: str) -> None:
        t = self.text
        super().begin_sums(largest)
        most = self.lanes("i64", "smax", t.load(self.d.word, largest))
        top = t.i64("add", t.i64("lshr", most, 52), LATER - _OFFSET)
        known = t.op(f"icmp ule i64 {top}, {_MOST + LATER}")
        t.store("i64", t.op(f"select i1 {known}, i64 {top}, i64 0"), self.top)

    def begin_with(self, tile: Tile) -> None:
        super().begin_with(tile)
        t, d, self.tile = self.text, self.d, tile
        zero = "zeroinitializer"
        self.total = t.variable(d.double, zero, "total")
        self.rest = t.variable(d.double, zero, "rest")
        self.least = t.variable(self.int, t.constant(-1, "int32"), "least")
        self.most = t.variable(self.int, zero, "most")
        self.squares = t.variable(d.double, self.unit(), "squares")
        self.rounded = t.variable(d.double, zero, "rounded")

    def unit(self) -> str:
        """Where a tile's total of squares begins."""
        t = self.text
        steps = (TILE // t.lanes - 1).bit_length()
        power = t.i64("add", t.i64("shl", t.load("i64", self.top), 1), 3 + steps - 2 * _BIAS + 1023)
        word = t.i64("or", t.i64("shl", power, 52), 1 << 51)
        return self.d.of_bits(t.splat("i64", word))

    def taker(self) -> Consume:
        t, d, v = self.text, self.d, self.int

        def consume(outputs: dict[str, str], j: str, mask: str | None) -> None:
            single = masked(t, "float", mask, outputs["x"], "zeroinitializer")
            bits = t.op(f"bitcast {self.single} {single} to {v}")
            size = t.op(f"add {v} {bits}, {bits}")
            below = t.op(f"add {v} {size}, {t.constant(-1, 'int32')}")
            for name, place, one in (("umax", self.most, size), ("umin", self.least, below)):
                held = t.load(v, place)
                t.store(v, t.call(v, f"llvm.{name}.v{t.lanes}i32", v, held, one), place)
            x = t.op(f"fpext {self.single} {single} to {d.double}")
            t.store(d.double, d.add(t.load(d.double, self.total), x), self.total)
            if self.many.sums > 1:
                self.add_square(d.mul(x, x), single)

        return consume

    def add_square(self, square: str, single: str) -> None:
        """Add squares, of ``single``, to their total, and what is rounded away to the rest."""
        t, d = self.text, self.d
        before = t.load(d.double, self.squares)
        after = d.add(before, square)
        lost = d.sub(square, d.sub(after, before))
        t.store(d.double, after, self.squares)
        t.store(d.double, d.add(t.load(d.double, self.rest), lost), self.rest)
        if self.many.apart:
            more = self.sums.added_by_rounding(single, square)
            t.store(d.double, d.add(t.load(d.double, self.rounded), more), self.rounded)

    def settle(self) -> None:
        tile, self.tile = self.tile, None
        if tile is not None:
            t, looks = self.text, self.elements.looks
            passes = self.passes()
            with t.when(passes):
                self.add_tile()
            with t.when(t.op(f"xor i1 {passes}, true"), rarely=True):
                self.elements.looks = False
                self.elements.element_loop(tile, super().taker())
                self.elements.looks = looks
        super().settle()

    def passes(self) -> str:
        """Whether the tile's sums are exact."""
        t, top = self.text, self.text.load("i64", self.top)
        steps = (TILE // t.lanes - 1).bit_length()
        width = min(29 - steps, (57 - 2 * steps) // 2)
        most, least = self.exponent("umax", self.most), self.exponent("umin", self.least)
        small = t.op(f"icmp ule i64 {most}, {top}")
        fine = t.op(f"icmp sle i64 {t.i64('sub', top, least)}, {width}")
        return t.op(f"and i1 {small}, {fine}")

    def exponent(self, name: str, place: str) -> str:
        """The greatest or the least exponent of the lanes' magnitudes, biased."""
        t = self.text
        function = f"llvm.vector.reduce.{name}.v{t.lanes}i32"
        found = t.call("i32", function, self.int, t.load(self.int, place))
        return t.op(f"zext i32 {t.op(f'lshr i32 {found}, {_FRACTION}')} to i64")

    def add_tile(self) -> None:
        """Add the tile's sums to those of the row."""
        t, d, held = self.text, self.d, self.held()
        self.sums.add_to(held[0], t.load(d.double, self.total))
        if self.many.sums > 1:
            squares = d.sub(t.load(d.double, self.squares), self.unit())
            self.sums.add_to(held[1], squares, t.load(d.double, self.rest))
        if self.many.apart:
            self.sums.add_to(held[2], t.load(d.double, self.rounded))
