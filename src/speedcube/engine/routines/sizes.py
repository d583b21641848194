"""How much a result takes, before there is a plan."""

from __future__ import annotations

import math

from ...expr.nodes import STAGED, Expr, Leaf
from ...expr.pairs.node import is_pair, parts
from .direct import alike, is_routine


def visited_of(root: Expr) -> Expr:
    """The expression whose elements are computed; of complex numbers, that of a part."""
    root = parts(root)[0] if is_pair(root) else root
    if isinstance(root, Leaf) and isinstance(root.source, STAGED):
        return root.source.arg
    return root


def elements_of(root: Expr) -> int:
    """How many elements are visited, or take as long as a routine."""
    size = math.prod(visited_of(root).shape)
    return max(size, alike(root)) if is_routine(root) else size
