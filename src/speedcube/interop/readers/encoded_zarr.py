"""Zarr arrays whose chunks one codec encodes, in local files: decoded where they are needed.

Zarr itself decodes into new memory, and copies from there. What is unusual here is left to it, and
so are errors: it is asked for a box that cannot be read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...engine.streams import decoded
from ...expr.sources.tiled import Box, page_memory
from ...files import read_regular
from . import recent
from .decoding import all_done
from .raw_zarr import RawZarr, plain_files, within
from .sliceable import Sliceable

_OVERHEAD: Final = 1 << 16  # bytes that a chunk may have more than its elements
_LEAST: Final = 1 << 17  # bytes of a chunk that are worth a thread
Keep: TypeAlias = Callable[[NDArray[np.uint8]], None]


@dataclass(frozen=True, eq=False)
class EncodedZarr:
    """``files`` hold each chunk as ``codec`` encodes it; ``zarr`` reads what is unusual.

    ``size_of`` tells from the bytes of a file how many it decodes to; None: nobody knows.
    """

    files: RawZarr
    codec: Any  # numcodecs'
    size_of: Callable[[bytes], int | None]
    zarr: Sliceable
    keeps_chunks = True  # those that several passes read
    anywhere = True

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return self.files.shape

    @property
    def chunks(self) -> tuple[int, ...]:
        """The lengths of a chunk."""
        return self.files.chunks

    @property
    def label(self) -> str:
        """What a plan calls it."""
        return self.files.label

    @property
    def lies_in(self) -> tuple[str, ...]:
        """The files and folders that hold the elements."""
        return self.files.lies_in

    @property
    def working_bytes(self) -> int:
        """Bytes of a thread that asks for a box."""
        return self.zarr.working_bytes

    def read(self, box: Box, out: NDArray[Any]) -> None:
        """Put the elements of ``box`` into ``out``; several threads decode its chunks."""
        files = self.files
        files.check()
        each = [list(within(one, n)) for one, n in zip(box, files.chunks, strict=True)]
        every = list(product(*each))

        wanted = [len(range(s.start, s.stop, s.step)) for one in each for *_, s in one]
        lengths = [self._length(axis, k) for axis, one in enumerate(each) for k, *_ in one]
        keeps = wanted != lengths  # the rest of a chunk is what the next box needs

        def one(some: Sequence[tuple[int, slice, slice]]) -> bool:
            places: tuple[Any, ...] = tuple(place for _, place, _ in some)
            number = tuple(k for k, _, _ in some)
            inside = tuple(inside for _, _, inside in some)
            return self._placed(number, inside, out[(*places, ...)], keeps)

        if len(every) == 1 or self._bytes < _LEAST:
            done = all(map(one, every))
        else:
            done = all_done(one, every)
        if not done:
            self.zarr.read(box, out)

    def _length(self, axis: int, number: int) -> int:
        """How many indices of ``axis`` are in chunks of the ``number``: the last has fewer."""
        length = self.files.chunks[axis]
        return min(length, self.files.shape[axis] - number * length)

    def _placed(
        self, number: tuple[int, ...], inside: Box, here: NDArray[Any], keeps: bool
    ) -> bool:
        """Put the elements ``inside`` of a chunk where they belong; whether that could be done."""
        place = self.files.folder / self.files.name(number)
        key = recent.key_of(place) if keeps or decoded.is_open() else None
        if key is None:
            return self._read(place, inside, here, None, False)
        if self._known(key, inside, here, keeps):
            return True
        with decoded.alone(key, self._bytes):
            if self._known(key, inside, here, keeps):
                return True
            return self._read(place, inside, here, key, keeps)

    def _known(self, key: recent.Key, inside: Box, here: NDArray[Any], keeps: bool) -> bool:
        """The same of a chunk that was decoded before, if it was kept."""
        known = decoded.found(key)
        known = recent.found(key) if known is None and keeps else known
        if known is not None:
            here[...] = self._chunk(known)[inside]
        return known is not None

    def _read(
        self, place: Path, inside: Box, here: NDArray[Any], key: recent.Key | None, keeps: bool
    ) -> bool:
        """The same of a chunk that is read and decoded, and kept for ``key`` if that is one."""
        try:
            encoded = read_regular(place, self._bytes + _OVERHEAD)
        except FileNotFoundError:
            here[...] = self.files.fill
            return True
        except OSError:
            return False
        if self.size_of(encoded) != self._bytes:
            return False
        keep: Keep | None = None
        if key is not None:
            kept = decoded.reserved(key, self._bytes)
            how = decoded.keep if kept else recent.keep if keeps else None
            keep = how and partial(how, key)
        return self._decoded(encoded, inside, here, keep)

    def _decoded(self, encoded: bytes, inside: Box, here: NDArray[Any], keep: Keep | None) -> bool:
        """The same of a chunk that was read; ``keep`` takes its elements for who comes next."""
        whole = here.shape == self.files.chunks and here.flags.c_contiguous
        straight = whole and here.dtype == np.dtype(self.files.kind) and keep is None
        memory = here.reshape(-1).view(np.uint8) if straight else page_memory(self._bytes)
        try:
            self.codec.decode(encoded, out=memory)
        except (ValueError, RuntimeError):
            return False
        if not straight:
            here[...] = self._chunk(memory)[inside]
        if keep is not None:
            keep(memory)
        return True

    def _chunk(self, memory: NDArray[np.uint8]) -> NDArray[Any]:
        return memory.view(self.files.kind).reshape(self.files.chunks)

    @property
    def _bytes(self) -> int:
        """Bytes of a chunk's elements."""
        return math.prod(self.files.chunks) * np.dtype(self.files.kind).itemsize


def encoded_zarr(array: Any, label: str, zarr: Sliceable) -> EncodedZarr | None:
    """The reader of the Zarr ``array``, which ``zarr`` reads, too; None where it is another one."""
    found = plain_files(array, label)
    if found is None or len(found[1]) != 1:
        return None
    files, (encoder,) = found
    size_of = _SIZES.get(type(encoder).__name__.removesuffix("Codec"))
    if size_of is None:
        return None
    codec = encoder if hasattr(encoder, "codec_id") else _codec_of(encoder)
    files = replace(files, header=zarr.header)
    return None if codec is None else EncodedZarr(files, codec, size_of, zarr)


def _codec_of(encoder: Any) -> Any:
    """Numcodecs' decoder of what Zarr's ``encoder`` writes."""
    from numcodecs import Blosc, Zstd

    kinds = {"ZstdCodec": Zstd, "BloscCodec": Blosc}  # their bytes say how they were written
    kind = kinds.get(type(encoder).__name__)
    return None if kind is None else kind()


def _zstd_size(encoded: bytes) -> int | None:
    """What the header of a frame of Zstandard says (RFC 8878, 3.1.1)."""
    if len(encoded) < 18 or encoded[:4] != b"\x28\xb5\x2f\xfd":
        return None
    flag, single = encoded[4] >> 6, encoded[4] >> 5 & 1
    width = (1 if single else 0, 2, 4, 8)[flag]
    start = 5 + (1 - single) + (0, 1, 2, 4)[encoded[4] & 3]
    told = int.from_bytes(encoded[start : start + width], "little")
    return None if not width else told + 256 if width == 2 else told


def _told_at(start: int, encoded: bytes) -> int | None:
    """The number of four bytes from ``start`` on."""
    place = slice(start, start + 4)
    return int.from_bytes(encoded[place], "little") if len(encoded) > place.stop else None


# By the name of a codec: how many bytes it says that a chunk has.
_SIZES: Final[dict[str, Callable[[bytes], int | None]]] = {
    "Zstd": _zstd_size,
    "Blosc": partial(_told_at, 4),
    "LZ4": partial(_told_at, 0),
}
