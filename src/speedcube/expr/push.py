"""Views of maps, handed to their arguments: what the plan does where a map is not kept.

A leaf reads positions ``offset + strides . i`` of an expression in C order. Where these are indices
``start + matrix . i`` (`places`), each leaf below the expression takes them into its own strides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Final, TypeAlias

from .. import dtypes
from .graph import below, is_short, memories
from .nodes import (
    Const,
    Expr,
    Leaf,
    Map,
    Piecewise,
    Position,
    Random,
    Reduced,
    Shape,
    Source,
    Stored,
    c_strides,
    is_whole,
    walk,
    whole,
)
from .piecewise.order import memory_order
from .views import Affine, leaf_at, rebuild, reshaped, through

LONG: Final = 250  # nodes of an expression that is not repeated for each view of it
Matrix: TypeAlias = tuple[tuple[int, ...], ...]


class Nodes:
    """Expressions in which no two nodes are the same operation of the same arguments."""

    def __init__(self) -> None:
        self._known: dict[object, Expr] = {}
        self._alive: list[object] = []  # what is known by its id
        self._walked: dict[int, tuple[list[Expr], frozenset[int]]] = {}

    def leaf(self, leaf: Leaf, memory: bool = False) -> Leaf:
        """The leaf that reads what ``leaf`` does; a gather's ``memory`` is no other's."""
        key = (*self._source(leaf.source), leaf.shape, leaf.offset, leaf.strides, memory)
        one = self._known.setdefault(key, leaf)
        assert isinstance(one, Leaf)
        return one

    def _source(self, source: Source) -> tuple[object, ...]:
        if isinstance(source, Const):  # 0.0 is not -0.0 here, nor 1 True
            return Const, source.dtype, type(source.value), repr(source.value)
        self._alive.append(source)
        return (id(source),)

    def map(self, node: Map) -> Map:
        """The map that does what ``node`` does."""
        key = (node.op, tuple(map(id, node.args)), node.shape, node.dtype)
        one = self._known.setdefault(key, node)
        assert isinstance(one, Map)
        return one

    def rebuilt(self, root: Expr, shape: Shape, leaf: Callable[[Leaf], Leaf | None]) -> Expr | None:
        """``root`` with every leaf replaced; None where one cannot be."""
        done: dict[int, Expr] = {}
        nodes, gathers = self._below(root)
        for node in nodes:
            if isinstance(node, Leaf):
                new = leaf(node)
                if new is None:
                    return None
                done[id(node)] = self.leaf(new, id(node) in gathers)
            else:
                args = tuple(done[id(arg)] for arg in node.args)
                done[id(node)] = self.map(Map(node.op, args, shape, node.dtype))
        return done[id(root)]

    def _below(self, root: Expr) -> tuple[list[Expr], frozenset[int]]:
        """The nodes of ``root``, and which of them gathers read; it is pushed for each reader."""
        if id(root) not in self._walked:
            nodes = walk(root)
            self._walked[id(root)] = nodes, memories(nodes)
        return self._walked[id(root)]

    def can_push(self, root: Expr, leaf: Leaf) -> bool:
        """Whether `pushed` gives something."""
        return places(leaf, root.shape) is not None or self.pushed(root, leaf) is not None

    def pushed(self, root: Expr, leaf: Leaf) -> Expr | None:
        """The elements of ``root`` that ``leaf`` reads of it; None where no leaf below can.

        Its source is ``root``, or has its shape.
        """
        where = places(leaf, root.shape)
        if where is not None:
            return self.rebuilt(root, leaf.shape, lambda one: _moved(one, leaf.shape, *where))
        if is_whole(leaf) and math.prod(leaf.shape) == math.prod(root.shape):
            return self.rebuilt(root, leaf.shape, lambda one: _in_shape(one, leaf.shape))
        flat = (math.prod(root.shape),)
        line = self.rebuilt(root, flat, lambda one: _in_shape(one, flat))
        if line is None:
            return None
        start, matrix = (leaf.offset,), (leaf.strides,)
        return self.rebuilt(line, leaf.shape, lambda one: _moved(one, leaf.shape, start, matrix))


def push(root: Expr, change: Affine) -> Expr:
    """``root`` seen through ``change``, which each leaf takes into its strides."""
    return rebuild(root, change.shape, lambda leaf: through(leaf, change))


def push_shape(root: Expr, shape: Shape) -> Expr | None:
    """``root`` in ``shape``, which each leaf takes into its strides; None where one cannot."""
    return Nodes().rebuilt(root, shape, lambda leaf: _in_shape(leaf, shape))


def in_place(root: Expr, most: int = LONG) -> Expr:
    """``root`` without views of maps, for who reads leaves at other places than in order.

    Those of more than ``most`` nodes stay, and those that no leaf below can take.
    """
    if not any(isinstance(n, Leaf) and isinstance(n.source, (Map, Leaf)) for n in walk(root)):
        return root
    nodes = Nodes()
    done: dict[int, Expr] = {}
    needed = below(root)
    gathers = memories(needed)
    for node in needed:
        if isinstance(node, Map):
            args = tuple(done[id(arg)] for arg in node.args)
            done[id(node)] = nodes.map(Map(node.op, args, node.shape, node.dtype))
        elif id(node) in gathers and isinstance(node, Leaf):
            done[id(node)] = node  # read at other positions than those of the view
        elif isinstance(node, Leaf):
            inner = done.get(id(node.source))
            short = inner is not None and len(walk(inner)) <= most
            done[id(node)] = (nodes.pushed(inner, node) if inner and short else None) or node
    return done[id(root)]


def read_in_order(root: Expr, most: int = LONG) -> Expr | None:
    """What has the elements of ``root`` in another shape, one by one, in C order.

    Views that no strides can tell, as the rows of every other row put together, are read in order
    then by nobody; a reduction of all elements has the same value. None where there are no such
    views, or other readers, or more than ``most`` nodes; and of pairs, whose parts have an own.
    """
    if root.dtype in dtypes.COMPLEX:
        return None
    if isinstance(root, Map):
        return _in_one_shape(root) if is_short(root, most) else None
    assert isinstance(root, Leaf)
    source = root.source
    if isinstance(source, (Leaf, Map)):
        return source if is_whole(root) and _same_size(root, source) else None
    if isinstance(source, Piecewise):
        turned = source.shape != root.shape and is_whole(root) and _same_size(root, source)
        return whole(source, source.shape) if turned else None
    if not isinstance(source, Reduced) or source.keepdims or source.op not in _IN_ANY_SHAPE:
        return None
    inner = read_in_order(source.arg) if len(source.axes) == len(source.arg.shape) else None
    if inner is None:
        return None
    axes = tuple(range(len(inner.shape)))
    return whole(replace(source, arg=inner, axes=axes), ())


def straightened(root: Expr) -> Expr:
    """``root``, made in the shape in which its views are read in order, if there is one.

    Not of what lies in another order than its elements have: to turn it by a copy is quicker.
    """
    inner = read_in_order(root) if type(root) is Map or root.shape == () else None
    if inner is None or (root.shape and memory_order(inner) is not None):
        return root
    return inner if inner.shape == root.shape else whole(inner, root.shape)


_IN_ANY_SHAPE: Final = frozenset(("sum", "mean", "var", "std", "min", "max", "nanmin", "nanmax"))


def _same_size(a: Expr, b: Expr | Piecewise) -> bool:
    return math.prod(a.shape) == math.prod(b.shape)


def _in_one_shape(root: Map) -> Expr | None:
    """``root``, whose views of others are read in order, in the shape that these have."""
    nodes = walk(root)
    read = [node for node in nodes if isinstance(node, Leaf)]
    views = [(node, node.source) for node in read if isinstance(node.source, (Leaf, Map))]
    if not views or memories(nodes):
        return None
    shape = views[0][1].shape
    if any(
        one.shape != shape or not (is_whole(node) and _same_size(node, one)) for node, one in views
    ):
        return None
    done: dict[int, Expr] = {id(node): one for node, one in views}
    for node in nodes:
        if isinstance(node, Map):
            args = tuple(done[id(arg)] for arg in node.args)
            done[id(node)] = Map(node.op, args, shape, node.dtype)
        elif id(node) not in done:
            new = _in_shape(node, shape) if _has_any_shape(node) else None
            if new is None:
                return None
            done[id(node)] = new
    return done[id(root)]


def _has_any_shape(leaf: Leaf) -> bool:
    """Whether what ``leaf`` reads lies in memory, or is made at each place: its shape is nothing.

    Files are read in boxes, and pieces are put together in theirs.
    """
    return isinstance(leaf.source, (Stored, Const, Random, Position)) or not any(leaf.strides)


def _moved(leaf: Leaf, shape: Shape, start: tuple[int, ...], matrix: Matrix) -> Leaf:
    """``leaf`` at the indices ``start + matrix . i``."""
    offset = leaf.offset + sum(s * at for s, at in zip(leaf.strides, start, strict=True))
    strides = tuple(
        sum(s * row[k] for s, row in zip(leaf.strides, matrix, strict=True))
        for k in range(len(shape))
    )
    return leaf_at(leaf.source, shape, offset, strides)


def _in_shape(leaf: Leaf, shape: Shape) -> Leaf | None:
    strides = reshaped(leaf, shape)
    return None if strides is None else Leaf(leaf.source, shape, leaf.offset, strides)


def places(leaf: Leaf, shape: Shape) -> tuple[tuple[int, ...], Matrix] | None:
    """The indices of an array of ``shape`` that ``leaf`` reads, as ``start + matrix . i``.

    None where its positions are none: a step that carries from one axis into the next.
    """
    return _places(leaf.offset, leaf.strides, leaf.shape, shape)


@lru_cache(maxsize=1 << 13)  # it is asked of each view when that is bounded, decided and pushed
def _places(
    offset: int, strides: tuple[int, ...], extents: Shape, shape: Shape
) -> tuple[tuple[int, ...], Matrix] | None:
    if 0 in extents or 0 in shape:
        return (0,) * len(shape), ((0,) * len(extents),) * len(shape)
    straight = c_strides(shape)
    start, rest = [], offset
    for stride in straight:
        at, rest = divmod(rest, stride)
        start.append(at)
    columns = []
    for stride, extent in zip(strides, extents, strict=True):
        along = _along_one(stride, extent, start, straight, shape)  # () of no axes
        columns.append(_steps(stride, extent, straight, shape) if along is None else along)
    matrix = tuple(tuple(column[a] for column in columns) for a in range(len(shape)))
    for at, row, extent in zip(start, matrix, shape, strict=True):
        reach = [step * (n - 1) for step, n in zip(row, extents, strict=True)]
        if at + sum(min(0, r) for r in reach) < 0 or at + sum(max(0, r) for r in reach) >= extent:
            return None
    return tuple(start), matrix


def _along_one(
    stride: int, extent: int, start: list[int], straight: tuple[int, ...], shape: Shape
) -> tuple[int, ...] | None:
    """A step of ``stride`` positions as steps along a single axis, if they stay on it."""
    if extent == 1 or stride == 0:
        return (0,) * len(shape)
    for k, (one, at, size) in enumerate(zip(straight, start, shape, strict=True)):
        step, rest = divmod(stride, one)
        if not rest and 0 <= at + step * (extent - 1) < size:
            return tuple(step if a == k else 0 for a in range(len(shape)))
    return None


def _steps(stride: int, extent: int, straight: tuple[int, ...], shape: Shape) -> tuple[int, ...]:
    """A step of ``stride`` positions as steps along each axis, taken ``extent - 1`` times."""
    steps = []
    for one, size in zip(straight, shape, strict=True):
        most = (size - 1) // (extent - 1)
        step = max(-most, min(most, _nearest(stride, one)))
        stride -= step * one
        steps.append(step)
    if stride:
        steps[-1] += stride  # out of bounds, which is seen there
    return tuple(steps)


def _nearest(number: int, divisor: int) -> int:
    """The whole number nearest to ``number / divisor``; of two the one nearer to 0."""
    nearest = (2 * abs(number) + divisor - 1) // (2 * divisor)
    return nearest if number > 0 else -nearest
