"""Chunks of a Zarr array that are files of their elements, or zstd of them: written without Zarr.

Each is written under another name, such as Zarr gives to what it has not ended, and renamed. What
is unusual is left to Zarr: chunks that are not overwritten whole, and those that may be all fill
value, of which Zarr keeps no file.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...engine.writing.target import Item
from ..readers.decoding import all_done
from ..readers.raw_zarr import RawZarr, plain_files, within


@dataclass(frozen=True, eq=False)
class PlainChunks:
    """Where the chunks lie, and what encodes them, if they are not files of their elements."""

    files: RawZarr
    encode: Callable[[NDArray[Any]], Any] | None = None

    def write(self, item: Item, values: NDArray[Any]) -> bool:
        """Write the chunks of the box ``item``; whether that could be done."""
        files = self.files
        ends = zip(item, files.chunks, files.shape, strict=True)
        if any(s.start % n or (s.stop % n and s.stop < extent) for s, n, extent in ends):
            return False
        each = [
            list(within(slice(s.start, s.stop, 1), n))
            for s, n in zip(item, files.chunks, strict=True)
        ]
        every = list(product(*each))
        if any(self._may_be_empty(some, values) for some in every):
            return False

        def one(some: Any) -> bool:
            place = files.folder / files.name(tuple(k for k, _, _ in some))
            chunk = self._whole(some, values)
            _write(place, chunk if self.encode is None else self.encode(chunk))
            return True

        return all(map(one, every)) if self.encode is None else all_done(one, every)

    def note(self, key: str, text: bytes) -> bool:
        """Make the file ``key`` with ``text`` beside the chunks; whether that could be.

        A part of the text, where it is killed meanwhile, is as good as none.
        """
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
            handle = os.open(self.files.folder / key, flags, 0o666)
            try:
                return os.write(handle, text) == len(text)
            finally:
                os.close(handle)
        except OSError:
            return False

    def _whole(self, some: Any, values: NDArray[Any]) -> NDArray[Any]:
        """The elements of a chunk as they are stored; behind the array's end, the fill value."""
        part = values[tuple(place for _, place, _ in some)]
        if part.shape == self.files.chunks:
            return np.ascontiguousarray(part, self.files.kind)
        whole = np.full(self.files.chunks, self.files.fill, self.files.kind)
        whole[tuple(inside for _, _, inside in some)] = part
        return whole

    def _may_be_empty(self, some: Any, values: NDArray[Any]) -> bool:
        """Whether the first element of a chunk is no different from the fill value."""
        first = values[tuple(place.start for _, place, _ in some)]
        fill = np.asarray(self.files.fill, values.dtype)[()]
        return bool(first == fill or (first != first and fill != fill))


def plain_chunks(array: Any, label: str) -> PlainChunks | None:
    """What writes the chunks of the Zarr ``array``; None where they are encoded, or lie elsewhere.

    Stores that others made of Zarr's may do more than write.
    """
    store = array.store_path.store
    if type(store).__name__ != "LocalStore" or getattr(store, "read_only", False):
        return None
    found = plain_files(array, label)
    if found is None or len(found[1]) > 1:
        return None
    files, encoders = found
    encode = _zstd(encoders[0]) if encoders else None
    return None if encoders and encode is None else PlainChunks(files, encode)


def _zstd(encoder: Any) -> Callable[[NDArray[Any]], Any] | None:
    """What encodes as Zarr's ``encoder`` does, if that is zstd."""
    from numcodecs import Zstd

    if type(encoder) is Zstd:  # of Zarr's format 2
        return encoder.encode  # type: ignore[no-any-return]
    if type(encoder).__name__ != "ZstdCodec":
        return None
    return Zstd(level=encoder.level, checksum=encoder.checksum).encode  # type: ignore[no-any-return]


def _write(place: Path, chunk: Any) -> None:
    """Write the bytes of ``chunk``, contiguous memory of any kind."""
    draft = place.with_suffix(f".{os.urandom(16).hex()}.partial")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        handle = os.open(draft, flags, 0o666)
    except FileNotFoundError:
        place.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(draft, flags, 0o666)
    try:
        try:
            view = np.frombuffer(chunk, np.uint8).data
            while view.nbytes:
                view = view[os.write(handle, view) :]
        finally:
            os.close(handle)
        os.replace(draft, place)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
        raise
