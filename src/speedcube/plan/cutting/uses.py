"""Who reads what of a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from ...dataclass import dataclass
from ...expr.graph import children
from ...expr.nodes import STAGED, Expr, Leaf, Map, Node, Piecewise, whole
from .frontiers import Frontiers, frontiers

_SEVERAL: Final = 0  # no node's number

Readers: TypeAlias = dict[int, list[Leaf]]
Onwards: TypeAlias = dict[int, tuple[Expr, ...]]


@dataclass(frozen=True, eq=False)
class Uses:
    """Who reads what of a program, by the nodes' ids.

    ``onwards``: of what stages take that from which others go on. ``several``: the maps that
    several stages would make. ``frontiers``: where long programs are cut.
    """

    readers: Readers
    onwards: Onwards
    several: set[int]
    frontiers: Frontiers


def uses_of(nodes: Sequence[Node]) -> Uses:
    """How ``nodes``, each after its own, use one another."""
    readers = readers_of(nodes)
    several = made_for_several(nodes, readers)
    return Uses(readers, onwards_of(nodes), several, frontiers(nodes))


def readers_of(nodes: Iterable[Node]) -> Readers:
    """For each expression that is a source, by its id, the different leaves that read it.

    A map that takes it as an argument reads all of it, in order.
    """
    found: dict[int, dict[object, Leaf]] = {}
    args: dict[int, Expr] = {}
    for node in nodes:
        if isinstance(node, Map):
            args.update((id(arg), arg) for arg in node.args)
        if isinstance(node, Leaf) and isinstance(node.source, (Map, Leaf, Piecewise)):
            key = node.shape, node.offset, node.strides
            found.setdefault(id(node.source), {})[key] = node
    for number in args.keys() & found.keys():
        leaf = whole(args[number], args[number].shape)
        found[number].setdefault((leaf.shape, leaf.offset, leaf.strides), leaf)
    return {number: list(leaves.values()) for number, leaves in found.items()}


def made_for_several(nodes: Sequence[Node], readers: Readers) -> set[int]:
    """The maps that would be made again for each of several arrays that are read through views.

    Those are likely to be stages. ``nodes`` each after its own, and who reads them.
    """
    stages: dict[int, int] = {}  # of each node the one array that needs it, or `_SEVERAL`
    for node in reversed(nodes):
        place = id(node)
        if len(readers.get(place, ())) > 1:
            stages[place] = place
        if place in stages and not isinstance(node, STAGED):
            own = stages[place]
            for child in children(node):
                other = stages.setdefault(id(child), own)
                if other != own:
                    stages[id(child)] = _SEVERAL
    return {id(one) for one in nodes if isinstance(one, Map) and stages.get(id(one)) == _SEVERAL}


def onwards_of(nodes: Sequence[Node]) -> Onwards:
    """For what stages take, by its id, what other maps and views go on from.

    That is itself, or else those next below it that are read elsewhere, too.
    """
    read = Counter(
        number
        for node in nodes
        if isinstance(node, Map)
        for number in {id(arg) for arg in node.args}
    )
    views = [n for n in nodes if isinstance(n, Leaf) and isinstance(n.source, (Map, Leaf))]
    read.update(id(view.source) for view in views)

    def is_read(one: Expr, least: int) -> bool:
        of_view = isinstance(one, Leaf) and read[id(one.source)] > 1
        return read[id(one)] >= least or of_view

    found: Onwards = {}
    for node in nodes:
        if not isinstance(node, STAGED) or id(node.arg) in found:
            continue
        shared: dict[int, Expr] = {}
        below = [node.arg]
        while below:  # what only this one reads, and the first of what others do
            one = below.pop()
            if is_read(one, 1 if one is node.arg else 2):
                shared[id(one)] = one
            elif isinstance(one, Map):
                below.extend(one.args)
        found[id(node.arg)] = tuple(shared.values())
    return found
