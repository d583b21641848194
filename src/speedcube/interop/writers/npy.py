"""A ``.npy`` file written block after block, under another name until it is whole.

Beside the draft lies a journal: a note of what is written, and a byte for each block that is. A
process that is killed leaves both, and the next one goes on with them.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import math
import os
from collections.abc import Iterable
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...engine.writing.target import Begun, Item, Over
from ...errors import ParameterError
from ...expr.nodes import c_strides
from ...files import handle_to_write, open_regular
from .records import begun_of, record_of

DRAFT: Final = ".speedcube-draft"
JOURNAL: Final = ".speedcube-journal"
_RUN: Final = 1 << 16  # bytes that lie together and are written at once, where rows are that long
_NOTE: Final = 1 << 12  # bytes of a journal before those of blocks


def header_of(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bytes:
    """What a ``.npy`` file of C order begins with, as NumPy writes it."""
    memory = io.BytesIO()
    described = npy.dtype_to_descr(dtype)
    known = {"descr": described, "fortran_order": False, "shape": shape}
    npy.write_array_header_1_0(memory, known)
    return memory.getvalue()


def rows(shape: tuple[int, ...], itemsize: int, room: int) -> tuple[int, ...]:
    """So many of the last axes as are ``room`` bytes."""
    extents, left = list[int](), max(1, room // itemsize)
    for extent in reversed(shape):
        extents.append(max(1, min(extent, left)))
        left //= max(1, extent)
    return tuple(reversed(extents))


def put(handle: int, start: int, shape: tuple[int, ...], item: Item, values: NDArray[Any]) -> None:
    """Write the box ``item`` of an array in C order that begins at byte ``start`` of a file."""
    counts = [s.stop - s.start for s in item]
    outer = max((k for k, n in enumerate(shape) if counts[k] < n), default=0)  # then all is whole
    steps, size = c_strides(shape), values.dtype.itemsize
    lines = np.ascontiguousarray(values).reshape(*counts[:outer], -1)
    first = sum(s.start * step for s, step in zip(item, steps, strict=True))
    for index in product(*map(range, counts[:outer])):
        place = first + sum(k * step for k, step in zip(index, steps, strict=False))
        view, at = lines[index].view(np.uint8).data, start + place * size
        while view.nbytes:
            count = os.pwrite(handle, view, at)
            view, at = view[count:], at + count


@dataclass(eq=False)
class NpyPath:
    """The file that will be at ``path``; ``resume`` goes on with a draft that is there."""

    path: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    resume: bool = False
    draft: int = -1  # handles, of this process
    journal: int = -1
    travels = True
    at_once = True
    is_kept = True

    def __reduce__(self) -> Any:
        return NpyPath, (self.path, self.shape, self.dtype, self.resume)

    @property
    def beside(self) -> str:
        """The file's path."""
        return self.path

    def copies(self, extents: tuple[int, ...]) -> float:
        """Once: lines of it are written."""
        return 1.0

    @property
    def label(self) -> str:
        """The file's name."""
        return os.path.basename(self.path)

    @property
    def unit(self) -> tuple[int, ...]:
        """Parts of rows, or more of them."""
        return rows(self.shape, self.dtype.itemsize, _RUN)

    @property
    def first(self) -> tuple[int, ...]:
        """It is written whole."""
        return (0,) * len(self.shape)

    def over(self) -> Over | None:
        """Nothing: the file that has the name is whole until it loses it."""
        return None

    def open(self) -> None:
        """Look whether a file may be made there."""
        folder = os.path.dirname(self.path) or "."
        if os.path.isdir(self.path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self.path)
        if not os.path.isdir(folder):
            raise FileNotFoundError(errno.ENOENT, "there is no such folder", folder)
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, "no file can be made there", folder)

    def earlier(self) -> Begun | None:
        """What a draft that is there holds some blocks of."""
        if not self.resume:
            return None
        try:
            with open_regular(self.path + JOURNAL) as file:
                raw = file.read(_NOTE)
            size = os.stat(self.path + DRAFT).st_size
        except FileNotFoundError:
            return None
        if len(raw) < _NOTE or size < self._size:
            return None  # killed before the first block
        return begun_of(raw.rstrip(b"\0"), self.label, len(self.shape))

    @property
    def _header(self) -> bytes:
        return header_of(self.shape, self.dtype)

    @property
    def _size(self) -> int:
        return len(self._header) + math.prod(self.shape) * self.dtype.itemsize

    def begin(self, begun: Begun) -> None:
        """Make the draft and its journal, or open those that are gone on with."""
        goes_on = self.earlier() is not None
        self._open(os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(self.draft, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as err:
            if err.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                return  # a file system without locks
            self.leave()
            raise ParameterError(f"{self.path} is being written by another process") from None
        if not goes_on:
            os.ftruncate(self.journal, 0)
            os.ftruncate(self.draft, 0)
            os.pwrite(self.draft, self._header, 0)
            os.ftruncate(self.draft, self._size)
            os.pwrite(self.journal, record_of(begun).ljust(_NOTE, b"\0"), 0)
            os.ftruncate(self.journal, _NOTE + begun.count)

    def _open(self, flags: int) -> None:
        if self.draft < 0:
            self.draft = handle_to_write(self.path + DRAFT, flags)
            self.journal = handle_to_write(self.path + JOURNAL, flags)

    def write(self, number: int, item: Item, values: NDArray[Any]) -> None:
        """Put ``values`` into their places, and note that they are there."""
        self._open(os.O_RDWR)
        put(self.draft, len(self._header), self.shape, item, values)
        os.pwrite(self.journal, b"\1", _NOTE + number)

    def done(self) -> Iterable[int]:
        """The blocks that the journal has."""
        with open_regular(self.path + JOURNAL) as file:
            file.seek(_NOTE)
            return np.flatnonzero(np.frombuffer(file.read(), np.uint8)).tolist()

    def has(self, number: int) -> bool:
        """Whether the journal has block ``number``."""
        self._open(os.O_RDWR)
        return os.pread(self.journal, 1, _NOTE + number) == b"\1"

    def clear(self) -> None:
        """Nothing lies about."""

    def finish(self) -> None:
        """Give the file its name, once the disk has it."""
        os.fsync(self.draft)
        os.replace(self.path + DRAFT, self.path)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path + JOURNAL)

    def leave(self) -> None:
        """Close the files."""
        for handle in (self.draft, self.journal):
            if handle >= 0:
                os.close(handle)
        self.draft = self.journal = -1


@dataclass(eq=False)
class NpyStream:
    """An open ``file`` into which an array is written from where it stands."""

    file: Any
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    start: int | None = None  # of the elements, in a file whose parts may come in any order
    travels = False
    is_kept = False
    beside = None

    def copies(self, extents: tuple[int, ...]) -> float:
        """Once, and whatever a stream keeps."""
        return 2.0

    @property
    def label(self) -> str:
        """The file's name, or its kind."""
        name = getattr(self.file, "name", None)
        return name if isinstance(name, str) else type(self.file).__name__

    @property
    def at_once(self) -> bool:
        """Whether blocks may come in any order."""
        return self.start is not None

    @property
    def unit(self) -> tuple[int, ...]:
        """Rows, or parts of them; where they come in their order, a whole block of them."""
        return rows(self.shape, self.dtype.itemsize, _RUN if self.at_once else 1 << 22)

    @property
    def first(self) -> tuple[int, ...]:
        """All of the array goes there."""
        return (0,) * len(self.shape)

    def over(self) -> Over | None:
        """The file, if it is one of the system's."""
        name = getattr(self.file, "name", None)
        return Over(os.path.realpath(name), start=None) if isinstance(name, str) else None

    def open(self) -> None:
        """It is open."""

    def earlier(self) -> Begun | None:
        """Nothing: there is no journal."""
        return None

    def begin(self, begun: Begun) -> None:
        """Write the header."""
        self.file.write(header_of(self.shape, self.dtype))

    def write(self, number: int, item: Item, values: NDArray[Any]) -> None:
        """Put ``values`` into their places."""
        if self.start is None:
            self.file.write(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
            return
        put(self.file.fileno(), self.start, self.shape, item, values)

    def done(self) -> Iterable[int]:
        """Nothing."""
        return ()

    def has(self, number: int) -> bool:
        """Nobody notes it."""
        return False

    def clear(self) -> None:
        """Nothing lies about."""

    def finish(self) -> None:
        """Let the file stand behind the array."""
        if self.start is not None:
            self.file.seek(self.start + math.prod(self.shape) * self.dtype.itemsize)

    def leave(self) -> None:
        """The file is its owner's."""


def stream_to(file: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NpyStream:
    """What writes to an open ``file``: in any order where it is a file of the system's."""
    if isinstance(file, (io.BufferedWriter, io.BufferedRandom, io.FileIO)):
        with contextlib.suppress(OSError):
            file.flush()
            flags = fcntl.fcntl(file.fileno(), fcntl.F_GETFL)
            if file.seekable() and not flags & os.O_APPEND:
                return NpyStream(file, shape, dtype, file.tell() + len(header_of(shape, dtype)))
    return NpyStream(file, shape, dtype)
