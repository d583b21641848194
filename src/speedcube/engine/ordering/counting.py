"""How often each number comes: block after block by a small kernel, each thread its own counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from ...expr.through.even import is_even
from ...expr.through.node import Through
from .elements import AllElements, Array
from .fixed import Counts, EvenCounts

_CALL: Final = 1 << 22  # elements of one call, so that Ctrl-C gets a turn


def _counts(source: Through, dtype: str) -> Counts:
    if not is_even(source):
        return Counts(dtype, source.options[0])
    _, _, first, last, edges = source.options
    return EvenCounts((first, last), np.frombuffer(edges))


def counted(source: Through, given: list[AllElements]) -> Array:
    """How many elements each number below the length is, or of those that lie in each bin."""
    elements = given[0]

    def count(span: tuple[int, int]) -> Array:
        counts = _counts(source, elements.dtype.name)
        for block in streamed(elements, span):
            counts.add(block)
        return counts.total()

    parts = elements.each(count, elements.spans())
    return np.asarray(sum(parts[1:], start=parts[0]))[: source.shape[0]]


def streamed(elements: AllElements, span: tuple[int, int]) -> Iterator[Array]:
    """The elements of ``span``, block after block; of memory as much as one call takes."""
    memory, (start, stop) = elements.memory, span
    if memory is None or not memory.flags.c_contiguous:
        yield from elements.blocks(start, stop)
        return
    for first in range(start, stop, _CALL):
        if elements.stop.is_set():
            return
        yield memory[first : min(stop, first + _CALL)]
