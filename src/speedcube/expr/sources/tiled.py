"""Arrays that lie elsewhere, in files or in others' hands, and are read a box at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Box: TypeAlias = tuple[slice, ...]  # of each axis: a start, a stop and a positive step


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
        whole = np.empty(self.shape, self.dtype)
        self.tiles.read(tuple(slice(0, n, 1) for n in self.shape), whole)
        return whole
