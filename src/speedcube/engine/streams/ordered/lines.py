"""Lines that are sorted, or selected from, some at a time: as many as are read together."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .... import dtypes
from ....expr.nodes import Expr, Stored, Through, whole
from ....expr.sources.tiled import Box
from ....plan.reads import bytes_of, units_of
from ....plan.streams import readers_in, tiled
from ....plan.working import working_bytes
from ...ordering.run import in_memory_made
from ..made.cells import Cells, read_bytes

Array: TypeAlias = NDArray[Any]

MOST: Final = 64 << 20  # bytes of the lines of a box, but one line at least
BLOCK: Final = 8 << 20  # to which boxes grow


class LineBlocks:
    """What ``source`` makes of ``root``, each of whose lines, along its last axis, fits in memory.

    A box has all results of its lines, which lie along the axis ``source.axis`` of them.
    """

    noun = "blocks"

    def __init__(self, source: Through, root: Expr) -> None:
        self.source, self.root = source, root
        self.made_of = (root,)
        self.shape = source.shape
        self._axis = source.axis % len(source.shape)
        self._extents = _extents(root)
        self._threads = threading.local()

    def __reduce__(self) -> Any:
        """As it was made: what threads read by stays with them."""
        return LineBlocks, (self.source, self.root)

    @property
    def chunks(self) -> tuple[int, ...]:
        """All results of the lines that are read together."""
        results = max(1, self.shape[self._axis])
        return (*self._extents[: self._axis], results, *self._extents[self._axis :])

    @property
    def label(self) -> str:
        """What a plan calls it."""
        return f"{self.source.op} of {', '.join(one.label for one in readers_in([self.root]))}"

    @property
    def lies_in(self) -> tuple[str, ...]:
        """The files and folders that hold the elements."""
        each = (getattr(one, "lies_in", ()) for one in readers_in([self.root]))
        return tuple(place for some in each for place in some)

    @property
    def working_bytes(self) -> int:
        """Bytes of the lines of a box, what is read for them and what their order takes."""
        extents = (*self._extents, self.source.line)
        read = sum(bytes_of(leaf, extents) for leaf in tiled(self.root))
        lines = self._lines(extents, np.empty(0, self.root.dtype))
        size = math.prod(extents) * dtypes.itemsize(self.root.dtype)
        results = math.prod(lines.shape) * dtypes.itemsize(self.source.dtype)
        inner = sum(getattr(one, "working_bytes", 0) for one in readers_in([self.root]))
        return int(2 * read + 2 * size + 2 * results + working_bytes(lines, 1) + inner)

    def touched(self, box: Box) -> tuple[int, int]:
        """Bytes and number of the boxes of lines that are read for ``box``."""
        counts, extents = [], []
        for one, step, n in zip(
            self._beside(box), self._extents, self.root.shape[:-1], strict=True
        ):
            low, high = one.start // step, (one.stop - 1) // step + 1
            counts.append(high - low)
            extents.append(min(n, high * step) - low * step)
        share = math.prod(extents) / math.prod(self.root.shape[:-1])
        return round(share * read_bytes(self.root)), math.prod(counts)

    def read(self, box: Box, out: Array) -> None:
        """Put the results of ``box`` into ``out``."""
        beside, along = self._beside(box), box[self._axis]
        every = tuple(slice(one.start, one.stop) for one in beside)
        inside = tuple(slice(None, None, one.step) for one in beside)
        np.moveaxis(out, self._axis, -1)[...] = self._made(every)[(*inside, along)]

    def _beside(self, box: Box) -> Box:
        """``box`` beside the lines."""
        return (*box[: self._axis], *box[self._axis + 1 :])

    def _made(self, item: Sequence[slice]) -> Array:
        """All results of the lines of ``item``, a few boxes of them at a time."""
        shape = tuple(one.stop - one.start for one in item)
        made = np.empty((*shape, self.shape[self._axis]), self.source.dtype)
        for cut in np.ndindex(*(-(-n // e) for n, e in zip(shape, self._extents, strict=True))):
            here = tuple(
                slice(k * e, min(n, (k + 1) * e))
                for k, e, n in zip(cut, self._extents, shape, strict=True)
            )
            pairs = zip(item, here, strict=True)
            made[here] = self._lines_at(
                [slice(i.start + h.start, i.start + h.stop) for i, h in pairs]
            )
        return made

    def _lines_at(self, item: Sequence[slice]) -> Array:
        if not hasattr(self._threads, "cells"):  # buffers serve one thread at a time
            axes = list(range(len(item)))
            self._threads.cells = Cells([self.root], axes)
        extents = (*(one.stop - one.start for one in item), self.source.line)
        values = np.empty(extents, self.root.dtype)
        self._threads.cells.make((*item, slice(0, self.source.line)), [values])
        return in_memory_made(self._lines(extents, values.reshape(-1)))

    def _lines(self, extents: tuple[int, ...], values: Array) -> Through:
        """The same of lines of ``extents`` that lie in memory, as ``values``."""
        arg = whole(Stored(values, self.root.dtype), extents)
        shape = (*extents[:-1], self.shape[self._axis])
        return replace(self.source, arg=arg, shape=shape, axis=-1)


def _extents(root: Expr) -> tuple[int, ...]:
    """How many lines, along each axis beside them, are read together: chunks, if they fit."""
    found = tiled(root)
    units = units_of(max(found, key=lambda leaf: bytes_of(leaf, root.shape)))
    shape = root.shape[:-1]
    extents = [min(n, unit) for n, (unit, _) in zip(shape, units[:-1], strict=True)]
    line = root.shape[-1] * dtypes.itemsize(root.dtype)

    def size() -> int:
        return math.prod(extents) * line

    for k in range(len(extents)):  # of a chunk some lines, which is read once more for others
        extents[k] = max(1, min(extents[k], MOST * extents[k] // max(1, size())))
    for k in reversed(range(len(extents))):
        extents[k] = min(shape[k], extents[k] * max(1, BLOCK // max(1, size())))
        if extents[k] < shape[k]:
            break
    return tuple(extents)
