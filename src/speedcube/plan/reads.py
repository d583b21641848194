"""What some leaves read of a source: a box of it, in whose memory they are leaves again.

And how many of them are there at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from .. import dtypes
from ..dataclass import dataclass
from ..expr.nodes import Expr, Leaf, Shape, StageResult, Tiled, c_strides, leaves
from ..expr.push import places
from ..expr.sources.tiled import Box

# Bytes that are read of a row, and then of the next, where results lie across rows: their sums stay
# in the cache. Of shorter pieces the system is asked too often.
PIECE: Final = 1 << 17
AHEAD: Final = 2  # blocks in memory: one that is read while another is computed
STAGED: Final = 128 << 20  # bytes of pinned memory through which a GPU is given what it reads
# Bytes of the host's memory for what is decoded, and for chunks larger than a pinned buffer: to
# decode keeps as many cores busy as have a chunk each.
LARGE: Final = 256 << 20
_MOST_THERE: Final = 16  # blocks at once

# Of each axis of a source, where a leaf begins, and how far each of its own steps goes there.
Places: TypeAlias = list[tuple[int, tuple[int, ...]]]
Rows: TypeAlias = dict[int, list[tuple[int, ...]]]  # the same of each source, without begins


@dataclass(frozen=True)
class BlockRoom:
    """What a block may be: ``size`` bytes of sources, and how it grows to that; 0: as most do.

    Along the last axes first. Where ``down`` is an axis, along that one first, from a piece of a
    row on, of about ``piece`` bytes (0: `PIECE`).
    """

    size: int = 0
    down: int = -1
    piece: int = 0


@dataclass(frozen=True, eq=False)
class BoxRead:
    """What a block reads of a source: ``box``, which ``memory`` stands for."""

    source: Tiled
    box: Box
    memory: StageResult


@dataclass(frozen=True, eq=False)
class StreamBlock:
    """The elements ``item`` of a part: ``root`` over the memory of what is read."""

    item: tuple[slice, ...]
    root: Expr
    reads: tuple[BoxRead, ...]


def places_in(leaf: Leaf) -> Places:
    """Where ``leaf`` reads the source that it reads a box at a time."""
    assert isinstance(leaf.source, Tiled)
    where = places(leaf, leaf.source.shape)
    assert where is not None
    return list(zip(*where, strict=True))


def reads_boxes(leaf: Leaf) -> bool:
    """Whether any box of ``leaf`` reads a box of its source."""
    return isinstance(leaf.source, Tiled) and places(leaf, leaf.source.shape) is not None


def in_order(leaf: Leaf) -> Iterator[int]:
    """The axes of ``leaf`` along which its source is best read from the beginning on."""
    assert isinstance(leaf.source, Tiled)
    axes = getattr(leaf.source.tiles, "in_order", ())
    for axis, (_, row) in enumerate(places_in(leaf)):
        if axis in axes:
            yield from (k for k, step in enumerate(row) if step)


def bytes_of(leaf: Leaf, extents: Shape) -> int:
    """Bytes that a box of ``extents`` reads of the source of ``leaf``."""
    count = 1
    for _, row in places_in(leaf):
        reach = sum(abs(step) * (n - 1) for step, n in zip(row, extents, strict=True))
        count *= reach // max(1, math.gcd(*row)) + 1
    return count * dtypes.itemsize(leaf.dtype)


def units_of(leaf: Leaf) -> list[tuple[int, int]]:
    """Of each axis of ``leaf``, how many elements lie in a chunk, and in the first one.

    Of chunks that are not decoded, a part may be read without loss.
    """
    assert isinstance(leaf.source, Tiled)
    units = [(max(1, n), 0) for n in leaf.shape]
    tiles = leaf.source.tiles
    chunks: Shape = getattr(tiles, "cuts", tiles.chunks)
    begins: Shape = getattr(tiles, "begins", (0,) * len(chunks))
    for (start, row), chunk, begin in zip(places_in(leaf), chunks, begins, strict=True):
        inside = (start - begin) % chunk
        for k, step in enumerate(row):
            if step:
                room = chunk - inside if step > 0 else inside + 1
                units[k] = max(1, chunk // abs(step)), -(-room // abs(step))
    return units


def rows_that_move(root: Expr, axes: Sequence[int]) -> Rows | None:
    """How far boxes of each source move along its axes where a box of ``root`` moves a step.

    None where a box that moves along ``axes`` reads other places than such boxes. Asked of the
    whole ``root``: a box of one index along an axis does not know how far that axis steps.
    """
    rows: Rows = {}
    for leaf in leaves(root):
        if isinstance(leaf.source, Tiled):
            along = [row for _, row in places_in(leaf)]
            if rows.setdefault(id(leaf.source), along) != along:
                return None
        elif any(leaf.strides[k] for k in axes):
            return None
    return rows


def lies_in_rows(leaf: Leaf) -> bool:
    """Whether ``leaf`` reads its source as that lies: each axis along one, no element left out."""
    rows = [row for _, row in places_in(leaf)]
    ahead = [tuple(int(k == axis) for k in range(len(leaf.shape))) for axis in range(len(rows))]
    return len(rows) == len(leaf.shape) and rows == ahead


def piece_of(leaf: Leaf, down: int, size: int = 0) -> Shape | None:
    """The extents of some elements of ``leaf`` behind axis ``down`` that lie side by side: a piece.

    It has ``size`` bytes, about (0: `PIECE`).

    None where a chunk has no such piece, or a row no more than that.
    """
    if not lies_in_rows(leaf):
        return None
    assert isinstance(leaf.source, Tiled)
    room, whole = max(1, (size or PIECE) // dtypes.itemsize(leaf.dtype)), True
    extents = [1] * len(leaf.shape)
    for k in reversed(range(down + 1, len(leaf.shape))):
        extents[k] = min(leaf.shape[k], room)
        if extents[k] > 1 and (not whole or leaf.source.tiles.chunks[k] < extents[k]):
            return None
        whole = extents[k] == leaf.source.shape[k]
        room //= extents[k]
    return None if room > 1 else tuple(extents)


def chunk_along(leaf: Leaf, axis: int) -> tuple[int, int]:
    """How long a chunk of ``leaf``, which lies in rows, is along ``axis``, and its first one.

    All of it, and nothing, where its source is one file.
    """
    assert isinstance(leaf.source, Tiled)
    tiles, (start, _) = leaf.source.tiles, places_in(leaf)[axis]
    if not hasattr(tiles, "cuts"):
        return leaf.shape[axis], 0
    chunk = tiles.chunks[axis]
    return chunk, chunk - start % chunk


def rows_in_chunks(leaf: Leaf, axis: int, most: int) -> tuple[int, int]:
    """How many indices along ``axis`` a block has, and the first one, so that it lies in one chunk.

    ``most``, or a little less; where chunks have no such share blocks lie as they come.
    """
    chunk, first = chunk_along(leaf, axis)
    rows = next((n for n in range(most, most // 2, -1) if chunk % n == 0), 0)
    return (rows, first % rows) if first and rows else (most, 0)


def reading(found: Sequence[Leaf]) -> tuple[BoxRead, list[Leaf]]:
    """The box that ``found``, leaves of one source, read of it; and the leaves of its memory."""
    source = found[0].source
    assert isinstance(source, Tiled)
    where = [places_in(leaf) for leaf in found]
    box = tuple(
        _span([one[axis] for one in where], [leaf.shape for leaf in found])
        for axis in range(len(source.shape))
    )
    shape = tuple(len(range(s.start, s.stop, s.step)) for s in box)
    memory = StageResult(shape, source.dtype)
    moved = [_moved(leaf, one, box, memory) for leaf, one in zip(found, where, strict=True)]
    return BoxRead(source, box, memory), moved


def readings(leaves: Iterable[Leaf]) -> Iterator[tuple[BoxRead, list[Leaf], list[Leaf]]]:
    """The boxes that ``leaves`` read: each with the leaves it is for, and those of its memory.

    A box is for all of a source's leaves that are near each other: ``x + x[::-1]`` reads two.
    """
    by_source: dict[int, list[Leaf]] = {}
    for leaf in leaves:
        by_source.setdefault(id(leaf.source), []).append(leaf)
    for found in by_source.values():
        for some, read in _near(found):
            yield read[0], some, read[1]


def _near(found: list[Leaf]) -> list[tuple[list[Leaf], tuple[BoxRead, list[Leaf]]]]:
    """``found``, leaves of one source, in groups whose box is no more than what they read."""
    whole = reading(found)
    if _size(whole) <= sum(bytes_of(leaf, leaf.shape) for leaf in found):
        return [(found, whole)]
    groups: list[tuple[list[Leaf], tuple[BoxRead, list[Leaf]]]] = []
    for leaf in found:
        alone = bytes_of(leaf, leaf.shape)
        for k, (some, read) in enumerate(groups):
            both = reading([*some, leaf])
            if _size(both) <= _size(read) + alone:
                groups[k] = [*some, leaf], both
                break
        else:
            groups.append(([leaf], reading([leaf])))
    return groups


def _size(read: tuple[BoxRead, list[Leaf]]) -> int:
    memory = read[0].memory
    return math.prod(memory.shape) * dtypes.itemsize(memory.dtype)


def _span(along: Sequence[tuple[int, tuple[int, ...]]], shapes: Sequence[Shape]) -> slice:
    """What several leaves read along an axis of their source."""
    lows, highs = [], []
    for (start, row), shape in zip(along, shapes, strict=True):
        reach = [step * (n - 1) for step, n in zip(row, shape, strict=True)]
        lows.append(start + sum(min(0, r) for r in reach))
        highs.append(start + sum(max(0, r) for r in reach))
    low = min(lows)
    apart = (start - low for start, _ in along)
    step = math.gcd(*apart, *(step for _, row in along for step in row))
    return slice(low, max(highs) + 1, max(1, step))


def _moved(leaf: Leaf, where: Places, box: Box, memory: StageResult) -> Leaf:
    """``leaf``, which reads the places ``where``, in the ``memory`` of ``box``."""
    offset, strides = 0, [0] * len(leaf.shape)
    for (start, row), one, stride in zip(where, box, c_strides(memory.shape), strict=True):
        offset += (start - one.start) // one.step * stride
        for k, step in enumerate(row):
            strides[k] += step // one.step * stride
    return Leaf(memory, leaf.shape, offset, tuple(strides))


def blocks_there(size: int) -> int:
    """How many blocks of ``size`` bytes are on their way to a GPU at once."""
    return max(AHEAD, min(LARGE // max(size, 1), _MOST_THERE))
