"""How often each number comes: block after block by a small kernel, each thread its own counts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from ...expr.nodes import Expr
from ...expr.through.node import Through
from ...expr.through.table import OPERATIONS
from .elements import AllElements, Array
from .fixed import Counts, EvenCounts

_CALL: Final = 1 << 22  # elements of one call, so that Ctrl-C gets a turn
_MOST_BINS: Final = 1 << 30  # whose numbers are 32 bits wide


def args_read(source: Through) -> tuple[Expr, ...]:
    """Which of the arguments of ``source`` are read here: of even bins what lies in them."""
    if OPERATIONS[source.op].way != "counts":
        return source.args
    return source.args[-1:] if _is_even(source) else source.args[:1]


def _is_even(source: Through) -> bool:
    if len(source.args) < 2 or source.options[0] >= _MOST_BINS:
        return False
    length, _, first, last, _ = source.options
    width = last - first
    return width > 0 and math.isfinite(width) and math.isfinite(length / width)


def _counts(source: Through, dtype: str) -> Counts:
    if not _is_even(source):
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
