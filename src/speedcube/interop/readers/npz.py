"""Arrays of a ``.npz`` file, read where they lie; compressed ones are unpacked as they are read.

What is compressed has no way in but from its beginning. So its elements are read in their order,
from a place that is kept; who goes back begins again.
"""

from __future__ import annotations

import errno
import os
import struct
import zlib
from dataclasses import field, replace
from functools import partial
from threading import Lock
from typing import IO, Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...errors import DataFileError, UnsafeFileError
from ...expr.sources.tiled import Box
from ...files import naming, open_regular
from ...late import zipfile
from .as_opened import AsOpened, Layout
from .npy import NpyFile, header_of, layout

_LOCAL: Final = 30  # bytes before the name of an entry, at its own place
# What Python's module raises of files that lie: of offsets, of packing, of versions it lacks.
_WRONG: Final = (zlib.error, struct.error, EOFError, ValueError)
_LACKS: Final = (NotImplementedError, RuntimeError, OverflowError)


@dataclass(eq=False)
class _Place:
    """Where one reading of a compressed entry has got to."""

    lock: Any = field(default_factory=Lock)
    file: Any = None
    member: IO[bytes] | None = None

    def open(self, path: str, entry: str) -> None:
        """Begin at the first byte of ``entry``."""
        self.file = open_regular(path)
        self.member = zipfile.ZipFile(self.file).open(entry)  # closed by __del__

    def close(self) -> None:
        """Let go of the file: who reads on begins anew."""
        for one in (self.member, self.file):
            if one is not None:
                one.close()
        self.member = self.file = None

    def __reduce__(self) -> Any:
        return _Place, ()

    def __del__(self) -> None:
        self.close()


@dataclass(frozen=True)
class PackedNpy(NpyFile):
    """The elements of a compressed entry."""

    entry: str = ""
    place: _Place = field(default_factory=_Place, compare=False, repr=False)
    decodes = True

    @property
    def label(self) -> str:
        """The file's name, and that of the entry."""
        return f"{super().label}:{self.entry}"

    def read(self, box: Box, out: NDArray[Any]) -> None:
        """Put the elements of ``box`` into ``out``."""
        with self.place.lock:
            if self.header is not None and self.header.check():
                self.place.close()
            try:
                if self.place.member is None:
                    self.place.open(self.path, f"{self.entry}.npy")
                with naming(self.path):
                    self._fill(self.place.file.fileno(), box, out, [])
            except (zipfile.BadZipFile, *_WRONG, *_LACKS, KeyError) as err:
                raise DataFileError(
                    f"{self.path}, array {self.entry!r}, cannot be read: {err}"
                ) from err

    def _bytes(self, handle: int, start: int, memory: NDArray[Any]) -> None:
        """Fill ``memory`` with what lies from byte ``start`` on, unpacked."""
        member = self.place.member
        assert member is not None
        view = memory.reshape(-1).view(np.uint8).data
        member.seek(start)
        while view.nbytes:
            piece = member.read(view.nbytes)
            if not piece:
                raise EOFError("it ends before its last element")
            view[: len(piece)] = piece
            view = view[len(piece) :]


def open_npz(path: str, name: str | None) -> tuple[NpyFile, bool]:
    """The array ``name`` of the file ``path``, and whether it is in Fortran order.

    `DataFileError` for another name, `UnsafeFileError` for what is no such file or holds objects.
    """
    with naming(path), open_regular(path) as file:
        status = os.fstat(file.fileno())
        try:
            tiles, fortran = _member(path, name, file)
        except (zipfile.BadZipFile, *_WRONG, *_LACKS, KeyError) as err:
            if isinstance(err, (DataFileError, UnsafeFileError)):
                raise
            raise UnsafeFileError(f"{path} cannot be read: it is not an .npz file ({err})") from err
        except OSError as err:
            if err.errno != errno.EINVAL:
                raise
            raise UnsafeFileError(f"{path} cannot be read: a place in it is wrong") from err
    header = AsOpened(path, _layout(tiles, fortran), partial(_layout_in, name), status)
    return replace(tiles, header=header), fortran


def _layout_in(name: str | None, path: str) -> Layout:
    return _layout(*open_npz(path, name))


def _layout(tiles: NpyFile, fortran: bool) -> Layout:
    told = layout(tiles.shape, fortran, tiles.kind, tiles.offset)
    return {**told, "compressed": isinstance(tiles, PackedNpy)}


def _member(path: str, name: str | None, file: BinaryIO) -> tuple[NpyFile, bool]:
    with zipfile.ZipFile(file) as archive:
        names = sorted(n.removesuffix(".npy") for n in archive.namelist() if n.endswith(".npy"))
        if name is None and len(names) == 1:
            name = names[0]
        if name not in names:
            wanted = "name one of its arrays" if name is None else f"it has no array {name!r}"
            raise DataFileError(f"{path}: {wanted}: {names}")
        entry = archive.getinfo(f"{name}.npy")
        with archive.open(entry) as member:
            shape, fortran, kind, offset = header_of(f"{path}, array {name!r},", member)
            needed = offset + int(np.prod(shape, dtype=object)) * np.dtype(kind).itemsize
    if entry.file_size < needed:
        raise UnsafeFileError(
            f"{path}, array {name!r}, cannot be read: it has {entry.file_size:,} bytes, and its "
            f"header promises {needed:,}"
        )
    if entry.compress_type != zipfile.ZIP_STORED:
        return PackedNpy(path, shape, kind, offset, entry=str(name)), fortran
    file.seek(entry.header_offset)
    head = file.read(_LOCAL)
    lengths = struct.unpack("<HH", head[26:30])
    start = entry.header_offset + _LOCAL + sum(lengths)
    if start + needed > os.fstat(file.fileno()).st_size:
        raise UnsafeFileError(f"{path} cannot be read: it ends within the array {name!r}")
    return NpyFile(path, shape, kind, start + offset), fortran
