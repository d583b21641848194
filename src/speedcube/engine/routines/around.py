"""A few operations around routines of arrays in memory: the libraries are called first.

What is left reads arrays alone, so it is one kernel, which is known when it was met before, or a
short program of its own. A product of two matrices of 10 x 10 and what is added to it take less
than a walk from node to node, a quadratic form of 300 x 300 less than half of what a plan takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from operator import is_
from typing import Any, Final, TypeGuard

import numpy as np

from ...expr.nodes import (
    Const,
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
from ...expr.pairs.node import interleaved, is_pair, pair, parts
from ...expr.piecewise.assigned import First, Writes
from ...expr.routines.row import call_of, reals_of
from ...expr.routines.table import part_of
from ..progress.watch import LEAST as LONG
from ..progress.watch import telling
from ..results import as_complex, shaped
from ..rungs import Rung
from ..small.call import is_here
from . import quick
from .work import AS_THEY_ARE, VIEWED, RoutineWork, in_boxes, reach_of, work_of

Make = Callable[[Expr], Any]
_SAYS_NOTHING: Final = nullcontext()


class _NotHereError(Exception):
    """What is left to others: it never leaves this module."""


class OverArrays:
    """``roots`` that read arrays in the places of routines, and the ``results`` of these."""

    def __init__(self, roots: list[Expr], results: dict[int, Stored]) -> None:
        self.roots, self._results = roots, results  # by their ids
        self._given: list[Any] = []

    def values(self, make: Callable[[list[Expr]], list[Any]]) -> list[Any]:
        """Those of the roots: a routine's as it is, and what ``make`` gives of all others."""
        if not self._results:  # as nearly always
            return make(self.roots)
        here = [self._at_hand(root) for root in self.roots]
        rest = [root for root, value in zip(self.roots, here, strict=True) if value is None]
        made = iter(make(rest) if rest else ())
        return [next(made) if value is None else value for value in here]

    def _at_hand(self, root: Expr) -> Any:
        """The value of ``root``, a whole result of a routine; None of others, and if it is given.

        What shares memory with an earlier one is made again, for writes are seen by nobody else.
        """
        leaf = interleaved(root) if is_pair(root) else root
        if type(leaf) is not Leaf or id(leaf.source) not in self._results or not is_whole(leaf):
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
    walk.wanted = [source for root in roots if (source := _own_source(root)) is not None]
    try:
        return OverArrays([walk.visit(root) for root in roots], walk.own)
    except _NotHereError:
        return None


def _own_source(root: Expr) -> Through | None:
    """The routine of which ``root`` is a result, as it is."""
    leaf = parts(root)[0] if is_pair(root) else root
    return leaf.source if type(leaf) is Leaf and type(leaf.source) is Through else None


def _is_at_hand(node: Expr) -> TypeGuard[Leaf]:
    """Whether a library takes ``node`` as it lies."""
    return type(node) is Leaf and quick.is_in_memory(node.source)


class _Called:
    """What was made of the nodes of one program, until the last of their readers has it."""

    def __init__(self, work: RoutineWork, threads: int, make: Make) -> None:
        self.reaches, self.threads, self.make = work.reaches, threads, make
        self.left = work.readers
        self.done: dict[int, Any] = {}
        # What was made for routines, by the names of nodes; these, with what has them.
        self.made: dict[tuple[int, ...], list[Leaf]] = {}
        self.named: dict[int, tuple[int, Expr]] = {}
        self.numbers: dict[tuple[Any, ...], int] = {}
        self.wanted: list[Through] = []  # of which results are asked for as they are
        self.own: dict[int, Stored] = {}  # these, where nobody else has them

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
        if type(node) is Leaf and type(node.source) in AS_THEY_ARE:
            return node
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
        first, end = reach_of(leaf)
        for start, stored in results:  # all of them as one array is kept elsewhere
            if start <= first and end <= start + stored.buffer.size:
                return Leaf(stored, leaf.shape, leaf.offset - start, leaf.strides)
        raise _NotHereError

    def _results_of(self, source: Through) -> list[tuple[int, Stored]]:
        """What the library makes of ``source``: arrays, and where each of them begins."""
        reach = self.reaches.get(id(source))
        start, part = (part_of(source, *reach) if reach else None) or (0, source)
        call = quick.call_of_arrays(part, self._arrays(part.args, call_of(part).pairs))
        if call is None:
            raise _NotHereError
        found = quick.run(call, self.threads)
        made = []
        for one in found if isinstance(found, tuple) else (found,):
            flat = reals_of(np, one, part.dtype).reshape(-1)
            made.append((start, Stored(flat, part.dtype)))
            start += flat.size
        # Others may give what they took.
        is_new = call.routine.library or part.op.endswith("_integers")
        if is_new and any(one is source for one in self.wanted):
            self.own.update({id(stored): stored for _, stored in made})
        return made

    def _arrays(self, args: Sequence[Expr], pairs: Sequence[bool]) -> Sequence[Leaf]:
        """What a routine takes as arrays, each made once; both parts of complex numbers at once."""
        if all(map(_is_at_hand, args)):  # as nearly always
            return args  # type: ignore[return-value]
        found: list[Leaf] = []
        rest = iter(args)
        for is_of_parts in pairs or (False,) * len(args):
            some = [next(rest), next(rest)] if is_of_parts else [next(rest)]
            made = self._in_memory([self.visit(arg) for arg in some])
            for arg, leaf in zip(some, made, strict=True):
                if self.left.get(id(arg)):  # for others, too
                    self.done[id(arg)] = leaf
            found += made
        return found

    def _in_memory(self, nodes: list[Expr]) -> list[Leaf]:
        """``nodes``, an array or both parts of a complex one, as a library takes them."""
        if all(map(_is_at_hand, nodes)):
            return nodes  # type: ignore[return-value]
        if nodes[0].shape != nodes[-1].shape:  # parts that are viewed in two ways
            return [leaf for node in nodes for leaf in self._in_memory([node])]
        name = tuple([self._name(node) for node in nodes])
        if name in self.made:
            return self.made[name]
        # Results may lie in another order; those of an array here lie in C order.
        values = np.asarray(self.make(nodes[0] if len(nodes) == 1 else pair(*nodes)))
        dtype, shape = nodes[0].dtype, nodes[0].shape
        stored = Stored(values.reshape(-1).view(dtype), dtype)
        strides = tuple([len(nodes) * step for step in c_strides(shape)])
        made = [Leaf(stored, shape, k, strides) for k in range(len(nodes))]
        self.made[name] = made
        return made

    def _name(self, node: Expr) -> int:
        """A number that nodes have in common which are the same operations of the same arrays."""
        if id(node) in self.named:
            return self.named[id(node)][0]
        key: tuple[Any, ...]
        if isinstance(node, Map):
            key = (node.op, node.dtype, node.shape, *[self._name(arg) for arg in node.args])
        else:
            source: Any = node.source
            if type(source) is Reduced:
                own = (source.op, source.axes, source.keepdims, source.dtype, source.ddof)
                inner: Any = (*own, self._name(source.arg))
            elif type(source) is Const:
                inner = (source.dtype, repr(source.value))  # -0.0 is not 0.0
            else:
                inner = (self._name(source),) if type(source) in VIEWED else id(source)
            key = (inner, node.shape, node.offset, node.strides)
        number = self.numbers.setdefault(key, len(self.numbers))
        self.named[id(node)] = number, node
        return number


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
    with telling(None, rung.name, work.alike) if work.alike >= LONG else _SAYS_NOTHING:
        found = over_arrays(roots, work, rung.workers, lambda one: compute(one, rung))
        if found is None:
            return None
        alone = len(found.roots) == 1
        return found.values(
            lambda some: [compute(some[0], rung)] if alone else compute_all(some, rung)
        )
