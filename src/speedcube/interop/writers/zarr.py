"""A Zarr array written block after block, each block whole chunks or shards.

Until it is whole it has the attribute `MARK`, and beside its chunks lie a note of what is written
and one for each block that is. A process that is killed leaves these, and the next one goes on.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Final, Protocol

from numpy.typing import NDArray

from ...dataclass import dataclass
from ...engine.writing.target import Begun, Item, Over
from ...errors import DataFileError
from ...files import check_no_link
from ...late import hashlib
from ...plan.writing import WriteGrid
from ..readers.zarr_files import shown_place
from .assigned import unit_of
from .chunk_notes import note_of, take_away
from .plain_chunks import PlainChunks, plain_chunks
from .records import begun_of, record_of
from .timeless import timeless

MARK: Final = "speedcube_incomplete"
_NOTES: Final = "speedcube-write"
_SHARED: Final = ("LocalStore", "FsspecStore", "ObjectStore")
_TRIES: Final = 20
_AGAIN: Final = 0.05  # seconds
_NOTE: Final = "begun"
_COPIES: Final = 4.0  # of a block that Zarr encodes, itself counted: as of any other write
_OF_CHUNK: Final = 2.25  # of one chunk, which one codec encodes; a little is its tables
_DRAFT: Final = re.compile(r"\.[0-9a-f]{32}\.partial\Z")  # of Zarr's, of a file


def check_ended(array: Any) -> None:
    """`DataFileError` where ``array`` is one of Zarr that was not written to the end."""
    told = getattr(getattr(array, "metadata", None), "attributes", None)  # whatever its file says
    if isinstance(told, dict) and MARK in told:
        label = array.name or shown_place(array.store_path)
        raise DataFileError(
            f"zarr {label} was not written to the end: speedcube.to_zarr(..., resume=True) writes "
            "the rest"
        )


class ZarrSpot(Protocol):
    """What is known of an array's place before it is opened or made."""

    @property
    def beside(self) -> str | None:
        """The path, if it is one of this machine."""

    @property
    def is_plain(self) -> bool:
        """Whether a new array's chunks are encoded by one codec, or none, that gives bytes once."""

    def over(self) -> Over | None:
        """What is there and would be written over."""


@dataclass(eq=False)
class ZarrTarget:
    """An array, or from ``first`` on a part of one, that ``make`` opens or makes.

    ``resume`` goes on where an earlier write ended. ``marked``: it is new, or written whole, and
    has the mark until it is whole. ``travels``: other processes see the same store. ``is_kept``:
    who asks can ask for ``resume``.
    """

    label: str
    make: Callable[[], Any] | None
    unit: tuple[int, ...]
    first: tuple[int, ...]
    shape: tuple[int, ...]
    resume: bool = False
    marked: bool = True
    travels: bool = True
    is_kept: bool = True
    array: Any = None
    at: ZarrSpot | None = None
    is_whole: bool = False  # already: another write has come to its end
    count: int = 0  # of blocks
    at_once = True

    def __reduce__(self) -> Any:
        fields = self.unit, self.first, self.shape, self.resume, self.marked, True, self.is_kept
        return ZarrTarget, (self.label, None, *fields, _anywhere(self.array))

    @property
    def beside(self) -> str | None:
        """Its path, if that is one of this machine."""
        return self.at.beside if self.at is not None else None

    def copies(self, extents: tuple[int, ...]) -> float:
        """The values and their bytes, and Zarr's own chunks where it puts them together first."""
        if self.at is None or not self.at.is_plain:
            return _COPIES
        ends = zip(self.first, self.shape, self.unit, strict=True)
        whole = extents == self.unit and not any(f % u or n % u for f, n, u in ends)
        return _OF_CHUNK if whole else _OF_CHUNK + 1

    def over(self) -> Over | None:
        """What is there, and how it is dealt with."""
        return self.at.over() if self.at is not None else None

    def open(self) -> None:
        """Find the array, or make it."""
        assert self.make is not None
        self.array = self.make()
        self.is_whole = self.resume and self.marked and MARK not in self.array.attrs

    @property
    def _notes(self) -> str:
        """Where the notes lie: those of parts of an array apart."""
        box = repr((self.first, self.shape)).encode()
        part = "all" if self.marked else hashlib.blake2b(box, digest_size=8).hexdigest()
        return f"{_NOTES}/{part}"

    def _at(self, key: str) -> Any:
        return self.array.store_path / self._notes / key

    def earlier(self) -> Begun | None:
        """What an earlier write began here."""
        if not self.resume or self.is_whole:
            return None
        raw = _synced(self._at(_NOTE).get())
        if raw is None:
            return None
        return begun_of(raw.to_bytes(), self.label, len(self.shape))

    def begin(self, begun: Begun) -> None:
        """Leave a note, or clear away what a killed process had not ended."""
        self.count = begun.count
        root = getattr(self.array.store, "root", None)
        if root is not None:
            for name in (_NOTES, self._notes):
                check_no_link(os.path.join(root, self.array.store_path.path, name))
        if self.resume:
            _clear_drafts(self.array)
        if self.is_whole:
            return
        if self.earlier() is not None:
            self._forget_lost(begun)
            return
        _synced(_without(self.array.store_path / self._notes))
        _synced(self._at(_NOTE).set(_bytes(record_of(begun))))

    def _forget_lost(self, begun: Begun) -> None:
        """Take away notes of blocks whose chunks were taken away, or written over, since."""
        grid = WriteGrid(self.shape, begun.extents, self.first)
        for number in self.done():
            box = self._box(grid.item(number))
            raw = _synced(self._at(str(number)).get())
            if raw is None or raw.to_bytes() != note_of(self.array, box):
                _synced(self._at(str(number)).delete())
                take_away(self.array, box)

    def _box(self, item: Item) -> Item:
        """Where the box ``item`` of what is written lies in the array."""
        places = zip(item, self.first, strict=True)
        return tuple(slice(s.start + f, s.stop + f) for s, f in places)

    def write(self, number: int, item: Item, values: NDArray[Any]) -> None:
        """Encode and store ``values``, and note that they are there."""
        there, plain = self._box(item), self._plain
        if plain is None or not plain.write(there, values):
            self._encoded[there] = values
        note = note_of(self.array, there)
        if plain is None or not plain.note(f"{self._notes}/{number}", note):
            _synced(self._at(str(number)).set(_bytes(note)))

    @cached_property
    def _encoded(self) -> Any:
        """The array, whose chunks tell no time: written again, they are the same."""
        return timeless(self.array)

    @cached_property
    def _plain(self) -> PlainChunks | None:
        """What writes chunks without Zarr, if they are such."""
        return plain_chunks(self.array, self.label)

    def done(self) -> Iterable[int]:
        """The blocks that were noted."""
        if self.is_whole:
            return range(self.count)
        path = f"{self.array.store_path.path}/{self._notes}".lstrip("/")
        names = _synced(_listed(self.array.store, path))
        return [int(name) for name in names if name.isdecimal()]

    def has(self, number: int) -> bool:
        """Whether block ``number`` was noted."""
        return bool(_synced(self._at(str(number)).exists()))

    def clear(self) -> None:
        """Zarr's drafts, where nobody else writes: who writes a part of an array is not alone."""
        if self.marked:
            _clear_drafts(self.array)

    def finish(self) -> None:
        """Take away the mark, then the notes."""
        if self.marked and MARK in self.array.attrs:
            del self.array.attrs[MARK]
        _synced(_without(self.array.store_path / self._notes))
        root = getattr(self.array.store, "root", None)
        if root is not None:
            with contextlib.suppress(OSError):  # another part is being written
                os.rmdir(os.path.join(root, self.array.store_path.path, _NOTES))

    def leave(self) -> None:
        """Nothing is open."""


def into_array(array: Any, box: tuple[slice, ...], at: ZarrSpot) -> ZarrTarget:
    """What writes to ``box`` of an open ``array``, of which whole blocks alone are noted."""
    first, shape = tuple(s.start for s in box), tuple(s.stop - s.start for s in box)
    what = type(array).__name__, lambda: array, unit_of(array, len(shape)), first, shape
    return ZarrTarget(*what, marked=False, is_kept=False, at=at)


def can_travel(store: Any) -> bool:
    """Whether Zarr's ``store`` takes chunks from several processes, and they see the same one."""
    inner = getattr(store, "store", None)  # of obstore's
    if type(store).__name__ not in _SHARED or type(inner).__name__ == "MemoryStore":
        return False
    fs = getattr(store, "fs", None)
    protocol = getattr(getattr(fs, "sync_fs", fs), "protocol", ())
    return "memory" not in ([protocol] if isinstance(protocol, str) else protocol)


def _anywhere(array: Any) -> Any:
    """The Zarr ``array``, whose folder is found from wherever another process stands."""
    store: Any = getattr(array, "store", None)
    if type(store).__name__ != "LocalStore" or store.root.is_absolute():
        return array
    import zarr

    inner = array._async_array
    config = inner.config if hasattr(inner, "config") else inner._config  # of Zarr 3.1.0
    there = zarr.storage.LocalStore(store.root.absolute())
    place = zarr.storage.StorePath(there, array.store_path.path)
    return zarr.Array(zarr.AsyncArray(array.metadata, place, config))


def _clear_drafts(array: Any) -> None:
    """Take away files that Zarr had begun to write when the process was killed."""
    root = getattr(array.store, "root", None)
    if root is None:
        return
    for folder, _, names in os.walk(os.path.join(root, array.store_path.path)):
        for name in filter(_DRAFT.search, names):
            with contextlib.suppress(FileNotFoundError):  # it was stopped, and ends its chunk
                os.unlink(os.path.join(folder, name))


def _synced(coroutine: Any) -> Any:
    from zarr.core.sync import sync

    return sync(coroutine)


def _bytes(raw: bytes) -> Any:
    from zarr.core.buffer import default_buffer_prototype

    return default_buffer_prototype().buffer.from_bytes(raw)


async def _without(place: Any) -> None:
    import asyncio

    for _ in range(_TRIES):
        if await place.is_empty():
            return
        # A worker that was done without may note its last block meanwhile.
        with contextlib.suppress(OSError):
            await place.delete_dir()
            return
        await asyncio.sleep(_AGAIN)
    await place.delete_dir()


async def _listed(store: Any, path: str) -> list[str]:
    return [name.rsplit("/", 1)[-1] async for name in store.list_dir(path)]
