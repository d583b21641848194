"""Streams: a part whose sources are read a box at a time, as blocks that follow one another.

A block is a box of the elements that a part visits. Its borders are those of the sources' chunks,
so that each is read once; it has about `BLOCK` bytes of them, or a chunk where that is more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from ..expr import views
from ..expr.graph import memories
from ..expr.nodes import Expr, Leaf, Tiled, leaves, walk
from ..expr.piecewise.regions import pieces_within
from ..expr.push import push
from ..expr.views import rebuild
from .reads import BoxRead, bytes_of, readings, reads_boxes, units_of

BLOCK: Final = 8 << 20  # bytes of sources in a block: caches hold it
STAGED: Final = 128 << 20  # bytes of pinned memory through which a GPU is given what it reads
AHEAD: Final = 2  # blocks in memory: one that is read while another is computed


@dataclass(frozen=True, eq=False)
class StreamBlock:
    """The elements ``item`` of a part: ``root`` over the memory of what is read."""

    item: tuple[slice, ...]
    root: Expr
    extra: tuple[Leaf, ...]
    reads: tuple[BoxRead, ...]


def tiled(root: Expr) -> list[Leaf]:
    """The leaves of ``root`` that read sources a box at a time."""
    return [leaf for leaf in leaves(root) if isinstance(leaf.source, Tiled)]


def can_stream(root: Expr) -> bool:
    """Whether what ``root`` reads of its sources are boxes of them, for each box of ``root``."""
    if not math.prod(root.shape):
        return False
    roots = [root, *(piece.expr for source in pieces_within(root) for piece in source.pieces)]
    return all(
        id(leaf) not in gathered and reads_boxes(leaf)
        for one in roots
        for gathered in (memories(walk(one)),)
        for leaf in tiled(one)
    )


def block_bytes(root: Expr) -> int:
    """Bytes of the sources of a block of ``root``, at most."""
    found = tiled(root)
    if not found:
        pieces = [piece.expr for source in pieces_within(root) for piece in source.pieces]
        return max((block_bytes(one) for one in pieces if tiled(one)), default=0)
    extents = tuple(min(n, step) for n, (step, _) in zip(root.shape, _steps(root), strict=True))
    return sum(bytes_of(leaf, extents) for leaf in found)


def blocks_of(root: Expr, extra: Sequence[Leaf] = ()) -> Iterator[StreamBlock]:
    """The blocks of ``root``, in the order of its elements."""
    steps = zip(root.shape, _steps(root), strict=True)
    for item in product(*(list(_cuts(extent, *step)) for extent, step in steps)):
        here = push(root, views.indexed(root.shape, item))
        yield _block(item, here, tuple(_at(leaf, item) for leaf in extra))


def one_block(root: Expr, extra: Sequence[Leaf] = ()) -> StreamBlock:
    """All elements of ``root`` as a block."""
    return _block(tuple(slice(0, n) for n in root.shape), root, tuple(extra))


def bytes_read(root: Expr) -> int:
    """Bytes that `one_block` reads, at most."""
    return sum(bytes_of(leaf, root.shape) for leaf in tiled(root))


def cut_of(root: Expr, axes: Sequence[int], workers: int) -> tuple[int | None, str]:
    """The axis along which ``root``, reduced over ``axes``, is cut, and how its parts join.

    The first one with a chunk for each worker, so that each is read by one of them. Parts of many
    results that share them are not made: one worker reads what several threads decode.
    """
    widest = max(tiled(root), key=lambda leaf: bytes_of(leaf, root.shape), default=None)
    if widest is None or workers == 1:
        return None, "one"
    units = units_of(widest)
    many = len(axes) < len(root.shape)
    for k, (extent, (unit, _)) in enumerate(zip(root.shape, units, strict=True)):
        if -(-extent // unit) >= workers and not (many and k in axes):
            return k, "merge" if k in axes else "concatenate"
    return None, "one"


def _at(leaf: Leaf, item: tuple[slice, ...]) -> Leaf:
    view = views.index(leaf, item)
    assert isinstance(view, Leaf)
    return view


def _cuts(extent: int, step: int, first: int) -> Iterator[slice]:
    """``[0, extent)`` cut at ``first`` and each ``step`` from there."""
    start, stop = 0, first or step
    while start < extent:
        yield slice(start, min(stop, extent))
        start, stop = min(stop, extent), stop + step


def _steps(root: Expr) -> list[tuple[int, int]]:
    """Of each axis, how long a block is, and where the second begins.

    A block is a chunk of the largest source, and grows along the last axes first.
    """
    found = tiled(root)
    units = units_of(max(found, key=lambda leaf: bytes_of(leaf, root.shape)))
    extents = [min(n, unit) for n, (unit, _) in zip(root.shape, units, strict=True)]
    for k in reversed(range(len(extents))):
        size = sum(bytes_of(leaf, tuple(extents)) for leaf in found)
        extents[k] = min(root.shape[k], extents[k] * max(1, BLOCK // max(1, size)))
        if extents[k] < root.shape[k]:
            break
    return [
        (step, first + unit * ((step - 1) // unit) if first else 0)
        for step, (unit, first) in zip(extents, units, strict=True)
    ]


def _block(item: tuple[slice, ...], root: Expr, extra: tuple[Leaf, ...]) -> StreamBlock:
    """The block ``item``, to which ``root`` is sliced already."""
    moved: dict[int, Leaf] = {}
    reads = []
    for one, found, new in readings(tiled(root)):
        reads.append(one)
        moved |= zip(map(id, found), new, strict=True)
    here = rebuild(root, root.shape, lambda leaf: moved.get(id(leaf), leaf))
    return StreamBlock(item, here, extra, tuple(reads))
