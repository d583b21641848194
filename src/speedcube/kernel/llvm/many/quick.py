"""A quick way to results of float32 side by side: sums in doubles, certain but for a few.

A sum in doubles is wrong by a few parts of 2**53 of the magnitudes, whatever cancels, and not at
all where their least and greatest say that no addition rounds. Nearly always all numbers that near
to it round to one float32, which then is the exact sum rounded once. Where the numbers at both ends
do not (ties, sums that cancel), a tile is made the other way.
"""

from __future__ import annotations

from functools import reduce

from ..text import Text
from .doubles import Doubles
from .sums import Sums

# More than all roundings of a sum, in units of the magnitudes: three of a tree of eight, those of
# what is added up beside it, that of both together.
_SUM = 2.0**-49
_SPREAD = 2.0**-46  # the same of a spread, in units of `count * squares`
_ROUNDED = 2.0**-50  # more than what a few operations on one number round
_LEAST = 2.0**-120  # below, a float32 could be zero, with a sign
_SIZE = 2**31 - 1  # of a float32's bits: all but the sign
_FRACTION = 23
_INFINITY = 0x7F800000


class Quick:
    """The sums of columns while they are taken, and their results."""

    def __init__(self, sums: Sums) -> None:
        self.sums = sums
        self.t: Text = sums.text
        self.d: Doubles = sums.d
        self.squared = sums.many.sums == 2
        self.sized = any(op in ("sum", "mean") for op in sums.many.ops)
        self.single, self.int = (self.t.vector(s) for s in ("float", "i32"))

    def start(self, j: str) -> None:
        """Sums of nothing; of magnitudes (`left`: the least, less one; `out`: the greatest)."""
        for k in range(self.sums.many.sums):
            self.sums.store(k, "total", j, "zeroinitializer")
            self.sums.store(k, "rest", j, "zeroinitializer")
        if self.sized:
            self._store("left", j, self.t.constant(-1, "int32"))
            self._store("out", j, "zeroinitializer")

    def add(self, xs: list[str], j: str) -> None:
        """Add elements of several rows to the sums of the results j, j + 1, ..."""
        self._add(0, xs, j)
        if self.squared:
            self._add(1, [self.d.mul(x, x) for x in xs], j)
        if self.sized:
            self._sizes(xs, j)

    def _add(self, sum_: int, xs: list[str], j: str) -> None:
        d, sums = self.d, self.sums
        total, lost = d.two_sum(sums.load(sum_, "total", j), self._tree(xs))
        sums.store(sum_, "total", j, total)
        sums.store(sum_, "rest", j, d.add(sums.load(sum_, "rest", j), lost))

    def _tree(self, xs: list[str]) -> str:
        """The sum of ``xs``, of which each is rounded as few times as can be."""
        while len(xs) > 1:
            pairs = [xs[k : k + 2] for k in range(0, len(xs), 2)]
            xs = [reduce(self.d.add, pair) for pair in pairs]
        return xs[0]

    def _sizes(self, xs: list[str], j: str) -> None:
        """The least and the greatest magnitude, zero being no least, by the bits of float32."""
        t, v = self.t, self.int
        least, most = self._load("left", j), self._load("out", j)
        for x in xs:
            single = t.op(f"fptrunc {self.d.double} {x} to {self.single}")  # as it was
            bits = t.op(f"bitcast {self.single} {single} to {v}")
            size = t.op(f"and {v} {bits}, {t.constant(_SIZE, 'int32')}")
            below = t.op(f"add {v} {size}, {t.constant(-1, 'int32')}")
            least = t.call(v, f"llvm.umin.v{t.lanes}i32", v, least, below)
            most = t.call(v, f"llvm.umax.v{t.lanes}i32", v, most, size)
        self._store("left", j, least)
        self._store("out", j, most)

    def _load(self, name: str, j: str) -> str:
        return self.t.load(self.int, self.sums.slot(0, name, j), 4)

    def _store(self, name: str, j: str, value: str) -> None:
        self.t.store(self.int, value, self.sums.slot(0, name, j), 4)

    # Results -------------------------------------------------------------------------------

    def result(self, op: str, spread: int, j: str) -> tuple[str, str]:
        """Doubles that round to the results j, j + 1, ... of ``op``, and where that is certain.

        Parameter ``spread`` is what a spread is divided by.
        """
        if op in ("var", "std"):
            low, high, nothing, nan = self._spread(op, spread, j)
        else:
            low, high, nothing, nan = self._sum(op, j)
        d, t, v = self.d, self.t, self.single
        x, y = (t.op(f"fptrunc {d.double} {end} to {v}") for end in (low, high))
        same = t.op(f"fcmp oeq {v} {x}, {y}")
        same = d.both(same, d.is_("ge", d.size(high), d.constant(_LEAST)))
        value = d.choose(nothing, d.constant(0.0), high)
        value = d.choose(nan, d.of_bits(d.splat_bits(0x7FF8 << 48)), value)
        return value, d.either(same, nothing, nan)

    def _sum(self, op: str, j: str) -> tuple[str, str, str, str]:
        """Both ends of what a sum or mean may be; where all is zero, and where there is a NaN."""
        d, t, sums, v = self.d, self.t, self.sums, self.int
        value = d.add(sums.load(0, "total", j), sums.load(0, "rest", j))
        least, most = self._load("left", j), self._load("out", j)
        exact = self._exact(least, most)
        most_ = t.op(f"bitcast {v} {most} to {self.single}")
        room = t.op(f"fpext {self.single} {most_} to {d.double}")
        if op == "mean":
            value, whole = self._quotient(value)
            exact = d.both(exact, whole)
        else:
            room = d.mul(room, d.parameter(sums.many.parameter))
        room = d.mul(room, d.constant(_SUM))
        room = d.add(room, d.mul(d.size(value), d.constant(_ROUNDED)))
        room = d.choose(exact, d.constant(0.0), room)
        nothing = t.op(f"icmp eq {v} {most}, zeroinitializer")
        nan = t.op(f"icmp ugt {v} {most}, {t.constant(_INFINITY, 'int32')}")
        finite = t.op(f"icmp ult {v} {most}, {t.constant(_INFINITY, 'int32')}")
        low = d.choose(finite, d.sub(value, room), d.constant(0.0))
        return low, d.add(value, room), nothing, nan

    def _exact(self, least: str, most: str) -> str:
        """Where no addition rounds: all are multiples of the least's last place, and not too many.

        Sums are below `count * 2**(greatest exponent + 1)`, that is 2**53 such places at most.
        """
        t, v = self.t, self.int
        steps = t.i64("lshr", t.load("i64", t.at("%params", self.sums.many.parameter + 3)), 52)
        # A unit's room is four bits more than those of the count.
        limit = t.op(f"trunc i64 {t.i64('sub', 52 - _FRACTION + 4, steps)} to i32")
        places = t.constant(_FRACTION, "int32")
        ends = [t.op(f"lshr {v} {x}, {places}") for x in (most, least)]
        width = t.op(f"sub {v} {ends[0]}, {ends[1]}")
        return t.op(f"icmp sle {v} {width}, {t.splat('i32', limit)}")

    def _quotient(self, value: str) -> tuple[str, str]:
        """``value`` divided by the count, and where that is exact."""
        d, count = self.d, self.d.parameter(self.sums.many.parameter)
        part, minus = d.div(d.constant(1.0), count), d.neg(count)
        near = d.mul(value, part)
        near = d.fma(d.fma(minus, near, value), part, near)
        return near, d.is_("eq", d.fma(minus, near, value), d.constant(0.0))

    def _spread(self, op: str, spread: int, j: str) -> tuple[str, str, str, str]:
        """Both ends of what a variance, or its root, may be, and the same."""
        d, sums, first = self.d, self.sums, self.sums.many.parameter
        total, squares = (
            d.add(sums.load(k, "total", j), sums.load(k, "rest", j)) for k in range(2)
        )
        scaled = d.mul(squares, d.parameter(first))
        part = d.div(d.constant(1.0), d.parameter(spread))
        value = d.mul(d.sub(scaled, d.mul(total, total)), part)
        room = d.mul(d.mul(scaled, part), d.constant(_SPREAD))
        low, high = d.sub(value, room), d.add(value, room)
        if op == "std":  # (of what is below zero a NaN, which is not certain)
            low, high = d.root(low), d.root(high)
        low = d.mul(low, d.constant(1.0 - _ROUNDED))
        high = d.mul(high, d.constant(1.0 + _ROUNDED))
        sizes = sums.load(1, "total", j)
        nan = self.t.op(f"fcmp uno {d.double} {sizes}, {sizes}")
        return low, high, d.is_("eq", sizes, d.constant(0.0)), nan
