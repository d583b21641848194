"""Few elements that read reductions of few: those are made first, each by a call of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ...expr.graph import below, below_up_to, is_short
from ...expr.nodes import Const, Expr, Leaf, Map, Node, Random, Reduced, Source, Stored, whole
from ...ops import GATHERS
from ...plan.costs import FUNCTION, of_node
from ..stepwise.number import remembered
from .structure import MOST_NODES, Structure

# Elements of each up to which to plan takes longer than to read them more often than a plan would.
# `(x - x.mean(0)) / x.std(0)` of 300 x 300: 0.70 ms, planned 0.86; of 100 x 100 0.15 and 0.31.
FEW: Final = 1 << 18
# Elements up to which that holds of the only long reduction, and of what is made of it, where
# little is done with each. `x - x.mean()` of a million on two cores: 2.3 -> 0.7 ms.
MOST: Final = 1 << 21


# Of reductions that read others, as those of a softmax and of a spread without NaN: each is a call
# of a kernel, and what two of them read is made for each. Softmax of 1,000 takes 60 us so, planned
# 135, a spread 170 and 660.
NESTS: Final = 8  # of them, in all
_DEPTH: Final = 2
_ELEMENTS: Final = 1 << 16  # of each of them
_MOST_VAIN: Final = 512  # structures that are remembered, which read too many: they are not tried
_vain: set[Hashable] = set()
NUMBER: Final = 16  # nodes of what makes a number, or some, that others read


class _LeftError(Exception):
    """What is left to the planner: it never leaves this module."""


def with_results(root: Expr, made: Callable[[Expr], Any], most: int | None = None) -> Expr | None:
    """``root`` with arrays for the reductions that it reads; None where it is left to the planner.

    ``made`` gives the value of a reduction, or None. One may have ``most`` elements (`MOST`).
    """
    most = MOST if most is None else most
    nodes = None if math.prod(root.shape) > most else below_up_to([root], MOST_NODES)
    last = root.source if type(root) is Leaf and type(root.source) is Reduced else None
    if nodes is None or not _is_worth(root, [one for one in nodes if one is not last], most):
        return None
    walk = _Walk(made)
    try:
        if last is None:
            found = walk.visit(root)
        else:  # a reduction itself, of what reads others
            own = walk.over_arrays(last)
            assert type(root) is Leaf
            found = Leaf(own, root.shape, root.offset, root.strides)
    except _LeftError:
        return None
    return found if walk.count else None


def with_numbers(root: Expr, made: Callable[[Expr], Any]) -> Expr:
    """``root`` with an array of one element for each number that it is made of, which is made.

    What is made of constants alone, as ``sin(0.1 * t)``, would be one of a kernel, and another one
    in each step of a loop; what is made of others would be made again for each element.
    """
    reduced = root.source if type(root) is Leaf and type(root.source) is Reduced else None
    inner = root if reduced is None else reduced.arg
    walk = _Numbers(made, not inner.shape)
    inner = walk.visit(inner)
    if not walk.found:
        return root
    if reduced is None:
        return inner
    assert type(root) is Leaf
    return Leaf(replace(reduced, arg=inner), root.shape, root.offset, root.strides)


def results_read(source: Map) -> int:
    """Elements of the longest reduction that a few operations on results read, as `max - min`.

    0: they read none, or are more, and are no array that is made first.
    """
    if not source.shape or not is_short(source, NUMBER):
        return 0
    read = [one.source for one in below(source) if type(one) is Leaf]
    return max([math.prod(one.arg.shape) for one in read if type(one) is Reduced], default=0)


def flat(value: Any) -> Any:
    """A value, on a GPU or not, as what expressions read: along one axis."""
    if type(value) is not np.ndarray and not hasattr(type(value), "__cuda_array_interface__"):
        value = np.asarray(value)
    return value if value.ndim == 1 else value.reshape(-1)


def _is_worth(root: Expr, nodes: Sequence[Node], most: int) -> bool:
    """Whether calls cost no more than a plan: of few elements, or where one reduction is long.

    What that one and ``root`` read a plan would read as often. A second thread is worth its while
    where elements take longer than their way from memory.
    """
    sizes = [math.prod(one.arg.shape) for one in nodes if type(one) is Reduced]
    long = [size for size in sizes if size > FEW]
    if not long and math.prod(root.shape) <= FEW:
        return True
    return len(long) <= 1 and max(long, default=0) <= most and all(map(_is_light, nodes))


def _is_light(node: Node) -> bool:
    if type(node) is Map:
        return node.op not in GATHERS and of_node(node) < FUNCTION
    return type(node) is not Leaf or type(node.source) is not Random


def deep(few: Structure | None) -> int:
    """How deep such reductions may be in what has these ``few`` words."""
    return 0 if few is not None and few.key in _vain else _DEPTH


def in_vain(few: Structure) -> None:
    """Remember that they were too many, or too deep."""
    if len(_vain) < _MOST_VAIN:
        _vain.add(few.key)


def is_few(root: Expr) -> bool:
    """Whether ``root`` has so few elements that it may read others."""
    inner = root.source if type(root) is Leaf else root
    return math.prod(inner.arg.shape if type(inner) is Reduced else root.shape) <= _ELEMENTS


class _Walk:
    """What was made of the nodes of a program; ``count``: of how many reductions."""

    __slots__ = ("count", "done", "made")

    def __init__(self, made: Callable[[Expr], Any]) -> None:
        self.made = made
        self.done: dict[int, Any] = {}
        self.count = 0

    def over_arrays(self, source: Reduced) -> Reduced:
        """The same reduction, of arrays alone: what it reads is made first, and once."""
        arg = self.visit(source.arg)
        return Reduced(source.op, arg, source.axes, source.keepdims, source.dtype, source.ddof)

    def array_of(self, source: Reduced) -> Stored:
        if source.op == "prod":
            raise _LeftError
        value = self.made(whole(self.over_arrays(source), source.shape))
        if value is None:
            raise _LeftError
        self.count += 1
        return Stored(flat(value), source.dtype)

    def read(self, source: Source) -> Source:
        if type(source) in (Leaf, Map):
            return self.visit(source)  # type: ignore[arg-type]
        if type(source) is not Reduced:
            return source
        if id(source) not in self.done:
            self.done[id(source)] = self.array_of(source)
        return self.done[id(source)]  # type: ignore[no-any-return]

    def visit(self, node: Expr) -> Expr:
        done = self.done
        if id(node) not in done:
            if type(node) is Map:
                args = tuple(map(self.visit, node.args))
                done[id(node)] = Map(node.op, args, node.shape, node.dtype)
            else:
                assert type(node) is Leaf
                source = self.read(node.source)
                same = source is node.source
                done[id(node)] = (
                    node if same else Leaf(source, node.shape, node.offset, node.strides)
                )
        return done[id(node)]  # type: ignore[no-any-return]


class _Numbers:
    """A walk through a few operations; ``found``: whether any of them is a number.

    ``alone``: only what is made of constants is looked for.
    """

    __slots__ = ("alone", "constant", "done", "found", "left", "made")

    def __init__(self, made: Callable[[Expr], Any], alone: bool) -> None:
        self.made, self.alone, self.found, self.left = made, alone, False, MOST_NODES
        self.done: dict[int, Expr] = {}
        self.constant: dict[int, bool] = {}

    def visit(self, node: Expr) -> Expr:
        known = self.done.get(id(node))
        if known is None:
            self.left -= 1
            known = self.done[id(node)] = self._visited(node) if self.left > 0 else node
        return known

    def _visited(self, node: Expr) -> Expr:
        if type(node) is Leaf:
            if type(node.source) not in (Leaf, Map):
                return node
            if type(node.source) is Map and not self.alone and results_read(node.source):
                return self._read(node, node.source)
            source = self.visit(node.source)  # type: ignore[arg-type]
            if source is node.source:
                return node
            if type(source) is Leaf and not source.shape:
                return Leaf(source.source, node.shape, source.offset, (0,) * len(node.shape))
            return Leaf(source, node.shape, node.offset, node.strides)
        assert type(node) is Map
        if not node.shape and not (self.alone and not self._is_of_constants(node)):
            value = remembered(node, self.made)
            if value is None:
                return node
            self.found = True
            return whole(Stored(np.asarray(value, node.dtype).reshape(1), node.dtype), ())
        args = tuple(map(self.visit, node.args))
        if all([one is given for one, given in zip(args, node.args, strict=True)]):
            return node
        return Map(node.op, args, node.shape, node.dtype)

    def _read(self, node: Leaf, source: Map) -> Leaf:
        """``node`` of an array of what a few operations on results give."""
        value = self.made(source)
        if value is None:
            return node
        self.found = True
        return Leaf(Stored(flat(value), source.dtype), node.shape, node.offset, node.strides)

    def _is_of_constants(self, node: Expr) -> bool:
        """Whether ``node`` is a constant, or made of such."""
        if type(node) is Leaf:
            return type(node.source) is Const
        known = self.constant.get(id(node))
        if known is None:  # each is asked once, however often it is read
            args: tuple[Expr, ...] = node.args  # type: ignore[union-attr]
            known = bool(args) and all(map(self._is_of_constants, args))
            self.constant[id(node)] = known
        return known
