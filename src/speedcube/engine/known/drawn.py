"""Drawn numbers that several computations read: drawn once more, and kept, by the second of them.

Random numbers need no memory, so each computation draws its own. Where ``x`` is drawn before a loop
that computes with it, that is several times the work of reading them. Up to as many bytes as
Dask's setting ``speedcube.keep-drawn`` says, the values of a source are kept from the second
computation that reads most of it until the source dies. They are the same bits.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import dask
from dask.utils import parse_bytes

from ... import dtypes
from ...errors import ParameterError
from ...expr.graph import below, is_short, memories
from ...expr.nodes import Expr, Leaf, Map, Node, Piecewise, Random, Stored
from .. import machine

SETTING: Final = "speedcube.keep-drawn"
DEFAULT: Final = 0
SHARE: Final = 16  # of the free memory, one part at most
LEAST: Final = 1 << 20  # numbers: fewer are drawn in a millisecond
_MOST_NODES: Final = 1 << 10  # of a program: to look through it costs little beside its run
# Those that take at least three times as long to draw as to read.
_DEAR: Final = frozenset(("normal", "exponential"))


@dataclass(eq=False)
class Drawn:
    """What is known of a source: how many computations read it, and its values where kept."""

    source: weakref.ref[Random]
    uses: int = 0
    first: int = 0  # position of the first value
    stored: Stored | None = None

    @property
    def nbytes(self) -> int:
        return 0 if self.stored is None else int(self.stored.buffer.nbytes)


@dataclass
class Span:
    """The positions of ``source`` that a program reads, from ``low`` to ``high``."""

    source: Random
    low: int
    high: int
    reads: int


_known: Final[dict[int, Drawn]] = {}
_lock = threading.RLock()  # a source may die while it is held


def limit() -> int:
    """Bytes that may be kept in all: what is set, and no more than a part of the free memory."""
    value = dask.config.get(SETTING, DEFAULT)
    if not value:
        return 0
    try:
        most = parse_bytes(value)
    except (AttributeError, ValueError, TypeError) as err:
        raise ParameterError(
            f"{SETTING}={value!r}: give a number of bytes, such as '1 GiB', or 0"
        ) from err
    return int(min(most, (machine.free_memory() + held()) // SHARE))


def held() -> int:
    """Bytes that are kept."""
    with _lock:
        return sum(one.nbytes for one in _known.values())


def drop() -> None:
    """Keep nothing; what is read again is drawn again."""
    with _lock:
        _known.clear()


def reading_kept(roots: Sequence[Expr]) -> Sequence[Expr]:
    """``roots`` that read what is kept; themselves where nothing is."""
    if not any(one.stored for one in tuple(_known.values())) or not _is_short(roots):
        return roots
    nodes = below(*roots)
    return _reading(roots, nodes, {id(span.source): span for span in _spans(nodes)})


def keeping_drawn(
    roots: Sequence[Expr], draw: Callable[[Sequence[Expr]], list[Any]]
) -> Sequence[Expr]:
    """``roots`` as the next computation: what it is the second to read is kept, by ``draw``."""
    room = limit()
    if not room or not _is_short(roots):
        return roots
    nodes = below(*roots)
    spans = _spans(nodes)
    for span in spans:
        one = _seen(span.source)
        one.uses += 1
        size = span.high - span.low
        fits = held() + size * dtypes.itemsize(span.source.dtype) <= room
        if one.uses > 1 and one.stored is None and size >= LEAST and fits:
            (values,) = draw([Leaf(span.source, (size,), span.low, (1,))])
            one.first, one.stored = span.low, Stored(values, span.source.dtype)
    return _reading(roots, nodes, {id(span.source): span for span in spans})


def _is_short(roots: Sequence[Expr]) -> bool:
    return all(is_short(root, _MOST_NODES) for root in roots)


def _seen(source: Random) -> Drawn:
    name = id(source)
    with _lock:
        if name not in _known:
            _known[name] = Drawn(weakref.ref(source, lambda _: _known.pop(name, None)))
        return _known[name]


def _spans(nodes: Sequence[Node]) -> list[Span]:
    """What is read of each source whose drawing is dear, where it is most of what lies between."""
    leaves = [node for node in nodes if isinstance(node, Leaf)]
    if any(_is_part(leaf) for leaf in leaves):
        return []
    anywhere, found = memories(nodes), dict[int, Span]()
    others = {id(leaf.source) for leaf in leaves if id(leaf) in anywhere}
    for leaf in leaves:
        source, size = leaf.source, math.prod(leaf.shape)
        dear = isinstance(source, Random) and source.distribution in _DEAR
        if not dear or not size or id(source) in others:
            continue
        assert isinstance(source, Random)
        steps = [s * (n - 1) for s, n in zip(leaf.strides, leaf.shape, strict=True)]
        low = leaf.offset + sum(step for step in steps if step < 0)
        high = leaf.offset + sum(step for step in steps if step > 0) + 1
        span = found.setdefault(id(source), Span(source, low, high, 0))
        span.low, span.high = min(span.low, low), max(span.high, high)
        span.reads += size
    return [span for span in found.values() if 2 * span.reads >= span.high - span.low]


def _is_part(leaf: Leaf) -> bool:
    """Whether ``leaf`` reads less than half of an expression, of which not all may be made."""
    source = leaf.source
    whole = math.prod(source.shape) if isinstance(source, Leaf | Map | Piecewise) else 0
    return 2 * math.prod(leaf.shape) < whole


def _reading(
    roots: Sequence[Expr], nodes: Sequence[Node], spans: Mapping[int, Span]
) -> Sequence[Expr]:
    """``roots`` with the leaves of ``spans`` that are kept reading memory."""
    kept: dict[int, tuple[Stored, int]] = {}
    for name, span in spans.items():
        one = _known.get(name)
        if one is None or one.stored is None:
            continue
        if one.first <= span.low and span.high <= one.first + one.stored.buffer.size:
            kept[name] = one.stored, one.first
    if not kept:
        return roots
    new: dict[int, Any] = {}
    for node in nodes:
        new[id(node)] = _with_values(node, new, kept)
    return [new[id(root)] for root in roots]


def _with_values(
    node: Node, new: Mapping[int, Any], kept: Mapping[int, tuple[Stored, int]]
) -> Node:
    """``node`` over what is ``new``; itself where nothing below it is."""
    if isinstance(node, Leaf):
        if id(node.source) in kept:
            stored, first = kept[id(node.source)]
            return Leaf(stored, node.shape, node.offset - first, node.strides)
        source = new.get(id(node.source), node.source)
        return node if source is node.source else replace(node, source=source)
    if isinstance(node, Map):
        args = tuple(new[id(arg)] for arg in node.args)
        same = all(one is other for one, other in zip(args, node.args, strict=True))
        return node if same else Map(node.op, args, node.shape, node.dtype)
    if isinstance(node, Piecewise):
        pieces = tuple(replace(piece, expr=new[id(piece.expr)]) for piece in node.pieces)
        pairs = zip(pieces, node.pieces, strict=True)
        return node if all(a.expr is b.expr for a, b in pairs) else replace(node, pieces=pieces)
    arg = new[id(node.arg)]
    return node if arg is node.arg else replace(node, arg=arg)
