"""Writes by way of a scratch file: where it lies, and what is done of each group of blocks."""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr.nodes import Expr, Shape
from ...expr.sources.tiled import page_memory
from ...late import shutil, tempfile
from ...numbers import bytes_text
from ...plan.cutting.scratch import ScratchRoom
from ...plan.cutting.within import Within, lengths_of, within
from ...plan.writing import ByScratch, Item, WriteGrid
from .. import machine
from ..boxes import Stop
from .progress import Meter
from .run import WriteRun
from .scratch import ScratchFiles
from .target import WriteTarget

_MOUNTS: Final = Path("/proc/self/mounts")
_IN_MEMORY: Final = ("tmpfs", "ramfs")
_SHARE: Final = 4  # of the free memory, a part for files that lie there, or that are cached


def room_beside(
    targets: Sequence[WriteTarget], memory: int, threads: int, cores: int
) -> ScratchRoom:
    """What there is for a write into ``targets`` by way of a scratch file."""
    folder = _folder(targets)
    cached = machine.free_memory() // _SHARE

    def copies(extents: Shape) -> float:
        return max(target.copies(extents) for target in targets)

    return ScratchRoom(folder, _free_bytes(folder), cached, memory, threads, cores, copies)


def _folder(targets: Sequence[WriteTarget]) -> str:
    """Where a scratch file goes: beside the first of ``targets``, or where others go."""
    folder = next((one.beside for one in targets if one.beside is not None), None)
    if folder is None:
        return tempfile.gettempdir()
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder if os.access(folder, os.W_OK) else tempfile.gettempdir()


def _free_bytes(folder: str) -> int:
    """Bytes that a file in ``folder`` may have: of memory no more than a part of what is free."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return 0
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    free = free if most == resource.RLIM_INFINITY else min(free, most)
    return min(free, machine.free_memory() // _SHARE) if _is_memory(folder) else free


def _is_memory(folder: str) -> bool:
    """Whether files in ``folder`` lie in memory."""
    place = os.path.realpath(folder)
    try:
        mounts = [line.split() for line in _MOUNTS.read_text().splitlines()]
    except OSError:
        return False
    above = [one for one in mounts if os.path.join(place, "").startswith(os.path.join(one[1], ""))]
    return bool(above) and max(above, key=lambda one: len(one[1]))[2] in _IN_MEMORY


@dataclass(eq=False)
class ScratchRun:
    """Writes blocks of ``roots`` on ``grid`` into ``targets``, as ``by`` says."""

    roots: Sequence[Expr]
    targets: Sequence[WriteTarget]
    grid: WriteGrid
    by: ByScratch
    meter: Meter

    def write(self, numbers: Sequence[int], threads: int) -> None:
        """Write the blocks ``numbers``, group after group, by so many ``threads``."""
        groups: dict[int, list[int]] = {}
        whole = tuple(slice(0, n) for n in self.grid.shape)
        every = Within(whole, self.by.groups)
        for number in numbers:
            (group,) = every.numbers(self.grid.item(number))
            groups.setdefault(group, []).append(number)
        for group, some in groups.items():
            with ExitStack() as stack:
                self._group(every.item(group), some, threads, stack)

    def _group(self, outer: Item, numbers: Sequence[int], threads: int, stack: ExitStack) -> None:
        by = self.by
        blocks = within(outer, self.grid.extents, tuple(-f for f in self.grid.first))
        whole = [p >= s.stop - s.start for p, s in zip(by.pieces, outer, strict=True)]
        begins = [s.start if w else b for w, s, b in zip(whole, outer, by.begins, strict=True)]
        pieces = within(outer, by.pieces, tuple(begins))
        inner = [next(blocks.numbers(self.grid.item(number))) for number in numbers]
        label = ", ".join(target.label for target in self.targets)
        label += f", by way of a scratch file of {bytes_text(by.size)} in {by.folder},"
        parts = [
            ScratchFiles(label, by.folder, blocks, pieces, np.dtype(r.dtype)) for r in self.roots
        ]
        for one in parts:
            one.open(inner, stack)
        needed = sorted({k for block in inner for k in pieces.numbers(blocks.item(block))})
        WriteRun(self.roots, parts, pieces).write(needed, min(by.at_once, len(needed)))
        local = all(target.beside is not None for target in self.targets)
        run = _FromScratch((), self.targets, self.grid, meter=self.meter, parts=parts, again=local)
        run.write(numbers, min(threads, len(numbers)))


@dataclass(eq=False)
class _FromScratch(WriteRun):
    """Writes blocks whose values lie in scratch files, ``parts``."""

    parts: Sequence[ScratchFiles] = ()
    again: bool = False

    def maker(self, turn: Any) -> Any:
        """What reads blocks, for a thread of its own."""
        return _ScratchReader(self.parts, self.again)


@dataclass(eq=False)
class _ScratchReader:
    """Reads blocks from scratch files; ``again`` into the same memory, which no target keeps."""

    parts: Sequence[ScratchFiles]
    again: bool
    memory: dict[int, NDArray[np.uint8]] = field(default_factory=dict)

    def values(self, item: Item, stop: Stop) -> list[NDArray[Any]]:
        """The elements ``item`` of each of the arrays; none once ``stop`` is set."""
        values = []
        for k, part in enumerate(self.parts):
            if stop.is_set():
                return []
            out = self._memory(k, lengths_of(item), part.dtype)
            part.read(next(part.blocks.numbers(item)), out)
            values.append(out)
        return values

    def _memory(self, k: int, shape: Shape, dtype: np.dtype[Any]) -> NDArray[Any]:
        size = math.prod(shape) * dtype.itemsize
        if not self.again:
            return np.empty(shape, dtype)
        if k not in self.memory or self.memory[k].size < size:
            self.memory.pop(k, None)
            self.memory[k] = page_memory(size)
        return self.memory[k][:size].view(dtype).reshape(shape)
