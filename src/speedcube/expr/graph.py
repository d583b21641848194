"""An expression as a graph: everything that is needed below a node, through sources, too."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, Final

from ..ops import GATHERS
from .nodes import STAGED, Leaf, Map, Node, Piecewise

# Sources that need nodes of their own. None of these classes has another below it.
HAVE_BELOW: Final = frozenset((Map, Leaf, Piecewise, *STAGED))


def below(*roots: Node) -> list[Node]:
    """``roots`` and every node that they need, those that sources need too; each after its own."""
    nodes = below_up_to(roots, None)
    assert nodes is not None
    return nodes


def below_up_to(roots: Sequence[Node], most: int | None) -> list[Node] | None:
    """The same; None where they are more than ``most``."""
    done: dict[int, Node] = {}
    stack: list[Any] = [*reversed(roots)]
    while stack:
        node = stack.pop()
        if node is None:  # what the next one needs is done
            node = stack.pop()
        elif id(node) in done:
            continue
        elif type(node) is Leaf:  # `children`, for most of them are leaves
            source = node.source
            if type(source) in HAVE_BELOW:
                stack += (node, None, source)
                continue
        elif needs := children(node):
            stack += (node, None, *needs[::-1])
            continue
        done[id(node)] = node
        if most is not None and len(done) > most:
            return None
    return list(done.values())


def is_short(root: Node, most: int) -> bool:
    """Whether ``root`` needs at most ``most`` nodes, itself among them."""
    return few_below(root, most) is not None


def few_below(
    root: Node, most: int, known: Container[int] = (), fits: Callable[[Node], bool] | None = None
) -> list[Node] | None:
    """``root`` and what it needs, in any order; below nodes whose ids are ``known``, nothing.

    None where they are more than ``most``, or one of them no longer ``fits``.
    """
    done: dict[int, Node] = {}
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        name = id(node)
        if name in done:
            continue
        if len(done) == most or (fits is not None and not fits(node)):
            return None
        done[name] = node
        if name in known:
            continue
        if type(node) is Map:  # `children`, for most nodes are these
            stack += node.args
        elif type(node) is not Leaf:
            stack += children(node)
        elif type(node.source) in HAVE_BELOW:
            stack.append(node.source)
    return [*done.values()]


def children(node: Node) -> tuple[Node, ...]:
    """What ``node`` needs, itself or as its source."""
    if type(node) is Map:
        return node.args
    if type(node) is Leaf:
        source = node.source
        return (source,) if type(source) in HAVE_BELOW else ()  # type: ignore[return-value]
    if type(node) is Piecewise:
        return tuple([piece.expr for piece in node.pieces])
    return (node.arg,)  # type: ignore[union-attr]


def memories(nodes: Iterable[object]) -> frozenset[int]:
    """Of ``nodes`` the ids of the leaves that gathers read at positions of their own."""
    found = [id(n.args[1]) for n in nodes if type(n) is Map and n.op in GATHERS]
    return frozenset(found)
