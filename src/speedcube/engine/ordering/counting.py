"""How often each number comes: block after block by a small kernel, each thread its own counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from ...expr.through.node import Through
from .elements import AllElements, Array
from .fixed import Counts

_CALL: Final = 1 << 22  # elements of one call, so that Ctrl-C gets a turn


def counted(source: Through, given: list[AllElements]) -> Array:
    """How many elements each number below the length is, and how many are no such number."""
    elements, (length, *_) = given[0], source.options

    def count(span: tuple[int, int]) -> Array:
        counts = Counts(elements.dtype.name, length)
        for block in _blocks(elements, span):
            counts.add(block)
        return counts.total()

    parts = elements.each(count, elements.spans())
    return np.asarray(sum(parts[1:], start=parts[0]))[: source.shape[0]]


def _blocks(elements: AllElements, span: tuple[int, int]) -> Iterator[Array]:
    memory, (start, stop) = elements.memory, span
    if memory is None or not memory.flags.c_contiguous:
        yield from elements.blocks(start, stop)
        return
    for first in range(start, stop, _CALL):
        if elements.stop.is_set():
            return
        yield memory[first : min(stop, first + _CALL)]
