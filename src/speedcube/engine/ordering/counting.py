"""How often each number comes: block after block, each thread its own counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from ...expr.through import Through
from .stream import BLOCK, Array, Stream

_TOGETHER: Final = 4  # times as many elements as counts are counted in one call


def counted(source: Through, streams: list[Stream]) -> Array:
    """How many elements each number below the length is; the length itself is not counted."""
    stream, (length, *_) = streams[0], source.options

    def count(span: tuple[int, int]) -> Array:
        counts = np.zeros(length + 1, np.int64)
        for block in _blocks(stream, span, length):
            counts += np.bincount(block, minlength=length + 1)
        return counts[:length]

    parts = stream.each(count, stream.spans())
    return np.asarray(sum(parts[1:], start=parts[0]))


def _blocks(stream: Stream, span: tuple[int, int], length: int) -> Iterator[Array]:
    """The elements of ``span``, enough at a time to be worth an array of counts."""
    start, stop = span
    step = max(BLOCK, _TOGETHER * length)
    if stream.memory is not None:
        for first in range(start, stop, step):
            yield stream.memory[first : min(stop, first + step)]
        return
    if step == BLOCK:
        yield from stream.blocks(start, stop)
        return
    for first in range(start, stop, step):
        block = np.empty(min(step, stop - first), stream.dtype)
        stream.fill(block, first)
        yield block
