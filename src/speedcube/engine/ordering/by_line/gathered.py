"""Lines of elements, some at a time, each whole and side by side in memory of its own.

Lines along an axis whose elements lie far apart, as the first of a file, are turned through a small
buffer: a copy straight from there reads each element from another page, and in strides of which the
cache holds few.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import mul
from typing import Final

import numpy as np

from ....expr.nodes import Leaf, Stored
from ....plan.working import BLOCK_BYTES
from ...pieces.moves import window
from ...scans.matrices import even_step
from ..elements import AllElements, Array

_LINE: Final = 1 << 7  # elements of a line from which on the buffer is worth its calls
_LEAST: Final = 1 << 22  # elements of all lines: fewer lie in caches
_BESIDE: Final = 16  # lines that lie side by side, and what rows of the buffer are longer by
_ROWS: Final = 256  # of the buffer
_CALL: Final = 1 << 14  # elements of a run in the buffer, which are worth two calls of NumPy
_WIDE: Final = 32  # lines of a block at least, where they are turned: two lines of a cache
_PAGE: Final = 4096  # bytes; at multiples of them a cache holds few elements


def blocks_of_lines(
    elements: AllElements, span: tuple[int, int], line: int
) -> Iterator[tuple[int, Array]]:
    """Lines of ``line`` elements in ``span``: the number of the first, and some of them.

    They may be written to, and are gone with the next ones.
    """
    most = max(1, BLOCK_BYTES // (line * elements.dtype.itemsize))
    first, last = span[0] // line, span[1] // line
    far = _lying_far_apart(elements, line)
    most = most if far is None else max(most, _WIDE)
    memory = np.empty(most * line, elements.dtype)
    if far is None:
        for room in elements.rooms(*span, memory):
            yield first, room.reshape(-1, line)
            first += len(room) // line
        return
    buffer = np.empty((_ROWS, most + _BESIDE), elements.dtype)
    for begin in range(first, last, most):
        if elements.stop.is_set():
            return
        block = memory.reshape(-1, line)[: min(most, last - begin)]
        far.gather(begin, block, buffer)
        yield begin, block


class _FarApart:
    """Lines in memory whose elements lie far apart, runs of them side by side."""

    def __init__(self, leaf: Leaf, memory: Array, outer: int) -> None:
        """``outer``: how many axes are before those along which lines lie side by side."""
        self._leaf, self._memory, self._outer = leaf, memory, outer
        self._beside = math.prod(leaf.shape[outer:-1])

    def gather(self, first: int, out: Array, buffer: Array) -> None:
        """The lines from ``first`` on into ``out``, through ``buffer``."""
        at, stop = first, first + len(out)
        while at < stop:
            run, place = divmod(at, self._beside)
            count = min(self._beside - place, stop - at)
            self._turned(run, place, out[at - first : at - first + count], buffer[:, :count])
            at += count

    def _turned(self, run: int, place: int, out: Array, buffer: Array) -> None:
        """Lines from ``place`` on of a run of those side by side into ``out``."""
        leaf, line = self._leaf, out.shape[-1]
        index = np.unravel_index(run, leaf.shape[: self._outer]) if self._outer else ()
        offset = leaf.offset + place + sum(map(mul, map(int, index), leaf.strides))
        rows = window(
            Leaf(leaf.source, (line, len(out)), offset, (leaf.strides[-1], 1)), self._memory
        )
        for begin in range(0, line, _ROWS):
            end = min(line, begin + _ROWS)
            some = buffer[: end - begin]
            some[...] = rows[begin:end]
            out[:, begin:end] = some.T


def _lying_far_apart(elements: AllElements, line: int) -> _FarApart | None:
    """The lines of ``elements`` that lie so in memory; None of others."""
    root = elements.root
    if not isinstance(root, Leaf) or root.shape[-1] != line or len(root.shape) < 2:
        return None
    if line < _LINE or elements.size < _LEAST or root.strides[-1] in (-1, 0, 1):
        return None
    source = root.source
    memory = elements.inputs.get(id(source))
    if memory is None and isinstance(source, Stored) and not source.on_device:
        memory = source.buffer
    if not isinstance(memory, np.ndarray) or memory.dtype != elements.dtype:
        return None
    last = len(root.shape) - 1
    outer = next(k for k in range(last + 1) if _are_beside(root, k))
    beside, size = math.prod(root.shape[outer:-1]), memory.itemsize
    if beside < _BESIDE or beside * min(line, _ROWS) < _CALL:
        return None
    room = 2 if root.strides[-1] * size % _PAGE else 4
    fits = _WIDE * line * size <= room * BLOCK_BYTES
    return _FarApart(root, memory, outer) if fits else None


def _are_beside(leaf: Leaf, first: int) -> bool:
    """Whether lines along the last axis that differ in those from ``first`` on lie side by side."""
    return even_step(leaf.shape[first:-1], leaf.strides[first:-1]) == 1
