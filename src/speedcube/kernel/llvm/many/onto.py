"""Sums of results side by side, added in registers onto what lies in memory: two doubles, a bound.

No unit is looked for. What an addition loses is exact, and so is what adding that loses, nearly
always.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..memory import masked_load, masked_store
from .doubles import SLACK, Doubles


class Onto:
    """A vector of sums at ``places``: of their values, of what those lack, and of the bounds."""

    def __init__(self, d: Doubles, places: Sequence[str]) -> None:
        self.d, self.t, self.places = d, d.text, places
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
