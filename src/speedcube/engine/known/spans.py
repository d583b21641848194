"""Which drawn numbers a program reads, and the same program reading them from memory instead."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from ... import dtypes
from ...dataclass import dataclass
from ...expr.graph import below, children, memories
from ...expr.nodes import (
    Const,
    Expr,
    Leaf,
    Map,
    Node,
    Piecewise,
    Position,
    Random,
    Reduced,
    Stored,
    Tiled,
    c_strides,
)
from ...ops import SAMPLERS

# What is drawn: a distribution, or what a sampler that tries again makes of positions alone.
Drawing: TypeAlias = Random | Map
# Those that take at least three times as long to draw as to read; others are words for samplers.
_DEAR: Final = frozenset(("normal", "exponential", "uniform", "integers"))
_DEAREST: Final = frozenset(("normal", "exponential"))
_COUNTED_FROM: Final = (Const, Position, Random, Map, Leaf)


@dataclass
class Span:
    """The positions of ``source`` that a program reads, from ``low`` to ``high``."""

    source: Drawing
    low: int
    high: int
    reads: int

    @property
    def size(self) -> int:
        return self.high - self.low

    @property
    def nbytes(self) -> int:
        return self.size * dtypes.itemsize(self.source.dtype)


def spans_of(nodes: Sequence[Node]) -> list[Span]:
    """What is read of each source whose drawing is dear, where it is most of what lies between."""
    leaves = [node for node in nodes if isinstance(node, Leaf)]
    samplers = [node for node in nodes if isinstance(node, Map) and _is_drawn(node)]
    if not samplers and not any(isinstance(leaf.source, Random) for leaf in leaves):
        return []
    if _reads_a_part(leaves):
        return []
    hidden = {id(node) for one in samplers for node in below(*one.args)}
    anywhere, found = memories(nodes), dict[int, Span]()
    others = {id(leaf.source) for leaf in leaves if id(leaf) in anywhere}
    for one in samplers:
        size = math.prod(one.shape)
        if size and id(one) not in others and id(one) not in hidden:
            found[id(one)] = Span(one, 0, size, size)
    for leaf in leaves:
        source, size = leaf.source, math.prod(leaf.shape)
        dear = isinstance(source, Random) and source.distribution in _DEAR
        if not dear or not size or id(source) in others or id(leaf) in hidden:
            continue
        assert isinstance(source, Random)
        steps = [s * (n - 1) for s, n in zip(leaf.strides, leaf.shape, strict=True)]
        low = leaf.offset + sum(step for step in steps if step < 0)
        high = leaf.offset + sum(step for step in steps if step > 0) + 1
        span = found.setdefault(id(source), Span(source, low, high, 0))
        span.low, span.high = min(span.low, low), max(span.high, high)
        span.reads += size
    return [span for span in found.values() if 2 * span.reads >= span.size]


def drawn_twice(nodes: Sequence[Node], spans: Sequence[Span]) -> frozenset[int]:
    """Of ``spans`` the sources, by id, that one computation would draw twice: then it keeps them.

    So it is where a reduction reads them after another one that it reads (``x - x.mean()``), and
    where one along axes reads two places of what is very dear (``x - roll(x)``).
    """
    staged = [node for node in nodes if isinstance(node, Reduced)]
    if not spans or not staged:
        return frozenset()
    drawings = {id(span.source) for span in spans}
    direct = {id(one): _read_by(one.arg, drawings) for one in staged}
    reached: dict[int, set[int]] = {}
    again: set[int] = set()
    for one in staged:  # each stands after what it reads
        reads = direct[id(one)]
        before = {name for other in reads for name in reached.get(other, ())}
        again |= before & reads
        reached[id(one)] = before | (reads & drawings)
    if any(math.prod(one.shape) > 1 for one in staged):
        again |= {
            id(span.source)
            for span in spans
            if isinstance(span.source, Random)
            and span.source.distribution in _DEAREST
            and 2 * span.reads >= 3 * span.size
        }
    return frozenset(again)


def _read_by(root: Node, drawings: set[int]) -> set[int]:
    """The ids of what the elements of ``root`` are made of, down to ``drawings`` and reductions."""
    found: set[int] = set()
    seen: set[int] = set()
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if id(node) in drawings or isinstance(node, Reduced):
            found.add(id(node))
        elif isinstance(node, Leaf):
            stack.append(node.source)
        elif isinstance(node, Node):
            stack += children(node)
    return found


def _reads_a_part(leaves: Sequence[Leaf]) -> bool:
    """Whether less than half is read of some expression, of which not all may be made then."""
    reads: dict[int, int] = {}
    for leaf in leaves:
        reads[id(leaf.source)] = reads.get(id(leaf.source), 0) + math.prod(leaf.shape)
    return any(
        2 * reads[id(leaf.source)] < math.prod(leaf.source.shape)
        for leaf in leaves
        if isinstance(leaf.source, Leaf | Map | Piecewise)
    )


def _is_drawn(node: Map) -> bool:
    """Whether ``node`` is a sampler of what needs no memory, so that it stays what it is."""
    if node.op not in SAMPLERS:
        return False
    return all(
        isinstance(one, Map) or (isinstance(one, Leaf) and isinstance(one.source, _COUNTED_FROM))
        for one in below(*children(node))
    )


def reading(
    roots: Sequence[Expr], nodes: Sequence[Node], kept: Mapping[int, tuple[Stored | Tiled, int]]
) -> Sequence[Expr]:
    """``roots`` that read the sources of ``kept`` in memory, from a first position on."""
    if not kept:
        return roots
    new: dict[int, Any] = {}
    for node in nodes:
        new[id(node)] = _with_values(node, new, kept)
    return [new[id(root)] for root in roots]


def _with_values(
    node: Node, new: Mapping[int, Any], kept: Mapping[int, tuple[Stored | Tiled, int]]
) -> Node:
    """``node`` over what is ``new``; itself where nothing below it is."""
    if isinstance(node, Leaf):
        if id(node.source) in kept:
            stored, first = kept[id(node.source)]
            return Leaf(stored, node.shape, node.offset - first, node.strides)
        source = new.get(id(node.source), node.source)
        return node if source is node.source else replace(node, source=source)
    if isinstance(node, Map):
        if id(node) in kept:
            return Leaf(kept[id(node)][0], node.shape, 0, c_strides(node.shape))
        args = tuple(new[id(arg)] for arg in node.args)
        same = all(one is other for one, other in zip(args, node.args, strict=True))
        return node if same else Map(node.op, args, node.shape, node.dtype)
    if isinstance(node, Piecewise):
        pieces = tuple(replace(piece, expr=new[id(piece.expr)]) for piece in node.pieces)
        pairs = zip(pieces, node.pieces, strict=True)
        return node if all(a.expr is b.expr for a, b in pairs) else replace(node, boxes=pieces)
    arg = new[id(node.arg)]
    return node if arg is node.arg else replace(node, arg=arg)
