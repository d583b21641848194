"""Complex numbers that are small: each part is a call of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from ...expr.nodes import STAGED, Expr, Leaf
from ...expr.pairs.node import is_pair, parts
from ...expr.pairs.numbers import folded
from ..results import combined
from .again import Made
from .known import value
from .structure import SMALL

_PART: Final = 1 << 13  # elements up to which two calls take less than one of both parts


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
