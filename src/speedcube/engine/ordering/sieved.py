"""What is found of elements that are held against two values: how many, and those between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ...dataclass import dataclass
from .elements import Array


@dataclass(eq=False)
class Sieved:
    """How many elements are not below a bracket, not above it, and inside, of which some are kept.

    As long as those inside are one value (``same``) none of them is: many data are mostly zeros.
    """

    most: int  # elements that may be kept
    reach: int = 0
    under: int = 0
    inside: int = 0
    kept: list[Array] | None = field(default_factory=list)  # None: too many
    ends: tuple[Any, ...] = ()  # the least and the greatest of those inside, if there are any
    same: bool = True

    def take(self, reach: int, under: int, inside: Array) -> None:
        """Add what was found in a block; ``inside`` is copied."""
        self.reach += reach
        self.under += under
        if not len(inside):
            return
        ends = inside.min(), inside.max()
        every = *self.ends, *ends
        same = self.same and _is_one(inside, ends) and min(every) == max(every)
        if self.same and not same:
            self.kept, self.same = self.blocks(), False
        self.ends = min(every), max(every)
        self.inside += len(inside)
        if self.inside > self.most:
            self.kept = None if not same else self.kept
        elif self.kept is not None and not same:
            self.kept.append(inside.copy())

    def blocks(self) -> list[Array] | None:
        """Those inside; None: there are too many."""
        if not self.same or not self.inside:
            return self.kept
        if self.inside > self.most:
            return None
        return [np.full(self.inside, self.ends[0])]


def _is_one(values: Array, ends: tuple[Any, Any]) -> bool:
    """Whether ``values``, the ends of which these are, have the same bits; not of a negative 0."""
    return bool(ends[0] == ends[1] and (ends[0] or not np.signbit(values).any()))


def joined(parts: Sequence[Sieved]) -> Sieved:
    """What several threads or workers found, as if one had."""
    ends = [end for part in parts for end in part.ends]
    same = all(part.same for part in parts) and (not ends or min(ends) == max(ends))
    blocks = [[] if same else part.blocks() for part in parts]
    return Sieved(
        sum(part.most for part in parts),
        sum(part.reach for part in parts),
        sum(part.under for part in parts),
        sum(part.inside for part in parts),
        None if any(one is None for one in blocks) else [b for one in blocks for b in one or ()],
        (min(ends), max(ends)) if ends else (),
        same,
    )
