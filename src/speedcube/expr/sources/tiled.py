"""Arrays that lie elsewhere, in files or in others' hands, and are read a box at a time."""

from __future__ import annotations

import math
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass

Box: TypeAlias = tuple[slice, ...]  # of each axis: a start, a stop and a positive step
_PAGE: Final = 4096


def page_memory(size: int) -> NDArray[np.uint8]:
    """``size`` bytes that begin where a page does.

    Large arrays of NumPy's begin 16 bytes behind, where some CPUs take six times as long to copy
    what lies at the beginning of a file's page.
    """
    return from_page(np.empty(size + _PAGE, np.uint8))[:size]


def from_page(memory: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """``memory`` from the first page on that begins in it, but for its last part of a page."""
    first = -memory.__array_interface__["data"][0] % _PAGE
    return memory[first : first + memory.size - _PAGE]


class BoxReader(Protocol):
    """What can be read a box at a time."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""

    @property
    def chunks(self) -> tuple[int, ...]:
        """How long each axis is of what is best read at once."""

    @property
    def label(self) -> str:
        """What a plan calls it."""

    def read(self, box: Box, out: NDArray[Any]) -> None:
        """Put the elements of ``box`` into ``out``, which has their shape and is C-contiguous."""


@dataclass(frozen=True, eq=False)
class Tiled:
    """An array that is read a box at a time, as kernels need it; its elements are in C order."""

    tiles: BoxReader
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return self.tiles.shape

    def everything(self) -> NDArray[Any]:
        """All elements, in memory."""
        size = math.prod(self.shape) * np.dtype(self.dtype).itemsize
        whole = page_memory(size).view(self.dtype).reshape(self.shape)
        self.tiles.read(tuple(slice(0, n, 1) for n in self.shape), whole)
        return whole
