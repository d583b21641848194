"""Complex numbers as pairs of real ones, with an axis more: no kernel reads anything complex."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr.sources.tiled import Box, BoxReader


@dataclass(frozen=True, eq=False)
class AsParts:
    """``tiles``, whose elements are complex ``dtype``: their two parts lie along a last axis."""

    tiles: BoxReader
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the complex numbers, and two parts."""
        return (*self.tiles.shape, 2)

    @property
    def chunks(self) -> tuple[int, ...]:
        """Both parts are read together."""
        return (*self.tiles.chunks, 2)

    @property
    def lies_in(self) -> tuple[str, ...]:
        """The files and folders that hold the elements."""
        return tuple(getattr(self.tiles, "lies_in", ()))

    @property
    def label(self) -> str:
        """What a plan calls it."""
        return self.tiles.label

    def read(self, box: Box, out: NDArray[Any]) -> None:
        """Put the parts of ``box`` into ``out``."""
        if out.shape[-1] == 2:
            self.tiles.read(box[:-1], out.view(self.dtype)[..., 0])
            return
        both = np.empty(out.shape[:-1], self.dtype)
        self.tiles.read(box[:-1], both)
        out[..., 0] = both.imag if box[-1].start else both.real
