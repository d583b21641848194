"""Expressions that are cut as one before them: the steps of a loop are cut into regions once.

How `split` cuts depends on operations, shapes and places, never on what is read. So the regions are
remembered as lists of nodes in which sources have numbers, and made again of other sources.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Any, Final, TypeAlias

from ...dataclass import dataclass
from ..graph import HAVE_BELOW, below_up_to
from ..nodes import Const, Expr, Leaf, Map, Node, Piecewise, Position, Shape, Source, walk
from .regions import Box, split

MOST: Final = 128  # programs that are remembered; the one not asked for longest is forgotten
MOST_NODES: Final = 1 << 12  # of one, and of all its regions
# A node but for what it needs, and the numbers of that: of the source or of the arguments.
Step: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class BoxSteps:
    """The nodes of a `Box` at ``at``, each after what it needs, and which its root and extra are.

    Sources that were not there before it was cut (a position alone is a constant) lie in it.
    """

    at: Shape
    nodes: tuple[Step, ...]
    tops: tuple[int, ...]

    def made(self, sources: Sequence[Source]) -> Box:
        """The box that reads ``sources``."""
        done: list[Any] = []
        for is_leaf, what, *own in self.nodes:
            if is_leaf:
                done.append(Leaf(sources[what] if type(what) is int else what, *own))
            else:
                op, shape, dtype = own
                done.append(Map(op, tuple([done[k] for k in what]), shape, dtype))
        root, *extra = [done[k] for k in self.tops]
        return Box(self.at, root, tuple(extra))


_known: OrderedDict[Hashable, tuple[BoxSteps, ...]] = OrderedDict()
_lock = threading.Lock()


def split_again(root: Expr, extra: tuple[Leaf, ...]) -> list[Box]:
    """What `split` gives; from memory, where an expression like ``root`` has been split."""
    nodes = below_up_to((root, *extra), MOST_NODES)
    if nodes is None or not all(map(_is_plain, nodes)):
        return split(root, extra)
    sources: list[Source] = []
    numbers: dict[int, int] = {}
    key = _key(nodes, (root, *extra), sources, numbers)
    with _lock:
        known = _known.get(key)
        if known is not None:
            _known.move_to_end(key)
    if known is not None:
        return [steps.made(sources) for steps in known]
    boxes = split(root, extra)
    found = tuple([_steps(box, numbers) for box in boxes])
    if sum([len(steps.nodes) for steps in found]) <= MOST_NODES:
        with _lock:
            _known[key] = found
            while len(_known) > MOST:
                _known.popitem(last=False)
    return boxes


def _is_plain(node: Node) -> bool:
    """Whether all that ``node`` needs is read by `split`: no view of a map, no reduction."""
    if type(node) is Leaf:
        return type(node.source) is Piecewise or type(node.source) not in HAVE_BELOW
    return type(node) is Map or type(node) is Piecewise


def _key(
    nodes: Sequence[Node], roots: Sequence[Expr], sources: list[Source], numbers: dict[int, int]
) -> Hashable:
    """What counts of ``nodes``; their ``sources`` and the ``numbers`` of these are put there."""
    places: dict[int, int] = {}
    entries: list[Hashable] = []
    for node in nodes:
        entry: Hashable
        if type(node) is Map:
            entry = node.op, node.dtype, node.shape, *[places[id(arg)] for arg in node.args]
        elif type(node) is Leaf:
            source = node.source
            if type(source) is Piecewise:
                read: Hashable = "pieces", places[id(source)]
            else:
                if id(source) not in numbers:
                    numbers[id(source)] = len(sources)
                    sources.append(source)
                read = numbers[id(source)], source.dtype if type(source) is Position else ""
            entry = read, node.shape, node.offset, node.strides
        else:
            assert type(node) is Piecewise
            inside = [(piece.at, places[id(piece.expr)]) for piece in node.pieces]
            entry = "piecewise", node.shape, *inside
        places[id(node)] = len(entries)
        entries.append(entry)
    return (*[places[id(root)] for root in roots], *entries)


def _steps(box: Box, numbers: dict[int, int]) -> BoxSteps:
    """``box`` without the sources that have ``numbers``."""
    places: dict[int, int] = {}
    steps: list[Step] = []
    for top in (box.root, *box.extra):
        for node in walk(top):
            if id(node) in places:
                continue
            places[id(node)] = len(steps)
            if isinstance(node, Leaf):
                source = numbers.get(id(node.source), node.source)
                assert type(source) is int or type(source) is Const
                steps.append((True, source, node.shape, node.offset, node.strides))
            else:
                args = tuple([places[id(arg)] for arg in node.args])
                steps.append((False, args, node.op, node.shape, node.dtype))
    tops = tuple([places[id(top)] for top in (box.root, *box.extra)])
    return BoxSteps(box.at, tuple(steps), tops)
