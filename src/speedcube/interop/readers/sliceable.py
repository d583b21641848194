"""Any array that gives its elements for slices: of Zarr, h5py, netCDF4, tifffile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DataFileError
from ...expr.sources.tiled import Box


@dataclass(frozen=True, eq=False)
class Sliceable:
    """``array[slices]`` are its elements, which may be asked for by several threads at once."""

    array: Any
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    label: str = field(default="array")

    def read(self, box: Box, out: NDArray[Any]) -> None:
        """Put the elements of ``box`` into ``out``."""
        found = np.asarray(self.array[box])
        if found.shape != out.shape or found.dtype.newbyteorder("=") != out.dtype:
            raise DataFileError(
                f"{self.label} gave {found.dtype} of shape {found.shape} for a box of {out.dtype} "
                f"of shape {out.shape}: it has changed since it was opened"
            )
        out[...] = found
