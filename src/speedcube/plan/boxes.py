"""Which box of each array the results need: what lies outside is not made.

A program is looked through from its results to its sources, before it is cut. What reads an array
needs a box of it: an interval of each axis. Where that is clearly less than the whole (`PART`), the
array is replaced by its box, and what reads it is moved along. Lines of scans and what a reduction
folds stay whole, and so do pieces, what is sorted or counted, and what gathers read. Of a routine
of several results it is one of them, where that is less work.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any, Final, TypeAlias

from ..dataclass import dataclass
from ..expr.graph import below, memories
from ..expr.nodes import (
    STAGED,
    Deferred,
    Expr,
    Leaf,
    Map,
    Node,
    Piecewise,
    Scanned,
    Shape,
    Staged,
    Through,
    c_strides,
    whole,
)
from ..expr.push import places
from ..expr.routines.table import part_of

PART: Final = 0.75  # of an array: a larger box is not worth another shape
Box: TypeAlias = tuple[tuple[int, int], ...]  # first and end of each axis


@dataclass(frozen=True, eq=False)
class Shrunk:
    """A program whose arrays are the boxes that are needed; of each such array, which."""

    targets: list[Node]
    nodes: list[Node]  # all that they need, each after its own
    gathers: frozenset[int]  # the leaves that gathers read at positions of their own
    arrays: dict[int, tuple[Node, str]]

    def note(self, node: Node) -> str:
        """What ``node`` is of a larger array, for `Request.why`."""
        known = self.arrays.get(id(node))
        return f"; only {known[1]} is needed" if known else ""


def shrunk(targets: Sequence[Node]) -> Shrunk:
    """The program of ``targets``, all of which are wanted whole."""
    nodes = below(*targets)
    gathers = memories(nodes)
    needed = _Needed(gathers)
    for target in targets:
        needed.add_all(target)
    for node in reversed(nodes):
        needed.visit(node)
    needed.settle_deferred(nodes)
    if not needed.parts:
        return Shrunk(list(targets), nodes, gathers, {})
    made = _Made(needed)
    for node in nodes:
        made.visit(node)
    found = [made.nodes[id(target)] for target in targets]
    nodes = below(*found)
    return Shrunk(found, nodes, memories(nodes), made.arrays)


def _all_of(shape: Shape) -> Box:
    return tuple((0, extent) for extent in shape)


def _shape(box: Box) -> Shape:
    return tuple(end - first for first, end in box)


@dataclass
class _Needed:
    """The box of each node that its readers need; they are visited before it."""

    gathers: frozenset[int]
    boxes: dict[int, Box] = field(default_factory=dict)
    entire: set[int] = field(default_factory=set)  # those of which all is known to be needed
    parts: set[int] = field(default_factory=set)  # the nodes that are to be replaced by a box

    def add(self, node: Node, box: Box) -> None:
        """``box`` of ``node`` is needed, too."""
        if id(node) in self.entire:
            return
        old = self.boxes.get(id(node), box)
        if old != box:
            pairs = zip(old, box, strict=True)
            box = tuple((min(a, c), max(b, d)) for (a, b), (c, d) in pairs)
        if math.prod(_shape(box)) > PART * math.prod(node.shape):
            self.add_all(node)
        else:
            self.boxes[id(node)] = box

    def add_all(self, node: Node) -> None:
        """All of ``node`` is needed."""
        self.entire.add(id(node))

    def box(self, node: Node) -> Box:
        """What is needed of ``node``."""
        return _all_of(node.shape) if id(node) in self.entire else self.boxes[id(node)]

    def visit(self, node: Node) -> None:
        """Settle the box of ``node``, and add those of what it reads."""
        if isinstance(node, Leaf):
            source: Any = node.source
            is_node = isinstance(source, (Map, Leaf, Piecewise, *STAGED))
            if (is_node or _can_be_cut(source)) and id(source) not in self.entire:
                self.add(source, self._read(node, source))
            return
        if isinstance(node, Map) and id(node) in self.entire:
            for arg in node.args:
                self.add_all(arg)
            return
        box = self._settled(node)
        if isinstance(node, Map):
            for arg in node.args:
                self.add(arg, box_of_factor(node, arg, box))
        elif isinstance(node, Piecewise):
            for piece in node.pieces:
                self.add(piece.expr, _all_of(piece.expr.shape))
        else:
            self.add(node.arg, box_of_arg(node, box))

    def settle_deferred(self, nodes: Sequence[Node]) -> None:
        """Find the Dask arrays of which a box is enough, after all of their readers."""
        for leaf in nodes:
            source: Any = leaf.source if isinstance(leaf, Leaf) else None
            if _can_be_cut(source) and self.box(source) != _all_of(source.shape):
                self.parts.add(id(source))

    def _settled(self, node: Node) -> Box:
        box, size = self.box(node), math.prod(node.shape)
        if isinstance(node, Scanned):
            line = (0, node.shape[node.axis])
            box = self.boxes[id(node)] = (*box[: node.axis], line, *box[node.axis + 1 :])
        if isinstance(node, Through) and len(box) == 1 and (part := part_of(node, *box[0])):
            start, fewer = part
            self.parts.add(id(node))
            box = self.boxes[id(node)] = ((start, start + fewer.shape[0]),)
        elif isinstance(node, (Piecewise, Through)) or not size:
            box = self.boxes[id(node)] = _all_of(node.shape)
        elif box != _all_of(node.shape):
            self.parts.add(id(node))
        return box

    def _read(self, leaf: Leaf, source: Any) -> Box:
        """The box of ``source`` that ``leaf`` reads for its own."""
        where = None if id(leaf) in self.gathers else places(leaf, source.shape)
        own = self.box(leaf)
        if where is None or isinstance(source, Leaf) or not all(_shape(own)):
            return _all_of(source.shape)
        found = []
        for start, row in zip(*where, strict=True):
            reach = [(step * a, step * (b - 1)) for step, (a, b) in zip(row, own, strict=True)]
            first = start + sum(map(min, reach))
            found.append((first, start + sum(map(max, reach)) + 1))
        return tuple(found)


def _can_be_cut(source: Any) -> bool:
    """Whether ``source`` is a Dask array: slices of it need the chunks alone that they touch."""
    if not isinstance(source, Deferred):
        return False
    return isinstance(getattr(source.collection, "chunks", None), tuple)


def box_of_factor(node: Map, arg: Expr, box: Box) -> Box:
    """The box of an argument that ``box`` of a map needs; several arrays are read whole."""
    return _all_of(arg.shape) if node.op == "several" else box


def box_of_arg(node: Staged, box: Box) -> Box:
    """The box of a reduction's or scan's argument that ``box`` of its results needs."""
    axes, shape = node.axes, node.arg.shape
    if isinstance(node, Through):
        return _all_of(shape)
    if isinstance(node, Scanned):
        kept = iter((*box[: node.axis], *box[node.axis + 1 :]))
    else:
        kept = iter(b for k, b in enumerate(box) if not (node.keepdims and k in axes))
    return tuple((0, n) if k in axes else next(kept) for k, n in enumerate(shape))


@dataclass
class _Made:
    """The new node of each node: its box, and what it reads of other boxes."""

    needed: _Needed
    nodes: dict[int, Node] = field(default_factory=dict)
    views: dict[tuple[int, Box], Expr] = field(default_factory=dict)
    arrays: dict[int, tuple[Node, str]] = field(default_factory=dict)

    def visit(self, node: Node) -> None:
        """Make what becomes of ``node``, after what it reads."""
        box = self.needed.box(node)
        if isinstance(node, Leaf):
            made: Node = self.leaf(node, _all_of(node.shape))
        elif isinstance(node, Map):
            args = tuple(self.at(arg, box_of_factor(node, arg, box)) for arg in node.args)
            same = all(a is b for a, b in zip(args, node.args, strict=True))
            made = node if same else Map(node.op, args, _shape(box), node.dtype)
        elif isinstance(node, Piecewise):
            made = self._piecewise(node)
        else:
            arg = self.at(node.arg, box_of_arg(node, box))
            made = node if arg is node.arg else replace(node, arg=arg)
        if isinstance(made, Through) and id(node) in self.needed.parts:
            part = part_of(made, *box[0])
            assert part is not None
            made = part[1]
        self.nodes[id(node)] = made
        if id(node) in self.needed.parts:
            text = ", ".join(f"{first}:{end}" for first, end in box)
            self.arrays[id(made)] = made, f"[{text}] of {node.shape}"

    def _piecewise(self, node: Piecewise) -> Piecewise:
        exprs = [self.at(piece.expr, _all_of(piece.expr.shape)) for piece in node.pieces]
        if all(a is piece.expr for a, piece in zip(exprs, node.pieces, strict=True)):
            return node
        pieces = zip(node.pieces, exprs, strict=True)
        return replace(node, boxes=tuple(replace(piece, expr=expr) for piece, expr in pieces))

    def at(self, expr: Expr, box: Box) -> Expr:
        """``box`` of ``expr``."""
        if isinstance(expr, Leaf):
            return self.leaf(expr, box)
        made = self.nodes[id(expr)]
        assert isinstance(made, Map)
        if self.needed.box(expr) == box:
            return made
        if (id(expr), box) not in self.views:
            self.views[id(expr), box] = self._leaf(whole(expr, expr.shape), box)
        return self.views[id(expr), box]

    def leaf(self, leaf: Leaf, box: Box) -> Leaf:
        """``box`` of ``leaf``, of what becomes of its source."""
        key = id(leaf), box
        if key not in self.views:
            self.views[key] = self._leaf(leaf, box)
        made = self.views[key]
        assert isinstance(made, Leaf)
        return made

    def _leaf(self, leaf: Leaf, box: Box) -> Leaf:
        old: Any = leaf.source
        if isinstance(old, Deferred) and id(old) in self.needed.parts and id(old) not in self.nodes:
            self.nodes[id(old)] = self._deferred(old)
        source: Any = self.nodes.get(id(old), old)
        start = [first for first, _ in box]
        offset = leaf.offset + sum(s * a for s, a in zip(leaf.strides, start, strict=True))
        strides = leaf.strides
        if id(old) in self.needed.parts:
            offset, strides = self._within(leaf, old, start)
        elif source is old and box == _all_of(leaf.shape):
            return leaf
        return Leaf(source, _shape(box), offset, strides)

    def _deferred(self, old: Deferred) -> Any:
        """The box of a Dask array that is needed."""
        box = self.needed.box(old)  # type: ignore[arg-type]
        cut = old.collection[tuple(slice(first, end) for first, end in box)]
        return replace(old, collection=cut, shape=_shape(box))

    def _within(self, leaf: Leaf, old: Any, start: list[int]) -> tuple[int, tuple[int, ...]]:
        """Where ``leaf`` begins at ``start``, and its steps, in the box of its source."""
        where = places(leaf, old.shape)
        assert where is not None, "else all of the source is needed"
        offset, strides = 0, [0] * len(start)
        box = self.needed.box(old)
        for pace, (first, _), at, row in zip(c_strides(_shape(box)), box, *where, strict=True):
            offset += pace * (at - first + sum(s * k for s, k in zip(row, start, strict=True)))
            strides = [one + pace * step for one, step in zip(strides, row, strict=True)]
        return offset, tuple(strides)
