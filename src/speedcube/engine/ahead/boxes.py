"""Arrays of which few boxes, of few elements, were assigned others.

A plan of the regions that are left takes 80 to 200 us, and each of its kernels is called alone:
what there was is sooner made whole, and written over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from ... import dtypes
from ...expr.graph import HAVE_BELOW, few_below
from ...expr.nodes import STAGED, Expr, Leaf, Node, Piece, Piecewise, Stored
from ...expr.piecewise.assigned import First
from ...plan import costs

FEW: Final = 8  # boxes
_NODES: Final = 24  # of each of them, and of what there was
_OF_OTHERS: Final = (Piecewise, *STAGED)
_WASTED: Final = 150_000.0  # nanoseconds for elements that are made, and written over
_LITTLE: Final = 1 << 12  # of them, whatever they are
_WRITTEN: Final = 0.02  # for a byte in the cache


def few_boxes(source: Piecewise) -> tuple[Expr, Sequence[Piece]] | None:
    """What there was, and what was put over little of it; None of others."""
    boxes = source.boxes
    if not isinstance(boxes, First) or boxes.count > FEW:
        return None
    base, pieces = boxes.given()
    wasted = sum([math.prod(one.expr.shape) for one in pieces])
    if wasted <= _LITTLE:
        return base, pieces
    each = costs.of_element(base) + _WRITTEN * dtypes.itemsize(base.dtype)
    return (base, pieces) if wasted * each <= _WASTED else None


def is_turned(leaf: Leaf) -> bool:
    """Whether ``leaf`` lies in another order than C's: so do results, which are planned."""
    steps = [abs(step) for step, n in zip(leaf.strides, leaf.shape, strict=True) if n > 1 and step]
    return any(before < after for before, after in pairwise(steps))


def is_plain(expr: Expr) -> bool:
    """Whether ``expr`` needs few nodes, and no other array in boxes or of several stages."""
    if type(expr) is Leaf and type(expr.source) not in HAVE_BELOW:
        return not is_turned(expr)
    return few_below(expr, _NODES, fits=_is_of_one_kernel) is not None


def _is_of_one_kernel(node: Node) -> bool:
    turned = type(node) is Leaf and type(node.source) is Stored and is_turned(node)
    return not isinstance(node, _OF_OTHERS) and not turned
