"""Chosen indices of an axis of what is read a box at a time: read so, too, in the order asked for.

`isel` with a list, and `take`, need not the whole file in memory then.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .tiled import Box, BoxReader, Tiled

LEAST: Final = 8 << 20  # bytes of a file: a smaller one may as well lie in memory
_MOST_AGAIN: Final = 4  # times as many chunks may be read as there are with something chosen
_ROOM: Final = 8 << 20  # bytes that are read at once, or a chunk


class TakenBoxes:
    """The indices ``chosen`` of an ``axis`` of ``source``, which is read a box at a time."""

    noun = "blocks"

    def __init__(
        self, source: Tiled, axis: int, chosen: NDArray[np.int64], made_of: tuple[Any, ...]
    ) -> None:
        self.source, self.axis, self.chosen, self.made_of = source, axis, chosen, made_of
        tiles = source.tiles
        self.shape = (*tiles.shape[:axis], len(chosen), *tiles.shape[axis + 1 :])
        self.decodes = bool(getattr(tiles, "decodes", True))
        step = max(1, len(chosen) // max(1, len(np.unique(chosen // tiles.chunks[axis]))))
        self.chunks = (*tiles.chunks[:axis], step, *tiles.chunks[axis + 1 :])

    def __reduce__(self) -> Any:
        """As it was made."""
        return TakenBoxes, (self.source, self.axis, self.chosen, self.made_of)

    @property
    def label(self) -> str:
        """What a plan calls it."""
        return f"what is taken of {self.source.tiles.label}"

    @property
    def tells_apart(self) -> bytes:
        """What tells it from others of the same shape and file."""
        return self.chosen.tobytes()

    @property
    def lies_in(self) -> tuple[str, ...]:
        """The files and folders that hold the elements."""
        return tuple(getattr(self.source.tiles, "lies_in", ()))

    @property
    def working_bytes(self) -> int:
        """Bytes of what is read at once, of which some is taken."""
        inner = int(getattr(self.source.tiles, "working_bytes", 0))
        return inner + max(_ROOM, math.prod(self.source.tiles.chunks) * self._itemsize)

    @property
    def _itemsize(self) -> int:
        return np.dtype(self.source.dtype).itemsize

    def touched(self, box: Box) -> tuple[int, int]:
        """Bytes and number of the chunks that are read for ``box``."""
        count, size = 1, self._itemsize
        for k, (one, chunk, n) in enumerate(
            zip(box, self.source.tiles.chunks, self.source.shape, strict=True)
        ):
            at = self.chosen[one] if k == self.axis else np.arange(one.start, one.stop, one.step)
            met = np.unique(at // chunk)
            count *= len(met)
            size *= int(np.minimum(n - met * chunk, chunk).sum())
        return size, count

    def read(self, box: Box, out: NDArray[Any]) -> None:
        """Put the elements of ``box`` into ``out``: chunk after chunk along the axis."""
        chosen = self.chosen[box[self.axis]]
        order = np.argsort(chosen, kind="stable")
        ends = np.flatnonzero(np.diff(chosen[order] // self.source.tiles.chunks[self.axis])) + 1
        for some in np.split(order, ends):
            along = _span(chosen[some])
            for inside, places in self._cuts(box, along):
                shape = [len(range(one.start, one.stop, one.step)) for one in inside]
                memory = np.empty(shape, out.dtype)
                self.source.tiles.read(inside, memory)
                where: list[Any] = list(places)
                where[self.axis] = some
                read: list[Any] = [slice(None)] * len(shape)
                read[self.axis] = (chosen[some] - along.start) // along.step
                out[(*where, ...)] = memory[(*read, ...)]

    def _cuts(self, box: Box, along: slice) -> Iterator[tuple[Box, Box]]:
        """``box`` with ``along`` in boxes that are read at once, and where in it each lies."""
        waiting = [tuple(along if k == self.axis else one for k, one in enumerate(box))]
        chunks = self.source.tiles.chunks
        while waiting:
            one = waiting.pop()
            counts = [len(range(s.start, s.stop, s.step)) for s in one]
            met = [
                1 if k == self.axis else (s.stop - 1) // n - s.start // n + 1
                for k, (s, n) in enumerate(zip(one, chunks, strict=True))
            ]
            k = int(np.argmax(met))
            if math.prod(counts) * self._itemsize <= _ROOM or met[k] == 1 or counts[k] == 1:
                yield one, tuple(map(_inside, box, one))
                continue
            border = (one[k].start // chunks[k] + met[k] // 2) * chunks[k]
            first = -(-(border - one[k].start) // one[k].step)
            middle = one[k].start + first * one[k].step
            for part in (slice(one[k].start, middle, one[k].step), slice(middle, *_rest(one[k]))):
                if part.start < part.stop:
                    waiting.append((*one[:k], part, *one[k + 1 :]))


def _rest(one: slice) -> tuple[int, int]:
    return one.stop, one.step


def _inside(whole: slice, one: slice) -> slice:
    """Where in ``whole`` the indices of ``one``, which are some of its, lie."""
    first = (one.start - whole.start) // whole.step
    return slice(first, first + len(range(one.start, one.stop, one.step)))


def _span(chosen: NDArray[np.int64]) -> slice:
    """From the least to the greatest of ``chosen``, by the step that all are apart."""
    low, high = int(chosen[0]), int(chosen[-1])
    step = int(np.gcd.reduce(np.diff(chosen), initial=0)) if low < high else 1
    return slice(low, high + 1, max(1, step))


def reads_little_twice(tiles: BoxReader, axis: int, chosen: NDArray[np.int64]) -> bool:
    """Whether few chunks are read again and again where ``chosen`` are taken in their order."""
    numbers = chosen // tiles.chunks[axis]
    met = len(np.unique(numbers))
    step = max(1, len(chosen) // max(1, met))
    blocks = (numbers[k : k + step] for k in range(0, len(chosen), step))
    return sum(len(np.unique(some)) for some in blocks) <= _MOST_AGAIN * met + 1


def taken(source: Tiled, axis: int, chosen: NDArray[np.int64], made_of: Any) -> Tiled | None:
    """The indices ``chosen`` of ``axis``; None where ``source`` may as well lie in memory."""
    size = math.prod(source.shape) * np.dtype(source.dtype).itemsize
    if size < LEAST or not len(chosen) or not reads_little_twice(source.tiles, axis, chosen):
        return None
    return Tiled(TakenBoxes(source, axis, chosen, (made_of,)), source.dtype)
