"""Boxes of an array cut into smaller ones, which are numbered."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

from ...dataclass import dataclass
from ...expr.nodes import Shape
from ..writing import Item, WriteGrid


@dataclass(frozen=True)
class Within:
    """The boxes of ``grid``, which cuts the box ``outer`` of an array, as boxes of that array."""

    outer: Item
    grid: WriteGrid

    def item(self, number: int) -> Item:
        """Box ``number``."""
        inner = zip(self.outer, self.grid.item(number), strict=True)
        return tuple(slice(o.start + s.start, o.start + s.stop) for o, s in inner)

    def numbers(self, item: Item) -> Iterator[int]:
        """The boxes that ``item`` has elements of."""
        each = zip(item, self.outer, self.grid.extents, self.grid.first, strict=True)
        along = [
            range(
                (s.start - o.start + f) // e - f // e, (s.stop - 1 - o.start + f) // e - f // e + 1
            )
            for s, o, e, f in each
        ]
        for places in product(*along):
            number = 0
            for place, count in zip(places, self.grid.counts, strict=True):
                number = number * count + place
            yield number

    def cut(self, item: Item) -> list[Item]:
        """``item`` as parts that lie in one box each, in C order."""
        each = zip(item, self.outer, self.grid.extents, self.grid.first, strict=True)
        cuts = []
        for s, o, e, f in each:
            borders = range(s.start + e - (s.start - o.start + f) % e, s.stop, e)
            ends = [s.start, *borders, s.stop]
            cuts.append([slice(a, b) for a, b in pairwise(ends)])
        return list(product(*cuts))


def within(outer: Item, extents: Shape, begins: Shape) -> Within:
    """The box ``outer`` cut into boxes of ``extents``, of whose borders one lies at ``begins``."""
    first = tuple((o.start - b) % e for o, e, b in zip(outer, extents, begins, strict=True))
    return Within(outer, WriteGrid(lengths_of(outer), extents, first))


def lengths_of(item: Item) -> Shape:
    """The lengths of a box."""
    return tuple(one.stop - one.start for one in item)
