"""Arrays of which few boxes, of few elements, were assigned others.

A plan of the regions that are left takes 80 to 200 us, and each of its kernels is called alone:
what there was is sooner made whole, and written over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from ... import dtypes
from ...expr.graph import HAVE_BELOW, few_below
from ...expr.nodes import STAGED, Expr, Leaf, Node, Piece, Piecewise, Stored, is_whole
from ...expr.pairs.laid import laid
from ...expr.pairs.node import is_pair, pair, parts
from ...expr.piecewise.assigned import First
from ...plan import costs

Boxes: TypeAlias = tuple[Expr, Sequence[Piece]]

FEW: Final = 8  # boxes
_NODES: Final = 24  # of each of them, and of what there was
_OF_OTHERS: Final = (Piecewise, *STAGED)
_WASTED: Final = 150_000.0  # nanoseconds for elements that are made, and written over
_LITTLE: Final = 1 << 12  # of them, whatever they are
_WRITTEN: Final = 0.02  # for a byte in the cache


def few_boxes(source: Piecewise) -> Boxes | None:
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
    if len(leaf.shape) < 2:
        return False
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


def in_boxes(source: Piecewise) -> list[Expr] | None:
    """What few boxes of ``source`` have; of an array that was assigned to what there was first."""
    boxes = source.boxes
    if not isinstance(boxes, First):
        return [one.expr for one in source.pieces] if len(source.pieces) <= FEW else None
    if boxes.count > FEW:
        return None
    base, pieces = boxes.given()
    return [base, *[one.expr for one in pieces]]


def boxes_of(root: Expr) -> Boxes | None:
    """What there was in ``root``, an array of few boxes, and these; None of others."""
    return _boxes_of_pair(*parts(root)) if is_pair(root) else _boxes_of(root)


def _boxes_of(root: Expr) -> Boxes | None:
    if type(root) is not Leaf or type(root.source) is not Piecewise or not is_whole(root):
        return None
    boxes = few_boxes(root.source) if root.shape == root.source.shape else None
    plain = boxes is not None and all(map(is_plain, [boxes[0], *[one.expr for one in boxes[1]]]))
    return boxes if plain else None


def _boxes_of_pair(re: Expr, im: Expr) -> Boxes | None:
    """The boxes of a complex array of pairs, of which both parts were assigned together."""
    one = _boxes_of(re)
    other = None if one is None else _boxes_of(im)
    if one is None or other is None or [p.at for p in one[1]] != [p.at for p in other[1]]:
        return None
    both = zip(one[1], other[1], strict=True)
    if any(a.expr.shape != b.expr.shape for a, b in zip(one[1], other[1], strict=True)):
        return None
    base = pair(one[0], other[0])
    if laid(base) is None:  # two kernels make it: regions of both are as good
        return None
    return base, [Piece(a.at, pair(a.expr, b.expr)) for a, b in both]
