"""Sums of results side by side, added in registers onto what lies in memory: two doubles, a bound.

Several rows at once are summed by themselves: a total begins at a unit in whose binade it stays, so
that what an addition rounds away is known by two more (Rump, Ogita and Oishi 2008). The sum of what
was rounded away is exact where no magnitude is far below the largest. Both are then added to what
there is, with what that loses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Final

from ...many import AT_ONCE
from ..memory import masked_load, masked_store
from .doubles import SLACK, Doubles

# How many exponents the unit of `AT_ONCE` rows, 1.5 times a power of two, is above the largest of
# them: together they are a third of it at most.
# Sums of some of the rows each, which do not wait for one another; in steps of one unit they, and
# what there is of all of them, are exact.
_CHAINS: Final = 4
_ROOM: Final = 6
_INFINITY: Final = 0x7FF << 52
_HALF: Final = 1 << 51
# Exponents that the least magnitude may be below the largest: what is rounded away is below
# AT_ONCE / 2 steps of the unit together, and a multiple of the least's last place.
_FAR: Final = 53 - _ROOM - 4
_LOST: Final = 96  # bits: a unit so far down is more than what is rounded away of what was
assert AT_ONCE <= 1 << (_ROOM - 2)
# The same of float32, of which `AT_ONCE` have 4 bits more than one, where their sum is a double.
_FAR_SINGLES: Final = 53 - 24 - 4


class Onto:
    """A vector of sums at ``places``: of their values, of what those lack, and of the bounds.

    ``plain``: where a double is the sum of `AT_ONCE` elements (`kernel.many.Many`).
    """

    def __init__(self, d: Doubles, places: Sequence[str], plain: str = "") -> None:
        self.d, self.t, self.places, self.plain = d, d.text, places, plain
        self.held: list[str] = []
        self.known = ""

    def load(self, mask: str | None) -> None:
        """Take what lies there."""
        t, v = self.t, self.d.double
        for place in self.places:
            found = t.load(v, place, 8) if mask is None else masked_load(t, "double", place, mask)
            self.held.append(t.variable(v, found))
        before = t.load(v, self.held[0])
        self.known = self.d.is_("eq", before, before)

    def add(self, x: str) -> None:
        """Add a vector of elements."""
        t, d, v = self.t, self.d, self.d.double
        high, low, bound = self.held
        sum_, tail = d.two_sum(t.load(v, high), x)
        more, lost = d.two_sum(t.load(v, low), tail)
        t.store(v, sum_, high)
        t.store(v, more, low)
        t.store(v, d.add(t.load(v, bound), d.size(lost)), bound)

    def add_all(self, xs: Sequence[str]) -> None:
        """Add vectors of elements, `AT_ONCE` at most."""
        t, d = self.t, self.d
        if not self.plain:
            self._add_sum(*self._split(xs, *self._ends(xs)))
            return
        total, zero = self._plainly(xs), d.constant(0.0)
        if self.plain == "always":
            self._add_sum(total)
            return
        largest, least = self._ends(xs)
        held = [t.variable(d.double, x) for x in (total, zero, zero)]
        far = d.words("sub", largest, d.splat_bits(_FAR_SINGLES))
        far = t.op(f"icmp slt {d.word} {least}, {far}")
        name = f"llvm.vector.reduce.or.v{t.lanes}i1"
        with t.when(t.call("i1", name, d.one, far), rarely=True):
            for x, place in zip(self._split(xs, largest, least), held, strict=True):
                t.store(d.double, x, place)
        self._add_sum(*(t.load(d.double, place) for place in held))

    def _add_sum(self, total: str, rest: str = "", own: str = "") -> None:
        """Add ``total`` and ``rest``, which lack ``own`` at most."""
        t, d, v = self.t, self.d, self.d.double
        high, low, bound = self.held
        sum_, tail = d.two_sum(t.load(v, high), total)
        more, lost = t.load(v, low), []
        for x in (rest, tail) if rest else (tail,):
            more, left = d.two_sum(more, x)
            lost.append(d.size(left))
        t.store(v, sum_, high)
        t.store(v, more, low)
        t.store(v, d.total(t.load(v, bound), *lost, *([own] if own else [])), bound)

    def _plainly(self, xs: Sequence[str]) -> str:
        """The sum of ``xs``, which is a double."""
        chains = min(_CHAINS, len(xs))
        return self.d.total(*(self.d.total(*xs[k::chains]) for k in range(chains)))

    def _split(self, xs: Sequence[str], largest: str, least: str) -> tuple[str, str, str]:
        """The sum of ``xs``, what it rounds away, and what both lack at most."""
        d = self.d
        unit, exact = self._unit(largest, least)
        each = [self._from(unit, xs[k::_CHAINS]) for k in range(min(_CHAINS, len(xs)))]
        total, rest = (d.total(*some) for some in zip(*each, strict=True))
        # By integers: the unit of zeros is so small that CPUs would take a detour.
        own = self._end("umax", d.bits(unit), d.splat_bits((_LOST + 1) << 52))
        own = d.of_bits(d.words("sub", own, d.splat_bits(_LOST << 52)))
        return total, rest, d.choose(exact, d.constant(0.0), own)

    def _from(self, unit: str, xs: Sequence[str]) -> tuple[str, str]:
        """The sum of ``xs`` in steps of the ``unit``, and of what that rounds away."""
        d, total, rest = self.d, unit, ""
        for x in xs:
            after = d.add(total, x)
            lost = d.sub_beside(x, d.sub(after, total))
            total, rest = after, d.add(rest, lost) if rest else lost
        return d.sub(total, unit), rest

    def _ends(self, xs: Sequence[str]) -> tuple[str, str]:
        """The exponents of the largest and of the least magnitude but zero."""
        d = self.d
        ends: list[tuple[str, str]] = []
        for k, x in enumerate(xs):  # one after the other: what is known of each is soon forgotten
            twice = d.words("add", d.bits(x), d.bits(x))  # without the sign
            below = d.words("add", twice, d.splat_bits(-1))  # zero is the largest
            if k < _CHAINS:
                ends.append((twice, below))
                continue
            largest, least = ends[k % _CHAINS]
            ends[k % _CHAINS] = self._end("umax", largest, twice), self._end("umin", least, below)
        largest = reduce(partial(self._end, "umax"), (one for one, _ in ends))
        least = reduce(partial(self._end, "umin"), (one for _, one in ends))
        return d.words("lshr", largest, d.splat_bits(53)), d.words("lshr", least, d.splat_bits(53))

    def _unit(self, largest: str, least: str) -> tuple[str, str]:
        """A unit for those, NaN where there is none, and where what it rounds away has a sum."""
        d = self.d
        exponent = d.words("shl", d.words("add", largest, d.splat_bits(_ROOM)), d.splat_bits(52))
        exponent = self._end("umin", exponent, d.splat_bits(_INFINITY))
        unit = d.of_bits(d.words("or", exponent, d.splat_bits(_HALF)))
        far = d.words("sub", largest, d.splat_bits(_FAR))
        return unit, self.t.op(f"icmp sge {d.word} {least}, {far}")

    def _end(self, name: str, a: str, b: str) -> str:
        return self.t.call(self.d.word, f"llvm.{name}.v{self.t.lanes}i64", self.d.word, a, b)

    def store(self, rows: str, row: Callable[[str], str], mask: str | None) -> None:
        """Put the sums of all ``rows`` back."""
        t, d, v = self.t, self.d, self.d.double
        high, low = d.two_sum(*(t.load(v, place) for place in self.held[:2]))
        bound = d.mul(t.load(v, self.held[2]), d.constant(SLACK))
        for x, place in zip((high, low, bound), self.held, strict=True):
            t.store(v, x, place)
        lost = t.op(f"fcmp uno {v} {d.sub(high, high)}, {d.constant(0.0)}")
        lost = d.both(lost, self.known)
        name = f"llvm.vector.reduce.or.v{t.lanes}i1"
        with t.when(t.call("i1", name, d.one, lost), rarely=True):
            self._without(lost, rows, row)
        for held, place in zip(self.held, self.places, strict=True):
            if mask is None:
                t.store(v, t.load(v, held), place, 8)
            else:
                masked_store(t, "double", t.load(v, held), place, mask)

    def _without(self, lost: str, rows: str, row: Callable[[str], str]) -> None:
        """Of the sums that are ``lost``: NaN where an element is, else nothing is known."""
        t, d, v = self.t, self.d, self.d.double
        found = t.variable(d.one, "zeroinitializer", "nan")
        with t.loop("0", rows) as r:
            x = row(r)
            nan = t.op(f"fcmp uno {v} {x}, {x}")
            t.store(d.one, d.either(t.load(d.one, found), nan), found)
        nan, zero = t.load(d.one, found), d.constant(0.0)
        instead = (
            d.choose(nan, d.of_bits(d.splat_bits(0x7FF8 << 48)), zero),
            zero,
            d.choose(nan, zero, d.constant(math.inf)),
        )
        for x, held in zip(instead, self.held, strict=True):
            t.store(v, d.choose(lost, x, t.load(v, held)), held)
