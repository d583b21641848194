"""A few operations around routines of few numbers: the libraries are called first.

What is left reads arrays alone, so it is one kernel, which is known when it was met before. A
product of two matrices of 10 x 10 and what is added to it take half the time of a walk from node
to node.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ...expr.nodes import Const, Expr, Leaf, Map, Position, Reduced, Stored, Through, whole
from ...expr.routines.row import call_of, flops_of, reals_of
from ...expr.routines.table import ROUTINES
from ...late import watched
from . import quick

Make = Callable[[Expr], Any]

_NODES: Final = 24  # of a program; of a longer one a plan, or a walk, makes less
_FEW: Final = 1 << 16  # elements of each
_FREE: Final = frozenset((Const, Position))
# Operations of all routines together: what takes longer is kept where a loop asks for it again.
_FLOPS: Final = 1 << 20


class _NotHereError(Exception):
    """What is left to others: it never leaves this module."""


def over_arrays(root: Expr, threads: int, make: Make) -> Expr | None:
    """``root`` with arrays in the places of the routines that it reads, each called once.

    ``make`` gives the values of what a routine takes, where that is no array yet. None where
    ``root`` reads no routine, more than a few nodes, or one that takes long or has many numbers.
    """
    reduced = root.source if type(root) is Leaf and type(root.source) is Reduced else None
    inner = root if reduced is None else reduced.arg
    if reduced is not None and reduced.op == "prod":
        return None  # it is no kernel alone
    if not _is_worth(inner) or watched():
        return None
    try:
        found: Expr = _Called(threads, make).visit(inner)
    except _NotHereError:
        return None
    if reduced is None:
        return found
    assert type(root) is Leaf
    return Leaf(replace(reduced, arg=found), root.shape, root.offset, root.strides)


def _is_worth(root: Expr) -> bool:
    """Whether routines are among the few nodes of ``root``, of few elements each, and no others."""
    stack: list[Any] = [root]
    met: set[int] = set()
    flops = 0.0
    while stack:
        node = stack.pop()
        if id(node) in met:
            continue
        met.add(id(node))
        if len(met) > _NODES or math.prod(node.shape) > _FEW:
            return False
        if type(node) is Map:
            stack += node.args
            continue
        source: Any = node.source
        kind = type(source)
        if kind is Through and source.op in ROUTINES:
            if len(call_of(source).results) > 1 or math.prod(source.shape) > _FEW:
                return False
            flops += flops_of(ROUTINES[source.op], source) + 1
            stack += source.args
        elif kind not in _FREE and not (kind is Stored and type(source.buffer) is np.ndarray):
            return False
    return 0 < flops <= _FLOPS


class _Called:
    """What was made of the nodes of one program."""

    def __init__(self, threads: int, make: Make) -> None:
        self.threads, self.make = threads, make
        self.done: dict[int, Any] = {}

    def visit(self, node: Expr) -> Any:
        """``node`` with arrays for routines."""
        made = self.done.get(id(node))
        if made is None:
            made = self.done[id(node)] = self._leaf(node) if type(node) is Leaf else self._map(node)
        return made

    def _leaf(self, leaf: Leaf) -> Leaf:
        source = leaf.source
        if type(source) is not Through:
            return leaf
        return Leaf(self.array_of(source), leaf.shape, leaf.offset, leaf.strides)

    def _map(self, node: Any) -> Map:
        args = tuple([self.visit(arg) for arg in node.args])
        return Map(node.op, args, node.shape, node.dtype)

    def array_of(self, source: Through) -> Stored:
        """What the library makes of ``source``, which has one result."""
        array = self.done.get(id(source))
        if array is None:
            call = quick.call_of_arrays(source, [self.array(arg) for arg in source.args])
            if call is None:
                raise _NotHereError
            made = reals_of(np, quick.run(call, self.threads), source.dtype)
            array = self.done[id(source)] = Stored(made.reshape(-1), source.dtype)
        assert isinstance(array, Stored)
        return array

    def array(self, arg: Expr) -> Leaf:
        """``arg`` of a routine as one of memory."""
        node = self.visit(arg)
        if type(node) is Leaf and type(node.source) is Stored:
            return node
        # Results may lie in another order; those of an array here lie in C order.
        values = np.asarray(self.make(node), node.dtype).reshape(-1)
        return whole(Stored(values, node.dtype), node.shape)
