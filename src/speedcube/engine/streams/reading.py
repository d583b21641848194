"""The boxes that blocks need, each read while the block before it is computed."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...plan.reads import BoxRead
from ...plan.streams import AHEAD, StreamBlock
from ..boxes import Stop

Array: TypeAlias = NDArray[Any]
Read: TypeAlias = dict[int, Array]


@dataclass(eq=False)
class Buffers:
    """Memory for boxes, used again: fresh pages cost as much as reading does."""

    idle: dict[str, list[Array]] = field(default_factory=dict)

    def take(self, shape: tuple[int, ...], dtype: str) -> Array:
        """An array of ``shape``, with whatever was in it."""
        size = math.prod(shape)
        idle = self.idle.setdefault(dtype, [])
        fits = next((k for k, one in enumerate(idle) if one.size >= size), None)
        memory = np.empty(size, dtype) if fits is None else idle.pop(fits)
        if fits is None and idle:
            idle.pop()  # too small for this one: it would never be taken
        return memory[:size].reshape(shape)

    def give(self, array: Array) -> None:
        """Take ``array`` back, which nobody reads any more."""
        memory = array if array.base is None else array.base
        self.idle.setdefault(memory.dtype.name, []).append(memory)


def read_ahead(blocks: Iterable[StreamBlock], stop: Stop) -> Iterator[tuple[StreamBlock, Read]]:
    """Each block with what it reads, which is gone when the next is asked for."""
    buffers = Buffers()
    waiting: deque[tuple[StreamBlock, list[Array], Future[None]]] = deque()
    with ThreadPoolExecutor(1, "speedcube-reader") as reader:

        def begin(block: StreamBlock) -> None:
            arrays = [buffers.take(one.memory.shape, one.source.dtype) for one in block.reads]
            waiting.append((block, arrays, reader.submit(_read, block.reads, arrays, stop)))

        def finished() -> tuple[StreamBlock, list[Array]]:
            block, arrays, done = waiting.popleft()
            done.result()
            return block, arrays

        try:
            for block in blocks:
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
