"""The nodes of a program of few elements, all of which lie in memory or can be made there."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

import numpy as np

from ...expr.graph import below_up_to, memories
from ...expr.nodes import (
    Const,
    Expr,
    Leaf,
    Map,
    Node,
    Piecewise,
    Position,
    Random,
    Reduced,
    Scanned,
    Shape,
    Stored,
    Through,
)
from ...expr.pairs.node import is_pair, parts

_MOST_NODES: Final = 1 << 17
READ: Final = frozenset((Const, Position, Random, Map, Leaf, Reduced, Scanned, Through, Piecewise))


def is_made_of_few(root: Expr, most: int) -> bool:
    """Whether no node of ``root`` has more than ``most`` elements; a pair's parts are two."""
    return few_nodes(parts(root) if is_pair(root) else (root,), most) is not None


def few_nodes(roots: Sequence[Expr], most: int) -> list[Node] | None:
    """What ``roots`` need, each after its own; None where a node is none that is made here."""
    if any(prod(root.shape) > most for root in roots):
        return None
    nodes = below_up_to(roots, _MOST_NODES)
    if not nodes:
        return None
    few: Shape = ()  # the last one that was looked at: most nodes have the shape of another
    held: frozenset[int] | None = None
    for node in nodes:
        if node.shape is not few:
            if prod(node.shape) > most:
                held = memories(nodes) if held is None else held
                if not _is_held(node, held):
                    return None
                continue
            few = node.shape
        if type(node) is Leaf:
            source = node.source
            if type(source) is Stored:
                if type(source.buffer) is not np.ndarray:
                    return None
            elif type(source) not in READ:
                return None
        elif type(node) is Map and node.op == "complex":
            return None
    return nodes


def _is_held(node: Node, held: frozenset[int]) -> bool:
    """Whether ``node`` is an array in memory, of which no more is read than ``held`` tells."""
    if type(node) is not Leaf or type(node.source) is not Stored:
        return False
    return type(node.source.buffer) is np.ndarray and id(node) in held
