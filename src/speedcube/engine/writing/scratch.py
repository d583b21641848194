"""A scratch file between what is computed and what is written: parts of blocks.

It has no name: the system takes it away when it is closed, also where the process is killed.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...late import tempfile
from ...plan.cutting.within import Within, lengths_of
from ...plan.writing import Item

_FILES: Final = 32  # of a group, each gone as soon as its blocks are read
_MOST: Final = 1 << 30  # bytes of a call
_LOST: Final = "the scratch file has fewer bytes than were written to it"


@dataclass(eq=False)
class ScratchFiles:
    """What a group's ``blocks`` have of its ``pieces``, of one array of ``dtype``.

    A block lies behind the one before it, and so do its parts. As a target of a write it takes the
    pieces; only those blocks are kept that are in ``left``, by file.
    """

    label: str
    folder: str
    blocks: Within
    pieces: Within
    dtype: np.dtype[Any]
    left: dict[int, int] = field(default_factory=dict)  # blocks of a file that are not read yet
    files: dict[int, Any] = field(default_factory=dict)
    is_kept = True
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self, wanted: Sequence[int], stack: ExitStack) -> None:
        """Make the files for the blocks ``wanted``; ``stack`` closes them."""
        for block in wanted:
            file = self._file(block)
            self.left[file] = self.left.get(file, 0) + 1
        for file in self.left:
            made = tempfile.TemporaryFile(dir=self.folder, buffering=0)
            self.files[file] = stack.enter_context(made)

    def write(self, number: int, item: Item, values: NDArray[Any]) -> None:
        """Put the parts of ``values``, piece ``number``, where their blocks lie."""
        for block in self.blocks.numbers(item):
            file = self.files.get(self._file(block))
            if file is None:
                continue  # its blocks are there already
            here = self.blocks.item(block)
            inside = tuple(map(_common, item, here))
            part = values[tuple(map(_shifted, inside, item))]
            start = self._start(block) + _before(inside, here)
            _put(file.fileno(), start * self.dtype.itemsize, np.ascontiguousarray(part, self.dtype))

    def read(self, block: int, out: NDArray[Any]) -> None:
        """Put the elements of ``block``, which nobody asks for again, into ``out``."""
        here, number = self.blocks.item(block), self._file(block)
        handle, start = self.files[number].fileno(), self._start(block)
        for inside in self._parts(here):
            place = out[tuple(map(_shifted, inside, here))]
            at = (start + _before(inside, here)) * self.dtype.itemsize
            straight = place.flags.c_contiguous
            part = place if straight else np.empty(place.shape, self.dtype)
            _get(handle, at, part)
            if not straight:
                place[...] = part
        with self._lock:
            self.left[number] -= 1
            if not self.left[number]:
                self.files.pop(number).close()  # so the disk has its room for what is written

    def _parts(self, here: Item) -> list[Item]:
        """The parts of a block; all of it where they lie as its elements do."""
        parts = self.pieces.cut(here)
        lead = next((k for k, s in enumerate(here) if s.stop - s.start > 1), 0)
        whole = all(part[lead + 1 :] == here[lead + 1 :] for part in parts)
        return [here] if whole else parts

    def _file(self, block: int) -> int:
        return block * _FILES // max(_FILES, self.blocks.grid.count)

    def _start(self, block: int) -> int:
        """How many elements lie before ``block`` in its file."""
        ratio = max(_FILES, self.blocks.grid.count)
        first = -(-self._file(block) * ratio // _FILES)
        outer = self.blocks.outer
        return _before(self.blocks.item(block), outer) - _before(self.blocks.item(first), outer)


def _before(inside: Item, outer: Item) -> int:
    """Elements of the box ``outer`` before its part ``inside``, where its parts lie in C order."""
    count, lengths = 0, lengths_of(outer)
    for k, (one, whole) in enumerate(zip(inside, outer, strict=True)):
        behind = math.prod(lengths_of(inside[:k])) * math.prod(lengths[k + 1 :])
        count += (one.start - whole.start) * behind
    return count


def _common(one: slice, other: slice) -> slice:
    return slice(max(one.start, other.start), min(one.stop, other.stop))


def _shifted(inside: slice, outer: slice) -> slice:
    return slice(inside.start - outer.start, inside.stop - outer.start)


def _put(handle: int, at: int, values: NDArray[Any]) -> None:
    view = values.reshape(-1).view(np.uint8).data
    while view.nbytes:
        count = os.pwrite(handle, view[:_MOST], at)
        view, at = view[count:], at + count


def _get(handle: int, at: int, out: NDArray[Any]) -> None:
    view = out.reshape(-1).view(np.uint8).data
    while view.nbytes:
        count = os.preadv(handle, [view[:_MOST]], at)
        if not count:
            raise OSError(_LOST)
        view, at = view[count:], at + count
