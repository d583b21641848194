"""Few elements that read reductions of few: those are made first, each by a call of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...expr.graph import is_short
from ...expr.nodes import Expr, Leaf, Map, Reduced, Source, Stored, whole
from .structure import MOST_NODES

# Elements of each up to which to plan takes longer than to read them more often than a plan would.
FEW: Final = 1 << 13


class _LeftError(Exception):
    """What is left to the planner: it never leaves this module."""


def with_results(root: Expr, made: Callable[[Expr], Any]) -> Expr | None:
    """``root`` with arrays for the reductions that it reads; None where it is left to the planner.

    ``made`` gives the value of a reduction, or None.
    """
    if math.prod(root.shape) > FEW or not is_short(root, MOST_NODES):
        return None
    done: dict[int, Any] = {}
    count = 0

    def over_arrays(source: Reduced) -> Reduced:
        """The same reduction, of arrays alone: what it reads is made first, and once."""
        arg = visit(source.arg)
        return Reduced(source.op, arg, source.axes, source.keepdims, source.dtype, source.ddof)

    def array_of(source: Reduced) -> Stored:
        nonlocal count
        if math.prod(source.arg.shape) > FEW or source.op == "prod":
            raise _LeftError
        value = made(whole(over_arrays(source), source.shape))
        if value is None:
            raise _LeftError
        count += 1
        return Stored(np.asarray(value).reshape(-1), source.dtype)

    def read(source: Source) -> Source:
        if type(source) in (Leaf, Map):
            return visit(source)  # type: ignore[arg-type]
        if type(source) is not Reduced:
            return source
        if id(source) not in done:
            done[id(source)] = array_of(source)
        return done[id(source)]  # type: ignore[no-any-return]

    def visit(node: Expr) -> Expr:
        if id(node) not in done:
            if type(node) is Map:
                done[id(node)] = Map(node.op, tuple(map(visit, node.args)), node.shape, node.dtype)
            else:
                assert type(node) is Leaf
                source = read(node.source)
                same = source is node.source
                done[id(node)] = (
                    node if same else Leaf(source, node.shape, node.offset, node.strides)
                )
        return done[id(node)]  # type: ignore[no-any-return]

    last = root.source if type(root) is Leaf and type(root.source) is Reduced else None
    try:
        if last is None:
            found = visit(root)
        else:  # a reduction itself, of what reads others
            own = over_arrays(last)
            assert type(root) is Leaf
            found = Leaf(own, root.shape, root.offset, root.strides)
    except _LeftError:
        return None
    return found if count else None
