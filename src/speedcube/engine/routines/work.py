"""What few operations around routines take: whether the libraries are called first.

Of a longer program a plan, or a walk, makes less, and of larger arrays it lets go of what is not
read any more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ... import dtypes
from ...expr.nodes import Const, Expr, Leaf, Map, Piecewise, Position, Reduced, Stored, Through
from ...expr.piecewise.assigned import First
from ...expr.routines.row import call_of, flops_of
from ...expr.routines.table import ROUTINES
from ...late import watched
from ...ops import GATHERS
from .. import machine
from .direct import FLOPS, needs_no_look

NODES: Final = 40  # of a program: no loop asks for what is kept of so few (`asked.reading.LONG`)
_FEW: Final = 1 << 20  # elements of each
_LITTLE: Final = 1 << 27  # bytes of all, of which nobody looks whether there is room
_PIECES: Final = 8
_SHORT: Final = 1 << 12  # elements of a routine that takes no time to speak of
AS_THEY_ARE: Final = frozenset((Stored, Const, Position))
VIEWED: Final = frozenset((Leaf, Map))


def in_boxes(source: Piecewise) -> list[Expr] | None:
    """What few boxes of ``source`` have; of an array that was assigned to what there was first."""
    boxes = source.boxes
    if not isinstance(boxes, First):
        return [one.expr for one in source.pieces] if len(source.pieces) <= _PIECES else None
    if boxes.count >= _PIECES:
        return None
    base, pieces = boxes.given()
    return [base, *[one.expr for one in pieces]]


def reach_of(leaf: Leaf) -> tuple[int, int]:
    """The first position that ``leaf``, of some elements, reads, and the one after the last."""
    first = last = leaf.offset
    for step, n in zip(leaf.strides, leaf.shape, strict=True):
        far = step * (n - 1)
        first, last = (first, last + far) if far > 0 else (first + far, last)
    return first, last + 1


def _has_several(memory: Expr) -> bool:
    """Whether ``memory`` is that of a routine with several results."""
    source = memory.source if type(memory) is Leaf else None
    if type(source) is not Through or source.op not in ROUTINES:
        return False
    return len(call_of(source).results) > 1


class RoutineWork(NamedTuple):
    """What is to be done: operations of the routines, what is read of each, how often each node."""

    flops: float
    reaches: dict[int, tuple[int, int]]
    readers: dict[int, int]

    @property
    def alike(self) -> int:
        """How many elements of a sum of drawn numbers take about as long."""
        return int(self.flops / FLOPS)


def work_of(roots: Sequence[Expr]) -> RoutineWork | None:
    """What the routines that ``roots`` read take; None where there are none, or others, or many."""
    if watched():
        return None
    walk = _RoutineWalk()
    for root in roots:
        # A product is no kernel alone.
        if type(root) is Leaf and type(root.source) is Reduced and root.source.op == "prod":
            return None
        if not walk.can_take(root):
            return None
    return walk.work()


def _is_on_host(source: Any) -> bool:
    return type(source) is not Stored or type(source.buffer) is np.ndarray


class _RoutineWalk:
    """A walk over few nodes: whether routines are among them, of arrays and kernels alone."""

    def __init__(self) -> None:
        self.readers: dict[int, int] = {}
        self.reaches: dict[int, tuple[int, int]] = {}
        self.flops, self.bytes = 0.0, 0

    def work(self) -> RoutineWork | None:
        if not self.flops or (self.bytes > _LITTLE and self.bytes > machine.free_memory() // 2):
            return None
        return RoutineWork(self.flops, self.reaches, self.readers)

    def can_take(self, root: Expr) -> bool:
        """Whether what ``root`` reads is known here."""
        stack: list[Any] = [root]
        readers = self.readers
        while stack:
            node = stack.pop()
            if type(node) is Leaf and type(node.source) in AS_THEY_ARE:
                if math.prod(node.shape) > _FEW or not _is_on_host(node.source):
                    return False
                continue
            count = readers[id(node)] = readers.get(id(node), 0) + 1
            if count > 1:
                continue
            size = math.prod(node.shape)
            if len(readers) > NODES or size > _FEW:
                return False
            if type(node) is Map:
                if node.op in GATHERS and _has_several(node.args[1]):
                    return False  # positions count from the first of all results
                self.bytes += size * 8
                stack += node.args
                continue
            source: Any = node.source
            kind = type(source)
            if kind is Through and source.op in ROUTINES:
                if len(call_of(source).results) > 1:
                    self._reach(source, node)
                if self._is_first(source):
                    if not self._add(source):
                        return False
                    stack += source.args
            elif kind is Reduced and source.op != "prod":
                if self._is_first(source):
                    stack.append(source.arg)
            elif kind in VIEWED:
                stack.append(source)
            elif kind is Piecewise and (some := in_boxes(source)) is not None:
                if self._is_first(source):
                    stack += some
            else:
                return False
        return True

    def _is_first(self, source: Any) -> bool:
        count = self.readers[id(source)] = self.readers.get(id(source), 0) + 1
        return count == 1

    def _add(self, source: Through) -> bool:
        """Count a routine; whether it needs so little that there is room."""
        routine, size = ROUTINES[source.op], math.prod(source.shape)
        most = size
        for arg in source.args:
            most = max(most, math.prod(arg.shape))
        self.flops += 1
        if most > _SHORT:
            if not needs_no_look(routine, source, most):
                return False
            self.flops += flops_of(routine, source)
        self.bytes += size * dtypes.itemsize(source.dtype)
        return True

    def _reach(self, source: Through, leaf: Leaf) -> None:
        if not math.prod(leaf.shape):
            self.reaches.setdefault(id(source), (0, 0))
            return
        first, end = reach_of(leaf)
        old = self.reaches.get(id(source), (first, end))
        self.reaches[id(source)] = min(first, old[0]), max(end, old[1])
