"""Whether it pays to make first what a program reads by another way than element by element."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ...expr.nodes import (
    Const,
    Expr,
    Leaf,
    Map,
    Piecewise,
    Position,
    Reduced,
    Scanned,
    Stored,
    Through,
    walk,
)
from ...expr.routines.row import call_of, flops_of
from ...expr.routines.table import ROUTINES
from .boxes import few_boxes, is_turned

NODES: Final = 24  # of a program; of a longer one a plan, or a walk, makes less
# Elements of each: of two arrays of twice as many, memory is given back and asked for each time.
FEW: Final = 1 << 15
# Operations of all routines together: `routines.around` has room for the results of more.
FLOPS: Final = 1 << 20
# Elements that are made though a view leaves them out: some microseconds.
_LEFT_OUT: Final = 1 << 12
_FIRST: Final = frozenset((Leaf, Map, Piecewise, Scanned, Through))
_FREE: Final = frozenset((Const, Position))


def is_apart(source: Any) -> bool:
    """Whether ``source`` is a scan, or what others than libraries make of an array as a whole."""
    kind = type(source)
    return kind is Scanned or (kind is Through and source.op not in ROUTINES)


def worth(root: Expr) -> frozenset[int] | None:
    """Of ``root`` the ids of reductions that others take, which are to be made first.

    None where it has many nodes, or many elements, or nothing at all is to be made first.
    """
    last: Any = root.source if type(root) is Leaf and is_apart(root.source) else None
    stack: list[Any] = [root if last is None else last.arg]
    met: set[int] = set()
    laid: set[int] = set()  # leaves whose elements are laid out anew
    reduced: list[Any] = []
    flops, things = 0.0, 0
    while stack:
        node = stack.pop()
        if id(node) in met:
            continue
        met.add(id(node))
        if len(met) > NODES or math.prod(node.shape) > FEW:
            return None
        if type(node) is Map:
            stack += node.args
            continue
        source: Any = node.source
        kind = type(source)
        if kind in _FREE:
            continue
        if kind is Stored and type(source.buffer) is np.ndarray:
            if id(node) not in laid and is_turned(node):
                return None
            continue
        if kind is Reduced and source.op != "prod":  # it is no kernel alone
            stack.append(source.arg)
            reduced.append(source)
            continue
        below = _below(node, source, kind)
        if below is None:
            return None
        stack += below
        things += 1
        if kind is Leaf:
            laid.add(id(source))
        if kind is Through:
            flops += flops_of(ROUTINES[source.op], source) + 1
    taken = frozenset([id(one) for source in reduced for one in _reductions_in(source.arg)])
    return taken if flops <= FLOPS and (things or taken) else None


def _reductions_in(arg: Expr) -> list[Reduced]:
    leaves = [node.source for node in walk(arg) if type(node) is Leaf]
    return [source for source in leaves if type(source) is Reduced]


def _below(leaf: Leaf, source: Any, kind: type) -> list[Any] | None:
    """What ``source`` is made of; None where it is not to be made first to be seen as ``leaf``."""
    size = math.prod(source.shape) if kind in _FIRST else FEW + 1
    if not 0 < size <= FEW:
        return None
    if kind is Scanned:
        return [source.arg]
    if kind is Through:
        one = source.op in ROUTINES and len(call_of(source).results) == 1
        return list(source.args) if one else None
    if size > 4 * math.prod(leaf.shape) + _LEFT_OUT:
        return None
    if kind is not Piecewise:
        return [source]
    boxes = few_boxes(source)
    return None if boxes is None else [boxes[0], *[one.expr for one in boxes[1]]]
