"""The boxes that blocks need, each read while the block before it is computed."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...plan.reads import BoxRead
from ...plan.streams import AHEAD, BLOCK, StreamBlock
from ..boxes import Stop

Array: TypeAlias = NDArray[Any]
Read: TypeAlias = dict[int, Array]


@dataclass(eq=False)
class Buffers:
    """Memory for boxes, used again: fresh pages cost as much as reading does."""

    idle: list[Array] = field(default_factory=list)  # bytes

    def take(self, shape: tuple[int, ...], dtype: str) -> Array:
        """An array of ``shape``, with whatever was in it."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        fits = next((k for k, one in enumerate(self.idle) if one.size >= size), None)
        memory = np.empty(size, np.uint8) if fits is None else self.idle.pop(fits)
        if fits is None and self.idle:
            self.idle.pop()  # too small for this one: it would never be taken
        return memory[:size].view(dtype).reshape(shape)

    def give(self, array: Array) -> None:
        """Take ``array`` back, which nobody reads any more."""
        while array.base is not None:
            array = array.base
        self.idle.append(array)


@contextmanager
def _buffers() -> Iterator[Buffers]:
    """Buffers of which some are kept for the next computation, by whoever comes first."""
    with _LOCK:
        buffers = Buffers([_KEPT.pop() for _ in range(min(AHEAD, len(_KEPT)))])
    try:
        yield buffers
    finally:
        with _LOCK:
            room = _MOST_KEPT - len(_KEPT)
            _KEPT.extend([one for one in buffers.idle if one.size <= BLOCK][:room])


_LOCK: Final = threading.Lock()
_KEPT: Final[list[Array]] = []
_MOST_KEPT: Final = 2 * AHEAD


def read_ahead(blocks: Iterable[StreamBlock], stop: Stop) -> Iterator[tuple[StreamBlock, Read]]:
    """Each block with what it reads, which is gone when the next is asked for."""
    upcoming = iter(blocks)
    known = list(islice(upcoming, 2))
    if len(known) == 1:  # nothing to compute meanwhile
        yield from _read_at_once(known[0], stop)
        return
    waiting: deque[tuple[StreamBlock, list[Array], Future[None]]] = deque()
    with _buffers() as buffers, ThreadPoolExecutor(1, "speedcube-reader") as reader:

        def begin(block: StreamBlock) -> None:
            arrays = [buffers.take(one.memory.shape, one.source.dtype) for one in block.reads]
            waiting.append((block, arrays, reader.submit(_read, block.reads, arrays, stop)))

        def finished() -> tuple[StreamBlock, list[Array]]:
            block, arrays, done = waiting.popleft()
            done.result()
            return block, arrays

        try:
            for block in chain(known, upcoming):
                begin(block)
                if len(waiting) < AHEAD:
                    continue
                yield from _given(*finished(), buffers, stop)
                if stop.is_set():
                    return
            while waiting and not stop.is_set():
                yield from _given(*finished(), buffers, stop)
        finally:
            for _, _, done in waiting:
                done.cancel()


def _read_at_once(block: StreamBlock, stop: Stop) -> Iterator[tuple[StreamBlock, Read]]:
    with _buffers() as buffers:
        arrays = [buffers.take(one.memory.shape, one.source.dtype) for one in block.reads]
        _read(block.reads, arrays, stop)
        yield from _given(block, arrays, buffers, stop)


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
