"""Complex numbers that are small: each part is a call of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from ...expr.nodes import STAGED, Expr, Leaf
from ...expr.pairs.node import is_pair, parts
from ...expr.pairs.numbers import folded
from ..results import combined
from .again import Made, few_structure
from .known import value, value_again
from .structure import SMALL

# Elements up to which two calls take less than one of both parts. Those of more fill new pages each
# time, where the system has taken those of the last ones: of 60,000 in 0.25 ms or in one.
_PART: Final = 1 << 14


def pair_again(root: Expr, kind_for: Callable[[int], str | None]) -> Any:
    """The complex numbers that ``root`` is, if the like of both parts was met; None otherwise.

    ``kind_for`` tells the rung of so many elements; None: they are not made in this thread.
    """
    each = []
    for part in map(folded, parts(root)):
        few = few_structure(part)
        if few is None or few.random or few.reads or few.size > _PART:
            return None
        each.append((few, part))
    kind = kind_for(each[0][0].size)
    if kind is None:
        return None
    found = []
    for few, part in each:
        one = value_again(few, part, kind)
        if one is None:
            return None
        found.append(one)
    return combined(*found)


def small_pair(roots: Sequence[Expr], kind: str, steps: Made | None = None) -> Any:
    """The complex numbers that ``roots`` are, if that is all; None where it is more than calls."""
    if len(roots) != 1 or not is_pair(roots[0]) or SMALL <= 0:
        return None
    found = []
    for part in parts(roots[0]):
        staged = isinstance(part, Leaf) and isinstance(part.source, STAGED)
        visited = part.source.arg if staged else part  # type: ignore[union-attr]
        one = value(folded(part), kind, steps) if math.prod(visited.shape) <= _PART else None
        if one is None:
            return None
        found.append(one)
    return combined(*found)
