"""Streams: a part whose sources are read a box at a time, as blocks that follow one another.

A block is a box of the elements that a part visits. Its borders are those of the sources' chunks,
so that each is read once; it has about `BLOCK` bytes of them, or a chunk where that is more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from operator import mul
from typing import Final

from .. import dtypes
from ..expr import views
from ..expr.graph import memories
from ..expr.nodes import Expr, Leaf, Reduced, Shape, Through, Tiled, leaves, walk
from ..expr.piecewise.regions import pieces_within
from ..expr.push import push, push_shape
from ..expr.sources.tiled import BoxReader
from ..expr.through.table import OPERATIONS
from ..expr.views import rebuild
from .reads import (
    BlockRoom,
    BoxRead,
    Rows,
    StreamBlock,
    bytes_of,
    in_order,
    piece_of,
    readings,
    reads_boxes,
    rows_in_chunks,
    rows_that_move,
    units_of,
)

BLOCK: Final = 8 << 20  # bytes of sources in a block: caches hold it
QUICK: Final = 4 << 20  # the same of plain files, of which a small one is read as fast
FEW_RESULTS: Final = 1 << 13  # of a block, that cost little to add up
_WALKED: Final = ("counts", "selection", "selection of numbers")  # they hold few elements
MOST_WALKED: Final = 64 << 20  # bytes of rows that are put together of blocks
# Reductions of which a part's results take few bytes each; and how many all parts may have.
_ADDED: Final = ("sum", "mean", "var", "std", "dot", "min", "max", "nanmin", "nanmax")
MOST_ADDED: Final = 1 << 20
USUAL: Final = BlockRoom()


def tiled(root: Expr) -> list[Leaf]:
    """The leaves of ``root`` that read sources a box at a time."""
    return [leaf for leaf in leaves(root) if isinstance(leaf.source, Tiled)]


def readers_in(roots: Sequence[Expr]) -> list[BoxReader]:
    """What ``roots`` read a box at a time, each once."""
    found = (leaf.source for root in roots for leaf in tiled(root))
    return list({id(x): x.tiles for x in found if isinstance(x, Tiled)}.values())


def can_stream(root: Expr) -> bool:
    """Whether what ``root`` reads of its sources are boxes of them, for each box of ``root``."""
    if not math.prod(root.shape):
        return False
    return all(
        id(leaf) not in gathered and reads_boxes(leaf)
        for one in _roots(root)
        for gathered in (memories(walk(one)),)
        for leaf in tiled(one)
    )


def block_bytes(root: Expr) -> int:
    """Bytes of the sources of a block of ``root``, at most."""
    found = tiled(root)
    if not found:
        pieces = [piece.expr for source in pieces_within(root) for piece in source.pieces]
        return max((block_bytes(one) for one in pieces if tiled(one)), default=0)
    extents = tuple(min(n, step) for n, (step, _) in zip(root.shape, steps_of(root), strict=True))
    return sum(bytes_of(leaf, extents) for leaf in found)


def blocks_of(root: Expr, room: BlockRoom = USUAL) -> Iterator[StreamBlock]:
    """The blocks of ``root``, in the order of its elements, as there is ``room``.

    Those that differ only in the boxes they read have one ``root``.
    """
    cuts = cuts_of(root, room)
    finder = BlockFinder(root, [k for k, along in enumerate(cuts) if len(along) > 1])
    return map(finder.at, product(*cuts))


class BlockFinder:
    """Blocks of ``root``, at whatever places along ``axes``."""

    def __init__(self, root: Expr, axes: Sequence[int]) -> None:
        self.root, self._rows = root, rows_that_move(root, axes)
        self._known: tuple[Shape, StreamBlock] | None = None

    def at(self, item: tuple[slice, ...]) -> StreamBlock:
        """The block ``item``."""
        shape = tuple(one.stop - one.start for one in item)
        known = self._known
        if known is not None and known[0] == shape:
            return _moved(known[1], item, self._rows or {})
        block = _block(item, push(self.root, views.indexed(self.root.shape, item)))
        if self._rows is not None:
            self._known = shape, block
        return block


def is_quick(root: Expr) -> bool:
    """Whether what ``root`` reads lies in files as it is: a little is read as fast as much."""
    sources = (leaf.source for leaf in tiled(root))
    return all(isinstance(x, Tiled) and not getattr(x.tiles, "decodes", True) for x in sources)


def room_for(root: Expr, axes: Sequence[int]) -> BlockRoom:
    """What a block of ``root``, reduced over ``axes``, may be.

    Small ones stay in a core's cache. Large ones add up less often what they know of results that
    blocks share, and least where they are of few columns.
    """
    if not is_quick(root) or QUICK > BLOCK:
        return BlockRoom(BLOCK)
    if len(axes) == len(root.shape) or not cuts_results(root, axes, BlockRoom(QUICK)):
        return BlockRoom(QUICK)
    # No more than others, which is promised.
    return room_down(root, axes, BLOCK) or BlockRoom(BLOCK)


def room_down(root: Expr, axes: Sequence[int], size: int, piece: int = 0) -> BlockRoom | None:
    """Room for blocks of ``size`` bytes that are pieces of several rows; None: whole rows do.

    They do where their results are few, or where no pieces of ``piece`` bytes lie in them.
    """
    steps = steps_of(root, BlockRoom(size))
    cut = [k for k in axes if (steps[k][1] or steps[k][0]) < root.shape[k]]
    results = math.prod(min(n, steps[k][0]) for k, n in enumerate(root.shape) if k not in axes)
    pieces = {piece_of(leaf, cut[0], piece) if cut else None for leaf in tiled(root)}
    if results <= FEW_RESULTS or len(pieces) > 1 or None in pieces:
        return None
    return BlockRoom(min(size, block_bytes(root)), cut[0], piece)


def shared_room(rooms: Sequence[BlockRoom]) -> BlockRoom:
    """The room for blocks that several take."""
    return rooms[0] if len({*rooms}) == 1 else BlockRoom(max(one.size for one in rooms))


def cuts_results(root: Expr, axes: Sequence[int], room: BlockRoom = USUAL) -> bool:
    """Whether blocks of ``root`` of so much ``room`` have elements of the same results."""
    steps = steps_of(root, room)
    return any((steps[k][1] or steps[k][0]) < root.shape[k] for k in axes)


def _moved(block: StreamBlock, item: tuple[slice, ...], rows: Rows) -> StreamBlock:
    """``block`` where ``item`` lies, which is as large."""
    far = [one.start - old.start for one, old in zip(item, block.item, strict=True)]
    reads = []
    for read in block.reads:
        by = (sum(map(mul, row, far)) for row in rows[id(read.source)])
        box = tuple(
            slice(one.start + n, one.stop + n, one.step)
            for one, n in zip(read.box, by, strict=True)
        )
        reads.append(BoxRead(read.source, box, read.memory))
    return StreamBlock(item, block.root, tuple(reads))


def one_block(root: Expr) -> StreamBlock:
    """All elements of ``root`` as a block."""
    return _block(tuple(slice(0, n) for n in root.shape), root)


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
    running = {k for leaf in tiled(root) for k in in_order(leaf)}
    for k, (extent, (unit, _)) in enumerate(zip(root.shape, units, strict=True)):
        if k not in running and -(-extent // unit) >= workers and not (many and k in axes):
            return k, "merge" if k in axes else "concatenate"
    return None, "one"


def cut_for(
    source: object, root: Expr, axes: Sequence[int], workers: int
) -> tuple[int | None, str]:
    """The same; where results are few, each worker has all, of which it adds its share."""
    axis, join = cut_of(root, axes, workers)
    if axis is not None or not isinstance(source, Reduced) or source.op not in _ADDED:
        return axis, join
    few = math.prod(source.shape) * workers <= MOST_ADDED
    return (cut_of(root, (), workers)[0], "merge") if few else (axis, join)


def walks(source: Through) -> bool:
    """Whether ``source`` takes its elements block after block, and may read them so."""
    row = OPERATIONS.get(source.op)
    found = [arg for arg in source.args if any(map(tiled, _roots(arg)))]
    return row is not None and row.way in _WALKED and all(walked(arg) for arg in found)


def walked(root: Expr) -> Expr | None:
    """``root``, or its elements in the shape of what they read, of whose rows blocks are read.

    None where a few rows of it are so much that it may as well lie in memory.
    """
    if pieces_within(root) or dtypes.stored(root.dtype) != root.dtype:
        return None
    shapes = {leaf.source.shape for leaf in tiled(root) if isinstance(leaf.source, Tiled)}
    shape = max(shapes, key=len)
    lines: Expr | None = root
    if not can_stream(root) and math.prod(shape) == math.prod(root.shape):
        lines = push_shape(root, shape)
    if lines is None or not can_stream(lines) or walked_bytes(lines) > MOST_WALKED:
        return None
    return lines


def read_roots(root: Expr, source: object) -> list[Expr]:
    """What is read a box at a time for ``root``, or for what is made of all its elements."""
    if not isinstance(source, Through):
        return [root]
    return [walked(arg) or arg for arg in source.args if tiled(arg)]


def _roots(root: Expr) -> list[Expr]:
    """``root``, and the pieces that it reads."""
    return [root, *(piece.expr for source in pieces_within(root) for piece in source.pieces)]


def rows_of(root: Expr) -> int:
    """How many indices of the first axis of ``root`` a block has."""
    return steps_of(root, room_for(root, ()))[0][0]


def walked_bytes(root: Expr) -> int:
    """Bytes of the rows of ``root`` that are put together of blocks."""
    rows = min(root.shape[0], rows_of(root)) if root.shape else 1
    return rows * math.prod(root.shape[1:]) * dtypes.itemsize(root.dtype)


def cuts_of(root: Expr, room: BlockRoom) -> list[list[slice]]:
    """Where the blocks of ``root`` lie along each axis."""
    steps = zip(root.shape, steps_of(root, room), strict=True)
    ends = ([0, *range(first or step, n, step), n] for n, (step, first) in steps)
    return [[slice(*pair) for pair in pairwise(along)] for along in ends]


def steps_of(root: Expr, room: BlockRoom = USUAL) -> list[tuple[int, int]]:
    """Of each axis, how long a block is, and where the second begins.

    A block is a chunk of the largest source, or a piece of its row, and grows as ``room`` says.
    """
    found, size, order = tiled(root), room.size or BLOCK, [*reversed(range(len(root.shape)))]
    widest = max(found, key=lambda leaf: bytes_of(leaf, root.shape))
    units = units_of(widest)
    if room.down >= 0 and (piece := piece_of(widest, room.down, room.piece)):
        units = [(n, 0) for n in piece]
        order.sort(key=lambda k: k != room.down)
    extents = [min(n, unit) for n, (unit, _) in zip(root.shape, units, strict=True)]
    for k in order:
        now = sum(bytes_of(leaf, tuple(extents)) for leaf in found)
        extents[k] = min(root.shape[k], extents[k] * max(1, size // max(1, now)))
        if room.piece and k == order[0] == room.down:  # what lies in one file
            units[k] = rows_in_chunks(widest, k, extents[k])
            extents[k] = units[k][0]
        if extents[k] < root.shape[k]:
            break
    return [
        (step, first + unit * ((step - 1) // unit) if first else 0)
        for step, (unit, first) in zip(extents, units, strict=True)
    ]


def _block(item: tuple[slice, ...], root: Expr) -> StreamBlock:
    """The block ``item``, to which ``root`` is sliced already."""
    moved: dict[int, Leaf] = {}
    reads = []
    for one, found, new in readings(tiled(root)):
        reads.append(one)
        moved |= zip(map(id, found), new, strict=True)
    here = rebuild(root, root.shape, lambda leaf: moved.get(id(leaf), leaf))
    return StreamBlock(item, here, tuple(reads))
