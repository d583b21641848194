"""Any array that gives its elements for slices: of Zarr, h5py, netCDF4, tifffile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DataFileError, SpeedcubeError
from ...expr.sources.tiled import Box
from .zarr_files import first_missing, first_wrong, without_secrets


@dataclass(frozen=True, eq=False)
class Sliceable:
    """``array[slices]`` are its elements, which may be asked for by several threads at once."""

    array: Any
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    label: str = field(default="array")
    complete: bool = False  # whether a chunk that is in no file is an error; it is of fill values

    def read(self, box: Box, out: NDArray[Any]) -> None:
        """Put the elements of ``box`` into ``out``."""
        if self.complete and (place := first_missing(self.array, box)) is not None:
            raise DataFileError(f"{self.label} has no chunk {place}, and missing='raise'")
        found = self._found(box)
        if found.shape != out.shape or found.dtype.newbyteorder("=") != out.dtype:
            raise DataFileError(
                f"{self.label} gave {found.dtype} of shape {found.shape} for a box of {out.dtype} "
                f"of shape {out.shape}: it has changed since it was opened"
            )
        out[...] = found

    def _found(self, box: Box) -> NDArray[Any]:
        """What the array gives for ``box``."""
        try:
            return np.asarray(self.array[box])
        except (OSError, MemoryError, SpeedcubeError):
            raise
        except Exception as err:
            place = first_wrong(self.array, box, self.chunks)
            where = "" if place is None else f", chunk {place},"
            text = without_secrets(f"{type(err).__name__}: {err}", self.label)
            raise DataFileError(f"{self.label}{where} cannot be read: {text}") from err
