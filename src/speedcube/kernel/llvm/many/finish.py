"""From sums to results: a result is given where it is certain to be the exact one rounded once.

Everything is a double z with a double tail that has been rounded away from it and a bound: the
exact value is ``z + tail``, at most the bound away. Where z is what both ``z + (tail + bound)`` and
``z + (tail - bound)`` round to, it is the exact value rounded once, whatever the error was (Ziv
1991). Where the bound is zero, as where nothing was rounded away, ties come out right, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ....dataclass import dataclass
from ....expr.space import TILE
from ...many import NEAR
from ..nests.columns import SETTLED
from .doubles import SLACK
from .sums import OUTSIDE, Sums

# Results outside of these are left to the general path, zero excepted: products and remainders
# below could be inexact.
_LEAST, _MOST = 2.0**-700, 2.0**900
_SOME = 2.0**-1000  # far below what results outside of these are rounded by


@dataclass(frozen=True)
class Near:
    """The exact value is ``value + tail``, at most ``bound`` away; ``tail`` is small.

    ``normal``: so small that ``value`` is their sum rounded.
    """

    value: str
    tail: str
    bound: str
    normal: bool = False


class Finish:
    """The results of vectors of sums, and where they are certain: those of one operation."""

    def __init__(self, sums: Sums, number: int = 0) -> None:
        self.sums, self.d, self.many = sums, sums.d, sums.many
        d, first = self.d, sums.many.parameter
        self.op, which = self.many.ops[number], number // len(NEAR)
        several = range(2 if self.op in ("var", "std") else 1)
        self.of = [which] if self.many.near else several  # the sums that it takes
        places = first, self.many.spread(0 if self.many.near else number), first + 2
        self.count, self.spread, self.error = map(d.parameter, places)

    def result(self, j: str) -> tuple[str, str]:
        """Of the results j, j + 1, ...: doubles, and where they are certain.

        For a result that is rounded once more, the doubles are rounded to odd.
        """
        d, t = self.d, self.sums.text
        exact = self._exact(j)
        sums = [self._sum(k, j, exact) for k in self.of]
        of: dict[str, Callable[..., Near]] = {
            "sum": self._same,
            "dot": self._same,
            "mean": self.mean,
            "var": self._variance,
            "std": self._deviation,
        }
        if self.many.near:
            value, certain = (
                getattr(sums[0], self.op),
                self.d.both(
                    *(
                        d.is_("eq", d.sub(x, x), d.constant(0.0))
                        for x in (sums[0].value, sums[0].bound)
                    )
                ),
            )
        else:
            value, certain = self.given(of[self.op](*sums))
        for k in self.of:
            out = d.words("and", self.sums.load(k, "out", j), d.splat_bits(OUTSIDE))
            inside = t.op(f"icmp eq {d.word} {out}, zeroinitializer")
            certain = d.both(certain, inside)
        unit = self.sums.load(self.of[0], "unit", j)
        certain = d.both(certain, d.is_("lt", unit, d.constant(math.inf)))
        nan = t.op(f"fcmp uno {d.double} {unit}, {unit}")  # an element is NaN
        value = d.choose(nan, d.of_bits(d.splat_bits(0x7FF8 << 48)), value)
        return value, d.either(certain, nan)

    def _exact(self, j: str) -> str:
        """Where nothing was rounded away."""
        return self.d.both(*(self.sums.exactly(k, j) for k in self.of))

    def _sum(self, k: int, j: str, exact: str) -> Near:
        """Sum ``k``: what its total and rest say."""
        d, zero = self.d, self.d.constant(0.0)
        unit, total, rest = (self.sums.load(k, name, j) for name in ("unit", "total", "rest"))
        bound, lost = d.mul(unit, self.error), zero
        settles, aside = self.many.settles(k), zero
        if settles:  # a rest's error grows no longer
            most = 4.0 * TILE / self.sums.text.lanes if self.many.rows else 2.0 * SETTLED
            bound = d.mul(bound, d.div(d.constant(most), self.count))
        elif self.many.line:  # each lane's error is the square's of its share, or half as much
            bound = d.mul(bound, d.constant(2.0 / self.sums.text.lanes))
        fine = self.sums.is_fine(k)
        if fine and not self.many.rows:
            rest = d.sub(rest, self.sums.rest_of_nothing(unit))
        if self.many.rows:
            high, low = d.two_sum(total, self.sums.load(k, "low", j))
            rest, lost = d.two_sum(low, rest)
        else:
            high = d.sub(total, unit)
        if settles:
            if not self.many.rows:
                rest, lost = d.two_sum(self.sums.load(k, "low", j), rest)
            aside = d.add(self.sums.load(k, "deep", j), lost)
        value, tail = d.two_sum(high, rest)
        if settles:
            tail, lost = d.two_sum(tail, aside)
        if fine and self.many.deep:
            bound = d.mul(bound, d.parameter(self.many.parameter + 5))
            tail, more = d.two_sum(tail, self.sums.load(k, "deep", j))
            lost = d.add(d.size(lost), d.size(more))
        bound = d.choose(exact, zero, bound)
        normal = not settles and not (fine and self.many.deep)
        return Near(value, tail, d.mul(d.add(bound, d.size(lost)), d.constant(SLACK)), normal)

    # Operations ----------------------------------------------------------------------------

    def _same(self, total: Near) -> Near:
        return total

    def mean(self, total: Near) -> Near:
        return self._quotient(total, self.count)

    def _quotient(self, a: Near, divisor: str) -> Near:
        """``a`` divided by a positive whole number."""
        d = self.d
        value = d.div(a.value, divisor)
        remainder = d.fma(d.neg(value), divisor, a.value)  # exact
        rest, lost = d.two_sum(remainder, a.tail)
        tail = d.div(rest, divisor)
        left = d.size(d.fma(d.neg(tail), divisor, rest))
        whole = d.total(a.bound, d.size(lost), left)
        return Near(value, tail, self._some(d.mul(d.div(whole, divisor), d.constant(SLACK)), whole))

    def _some(self, bound: str, of: str) -> str:
        """``bound``, which may underflow, and not zero unless that is which it is made ``of``.

        Whatever is lost breaks ties: a mean of four numbers may be one but for 2**-1074.
        """
        d = self.d
        some = d.add(bound, d.constant(_SOME))
        return d.choose(d.is_("eq", of, d.constant(0.0)), bound, some)

    def _variance(self, total: Near, squares: Near) -> Near:
        """`(count * squares - total * total) / spread`: of each product two doubles and a rest."""
        d = self.d
        a, a_left = d.two_product(self.count, squares.value)
        a_rest = d.mul(self.count, squares.tail)
        b, b_left = d.two_product(total.value, total.value)
        b_rest = d.mul(d.add(total.value, total.value), total.tail)
        high, low = d.two_sum(a, d.neg(b))
        middle = d.sub(a_left, b_left)
        rest = d.total(low, middle, d.sub(a_rest, b_rest))
        value, tail = d.two_sum(high, rest)
        # What these four rounded, the square of the tail, and the errors of the sums.
        sizes = d.total(*(d.size(x) for x in (low, middle, a_rest, b_rest)))
        own = d.add(d.mul(sizes, d.constant(2.0**-49)), d.mul(total.tail, total.tail))
        twice = d.mul(d.add(d.size(total.value), d.size(total.tail)), d.constant(2.0))
        of_total = self._some(d.mul(d.add(twice, total.bound), total.bound), total.bound)
        bound = d.total(own, of_total, d.mul(self.count, squares.bound))
        return self.spread_over(Near(value, tail, d.mul(bound, d.constant(SLACK))))

    def spread_over(self, squares: Near) -> Near:
        """`squares / spread`."""
        return self._quotient(squares, self.spread)

    def _deviation(self, total: Near, squares: Near) -> Near:
        return self.root(self._variance(total, squares))

    def root(self, a: Near) -> Near:
        """The square root, by one step of Newton's."""
        d, zero = self.d, self.d.constant(0.0)
        value = d.root(a.value)
        rest = d.add(d.fma(d.neg(value), value, a.value), a.tail)
        tail = d.div(rest, d.add(value, value))
        bound = d.add(a.bound, d.mul(d.size(rest), d.constant(2.0**-51)))
        bound = d.add(d.div(bound, value), d.div(d.mul(tail, tail), value))
        none = d.both(*(d.is_("eq", x, zero) for x in (a.value, a.tail, a.bound)))
        bound = self._some(d.mul(bound, d.constant(SLACK)), a.bound)
        value, tail, bound = (d.choose(none, zero, x) for x in (value, tail, bound))
        return Near(value, tail, bound)

    # Certificates --------------------------------------------------------------------------

    def given(self, a: Near) -> tuple[str, str]:
        """The double that is certain to be ``a`` rounded to nearest (or to odd), and where."""
        d, zero = self.d, self.d.constant(0.0)
        value, tail = (a.value, a.tail) if a.normal else d.two_sum(a.value, a.tail)
        exact = d.is_("eq", a.bound, zero)
        # Sums with the bound round, too, by less than this; where it is zero they do not.
        more = d.add(a.bound, d.mul(d.size(tail), d.constant(2.0**-51)))
        more = d.choose(exact, zero, more)
        ends = d.add(tail, more), d.sub(tail, more)
        certain = d.both(*(d.is_("eq", d.add(value, end), value) for end in ends))
        size = d.size(value)
        usual = d.both(d.is_("ge", size, d.constant(_LEAST)), d.is_("le", size, d.constant(_MOST)))
        zero_itself = d.both(exact, d.is_("eq", value, zero))
        certain = d.both(certain, d.either(usual, zero_itself))
        if self.op in ("var", "std"):
            certain = d.both(certain, d.is_("ge", value, zero))
        if not self.many.odd:
            return value, certain
        odd, certain = self._odd(value, tail, ends, certain)
        if self.sums.elements.program.sink.dtype == "float64":  # float16 is rounded later
            return odd, certain
        same = d.both(usual, self._same_single(*(d.add(value, end) for end in ends)))
        return d.choose(certain, odd, value), d.either(certain, same)

    def _same_single(self, a: str, b: str) -> str:
        """Where all between ``a`` and ``b`` is the same as float32: neither is a tie there."""
        d, t = self.d, self.sums.text
        v = t.vector("float")
        x, y = (t.op(f"fptrunc {d.double} {end} to {v}") for end in (a, b))
        same = t.op(f"fcmp oeq {v} {x}, {y}")
        return d.both(same, *(self._untied(d.bits(end)) for end in (a, b)))

    def _untied(self, bits: str) -> str:
        """Where a double is no tie of float32's or float16's."""
        d = self.d
        low = d.words("and", bits, d.splat_bits((1 << 28) - 1))
        return self.sums.text.op(f"icmp ne {d.word} {low}, zeroinitializer")

    def _odd(self, value: str, tail: str, ends: tuple[str, str], certain: str) -> tuple[str, str]:
        """Rounded to odd: an even value gives way to its neighbour on the side of the tail.

        A value that is no tie of shorter numbers rounds on as it is; of one that is, the tail's
        sign must be certain.
        """
        d, t, zero = self.d, self.sums.text, self.d.constant(0.0)
        bits = d.bits(value)
        above, below = d.is_("gt", ends[1], zero), d.is_("lt", ends[0], zero)
        known = d.either(above, below, d.is_("eq", tail, ends[0]))
        upwards = d.words("or", d.words("ashr", bits, d.splat_bits(63)), d.splat_bits(1))
        turn = t.op(f"sext {d.one} {below} to {d.word}")
        step = d.words("sub", d.words("xor", upwards, turn), turn)
        even = d.words("sub", d.words("and", bits, d.splat_bits(1)), d.splat_bits(1))
        moved = d.of_bits(d.words("add", bits, d.words("and", step, even)))
        odd = d.choose(d.either(above, below), moved, value)
        return odd, d.both(certain, d.either(known, self._untied(bits)))
