"""The boxes that blocks need, each read while the block before it is computed."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field
from itertools import chain, islice
from queue import SimpleQueue
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr.sources.tiled import from_page, page_memory
from ...plan.reads import AHEAD, BoxRead, StreamBlock
from ...plan.stages import Stage
from ...plan.streams import BLOCK
from .. import machine
from ..boxes import Stop

Array: TypeAlias = NDArray[Any]
Read: TypeAlias = dict[int, Array]


@dataclass(eq=False)
class Buffers:
    """Memory for boxes, used again: fresh pages cost as much as reading does.

    Several threads may take and give: what one was given no other gets.
    """

    idle: list[Array] = field(default_factory=list)  # bytes
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, shape: tuple[int, ...], dtype: str) -> Array:
        """An array of ``shape``, with whatever was in it."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        with self._lock:
            fits = next((k for k, one in enumerate(self.idle) if one.size >= size), None)
            known = None if fits is None else self.idle.pop(fits)
            if known is None and self.idle:
                self.idle.pop()  # too small for this one: it would never be taken
        memory = page_memory(size) if known is None else known
        return memory[:size].view(dtype).reshape(shape)

    def give(self, array: Array) -> None:
        """Take ``array`` back, which nobody reads any more."""
        while array.base is not None:
            array = array.base
        with self._lock:
            self.idle.append(from_page(array))


@contextmanager
def buffers_kept() -> Iterator[Buffers]:
    """Buffers of which some are kept for the next computation, by whoever comes first.

    Those of a block, and one that is larger.
    """
    with _LOCK:
        buffers = Buffers([_KEPT.pop() for _ in range(min(AHEAD, len(_KEPT)))])
        buffers.idle += _LARGE
        _LARGE.clear()
    try:
        yield buffers
    finally:
        with _LOCK:
            room = _MOST_KEPT - len(_KEPT)
            _KEPT.extend([one for one in buffers.idle if one.size <= BLOCK][:room])
            large = [one for one in buffers.idle if BLOCK < one.size <= _MOST_OF_ONE]
            _LARGE.extend(large[: 1 - len(_LARGE)])


_LOCK: Final = threading.Lock()
_KEPT: Final[list[Array]] = []
_LARGE: Final[list[Array]] = []
_MOST_OF_ONE: Final = 1 << 25
_MOST_KEPT: Final = 2 * AHEAD


def no_core_is_idle(stage: Stage) -> bool:
    """Whether all cores compute parts of ``stage``, and none is left for a thread that reads.

    Where there is one core that would take turns with who computes, whose cache loses what it read.
    """
    return len(stage.parts) > 1 or machine.cores() == 1


def read_blocks(
    blocks: Iterable[StreamBlock], stop: Stop, busy: bool
) -> Iterator[tuple[StreamBlock, Read]]:
    """Each block with what it reads, which is gone when the next is asked for.

    ``busy``: no core is idle, and blocks are quickly read. Each is read by who computes it then,
    and is still in that core's cache; else a thread reads ahead.
    """
    upcoming = iter(blocks)
    known = list(islice(upcoming, 2))
    if len(known) == 1 or busy:
        with buffers_kept() as buffers:
            for block in chain(known, upcoming):
                arrays = _arrays_for(block, buffers)
                _read(block.reads, arrays, stop)
                yield from _given(block, arrays, buffers, stop)
                if stop.is_set():
                    return
        return
    yield from _read_ahead(chain(known, upcoming), stop)


def _read_ahead(blocks: Iterable[StreamBlock], stop: Stop) -> Iterator[tuple[StreamBlock, Read]]:
    """The same, by a thread of its own."""
    with buffers_kept() as buffers:
        ahead = ReadAhead(blocks, buffers, stop)
        reader = threading.Thread(target=ahead.run, name="speedcube-reader", daemon=True)
        reader.start()
        try:
            while (coming := ahead.ready.get()) is not None:
                if isinstance(coming, BaseException):
                    raise coming
                block, arrays = coming
                yield from _given(block, arrays, buffers, stop)
                if stop.is_set():
                    return
                ahead.room.put(None)
        finally:
            ahead.closed = True
            ahead.room.put(None)
            reader.join()


@dataclass(eq=False)
class ReadAhead:
    """What reads ``blocks`` one after the other, as long as there is ``room``."""

    blocks: Iterable[StreamBlock]
    buffers: Buffers
    stop: Stop
    most: int = AHEAD  # in memory
    closed: bool = False
    room: SimpleQueue[None] = field(default_factory=SimpleQueue)
    ready: SimpleQueue[Any] = field(default_factory=SimpleQueue)  # at the end None, or an error

    def run(self) -> None:
        """Read; what goes wrong is raised by who waits for the block."""
        try:
            for _ in range(self.most):
                self.room.put(None)
            for block in self.blocks:
                self.room.get()
                if self.closed:
                    return
                arrays = _arrays_for(block, self.buffers)
                _read(block.reads, arrays, self.stop)
                self.ready.put((block, arrays))
            self.ready.put(None)
        except BaseException as err:
            self.ready.put(err)


def _arrays_for(block: StreamBlock, buffers: Buffers) -> list[Array]:
    """Memory for what ``block`` reads."""
    return [buffers.take(one.memory.shape, one.source.dtype) for one in block.reads]


def _given(
    block: StreamBlock, arrays: list[Array], buffers: Buffers, stop: Stop
) -> Iterator[tuple[StreamBlock, Read]]:
    if not stop.is_set():
        yield block, {id(one.memory): a for one, a in zip(block.reads, arrays, strict=True)}
    for array in arrays:
        buffers.give(array)


def _read(reads: tuple[BoxRead, ...], arrays: list[Array], stop: Stop) -> None:
    for one, array in zip(reads, arrays, strict=True):
        if not stop.is_set():
            one.source.tiles.read(one.box, array)
