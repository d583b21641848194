"""Expressions as lists of nodes, for pickle, whose recursion deep ones are too much for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

from .graph import children, is_short
from .nodes import Expr, Leaf, Map, Node, Piece, Piecewise

# Nodes of an expression that is pickled as it is: arrays that share nodes go on sharing them.
SHALLOW: Final = 100


class FlatExpr:
    """Stands for ``root`` where it is pickled; what comes out is the expression again."""

    def __init__(self, root: Expr) -> None:
        self.root = root

    def __reduce__(self) -> Any:
        return _first, (flat([self.root]),)


def _first(rows: Sequence[Any]) -> Expr:
    return nested(rows)[0]


def is_shallow(root: Expr) -> bool:
    """Whether ``root`` can be pickled as it is."""
    return is_short(root, SHALLOW)


def flat(roots: Sequence[Expr]) -> list[Any]:
    """A row for each node that ``roots`` need, after those of its own; last, which rows they are.

    Nodes stand in rows as the numbers of theirs.
    """
    places: dict[int, int] = {}
    rows: list[Any] = []
    stack: list[Node] = [*roots]
    while stack:
        node = stack[-1]
        missing = [one for one in _needed(node) if id(one) not in places]
        if missing and id(node) not in places:
            stack += missing
            continue
        stack.pop()
        if id(node) not in places:
            places[id(node)] = len(rows)
            rows.append(_row(node, places))
    return [*rows, [places[id(root)] for root in roots]]


def _needed(node: Node) -> tuple[Node, ...]:
    called = node.call[1] if isinstance(node, Piecewise) else ()
    return (*children(node), *called)


def _row(node: Node, places: dict[int, int]) -> tuple[Any, ...]:
    if isinstance(node, Map):
        return Map, node.op, [places[id(arg)] for arg in node.args], node.shape, node.dtype
    if isinstance(node, Leaf):
        where = places[id(node.source)] if children(node) else None
        source = node.source if where is None else None
        return Leaf, where, source, node.shape, node.offset, node.strides
    if isinstance(node, Piecewise):
        pieces = [(piece.at, places[id(piece.expr)]) for piece in node.pieces]
        name, arrays, others = node.call
        call = name, [places[id(array)] for array in arrays], others
        return Piecewise, node.shape, node.dtype, pieces, call
    others_of = {
        one.name: getattr(node, one.name) for one in fields(node) if one.init and one.name != "arg"
    }
    return type(node), places[id(node.arg)], others_of


def nested(rows: Sequence[Any]) -> list[Expr]:
    """The expressions that are ``rows``."""
    made: list[Any] = []
    for kind, *entries in rows[:-1]:
        if kind is Map:
            op, args, shape, dtype = entries
            node: Any = Map(op, tuple([made[k] for k in args]), shape, dtype)
        elif kind is Leaf:
            where, source, *view = entries
            node = Leaf(source if where is None else made[where], *view)
        elif kind is Piecewise:
            shape, dtype, pieces, (name, arrays, others) = entries
            boxes = tuple([Piece(at, made[k]) for at, k in pieces])
            node = Piecewise(shape, dtype, boxes, (name, tuple([made[k] for k in arrays]), others))
        else:
            arg, others = entries
            node = kind(arg=made[arg], **others)
        made.append(node)
    return [made[k] for k in rows[-1]]
