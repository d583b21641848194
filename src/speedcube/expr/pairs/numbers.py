"""What numbers alone make in an expression, as a number: ``0 * 1`` in a product with ``1j``.

Kernels fold such nodes when they are lowered. A computation of few elements takes longer to walk
through them than to make its elements.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..nodes import Const, Expr, Leaf, Map, const

_OF_TWO: Final[dict[str, Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
}
MOST: Final = 16  # nodes: more are left as they are


def folded(root: Expr) -> Expr:
    """``root`` with sums and products of numbers of one float dtype as numbers: the same bits.

    Only those that sums and products alone lead to.
    """
    return _folded(root, [MOST]) if type(root) is Map and root.op in _OF_TWO else root


def _folded(root: Map, left: list[int]) -> Expr:
    left[0] -= 1
    if left[0] < 0:
        return root
    x, y = root.args
    a = _folded(x, left) if type(x) is Map and x.op in _OF_TWO else x
    b = a if y is x else _folded(y, left) if type(y) is Map and y.op in _OF_TWO else y
    if type(a) is Leaf and type(b) is Leaf:
        one, other = a.source, b.source
        if type(one) is Const and type(other) is Const:
            return _number(root, one, other)
    return root if a is x and b is y else Map(root.op, (a, b), root.shape, root.dtype)


def of_numbers(op: str, args: Sequence[Any]) -> Expr | None:
    """What ``op`` makes of two numbers everywhere in one shape; None of others."""
    if op not in _OF_TWO:
        return None
    a, b = args
    if type(a) is not Leaf or type(b) is not Leaf or a.shape != b.shape:
        return None
    if type(a.source) is not Const or type(b.source) is not Const:
        return None
    node = Map(op, (a, b), a.shape, a.dtype)
    made = _number(node, a.source, b.source)
    return None if made is node else made


def _number(root: Map, x: Const, y: Const) -> Expr:
    if x.dtype != root.dtype or y.dtype != root.dtype or root.dtype not in ("float32", "float64"):
        return root
    to = np.dtype(root.dtype).type
    with np.errstate(all="ignore"):
        made = float(_OF_TWO[root.op](to(x.value), to(y.value)))
    return const(made if made == made else math.nan, root.dtype, root.shape)
