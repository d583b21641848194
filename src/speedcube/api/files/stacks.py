"""Folders that `to_npy_stack` wrote: files along an axis, and a pickle that says how many."""

from __future__ import annotations

import io
import os
import pickle
from typing import Any, Final

import numpy as np

from ...errors import DataFileError, ShapeError, UnsafeFileError
from ...files import read_regular
from ...interop.readers.npy import open_npy
from ..array import Array
from ..joining import concatenate
from .tiles import read_by_tiles

_MOST: Final = 64 << 20  # bytes of the pickle: it has a number for each chunk


class _OnlyDtypes(pickle.Unpickler):
    """Unpickles tuples, numbers, texts and dtypes of NumPy; nothing else is looked up or called."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("numpy", "dtype"):
            return np.dtype
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is never loaded")


def opened_stack(folder: Any) -> Array:
    """The array whose pieces along an axis are the files ``0.npy``, ``1.npy`` ... of ``folder``."""
    place = os.fspath(folder)
    chunks, dtype, axis = _info(os.path.join(place, "info"))
    pieces = []
    for k, extent in enumerate(chunks[axis]):
        path = os.path.join(place, f"{k}.npy")
        tiles, fortran = open_npy(path)
        piece = read_by_tiles(tiles, np.dtype(tiles.kind))
        piece = piece.T if fortran else piece
        shape = tuple(extent if j == axis else sum(one) for j, one in enumerate(chunks))
        if piece.shape != shape or piece.dtype != dtype.newbyteorder("="):
            raise ShapeError(
                f"{path} holds {piece.dtype} of shape {piece.shape}, and {dtype} of shape {shape} "
                "was written there"
            )
        pieces.append(piece)
    return concatenate(pieces, axis=axis).rechunk(chunks)


def _info(path: str) -> tuple[tuple[tuple[int, ...], ...], np.dtype[Any], int]:
    told = read_regular(path, _MOST)
    try:
        found = _OnlyDtypes(io.BytesIO(told)).load()
    except Exception as err:  # of pickles that lie anything is raised, of lengths a MemoryError
        raise UnsafeFileError(f"{path} cannot be read: {err or type(err).__name__}") from err
    try:
        chunks = tuple(tuple(int(n) for n in one) for one in found["chunks"])
        dtype, axis = found["dtype"], int(found["axis"])
        if not isinstance(dtype, np.dtype) or not 0 <= axis < len(chunks) or not chunks[axis]:
            raise ValueError("it has no dtype, or no such axis")
        if any(n < 0 for one in chunks for n in one):
            raise ValueError("a chunk cannot be so long")
    except (KeyError, TypeError, ValueError, OverflowError) as err:
        raise DataFileError(f"{path} does not say how the files lie: {err}") from err
    return chunks, dtype, axis
