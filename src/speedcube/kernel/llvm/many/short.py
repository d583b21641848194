"""Short results side by side: all their elements are summed in registers, one vector after another.

Two doubles hold the sum of a few elements, nearly always exactly; what is lost even so is a bound,
made larger than the roundings to come: half a unit that was lost may be a tie that others break.
No unit is looked for. The spread of two elements comes from their difference, for it often ends in
a tie of the last place, where sums of squares say nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from .doubles import SLACK
from .finish import Finish, Near
from .sums import Sums

_LEAST, _MOST = 2.0**-400, 2.0**500  # differences whose squares are in range, with room

_TINY = 2.0**-900  # products below which what they round away may be no double
# The elements of row r, and of products what was rounded away from each, by their names.
Row: TypeAlias = Callable[[str], dict[str, str]]


class Short:
    """Sums and differences of a vector of results."""

    def __init__(self, sums: Sums, rows: str) -> None:
        self.sums, self.rows = sums, rows
        self.t, self.d = sums.text, sums.d

    def result(self, number: int, row: Row) -> tuple[str, str]:
        """Doubles, and where they are certain to be the results of operation ``number``."""
        finish = Finish(self.sums, number)
        if finish.op in ("var", "std"):
            value, certain = finish.given(self._spread(finish, row("0")["x"], row("1")["x"]))
        elif finish.op == "dot":
            value, certain = finish.given(self._dot(row))
        else:
            value, certain = finish.given(self._sum(finish, row))
        return self._with_nan(row, value, certain)

    def _sum(self, finish: Finish, row: Row) -> Near:
        d, t, v = self.d, self.t, self.d.double
        total = t.variable(v, row("0")["x"], "total")
        rest = t.variable(v, "zeroinitializer", "rest")
        lost = t.variable(v, "zeroinitializer", "lost")
        with t.loop(1, self.rows) as r:
            sum_, tail = d.two_sum(t.load(v, total), row(r)["x"])
            more, left = d.two_sum(t.load(v, rest), tail)
            t.store(v, sum_, total)
            t.store(v, more, rest)
            t.store(v, d.add(t.load(v, lost), d.size(left)), lost)
        value, tail = d.two_sum(t.load(v, total), t.load(v, rest))
        near = Near(value, tail, d.mul(t.load(v, lost), d.constant(SLACK)))
        return near if finish.op == "sum" else finish.mean(near)

    def _dot(self, row: Row) -> Near:
        """The sum of products, each with what was rounded away from it: so few often end in ties.

        Of products near zero that may be no double, and then nothing is certain.
        """
        d, t, v, zero = self.d, self.t, self.d.double, self.d.constant(0.0)
        total, rest, lost = (t.variable(v, "zeroinitializer", "sum") for _ in range(3))
        with t.loop(0, self.rows) as r:
            one = row(r)
            product, error = one["x"], one.get("error", zero)
            sum_, tail = d.two_sum(t.load(v, total), product)
            more, left = d.two_sum(t.load(v, rest), tail)
            more, other = d.two_sum(more, error)
            t.store(v, sum_, total)
            t.store(v, more, rest)
            nothing = d.both(d.is_("eq", product, zero), d.is_("eq", error, zero))
            known = d.either(nothing, d.is_("ge", d.size(product), d.constant(_TINY)))
            unknown = d.choose(known, zero, d.constant(math.inf))
            t.store(v, d.total(t.load(v, lost), d.size(left), d.size(other), unknown), lost)
        value, tail = d.two_sum(t.load(v, total), t.load(v, rest))
        return Near(value, tail, d.mul(t.load(v, lost), d.constant(SLACK)))

    def _spread(self, finish: Finish, x: str, y: str) -> Near:
        """Of two elements: a quarter or half of their difference's square, or its root."""
        d, half = self.d, self.d.constant(0.5)
        value, tail = d.two_sum(x, d.neg(y))
        square, rest = d.two_product(value, value)
        cross = d.mul(d.add(value, value), tail)
        rest, lost = d.two_sum(rest, cross)
        bound = d.total(d.mul(d.size(cross), d.constant(2.0**-52)), d.mul(tail, tail), d.size(lost))
        bound = d.add(bound, self._unknown(value, tail, square))
        near = finish.spread_over(Near(square, rest, bound))
        if finish.op == "var":
            return near
        root = finish.root(near)
        # Half of the difference, if it is divided by four.
        minus = d.is_("lt", value, d.constant(0.0))
        size, tail = d.size(value), d.choose(minus, d.neg(tail), tail)
        four = d.is_("eq", finish.spread, d.constant(4.0))
        return Near(
            d.choose(four, d.mul(size, half), root.value),
            d.choose(four, d.mul(tail, half), root.tail),
            d.choose(four, d.constant(0.0), root.bound),
        )

    def _unknown(self, value: str, tail: str, square: str) -> str:
        """More than what a square lost that underflows: all of it, or what its tail gives."""
        d, zero = self.d, self.d.constant(0.0)
        size = d.size(value)
        usual = d.both(d.is_("ge", size, d.constant(_LEAST)), d.is_("le", size, d.constant(_MOST)))
        known = d.either(usual, d.is_("eq", value, zero))
        unknown = d.choose(known, zero, d.constant(math.inf))
        of_tail = d.mul(square, d.constant(2.0**-140))
        return d.add(unknown, d.choose(d.is_("eq", tail, zero), zero, of_tail))

    def _with_nan(self, row: Row, value: str, certain: str) -> tuple[str, str]:
        """NaN where an element is, which is looked for only where results are not certain."""
        d, t = self.d, self.t
        value_, certain_ = t.variable(d.double, value), t.variable(d.one, certain)
        name = f"llvm.vector.reduce.and.v{t.lanes}i1"
        with t.when(t.op(f"xor i1 {t.call('i1', name, d.one, certain)}, true"), rarely=True):
            found = t.variable(d.one, "zeroinitializer", "nan")
            with t.loop(0, self.rows) as r:
                x = row(r)["x"]
                nan = t.op(f"fcmp uno {d.double} {x}, {x}")
                t.store(d.one, d.either(t.load(d.one, found), nan), found)
            nan = t.load(d.one, found)
            t.store(d.double, d.choose(nan, d.of_bits(d.splat_bits(0x7FF8 << 48)), value), value_)
            t.store(d.one, d.either(certain, nan), certain_)
        return t.load(d.double, value_), t.load(d.one, certain_)
