"""Tiles of a plain file that a kernel takes as they are read, in one call of a compiled loop.

A tile stays in a core's cache between the two, and Python does not come between one and the next.
The GIL is released meanwhile.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from itertools import islice
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...errors import DataFileError
from ...expr.nodes import Expr, Reduced, Tiled
from ...kernel.cache import kernel_cache
from ...kernel.llvm.compile import QUICK, NativeKernel, build, load
from ...kernel.llvm.files.pieces import DONE, FAILURES, PiecesOfFile
from ...kernel.llvm.simd import targets
from ...plan.reads import BlockRoom, StreamBlock
from ...plan.stages import Stage
from ...plan.streams import is_quick, tiled
from ..boxes import Box, Stop, result_boxes
from ..cpu import Caller, address_of, calling
from ..prepare import prepare_folded, prepare_many
from .apart import Apart
from .lines import LEAST, At, evenly, lines, pieces_of, place_of, with_pieces_apart
from .reading import buffers_kept

Array: TypeAlias = NDArray[Any]
Item: TypeAlias = tuple[slice, ...]
TILE: Final = 1 << 20  # bytes: a core's cache holds it
_MOST: Final = 64  # tiles of one call, so that Ctrl-C gets a turn


@dataclass(frozen=True, eq=False)
class Feed:
    """Tiles of one shape that lie evenly apart in the file ``handle``: ``count`` of them.

    ``at`` gives each. It is read into ``memory``, which ``inputs`` has as what the first one reads.
    ``start``: where the first one begins, ``step``: how far the next is. Each has ``pieces``, which
    have ``size`` bytes, and lie ``apart``.
    """

    at: At
    count: int
    handle: int
    start: int
    step: int
    pieces: int
    size: int
    apart: int
    memory: Array
    inputs: Mapping[int, Array]
    stop: Stop

    def run(self, call: Caller, box: Box, out: int, step: int) -> tuple[int, int]:
        """Call the kernel for each, with ``box``, into ``out`` and on ``step`` bytes further.

        How many tiles were read whole, and computed; and how many results the kernel left.
        """
        count, further = self.count, self.memory.nbytes // self.pieces
        piece = [self.handle, self.start, self.apart, self.size, further, self.pieces]
        words = np.array([*piece, self.step, 0, count, step, 0, 0], np.int64)
        function: Any = call.function
        kernel = ctypes.cast(function, ctypes.c_void_p).value or 0
        table = np.array([kernel, *call.arguments, out, *box], np.uint64)
        call.frame.tiers.seen += (count - 1) * call.prepared.visits
        _run(words, address_of(self.memory), address_of(table))
        done = int(words[DONE])
        if self.stop.counts:
            for _ in range(done):
                self.stop.passed(box, call.prepared.tiling.inner)
        return done, int(words[FAILURES])


class Fed(Protocol):
    """What may take tiles as they are read."""

    feeds: bool  # whether it does

    def tile_room(self, root: Expr, size: int) -> BlockRoom:
        """What a tile of ``root`` of ``size`` bytes may be."""

    def fed(self, feed: Feed) -> Sequence[int]:
        """Take the tiles of ``feed``; the numbers of those that were not taken."""


def left_of(takers: Sequence[Any], root: Expr, inputs: Any, stop: Stop) -> list[StreamBlock] | None:
    """The blocks of ``root`` that are left when its taker took what it can so; None: all are."""
    if len(takers) != 1 or not getattr(takers[0], "feeds", False) or not _can_be_fed(root):
        return None
    left: list[StreamBlock] = []
    taken = 0
    tiles: Any = _only(root).tiles
    with buffers_kept() as buffers, _file_kept(tiles.opened) as opened:
        room, apart = takers[0].tile_room(root, TILE), Apart(pieces_of)
        for at, count in lines(root, room):
            wider = with_pieces_apart(at, apart) if room.down >= 0 else at
            k = 0
            while k < count and not stop.is_set():
                it = wider(k).reads[0].memory
                memory = buffers.take(it.shape, it.dtype)
                numbers, end = _given(takers[0], wider, k, count, memory, inputs, stop, opened)
                buffers.give(memory)
                taken += end - k - len(numbers)
                if not taken:
                    return None
                left += map(at, numbers)
                k = end
    return left


def _can_be_fed(root: Expr) -> bool:
    found = tiled(root)
    if len(found) != 1 or not is_quick(root):
        return False
    source = found[0].source
    return isinstance(source, Tiled) and hasattr(source.tiles, "lies_at")


def _only(root: Expr) -> Tiled:
    source = tiled(root)[0].source
    assert isinstance(source, Tiled)
    return source


@contextmanager
def _file_kept(open_: Callable[[str], int]) -> Iterator[Callable[[str], int]]:
    """What gives a file's handle, which stays open until another file's is asked for."""
    held: dict[str, int] = {}

    def close() -> None:
        while held:
            os.close(held.popitem()[1])

    def opened(path: str) -> int:
        if path not in held:
            close()
            held[path] = open_(path)
        return held[path]

    try:
        yield opened
    finally:
        close()


def _given(
    taker: Fed,
    at: At,
    k: int,
    count: int,
    memory: Array,
    inputs: Any,
    stop: Stop,
    opened: Callable[[str], int],
) -> tuple[Sequence[int], int]:
    """Give tiles from ``k`` on to ``taker``: the numbers of those it left, and the next one."""
    first = at(k)
    here = place_of(first)
    step, most = evenly(at, k, here, min(count - k, _MOST)) if here else (0, 0)
    if here is None or most < LEAST:
        return (k,), k + 1
    end = k + most
    try:
        handle = opened(here[0])
    except (OSError, DataFileError):
        return range(k, end), end  # who reads it block by block knows what that means
    read = first.reads[0]
    known = {**inputs, id(read.memory): memory}
    size = math.prod(one.stop - one.start for one in read.box) * memory.itemsize // here[2]
    place = handle, here[1], step, here[2], size, here[3]
    feed = Feed(lambda j: at(k + j), most, *place, memory, known, stop)
    return [k + j for j in taker.fed(feed)], end


def reduces(stage: Stage) -> bool:
    """Whether ``stage`` reduces in any order."""
    return isinstance(stage.source, Reduced) and stage.op != "prod"


def run_fed(stage: Stage, feed: Feed, out: Array, step: int) -> tuple[int, int] | None:
    """Finish the results of tiles, of which the first is ``stage``, in ``out`` and further on.

    As `Feed.run`. None where no kernel finishes them there by one call a tile.
    """
    part = stage.parts[0]
    folded = prepare_folded(stage, part)
    prepared = folded or prepare_many(stage, part)
    if prepared is None:
        return None
    sink = prepared.program.sink
    dtype, one = (stage.dtype, sink.folded) if folded else (sink.dtype, sink.many)
    if one is None or out.dtype != dtype or not out.flags.c_contiguous:
        return None
    found = result_boxes(prepared.loops, 0 if one.rows else prepared.tiling.rows)
    box, *others = islice(found, 2)
    if others:
        return None
    with calling(prepared, feed.inputs) as call:
        done, failures = feed.run(call, box, address_of(out), step)
    return done, 0 if folded else failures


def read_pieces(handle: int, start: int, step: int, size: int, out: NDArray[np.uint8]) -> int:
    """Fill ``out`` with pieces of ``size`` bytes, the first at ``start``, ``step`` apart.

    How many were read whole; those behind the first that was not are left to who asks.
    """
    words = np.array(
        [handle, start, 0, size, 0, 1, step, size, out.size // size, 0, 0, 0], np.int64
    )
    _run(words, address_of(out), 0)
    return int(words[DONE])


def _run(words: NDArray[np.int64], memory: int, call: int) -> None:
    kernel = _kernel(targets()[0])  # named, so that its code lives as long as it runs
    kernel.function(address_of(words), _pread(), memory, call, 0)


@lru_cache(maxsize=4)
def _kernel(target: str) -> NativeKernel:
    key = (PiecesOfFile(), target, QUICK[target], kernel_cache())
    return load(*key) or build(*key)


@cache
def _pread() -> int:
    """Where the system's function lies in this process."""
    return ctypes.cast(ctypes.CDLL(None).pread, ctypes.c_void_p).value or 0
