"""Whether it pays to make first what a program reads by another way than element by element.

Of a short program of few elements that is whatever is no kernel; of a longer one what libraries
make of arrays. Of more nodes a plan, or a walk, makes less, and of larger arrays it lets go of what
is not read any more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ... import dtypes
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
from ...expr.pairs.node import is_pair, parts
from ...expr.routines.row import call_of, flops_of
from ...expr.routines.table import ROUTINES
from ...ops import GATHERS
from .. import machine
from ..routines.direct import FLOPS, needs_no_look
from .boxes import few_boxes, in_boxes, is_turned

NODES: Final = 26  # and sources of a program of which all is made first
# Elements of each: of two arrays of twice as many, memory is given back and asked for each time.
FEW: Final = 1 << 15
_OPERATIONS: Final = 1 << 20  # of all its routines together
# Elements that are made though a view leaves them out: some microseconds.
_LEFT_OUT: Final = 1 << 12

AROUND: Final = 40  # nodes and sources around routines: no loop asks for what is kept of so few
_MANY: Final = 1 << 20  # elements of each
_LITTLE: Final = 1 << 27  # bytes of all, of which nobody looks whether there is room
_SHORT: Final = 1 << 12  # elements of a routine that takes no time to speak of

AS_THEY_ARE: Final = frozenset((Stored, Const, Position))
VIEWED: Final = frozenset((Leaf, Map))


class Ahead(NamedTuple):
    """What is made first: ``everything`` but one kernel, or what routines make and take alone.

    ``taken``: the ids of reductions that others take. ``reaches``: what is read of each routine.
    ``readers``: how often each node is read.
    """

    everything: bool
    taken: frozenset[int]
    flops: float
    reaches: dict[int, tuple[int, int]]
    readers: dict[int, int]

    @property
    def alike(self) -> int:
        """How many elements of a sum of drawn numbers take about as long."""
        return int(self.flops / FLOPS)


def ahead_of(roots: Sequence[Expr], everything: bool = True) -> Ahead | None:
    """What is made before ``roots``; None where nothing is, or they are many nodes or elements.

    Without ``everything`` that is what routines make, alone.
    """
    look = _AheadLook(everything and len(roots) == 1 and not is_pair_of_boxes(roots[0]))
    for root in roots:
        # A product is no kernel alone.
        if type(root) is Leaf and type(root.source) is Reduced and root.source.op == "prod":
            return None
        if not look.takes(root):
            return None
    return look.found()


def is_pair_of_boxes(root: Expr) -> bool:
    """Whether both parts of a complex array were assigned to: together they are planned once."""
    return is_pair(root) and all(
        type(part) is Leaf and type(part.source) is Piecewise for part in parts(root)
    )


def is_apart(source: Any) -> bool:
    """Whether ``source`` is a scan, or what others than libraries make of an array as a whole."""
    kind = type(source)
    return kind is Scanned or (kind is Through and source.op not in ROUTINES)


def reach_of(leaf: Leaf) -> tuple[int, int]:
    """The first position that ``leaf``, of some elements, reads, and the one after the last."""
    first = last = leaf.offset
    for step, n in zip(leaf.strides, leaf.shape, strict=True):
        far = step * (n - 1)
        first, last = (first, last + far) if far > 0 else (first + far, last)
    return first, last + 1


class _AheadLook:
    """A walk over few nodes: whether all, or what routines make, may be made before the others."""

    def __init__(self, everything: bool) -> None:
        self.everything, self.routines = everything, True
        self.readers: dict[int, int] = {}
        self.reaches: dict[int, tuple[int, int]] = {}
        self.laid: set[int] = set()  # leaves whose elements are laid out anew
        self.reduced: list[Reduced] = []
        self.flops, self.bytes = 0.0, 0
        self.leaves = self.things = 0

    def found(self) -> Ahead | None:
        """What there is to do."""
        if self.everything and self.flops <= _OPERATIONS:
            taken = _taken(self.reduced) if self.reduced else _NONE
            if self.things or taken:
                return Ahead(True, taken, self.flops, self.reaches, {})
        if not self.routines or not self.flops:
            return None
        if self.bytes > _LITTLE and self.bytes > machine.free_memory() // 2:
            return None
        return Ahead(False, _NONE, self.flops, self.reaches, self.readers)

    def takes(self, root: Expr) -> bool:
        """Whether what ``root`` reads is known here."""
        last: Any = root.source if type(root) is Leaf and is_apart(root.source) else None
        if last is not None:
            self.routines = False
        stack: list[Any] = [root if last is None else last.arg]
        readers = self.readers
        while stack:
            node = stack.pop()
            if id(node) in readers:
                readers[id(node)] += 1
                continue
            readers[id(node)] = 1
            size = math.prod(node.shape)
            if size > FEW:
                if size > _MANY:
                    return False
                self.everything = False
            if type(node) is Map:
                if node.op in GATHERS and _has_several(node.args[1]):
                    return False  # positions count from the first of all results
                self.bytes += size * 8
                stack += node.args
            elif type(node.source) in AS_THEY_ARE:
                self.leaves += 1
                if type(node.source) is Stored:
                    if type(node.source.buffer) is not np.ndarray:
                        return False
                    # Results lie as what lies turned, which is planned; not what is laid out anew.
                    if self.everything and id(node) not in self.laid and is_turned(node):
                        self.everything = False
            else:
                below = self._leaf(node, size)
                if below is None:
                    return False
                stack += below
            if len(readers) - self.leaves > AROUND:
                return False
        if len(readers) > NODES:
            self.everything = False
        return self.everything or self.routines

    def _leaf(self, leaf: Leaf, size: int) -> Iterable[Expr] | None:
        """What the source of ``leaf`` is made of; None where it is not known here."""
        source: Any = leaf.source
        kind = type(source)
        if kind is Reduced:
            if source.op == "prod":
                return None
            if self._is_again(source):
                return ()
            self.reduced.append(source)
            return (source.arg,)
        if kind not in _FIRST:
            return None
        whole = math.prod(source.shape)
        if not 0 < whole <= FEW:
            self.everything = False
        self.things += 1
        if kind is Through:
            if source.op not in ROUTINES:
                return None
            if len(call_of(source).results) > 1:
                self._reach(source, leaf)
            return () if self._is_again(source) else self._call(source, whole)
        if kind is Scanned:
            self.routines = False
            return (source.arg,)
        if whole > 4 * size + _LEFT_OUT:
            self.everything = False
        if kind is Piecewise:
            if self._is_again(source):
                return ()
            if self.everything and few_boxes(source) is None:
                self.everything = False
            return in_boxes(source)
        if kind is Leaf:
            self.laid.add(id(source))
        return (source,)

    def _is_again(self, source: Any) -> bool:
        """Whether another leaf of ``source`` was met; one more reads it now."""
        count = self.readers[id(source)] = self.readers.get(id(source), 0) + 1
        return count > 1

    def _call(self, source: Through, size: int) -> Iterable[Expr] | None:
        """Count a routine; None where it needs so much that somebody is to look for room."""
        routine, args, most = ROUTINES[source.op], source.args, size
        for arg in args:
            most = max(most, math.prod(arg.shape))
        if most > _SHORT and not needs_no_look(routine, source, most):
            return None
        self.flops += flops_of(routine, source) + 1
        self.bytes += size * dtypes.itemsize(source.dtype)
        return args

    def _reach(self, source: Through, leaf: Leaf) -> None:
        if not math.prod(leaf.shape):
            self.reaches.setdefault(id(source), (0, 0))
            return
        first, end = reach_of(leaf)
        old = self.reaches.get(id(source), (first, end))
        self.reaches[id(source)] = min(first, old[0]), max(end, old[1])


_NONE: Final[frozenset[int]] = frozenset()
_FIRST: Final = frozenset((Leaf, Map, Piecewise, Scanned, Through))


def _has_several(memory: Expr) -> bool:
    """Whether ``memory`` is that of a routine with several results."""
    source = memory.source if type(memory) is Leaf else None
    if type(source) is not Through or source.op not in ROUTINES:
        return False
    return len(call_of(source).results) > 1


def _taken(reduced: Sequence[Reduced]) -> frozenset[int]:
    """The ids of reductions that ``reduced`` take."""
    leaves = [node.source for one in reduced for node in walk(one.arg) if type(node) is Leaf]
    return frozenset([id(source) for source in leaves if type(source) is Reduced])
