"""Writes by way of a scratch file, where blocks need parts of more chunks than memory holds.

Boxes of whole chunks of the sources are computed, each once, and cut into what the blocks have of
them; these parts lie in the file, those of a block side by side. Then each block is read from there
and written. That moves all bytes twice more, mostly within the page cache, and decodes once.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ...dataclass import dataclass
from ...expr.nodes import Expr, Shape
from ..writing import (
    BLOCK,
    ENCODING,
    ByScratch,
    WriteGrid,
    WritePlan,
    block_bytes,
    element_bytes,
    read_bytes,
    source_units,
)

_WORTH: Final = 32 << 20  # bytes of sources: of fewer all chunks are decoded in no time
_PART: Final = 1 << 18  # bytes that a block has of a box, if memory allows: each is one call
_CALL: Final = 16 << 10  # bytes that are decoded while one part is written and read
_CACHED: Final = 0.5  # times as long as it takes to decode the same, to write and read a file
_ON_DISK: Final = 4.0  # the same of one that the page cache does not hold


@dataclass(frozen=True)
class ScratchRoom:
    """What there is for a write by way of a scratch file.

    ``memory`` for all blocks at a time, which ``threads`` write; ``cached`` bytes of a file stay in
    the page cache, and ``disk`` is free in ``folder``. A block of so many extents is held as often
    as ``copies`` says while it is encoded.
    """

    folder: str
    disk: int
    cached: int
    memory: int
    threads: int
    cores: int
    copies: Callable[[Shape], float]


def by_scratch(
    plan: WritePlan, roots: Sequence[Expr], unit: Shape | None, room: ScratchRoom
) -> WritePlan:
    """``plan``, or one by way of a scratch file where that takes less time.

    Blocks are made of ``unit``s of the target, or are those of ``plan`` where none is told.
    """
    source, size = read_bytes(roots, plan.grid.shape), plan.result_bytes
    if plan.times <= 1 or source < _WORTH:
        return plan
    found = _planned(plan, roots, unit, room)
    if found is None or found.scratch is None or found.scratch.size + size > room.disk:
        return plan
    moved = _CACHED if found.scratch.size <= room.cached else _ON_DISK
    moved += _CALL / max(1, _part_bytes(roots, found.scratch.pieces, found.grid.extents))
    encoding = ENCODING * size / source
    direct = plan.times / room.cores + encoding / min(plan.at_once, room.cores)
    decoding = 1 + moved * size / source
    other = decoding / room.cores + encoding / min(found.at_once, room.cores)
    return found if other < direct else plan


def _planned(
    plan: WritePlan, roots: Sequence[Expr], unit: Shape | None, room: ScratchRoom
) -> WritePlan | None:
    """The plan by way of a scratch file; None where not even one block fits into memory."""
    shape, first, each = plan.grid.shape, plan.grid.first, element_bytes(roots)

    def held(extents: Shape) -> int:
        return int(room.copies(extents) * each * math.prod(extents))

    extents = plan.grid.extents
    if unit is not None:
        spans = tuple(f + n for f, n in zip(first, shape, strict=True))
        least = tuple(max(1, min(u, n)) for u, n in zip(unit, spans, strict=True))
        extents = _grown(least, spans, lambda one: held(one) <= min(BLOCK, room.memory))
    units = source_units(roots, extents)
    pieces = _pieces(roots, extents, units, room)
    piece_bytes = block_bytes(roots, pieces)
    if max(held(extents), piece_bytes) > room.memory:
        return None
    at_once = [min(room.threads, room.memory // n) for n in (held(extents), piece_bytes)]
    grid = WriteGrid(shape, extents, first)
    groups = _groups(grid, units, each, room.cached)
    box = math.prod(min(g, n) for g, n in zip(groups.extents, shape, strict=True))
    count = math.prod(-(-n // p) for n, p in zip(shape, pieces, strict=True))
    by = ByScratch(
        *(room.folder, groups, pieces, tuple(begin for _, begin in units)),
        *(at_once[1], piece_bytes, each * box),
    )
    return replace(
        plan,
        grid=grid,
        at_once=min(at_once[0], grid.count),
        block_bytes=held(extents),
        read_bytes=count * read_bytes(roots, pieces),
        kept_bytes=0,
        times=1.0,
        scratch=by,
    )


def _grown(extents: Shape, spans: Shape, fits: Callable[[Shape], bool]) -> Shape:
    """``extents`` times whole numbers, along the last axes first, as long as that ``fits``."""
    found = list(extents)
    for k in reversed(range(len(found))):
        most = -(-spans[k] // extents[k])
        longer = range(2, most + 1)
        times = 1 + bisect_left(
            longer, True, key=lambda n: not fits(_with(found, k, n * extents[k]))
        )
        found[k] = min(spans[k], times * extents[k])
        if times < most:
            break
    return tuple(found)


def _with(extents: Sequence[int], axis: int, length: int) -> Shape:
    return (*extents[:axis], length, *extents[axis + 1 :])


def _pieces(
    roots: Sequence[Expr], extents: Shape, units: Sequence[tuple[int, int]], room: ScratchRoom
) -> Shape:
    """How long boxes are that are computed at once: a chunk, or as many as make parts long."""
    shape = roots[0].shape
    pieces = tuple(min(unit, n) for (unit, _), n in zip(units, shape, strict=True))
    while _part_bytes(roots, pieces, extents) < _PART:
        longer = [k for k, n in enumerate(pieces) if n < min(extents[k], shape[k])]
        if not longer:
            break
        axis = max(longer, key=lambda k: extents[k] / pieces[k])
        wider = _with(pieces, axis, min(shape[axis], 2 * pieces[axis]))
        if room.threads * block_bytes(roots, wider) > room.memory:
            break
        pieces = wider
    return pieces


def _part_bytes(roots: Sequence[Expr], pieces: Shape, extents: Shape) -> int:
    """Bytes that a block has of a box, at most."""
    return element_bytes(roots) * math.prod(map(min, pieces, extents))


def _groups(grid: WriteGrid, units: Sequence[tuple[int, int]], each: int, cached: int) -> WriteGrid:
    """Boxes in which blocks and chunks end together, as many as make a file that is cached."""
    ends = zip(grid.first, grid.shape, grid.extents, strict=True)
    spans = tuple(-(-(f + n) // e) * e for f, n, e in ends)
    closed = tuple(
        min(math.lcm(extent, unit), span)
        for extent, (unit, _), span in zip(grid.extents, units, spans, strict=True)
    )
    wider = _grown(closed, spans, lambda one: each * math.prod(one) <= cached)
    return WriteGrid(grid.shape, wider, grid.first)
