"""What the plan knows of arrays of pieces: where they are cut, and what their elements cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ..expr.nodes import Expr, Leaf, Piecewise, Reduced, Staged
from ..expr.piecewise.regions import Borders, count, pieced, seen_through, shifted, united
from . import costs

# Regions of one expression, each a kernel; where there would be more, what it reads is put together
# in memory first.
MOST_REGIONS: Final = 64
# Results up to which a reduction across regions keeps a record of each; a record is long.
_FEW_RESULTS: Final = 64
# Reductions whose records do not depend on what is known of their elements.
_ALIKE: Final = ("sum", "mean", "min", "max", "argmin", "argmax")


@dataclass
class Pieces:
    """Of each array of pieces by its id: all of it, its borders, its cost and its weight."""

    known: dict[int, Leaf] = field(default_factory=dict)
    borders: dict[int, Borders] = field(default_factory=dict)
    costs: dict[int, float] = field(default_factory=dict)
    weights: dict[int, int] = field(default_factory=dict)

    def add(self, whole: Leaf, weight: int) -> None:
        """One more array, whose pieces have at most ``weight``."""
        source = whole.source
        assert isinstance(source, Piecewise)
        self.known[id(source)] = whole
        self.weights[id(source)] = weight
        inside = [(piece.at, self.of(piece.expr)) for piece in source.pieces]
        each = [shifted(own, at) for at, own in inside if own is not None]
        assert len(each) == len(inside)
        self.borders[id(source)] = united(each, len(source.shape))
        size = math.prod(source.shape)
        total = sum(
            (costs.of_element(p.expr) + self.cost(p.expr)) * math.prod(p.expr.shape)
            for p in source.pieces
        )
        self.costs[id(source)] = total / size if size else 0.0

    def among(self, root: Expr) -> list[Leaf]:
        """The leaves of ``root`` that read arrays of pieces."""
        return pieced(root) if self.known else []

    def of(self, root: Expr) -> Borders | None:
        """Where ``root`` is cut; None where its regions would be no boxes."""
        borders: list[Borders] = []
        for leaf in self.among(root):
            source = leaf.source
            assert isinstance(source, Piecewise)
            one = seen_through(leaf, source.shape, self.borders[id(source)])
            if one is None:
                return None
            borders.append(one)
        return united(borders, len(root.shape))

    def are_few(self, roots: Sequence[Expr]) -> bool:
        """Whether ``roots`` of one shape, read together, can be cut into few regions."""
        borders = [self.of(root) for root in roots]
        known = [one for one in borders if one is not None]
        if len(known) < len(borders):
            return False
        return count(united(known, len(roots[0].shape))) <= MOST_REGIONS

    def total(self, roots: Sequence[Expr]) -> int:
        """How many regions ``roots``, side by side, have at most."""
        borders = (self.of(root) for root in roots)
        return sum(MOST_REGIONS if one is None else count(one) for one in borders)

    def cost(self, root: Expr) -> float:
        """Nanoseconds for an element of all arrays of pieces that ``root`` reads."""
        return sum(self.costs[id(leaf.source)] for leaf in self.among(root))

    def can_fold(self, source: Staged, root: Expr) -> bool:
        """Whether ``source`` can fold each region of ``root`` by itself."""
        if not self.among(root):
            return True
        borders = self.of(root)
        if borders is None or not isinstance(source, Reduced) or source.op == "prod":
            return False
        across = any(borders[k] for k in source.axes)
        few = math.prod(source.shape) <= _FEW_RESULTS
        return not across or (few and source.op in _ALIKE)
