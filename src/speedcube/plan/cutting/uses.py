"""Who reads what of a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from ...dataclass import dataclass
from ...expr.graph import children
from ...expr.nodes import (
    STAGED,
    Expr,
    Leaf,
    Map,
    Node,
    Piecewise,
    Reduced,
    Scanned,
    Through,
    Tiled,
    whole,
)
from ..costs import MOST_AGAIN
from .frontiers import Frontiers, frontiers
from .live import Live

_SEVERAL: Final = 0  # no node's number
_OFTEN: Final = -1  # no turn

Readers: TypeAlias = dict[int, list[Leaf]]
Onwards: TypeAlias = dict[int, tuple[Expr, ...]]


@dataclass(frozen=True, eq=False)
class Uses:
    """Who reads what of a program, by the nodes' ids.

    ``onwards``: of what stages take that from which others go on. ``several``: the maps that
    several stages would make, and how many of these read them themselves, at least two; 0: they are
    made for a stage, and again for one that waits for what it gives.
    ``frontiers``: where long programs are cut. ``live``: what is still needed.
    """

    readers: Readers
    onwards: Onwards
    several: dict[int, int]
    frontiers: Frontiers
    live: Live


def uses_of(nodes: Sequence[Node]) -> Uses:
    """How ``nodes``, each after its own, use one another."""
    readers = readers_of(nodes)
    several = dict.fromkeys(made_in_turns(nodes), 0) | made_for_several(nodes, readers)
    return Uses(readers, onwards_of(nodes), several, frontiers(nodes), Live(nodes))


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


def made_for_several(nodes: Sequence[Node], readers: Readers) -> dict[int, int]:
    """The maps that would be made again for each of several arrays that are read through views.

    Those are likely to be stages, and what routines take is one. ``nodes`` each after its own, and
    who reads them. Of a map how many of the arrays read it themselves, at least two. What routines
    take of a file is read again for each: kept for all, it would be in memory as a whole.
    """
    of_file = any(isinstance(one, Leaf) and isinstance(one.source, Tiled) for one in nodes)
    stages: dict[int, int] = {}  # of each node the one array that needs it, or `_SEVERAL`
    direct: dict[int, set[int]] = {}  # of what several need, those that read it themselves
    for node in reversed(nodes):
        place = id(node)
        if len(readers.get(place, ())) > 1 or (isinstance(node, Through) and not of_file):
            stages[place] = place
        if place in stages and not isinstance(node, Reduced | Scanned):
            own = stages[place]
            for child in children(node):
                other = stages.setdefault(id(child), own)
                if other != own:
                    direct.setdefault(id(child), {other}).add(own)
                    stages[id(child)] = _SEVERAL
    maps = (id(one) for one in nodes if isinstance(one, Map))
    return {
        one: 2 if of_file else max(len(direct.get(one, set()) - {_SEVERAL}), 2)
        for one in maps
        if stages.get(one) == _SEVERAL
    }


def made_in_turns(nodes: Sequence[Node]) -> frozenset[int]:
    """The maps that are made again, as one of those who read them waits for what another gives.

    So is ``x`` in ``x - x.mean()``. Who does not wait may be made together: all sums of ``x`` are.
    ``nodes`` each after its own. What is made again for such a map alone is not told, and nothing
    of loops, in which each step makes it again (`Uses.onwards`).
    """
    if any(isinstance(one, Leaf) and isinstance(one.source, Tiled) for one in nodes):
        return frozenset()  # of a file: kept, it would be in memory as a whole
    turns: dict[int, int] = {}  # after how many stages, one after another, each can be made
    for node in nodes:
        before = (turns[id(one)] + isinstance(one, STAGED) for one in children(node))
        turns[id(node)] = max(before, default=0)
    if max(turns.values(), default=0) > MOST_AGAIN:
        return frozenset()
    made: dict[int, int] = {}  # at which turn each is made, or `_OFTEN`
    found = set[int]()
    for node in reversed(nodes):
        place = id(node)
        own = turns[place] if isinstance(node, STAGED) else made.setdefault(place, turns[place])
        for child in children(node):
            other = made.setdefault(id(child), own)
            if other != own:
                made[id(child)] = _OFTEN
                found.add(id(child))
    return frozenset(id(one) for one in nodes if isinstance(one, Map) and id(one) in found)


def onwards_of(nodes: Sequence[Node]) -> Onwards:
    """For what stages take, by its id, what other maps and views go on from.

    That is itself, or else those next below it that are read elsewhere, too: not only by what
    the stage takes.
    """
    read = Counter(
        number
        for node in nodes
        if isinstance(node, Map)
        for number in {id(arg) for arg in node.args}
    )
    views = [n for n in nodes if isinstance(n, Leaf) and isinstance(n.source, (Map, Leaf))]
    read.update(id(view.source) for view in views)

    found: Onwards = {}
    for node in nodes:
        if isinstance(node, STAGED) and id(node.arg) not in found:
            found[id(node.arg)] = _shared(node.arg, read)
    return found


def _shared(arg: Expr, read: Mapping[int, int]) -> tuple[Expr, ...]:
    """``arg``, or the first below it, of what others than ``arg`` ``read`` so many times."""
    if read[id(arg)] or _of_view(arg, read):
        return (arg,)
    inside: Counter[int] = Counter()  # how often each is read by what only ``arg`` is made of
    waiting: dict[int, Expr] = {}
    below: list[Expr] = [arg]
    while below:
        one = below.pop()
        for child in {id(a): a for a in one.args}.values() if isinstance(one, Map) else ():
            inside[id(child)] += 1
            if inside[id(child)] == read[id(child)] and not _of_view(child, read):
                waiting.pop(id(child), None)
                below.append(child)
            else:
                waiting[id(child)] = child
    return tuple(waiting.values())


def _of_view(one: Expr, read: Mapping[int, int]) -> bool:
    """Whether it is a view of what has other readers."""
    return isinstance(one, Leaf) and read[id(one.source)] > 1
