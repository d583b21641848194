"""A few operations around routines of arrays in memory: the libraries are called first.

What is left reads arrays alone, so it is one kernel, which is known when it was met before, or a
short program of its own. A product of two matrices of 10 x 10 and what is added to it take half
the time of a walk from node to node, a convolution by three transforms a third less than a plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import is_
from typing import Any, TypeGuard
from weakref import WeakSet

import numpy as np

from ...expr.nodes import (
    Expr,
    Leaf,
    Map,
    Piece,
    Piecewise,
    Reduced,
    Stored,
    Through,
    c_strides,
    is_whole,
)
from ...expr.pairs.node import interleaved, is_pair, pair
from ...expr.piecewise.assigned import First, Writes
from ...expr.routines.row import call_of, reals_of
from ...expr.routines.table import part_of
from ..progress.watch import telling
from ..results import as_complex, shaped
from ..rungs import Rung
from ..small.call import is_here
from . import quick
from .work import VIEWED, RoutineWork, in_boxes, work_of

Make = Callable[[Expr], Any]


class _NotHereError(Exception):
    """What is left to others: it never leaves this module."""


class OverArrays:
    """``roots`` that read arrays in the places of routines, and the ``results`` of these."""

    def __init__(self, roots: list[Expr], results: WeakSet[Stored]) -> None:
        self.roots, self._results = roots, results
        self._given: list[Any] = []

    def values(self, make: Callable[[list[Expr]], list[Any]]) -> list[Any]:
        """Those of the roots: a routine's as it is, and what ``make`` gives of all others."""
        here = [self._at_hand(root) for root in self.roots]
        rest = [root for root, value in zip(self.roots, here, strict=True) if value is None]
        made = iter(make(rest) if rest else ())
        return [next(made) if value is None else value for value in here]

    def _at_hand(self, root: Expr) -> Any:
        """The value of ``root``, a whole result of a routine; None of others, and if it is given.

        What shares memory with an earlier one is made again, for writes are seen by nobody else.
        """
        leaf = interleaved(root) if is_pair(root) else root
        if type(leaf) is not Leaf or leaf.source not in self._results or not is_whole(leaf):
            return None
        buffer: Any = leaf.source.buffer  # type: ignore[union-attr]
        if buffer.size != math.prod(leaf.shape):
            return None
        if any(np.may_share_memory(buffer, one) for one in self._given):
            return None
        self._given.append(buffer)
        made = shaped(buffer.reshape(leaf.shape), leaf.shape)
        return as_complex(made) if is_pair(root) else made


def over_arrays(
    roots: Sequence[Expr], work: RoutineWork, threads: int, make: Make
) -> OverArrays | None:
    """``roots`` with arrays in the places of the routines that they read, each called once.

    ``work`` is that of `work_of`; ``make`` gives the values of what a routine takes, where that is
    no array yet. None where one of the routines is not called here.
    """
    walk = _Called(work, threads, make)
    try:
        return OverArrays([walk.visit(root) for root in roots], walk.own)
    except _NotHereError:
        return None


def _is_at_hand(node: Expr) -> TypeGuard[Leaf]:
    """Whether a library takes ``node`` as it lies."""
    return type(node) is Leaf and quick.is_in_memory(node.source)


class _Called:
    """What was made of the nodes of one program, until the last of their readers has it."""

    def __init__(self, work: RoutineWork, threads: int, make: Make) -> None:
        self.reaches, self.threads, self.make = work.reaches, threads, make
        self.left = work.readers
        self.done: dict[int, Any] = {}
        self.own: WeakSet[Stored] = WeakSet()  # results that nobody else has

    def _once(self, node: Any, make: Callable[[Any], Any]) -> Any:
        """What ``make`` gives of ``node``, kept for those who read it later."""
        made = self.done.pop(id(node), None)
        if made is None:
            made = make(node)
        self.left[id(node)] -= 1
        if self.left[id(node)]:
            self.done[id(node)] = made
        return made

    def visit(self, node: Expr) -> Any:
        """``node`` with arrays for routines."""
        return self._once(node, self._leaf if type(node) is Leaf else self._map)

    def _map(self, node: Any) -> Any:
        args = tuple([self.visit(arg) for arg in node.args])
        for one, given in zip(args, node.args, strict=True):
            if one is not given:
                return Map(node.op, args, node.shape, node.dtype)
        return node

    def _leaf(self, leaf: Leaf) -> Leaf:
        source: Any = leaf.source
        kind = type(source)
        if kind is Through:
            return self._read(leaf, self._once(source, self._results_of))
        if kind in VIEWED:
            found: Any = self.visit(source)
        elif kind is Reduced:
            found = self._once(source, self._reduced)
        elif kind is Piecewise:
            found = self._once(source, self._pieces)
        else:
            return leaf
        same = found is source
        return leaf if same else Leaf(found, leaf.shape, leaf.offset, leaf.strides)

    def _reduced(self, source: Reduced) -> Reduced:
        arg = self.visit(source.arg)
        return source if arg is source.arg else replace(source, arg=arg)

    def _pieces(self, source: Piecewise) -> Piecewise:
        given = in_boxes(source)
        assert given is not None
        made = [self.visit(one) for one in given]
        if all(map(is_, made, given)):
            return source
        if not isinstance(source.boxes, First):
            over = zip(source.pieces, made, strict=True)
            return replace(source, boxes=tuple([Piece(old.at, new) for old, new in over]))
        _, pieces = source.boxes.given()
        writes = Writes(made[0], [Piece(a.at, b) for a, b in zip(pieces, made[1:], strict=True)])
        return replace(source, boxes=First(writes, len(pieces)))

    def _read(self, leaf: Leaf, results: list[tuple[int, Stored]]) -> Leaf:
        """What ``leaf`` reads, of the one among ``results`` in which that lies."""
        if not math.prod(leaf.shape):
            return Leaf(results[0][1], leaf.shape, 0, leaf.strides)
        for start, stored in results:
            if start <= leaf.offset < start + stored.buffer.size:
                return Leaf(stored, leaf.shape, leaf.offset - start, leaf.strides)
        raise _NotHereError

    def _results_of(self, source: Through) -> list[tuple[int, Stored]]:
        """What the library makes of ``source``: arrays, and where each of them begins."""
        start, part = part_of(source, *self.reaches[id(source)]) or (0, source)
        call = quick.call_of_arrays(part, self._arrays(source.args, call_of(part).pairs))
        if call is None:
            raise _NotHereError
        found = quick.run(call, self.threads)
        made = []
        for one in found if isinstance(found, tuple) else (found,):
            flat = reals_of(np, one, part.dtype).reshape(-1)
            made.append((start, Stored(flat, part.dtype)))
            start += flat.size
        if call.routine.library or part.op.endswith("_integers"):  # others may give what they took
            self.own.update([stored for _, stored in made])
        return made

    def _arrays(self, args: Sequence[Expr], pairs: Sequence[bool]) -> list[Leaf]:
        """What a routine takes as arrays, each made once; both parts of complex numbers at once."""
        found: list[Leaf] = []
        rest = iter(args)
        for is_of_parts in pairs or (False,) * len(args):
            some = [next(rest), next(rest)] if is_of_parts else [next(rest)]
            made = self._in_memory([self.visit(arg) for arg in some])
            for arg, leaf in zip(some, made, strict=True):
                if self.left[id(arg)]:  # for others, too
                    self.done[id(arg)] = leaf
            found += made
        return found

    def _in_memory(self, nodes: list[Expr]) -> list[Leaf]:
        """``nodes``, an array or both parts of a complex one, as a library takes them."""
        if all(map(_is_at_hand, nodes)):
            return nodes  # type: ignore[return-value]
        if nodes[0].shape != nodes[-1].shape:  # parts that are viewed in two ways
            return [leaf for node in nodes for leaf in self._in_memory([node])]
        # Results may lie in another order; those of an array here lie in C order.
        values = np.asarray(self.make(nodes[0] if len(nodes) == 1 else pair(*nodes)))
        dtype, shape = nodes[0].dtype, nodes[0].shape
        stored = Stored(values.reshape(-1).view(dtype), dtype)
        strides = tuple([len(nodes) * step for step in c_strides(shape)])
        return [Leaf(stored, shape, k, strides) for k in range(len(nodes))]


def values(
    roots: Sequence[Expr],
    rung_of: Callable[[], Rung],
    compute: Callable[..., Any],
    compute_all: Callable[..., list[Any]],
) -> list[Any] | None:
    """The values of ``roots``, a few operations around routines; None of others and elsewhere.

    ``compute`` and ``compute_all`` make what is left, and what routines take.
    """
    work = work_of(roots)
    rung = None if work is None else rung_of()
    if work is None or rung is None or not is_here(rung.kind):
        return None
    with telling(None, rung.name, work.alike):
        found = over_arrays(roots, work, rung.workers, lambda one: compute(one, rung))
        if found is None:
            return None
        alone = len(found.roots) == 1
        return found.values(
            lambda some: [compute(some[0], rung)] if alone else compute_all(some, rung)
        )
