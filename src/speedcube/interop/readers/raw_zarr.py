"""Zarr arrays whose chunks lie in files as they are: read without Zarr, and without a copy."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...errors import DataFileError
from ...expr.sources.tiled import Box
from ...files import regular_handle
from .as_opened import AsOpened
from .npy import NpyFile, pieces_of, together
from .zarr_files import is_local


@dataclass(frozen=True, eq=False)
class RawZarr:
    """Each chunk is a file of its elements in C order; one that is missing is ``fill`` everywhere.

    ``name`` gives a chunk's file name, from ``folder``, for its numbers.
    """

    folder: Path
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    kind: str  # NumPy's text of the dtype, with its order of bytes
    fill: Any
    name: Callable[[tuple[int, ...]], str]
    label: str
    header: AsOpened | None = None
    decodes = False
    anywhere = True

    @property
    def lies_in(self) -> tuple[str, ...]:
        """The files and folders that hold the elements."""
        return (str(self.folder),)

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """How little may be read at once without loss: less than a chunk, for none is decoded."""
        return together(self.chunks, self._dtype.itemsize)

    def lies_at(self, box: Box) -> tuple[str, int, int, int] | None:
        """As of a `NpyFile`: of one chunk."""
        numbers, inside = list[int](), list[slice]()
        for one, n in zip(box, self.chunks, strict=True):
            number = one.start // n
            if (one.stop - 1) // n != number:
                return None
            begin = number * n
            numbers.append(number)
            inside.append(slice(one.start - begin, one.stop - begin, one.step))
        found = pieces_of(self.chunks, self._dtype, inside)
        return None if found is None else (self._file(tuple(numbers)), *found)

    def opened(self, path: str) -> int:
        """As of a `NpyFile`: of one chunk."""
        self.check()
        return self._chunk(path)

    def check(self) -> None:
        """An error unless the array's chunks lie as they did when it was opened."""
        if self.header is not None:
            self.header.check()

    def read(self, box: Box, out: NDArray[Any]) -> None:
        """Put the elements of ``box`` into ``out``."""
        self.check()
        each = [list(within(one, n)) for one, n in zip(box, self.chunks, strict=True)]
        for some in product(*each):
            number = tuple(one for one, _, _ in some)
            file = NpyFile(self._file(number), self.chunks, self.kind, 0)
            inside = tuple(one for _, _, one in some)
            places: tuple[Any, ...] = tuple(place for _, place, _ in some)
            here = out[(*places, ...)]
            try:
                handle = self._chunk(file.path, number)
            except FileNotFoundError:
                here[...] = self.fill
            else:
                file.read_from(handle, inside, here)

    def _chunk(self, path: str, number: tuple[int, ...] = ()) -> int:
        """The handle of the file of a chunk, which has no more than its elements."""
        handle = regular_handle(path)
        size = os.fstat(handle).st_size
        if size <= self._bytes:  # of one that is too short, what is there may be all that is asked
            return handle
        os.close(handle)
        raise DataFileError(
            f"{self.label}, chunk {number}, cannot be read: {path} has {size:,} bytes, and its "
            f"elements are {self._bytes:,}; write it again"
        )

    def _file(self, number: tuple[int, ...]) -> str:
        return os.path.join(self._at, self.name(number))  # `pathlib` takes ten times as long

    @cached_property
    def _at(self) -> str:
        return str(self.folder)

    @cached_property
    def _dtype(self) -> np.dtype[Any]:
        return np.dtype(self.kind)

    @cached_property
    def _bytes(self) -> int:
        return math.prod(self.chunks) * self._dtype.itemsize


def within(one: slice, length: int) -> Iterator[tuple[int, slice, slice]]:
    """The chunks that ``one`` meets: their numbers, where elements go, which of them these are."""
    begin, count = 0, len(range(one.start, one.stop, one.step))
    while begin < count:
        at = one.start + begin * one.step
        number = at // length
        end = min(count, begin + -(-((number + 1) * length - at) // one.step))
        first = at - number * length
        last = first + (end - begin - 1) * one.step
        yield number, slice(begin, end), slice(first, last + 1, one.step)
        begin = end


def raw_zarr(array: Any, label: str, header: AsOpened | None = None) -> RawZarr | None:
    """The reader of the Zarr ``array``; None where chunks are encoded, or lie elsewhere."""
    found = plain_files(array, label)
    return None if found is None or found[1] else replace(found[0], header=header)


def plain_files(array: Any, label: str) -> tuple[RawZarr, tuple[Any, ...]] | None:
    """The files of the chunks of the Zarr ``array``, and what encodes their bytes, first to last.

    None where chunks lie elsewhere, in shards, or in another order.
    """
    store, meta = array.store_path.store, array.metadata
    if not is_local(store) or getattr(array, "shards", None) is not None:
        return None
    dtype = np.dtype(array.dtype)
    encoders: tuple[Any, ...]
    if meta.zarr_format == 2:
        encoders = (*(meta.filters or ()), *((meta.compressor,) if meta.compressor else ()))
        plain = meta.order == "C"
    else:
        first, *others = meta.codecs
        encoders = tuple(others)
        plain = type(first).__name__ == "BytesCodec" and not meta.storage_transformers
        endian = getattr(first, "endian", None)
        order = getattr(endian, "value", endian)
        dtype = dtype.newbyteorder(">" if order == "big" else "<")
    if not plain or dtype.kind not in "biufc" or 0 in array.shape:
        return None
    fill = 0 if array.fill_value is None else array.fill_value
    folder = Path(store.root) / array.store_path.path
    name = meta.encode_chunk_key
    shape, chunks = tuple(array.shape), tuple(array.chunks)
    return RawZarr(folder, shape, chunks, dtype.str, fill, name, label), encoders
