"""Routines of libraries that are called for a program: each once, and what they take, made once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import numpy as np

from ...expr.nodes import Const, Expr, Leaf, Map, Reduced, Stored, Through, c_strides
from ...expr.pairs.node import is_pair, pair, parts
from ...expr.routines.row import call_of, reals_of
from ...expr.routines.table import part_of
from ..routines import quick
from .look import VIEWED, reach_of

Result = tuple[int, Stored]


class NotFirstError(Exception):
    """What is left to others: it never leaves this folder."""


def read_of(leaf: Leaf, results: Sequence[Result]) -> Leaf:
    """What ``leaf`` reads, of the one among ``results`` of a routine in which that lies."""
    if not math.prod(leaf.shape):
        return Leaf(results[0][1], leaf.shape, 0, leaf.strides)
    source: Any = leaf.source
    if len(results) == 1 and results[0][1].buffer.size == math.prod(source.shape):
        return Leaf(results[0][1], leaf.shape, leaf.offset, leaf.strides)
    first, end = reach_of(leaf)
    for start, stored in results:  # all of them as one array is kept elsewhere
        if start <= first and end <= start + stored.buffer.size:
            return Leaf(stored, leaf.shape, leaf.offset - start, leaf.strides)
    raise NotFirstError


class _Names:
    """Numbers of nodes that are the same operations of the same arrays, and what was made of them.

    What was made for routines has the names of all its nodes.
    """

    def __init__(self) -> None:
        self.made: dict[tuple[int, ...], list[Leaf]] = {}
        self._named: dict[int, tuple[int, Expr]] = {}  # with what has them, so that ids stay theirs
        self._numbers: dict[tuple[Any, ...], int] = {}

    def name(self, node: Expr) -> int:
        """The number of ``node``."""
        if id(node) in self._named:
            return self._named[id(node)][0]
        key: tuple[Any, ...]
        if isinstance(node, Map):
            key = (node.op, node.dtype, node.shape, *[self.name(arg) for arg in node.args])
        else:
            source: Any = node.source
            if type(source) is Reduced:
                own = (source.op, source.axes, source.keepdims, source.dtype, source.ddof)
                inner: Any = (*own, self.name(source.arg))
            elif type(source) is Const:
                inner = (source.dtype, repr(source.value))  # -0.0 is not 0.0
            else:
                inner = (self.name(source),) if type(source) in VIEWED else id(source)
            key = (inner, node.shape, node.offset, node.strides)
        number = self._numbers.setdefault(key, len(self._numbers))
        self._named[id(node)] = number, node
        return number


class RoutineCalls:
    """What routines that ``roots`` read give, by ``threads`` of a library.

    ``reaches``: what is read of each. ``make`` gives the values of what is no array yet.
    """

    def __init__(
        self,
        roots: Sequence[Expr],
        reaches: dict[int, tuple[int, int]],
        threads: int,
        make: Callable[[Expr], Any],
    ) -> None:
        self.roots, self.reaches, self.threads, self.make = roots, reaches, threads, make
        self.own: dict[int, Stored] = {}  # results that are asked for as they are, by their ids
        self._names: _Names | None = None

    def results_of(
        self,
        source: Through,
        arrays: Callable[[RoutineCalls, Sequence[Expr], Sequence[bool]], Sequence[Leaf]],
    ) -> list[Result]:
        """What the library makes of ``source``: arrays, and where each of them begins.

        ``arrays`` gives what it takes, of arguments and of which of them are parts of pairs.
        """
        reach = self.reaches.get(id(source))
        start, part = (part_of(source, *reach) if reach else None) or (0, source)
        there = all(map(is_at_hand, part.args))  # as nearly always
        args = part.args if there else arrays(self, part.args, call_of(part).pairs)
        call = quick.call_of_arrays(part, args)  # type: ignore[arg-type]
        if call is None:
            raise NotFirstError
        found = quick.run(call, self.threads)
        made = []
        for one in found if isinstance(found, tuple) else (found,):
            flat = reals_of(np, one, part.dtype).reshape(-1)
            made.append((start, Stored(flat, part.dtype)))
            start += flat.size
        # Others may give what they took.
        is_new = call.routine.library or part.op.endswith("_integers")
        if is_new and self._is_wanted(source):
            self.own.update({id(stored): stored for _, stored in made})
        return made

    def _is_wanted(self, source: Through) -> bool:
        """Whether one of the roots is a result of ``source``, as it is."""
        for root in self.roots:
            leaf = parts(root)[0] if type(root) is Map and is_pair(root) else root
            if type(leaf) is Leaf and leaf.source is source:
                return True
        return False

    def in_memory(self, nodes: list[Expr]) -> list[Leaf]:
        """``nodes``, an array or both parts of a complex one, as a library takes them."""
        if all(map(is_at_hand, nodes)):
            return nodes  # type: ignore[return-value]
        if nodes[0].shape != nodes[-1].shape:  # parts that are viewed in two ways
            return [leaf for node in nodes for leaf in self.in_memory([node])]
        names = self._names = self._names or _Names()
        name = tuple([names.name(node) for node in nodes])
        if name in names.made:
            return names.made[name]
        # Results may lie in another order; those of an array here lie in C order.
        values = np.asarray(self.make(nodes[0] if len(nodes) == 1 else pair(*nodes)))
        dtype, shape = nodes[0].dtype, nodes[0].shape
        stored = Stored(values.reshape(-1).view(dtype), dtype)
        strides = tuple([len(nodes) * step for step in c_strides(shape)])
        made = [Leaf(stored, shape, k, strides) for k in range(len(nodes))]
        names.made[name] = made
        return made


def is_at_hand(node: Expr) -> TypeGuard[Leaf]:
    """Whether a library takes ``node`` as it lies."""
    return type(node) is Leaf and quick.is_in_memory(node.source)
