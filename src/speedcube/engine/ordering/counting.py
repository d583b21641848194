"""How often each number comes: block after block, each thread its own counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from ...expr.through.node import Through
from .elements import BLOCK, AllElements, Array

_TOGETHER: Final = 4  # times as many elements as counts are counted in one call


def counted(source: Through, given: list[AllElements]) -> Array:
    """How many elements each number below the length is; the length itself is not counted."""
    elements, (length, *_) = given[0], source.options

    def count(span: tuple[int, int]) -> Array:
        counts = np.zeros(length + 1, np.int64)
        for block in _blocks(elements, span, length):
            counts += np.bincount(block, minlength=length + 1)
        return counts[:length]

    parts = elements.each(count, elements.spans())
    return np.asarray(sum(parts[1:], start=parts[0]))


def _blocks(elements: AllElements, span: tuple[int, int], length: int) -> Iterator[Array]:
    """The elements of ``span``, enough at a time to be worth an array of counts."""
    start, stop = span
    step = max(BLOCK, _TOGETHER * length)
    if elements.memory is not None:
        for first in range(start, stop, step):
            yield elements.memory[first : min(stop, first + step)]
        return
    if step == BLOCK:
        yield from elements.blocks(start, stop)
        return
    for first in range(start, stop, step):
        block = np.empty(min(step, stop - first), elements.dtype)
        elements.fill(block, first)
        yield block
