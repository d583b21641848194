"""What the plan knows of arrays of pieces: where they are cut, and what their elements cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from typing import Final

from ..dataclass import dataclass
from ..expr.nodes import Expr, Leaf, Piecewise, Reduced, Staged, walk
from ..expr.piecewise.regions import Borders, count, pieced, seen_through, shifted, united
from . import costs

# Regions of one expression, each a kernel; where there would be more, what it reads is put together
# in memory first.
MOST_REGIONS: Final = 64
# Results up to which a reduction across regions keeps a record of each; a record is long.
_FEW_RESULTS: Final = 64
# Reductions whose records do not depend on what is known of their elements.
_ALIKE: Final = ("sum", "mean", "min", "max", "nanmin", "nanmax", "argmin", "argmax")


@dataclass
class Pieces:
    """Of each array of pieces by its id: all of it, its borders, its cost and its weight."""

    known: dict[int, Leaf] = field(default_factory=dict)
    borders: dict[int, Borders] = field(default_factory=dict)
    costs: dict[int, float] = field(default_factory=dict)
    weights: dict[int, int] = field(default_factory=dict)
    seen: dict[int, tuple[Expr, Borders | None]] = field(default_factory=dict)

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

    def of(self, root: Expr) -> Borders | None:
        """Where ``root`` is cut; None where its regions would be no boxes."""
        if not self.known:
            return (frozenset(),) * len(root.shape)
        if id(root) not in self.seen:
            is_next = isinstance(root, Leaf) or all(id(arg) in self.seen for arg in root.args)
            for node in (root,) if is_next else walk(root):
                if id(node) not in self.seen:
                    own = self._leaf(node) if isinstance(node, Leaf) else self._all(node.args)
                    self.seen[id(node)] = node, own
        return self.seen[id(root)][1]

    def _leaf(self, leaf: Leaf) -> Borders | None:
        borders = self.borders.get(id(leaf.source))
        if borders is None:
            return (frozenset(),) * len(leaf.shape)
        assert isinstance(leaf.source, Piecewise)
        return seen_through(leaf, leaf.source.shape, borders)

    def _all(self, roots: Sequence[Expr]) -> Borders | None:
        """The borders of all ``roots``; None where those of one do not fit another's shape."""
        known = [one for root in roots if (one := self.seen[id(root)][1]) is not None]
        if len(known) < len(roots) or len({root.shape for root in roots}) > 1:
            return None
        return united(known, len(roots[0].shape))

    def splits(self, root: Expr, leaf: Leaf) -> bool:
        """Whether ``leaf``, which reads ``root``, can be cut into regions, and into few."""
        borders = self.of(root)
        if borders is None or not any(borders):
            return borders is not None
        seen = seen_through(leaf, root.shape, borders)
        return seen is not None and count(seen) <= MOST_REGIONS

    def are_few(self, roots: Sequence[Expr]) -> bool:
        """Whether ``roots`` of one shape, read together, can be cut into few regions."""
        known = [one for root in roots if (one := self.of(root)) is not None]
        if len(known) < len(roots) or len({root.shape for root in roots}) > 1:  # a routine's
            return False
        return count(united(known, len(roots[0].shape))) <= MOST_REGIONS

    def total(self, roots: Sequence[Expr]) -> int:
        """How many regions ``roots``, side by side, have at most."""
        borders = (self.of(root) for root in roots)
        return sum(MOST_REGIONS if one is None else count(one) for one in borders)

    def cost(self, root: Expr) -> float:
        """Nanoseconds for an element of all arrays of pieces that ``root`` reads."""
        return sum(self.costs[id(leaf.source)] for leaf in pieced(root)) if self.known else 0.0

    def can_fold(self, source: Staged, root: Expr) -> bool:
        """Whether ``source`` can fold each region of ``root`` by itself."""
        borders = self.of(root)
        if borders is not None and not any(borders) and not pieced(root):
            return True
        if borders is None or not isinstance(source, Reduced) or source.op == "prod":
            return False
        across = any(borders[k] for k in source.axes)
        few = math.prod(source.shape) <= _FEW_RESULTS
        return not across or (few and source.op in _ALIKE)
