"""Boxes of sources that are read into a GPU's memory: by several threads, a piece each."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any, Final, TypeAlias

from ... import dtypes
from ...dataclass import dataclass
from ...expr.nodes import Tiled, c_strides
from ...expr.sources.tiled import Box
from ...late import futures
from ...plan.reads import BoxRead, StreamBlock, blocks_there
from ..boxes import Stop
from .lanes import PIECE, Crew, Taken, crew, now
from .room import LARGE_CHUNKS

Read: TypeAlias = dict[int, Any]

_SHARE: Final = 2  # of what is free: results and what is on the way take the other half


@dataclass(frozen=True, eq=False)
class Coming:
    """A block whose boxes are on their way to ``arrays``."""

    block: StreamBlock
    arrays: list[Any]
    pieces: list[futures.Future[None]]

    def arrived(self) -> Read:
        """The arrays, once all has been read; the errors of readers are the caller's."""
        for one in self.pieces:
            one.result()
        reads = zip(self.block.reads, self.arrays, strict=True)
        return {id(read.memory): array for read, array in reads}


def read_there(
    blocks: Iterable[StreamBlock], stop: Stop, device: int
) -> Iterator[tuple[StreamBlock, Read]]:
    """Each block with what it reads, in the memory of ``device``, while those after it are read."""
    import cupy

    waiting: deque[Coming] = deque()
    rest = iter(blocks)
    first = next(rest, None)
    if first is None:
        return
    decoding = [one.source for one in first.reads if _decodes(one.source)]
    largest = max(map(_chunk_bytes, decoding), default=0)
    with crew(device, bool(decoding), largest) as threads, LARGE_CHUNKS.kept():
        for block in chain((first,), rest):
            with cupy.cuda.Device(device):
                waiting.append(_begin(block, threads, stop))
            if len(waiting) < blocks_there(sum(map(_bytes, block.reads))):
                continue
            yield _arrived(waiting.popleft(), threads, device)
            if stop.is_set():
                return
        while waiting and not stop.is_set():
            yield _arrived(waiting.popleft(), threads, device)


def room_there(device: int) -> int:
    """Bytes of the memory of ``device`` that sources may take."""
    import cupy

    with cupy.cuda.Device(device):
        free, _ = cupy.cuda.runtime.memGetInfo()
        return int(free + cupy.get_default_memory_pool().free_bytes()) // _SHARE


def _bytes(read: BoxRead) -> int:
    return math.prod(read.memory.shape) * dtypes.itemsize(read.source.dtype)


def _arrived(coming: Coming, threads: Crew, device: int) -> tuple[StreamBlock, Read]:
    import cupy

    read = coming.arrived()
    with cupy.cuda.Device(device):
        threads.order(cupy.cuda.get_current_stream())
    return coming.block, read


def _begin(block: StreamBlock, threads: Crew, stop: Stop) -> Coming:
    import cupy

    arrays = [cupy.empty(one.memory.shape, one.source.dtype) for one in block.reads]
    after = now()  # what their memory was used for before
    pieces = [
        threads.submit(
            partial(_fill, one.source, box, int(array.data.ptr) + first, threads.straight, stop),
            after,
        )
        for one, array in zip(block.reads, arrays, strict=True)
        for box, first in pieces_of(one)
    ]
    return Coming(block, arrays, pieces)


def _fill(source: Tiled, box: Box, address: int, straight: bool, stop: Stop, lane: Taken) -> None:
    """Read ``box`` and send it to ``address``; only if ``straight`` it is decoded in a lane."""
    if stop.is_set():
        return
    shape = _counts(box)
    size = math.prod(shape) * dtypes.itemsize(source.dtype)
    if size <= PIECE and (straight or not _decodes(source)):
        with lane() as taken:
            source.tiles.read(box, taken.room(size).view(source.dtype).reshape(shape))
            taken.send(size, address)
        return
    with LARGE_CHUNKS.buffer(size) as memory:
        source.tiles.read(box, memory.view(source.dtype).reshape(shape))
        with lane() as taken:
            taken.copy(memory, address)


def _chunk_bytes(source: Tiled) -> int:
    cuts: tuple[int, ...] = getattr(source.tiles, "cuts", source.tiles.chunks)
    return math.prod(cuts) * dtypes.itemsize(source.dtype)


def _decodes(source: Tiled) -> bool:
    return getattr(source.tiles, "decodes", True)


def pieces_of(read: BoxRead) -> Iterator[tuple[Box, int]]:
    """The box in pieces of about a buffer, each with how many bytes of it come before.

    No chunk is cut, for it would be decoded twice, but where the reader has smaller ``cuts``.
    """
    size, tiles = dtypes.itemsize(read.source.dtype), read.source.tiles
    cuts: tuple[int, ...] = getattr(tiles, "cuts", tiles.chunks)
    for box, first in _pieces(read.box, cuts, PIECE // size):
        yield box, first * size


def _pieces(box: Box, chunks: tuple[int, ...], room: int) -> Iterator[tuple[Box, int]]:
    counts = _counts(box)
    axis = next((k for k, n in enumerate(counts) if n > 1), None)
    if axis is None or math.prod(counts) <= room:
        yield box, 0
        return
    each, one = c_strides(counts)[axis], box[axis]
    chunk = -(-chunks[axis] // one.step)
    rows = max(1, room // each) // chunk * chunk or chunk
    begin, end = 0, rows - (one.start % chunks[axis] if one.step == 1 else 0)
    while begin < counts[axis]:
        end = min(end, counts[axis])
        here = slice(one.start + begin * one.step, one.start + (end - 1) * one.step + 1, one.step)
        part = (*box[:axis], here, *box[axis + 1 :])
        if end - begin == 1:
            for piece, first in _pieces(part, chunks, room):
                yield piece, begin * each + first
        else:
            yield part, begin * each
        begin, end = end, end + rows


def _counts(box: Box) -> tuple[int, ...]:
    return tuple(len(range(s.start, s.stop, s.step)) for s in box)
