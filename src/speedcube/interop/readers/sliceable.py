"""Any array that gives its elements for slices: of Zarr, h5py, netCDF4, tifffile."""

from __future__ import annotations

import math
import os
from dataclasses import field
from functools import partial
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...engine.foreign.seen import place_of
from ...errors import DataFileError, SpeedcubeError
from ...expr.sources.tiled import Box
from ...plan import streams
from .again import REFUSALS, again, may_pass
from .as_opened import AsOpened
from .manners import dtype_of, reading, unmasked
from .raw_zarr import within
from .zarr_files import first_missing, first_wrong, without_secrets

_LIBRARY: Final = 32 << 20  # bytes of a library's threads, their stacks and what they decode


@dataclass(frozen=True, eq=False)
class Sliceable:
    """``array[slices]`` are its elements, which may be asked for by several threads at once."""

    array: Any
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    label: str = field(default="array")
    complete: bool = False  # whether a chunk that is in no file is an error; it is of fill values
    header: AsOpened | None = None
    anywhere = True

    @property
    def lies_in(self) -> tuple[str, ...]:
        """The files and folders that hold the elements, where that can be told."""
        store = getattr(self.array, "store_path", None)
        if store is not None:  # Zarr's
            root = getattr(store.store, "root", None)
            return () if root is None else (os.path.join(root, store.path),)
        file = getattr(getattr(self.array, "file", None), "filename", None)  # h5py's
        return (file,) if isinstance(file, str) else ()

    @property
    def place(self) -> str | None:
        """Which array it is, wherever it lies; None where nothing tells."""
        return place_of(self.array)

    @property
    def working_bytes(self) -> int:
        """Bytes of a thread that asks for a box: what decodes it, and the box twice beside ours."""
        chunk = math.prod(self.chunks) * np.dtype(dtype_of(self.array)).itemsize
        return _LIBRARY + 2 * max(streams.BLOCK, chunk)

    def read(self, box: Box, out: NDArray[Any]) -> None:
        """Put the elements of ``box`` into ``out``."""
        if self.header is not None:
            self.header.check()
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
        """What the array gives for ``box``; where a store fails, chunk by chunk and again."""
        try:
            return self._given(box)
        except Exception as err:
            if not may_pass(err, self.array):
                raise
        dtype = dtype_of(self.array).newbyteorder("=")
        whole = np.empty([len(range(s.start, s.stop, s.step)) for s in box], dtype)
        each = (list(within(one, n)) for one, n in zip(box, self.chunks, strict=True))
        for some in product(*each):
            number = tuple(k for k, _, _ in some)
            here: tuple[Any, ...] = tuple(place for _, place, _ in some)
            starts = (k * n for k, n in zip(number, self.chunks, strict=True))
            inside = tuple(
                slice(s.start + at, s.stop + at, s.step)
                for (_, _, s), at in zip(some, starts, strict=True)
            )
            whole[(*here, ...)] = again(
                partial(self._given, inside), self.array, f"{self.label}, chunk {number},"
            )
        return whole

    def _given(self, box: Box) -> NDArray[Any]:
        try:
            with reading(self.array):
                return unmasked(self.array[box], self.label)
        except (MemoryError, SpeedcubeError):
            raise
        except Exception as err:
            # A store's errors have a number or a kind; those of a codec (gzip, bz2) have neither.
            if isinstance(err, OSError) and (err.errno is not None or isinstance(err, REFUSALS)):
                raise
            if may_pass(err, self.array):
                raise
            place = first_wrong(self.array, box, self.chunks)
            where = "" if place is None else f", chunk {place},"
            own = f"{type(err).__name__}: {err}"
            text = without_secrets(own, self.label)
            # An error that holds secrets is not shown above ours.
            shown = err if text == own else None
            raise DataFileError(f"{self.label}{where} cannot be read: {text}") from shown
