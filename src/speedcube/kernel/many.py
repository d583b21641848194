"""Exact sums that a kernel finishes itself: how it takes them, and what it gives of them."""

from __future__ import annotations

from typing import Final

from ..dataclass import dataclass

NEAR: Final = ("value", "tail", "bound")  # what is given of a sum, where no results are
AT_ONCE: Final = 16  # elements, at most, that are summed by themselves before they are added onto


@dataclass(frozen=True)
class Many:
    """Exact sums that the kernel finishes itself, each with a certificate (`lower/many.py`).

    ``op`` is sum, mean, var, std or dot. ``rows``: the tile loop walks along the elements of a
    result, else across results. ``odd``: results are rounded to odd, to be rounded once more.
    ``whole``: squares fit a double, as those of float32 do, or an element has an error beside it,
    as a 64-bit integer's double; rests are ordinary sums then. ``deep``: there are so many terms
    that what fine rests lose is summed, too. ``short``: so few that a CPU keeps their sums in
    registers, and that a thread of a GPU takes a row at once. ``line``: one row and one loop, which
    a CPU deals out to its lanes evenly. ``parameter`` is the first of six: the number of terms,
    that times the degrees of freedom, the error of a rest in units, the room of a unit, how many
    reduced steps lie between two that are probed, a rest's own unit. ``also``: further results of
    the same sums, none of which needs more of them; the output is a table of theirs. Their second
    parameters follow. ``near``: instead of results it gives what it knows of sums, to join those of
    other parts: two doubles that add up to it, and what they lack at most. ``onto``: added to what
    lies there. ``integers``: the dtype of elements that a CPU adds up as integers, along rows.
    ``singles``: elements are float32, of which it first adds up a tile's. ``apart``: a sum of its
    own, behind theirs, has what squares round away; of ``singles``, what rounding squares to
    float32 adds to them. ``plain``: where a double is the sum of `AT_ONCE` elements: "always"; of
    float32, where magnitudes are "near" each other; else nowhere that is known.
    """

    op: str
    rows: bool
    odd: bool
    whole: bool
    deep: bool
    parameter: int
    short: bool = False
    line: bool = False
    also: tuple[str, ...] = ()
    near: bool = False
    apart: bool = False
    onto: bool = False
    integers: str = ""
    singles: bool = False
    plain: str = ""

    @property
    def ops(self) -> tuple[str, ...]:
        """Those of each result."""
        return NEAR * self.sums if self.near else (self.op, *self.also)

    def spread(self, number: int) -> int:
        """The parameter of result ``number`` that a spread is divided by."""
        return self.parameter + (5 + number if number else 1)

    @property
    def sums(self) -> int:
        return (2 if self.op in ("var", "std") else 1) + self.apart

    @property
    def fine(self) -> bool:
        """Whether rests are sums that cannot round: of float64 a fourth may end in a tie.

        (Those of a sum that is a result; of squares where they have no errors among them.)
        """
        given = any(op in ("sum", "mean") for op in (self.op, *self.also))
        apart = self.apart and not self.singles
        return apart or (given and not self.whole and self.op != "dot")

    def is_fine(self, sum_: int) -> bool:
        """The same of sum ``sum_``."""
        return self.fine and sum_ <= self.apart

    def settles(self, sum_: int) -> bool:
        """Whether rests of sum ``sum_`` are put aside now and then."""
        return self.deep and not self.is_fine(sum_)
