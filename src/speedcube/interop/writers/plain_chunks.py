"""Chunks of a Zarr array that are files of their elements: written without Zarr or a copy.

Each is written under another name, such as Zarr gives to what it has not ended, and renamed. What
is unusual is left to Zarr: chunks that are not overwritten whole, and those that may be all fill
value, of which Zarr keeps no file.
"""

from __future__ import annotations

import contextlib
import os
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...engine.writing.target import Item
from ..readers.raw_zarr import RawZarr, plain_files, within


@dataclass(frozen=True, eq=False)
class PlainChunks:
    """Where the chunks lie."""

    files: RawZarr

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
        made = [
            (files.folder / files.name(tuple(k for k, _, _ in some)), self._whole(some, values))
            for some in product(*each)
        ]
        if any(self._may_be_empty(chunk) for _, chunk in made):
            return False
        for place, chunk in made:
            _write(place, chunk)
        return True

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

    def _may_be_empty(self, chunk: NDArray[Any]) -> bool:
        """Whether the first element is no different from the fill value."""
        first, fill = chunk.flat[0], np.asarray(self.files.fill, chunk.dtype)[()]
        return bool(first == fill or (first != first and fill != fill))


def plain_chunks(array: Any, label: str) -> PlainChunks | None:
    """What writes the chunks of the Zarr ``array``; None where they are encoded, or lie elsewhere.

    Stores that others made of Zarr's may do more than write.
    """
    store = array.store_path.store
    if type(store).__name__ != "LocalStore" or getattr(store, "read_only", False):
        return None
    found = plain_files(array, label)
    return None if found is None or found[1] else PlainChunks(found[0])


def _write(place: Path, chunk: NDArray[Any]) -> None:
    draft = place.with_suffix(f".{os.urandom(16).hex()}.partial")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        handle = os.open(draft, flags, 0o666)
    except FileNotFoundError:
        place.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(draft, flags, 0o666)
    try:
        try:
            view = chunk.reshape(-1).view(np.uint8).data
            while view.nbytes:
                view = view[os.write(handle, view) :]
        finally:
            os.close(handle)
        os.replace(draft, place)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
        raise
