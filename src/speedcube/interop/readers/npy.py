"""A ``.npy`` file, read where it is needed.

It is never mapped: a mapped file that is cut short meanwhile ends the process.
"""

from __future__ import annotations

import math
import os
import threading
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.lib import format as npy
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...engine.streams.fed import read_pieces
from ...errors import DataFileError, UnsafeFileError
from ...expr.nodes import c_strides
from ...expr.sources.tiled import Box, page_memory
from ...files import naming, open_regular, regular_handle
from .as_opened import AsOpened, Layout

_AT_ONCE: Final = 1 << 20  # bytes that are best read together
_LEAST_PIECE: Final = 1 << 13  # bytes that are worth asking for, however near the next are
# Bytes between two that are read along with both: to ask for the second takes as long.
_NEAR: Final = 1 << 13
# What NumPy raises of headers that are wrong; of nesting, Python's compiler raises MemoryError.
_WRONG: Final = (
    *(ValueError, TypeError, SyntaxError, ArithmeticError, EOFError, RecursionError),
    *(TokenError, MemoryError, LookupError, AttributeError, AssertionError),
)
_AXES: Final = 64  # of NumPy's arrays
# Python 3.11's parser counts its depth for all threads together, and raises a SystemError where two
# are at work; what is ignored of warnings is everybody's, too.
_parsing: Final = threading.Lock()
_HEADERS: Final = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


@dataclass(frozen=True)
class NpyFile:
    """The elements of a ``.npy`` file, in the order in which they lie there."""

    path: str
    shape: tuple[int, ...]  # slowest axis first, also of what is in Fortran order
    kind: str  # NumPy's text of the dtype, with its order of bytes
    offset: int
    header: AsOpened | None = field(default=None, compare=False, repr=False)
    decodes = False  # a part of a chunk is read as fast as all of it
    anywhere = True  # a box may be put into an array whatever its strides

    @property
    def label(self) -> str:
        """The file's name."""
        return Path(self.path).name

    @property
    def lies_in(self) -> tuple[str, ...]:
        """The files and folders that hold the elements."""
        return (self.path,)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return np.dtype(self.kind).itemsize

    @cached_property
    def chunks(self) -> tuple[int, ...]:
        """So many of the last axes as are about a megabyte."""
        return together(self.shape, self.itemsize)

    def read(self, box: Box, out: NDArray[Any]) -> None:
        """Put the elements of ``box`` into ``out``."""
        self.read_from(self.opened(self.path), box, out)

    def read_from(self, handle: int, box: Box, out: NDArray[Any]) -> None:
        """The same of the file of ``handle``, which is closed then."""
        try:
            self._fill(handle, box, out, [])
        except OSError as err:
            err.filename = err.filename or self.path
            raise
        finally:
            os.close(handle)

    def opened(self, path: str) -> int:
        """The handle of the file at ``path``, which is as it was opened; who asks closes it."""
        handle = regular_handle(path)
        try:
            if self.header is not None:
                self.header.check(os.fstat(handle))
        except BaseException:
            os.close(handle)
            raise
        return handle

    def lies_at(self, box: Box) -> tuple[str, int, int, int] | None:
        """The file and its byte where ``box`` begins; its pieces, and how far apart they begin.

        None where it is not equal pieces that lie evenly apart, or they are short.
        """
        found = pieces_of(self.shape, np.dtype(self.kind), box)
        return None if found is None else (self.path, self.offset + found[0], *found[1:])

    def _fill(self, handle: int, box: Box, out: NDArray[Any], room: list[Any]) -> None:
        """``box`` in as few readings as pay: what lies between two that are near is read, too.

        ``room`` has the memory that they share for it.
        """
        counts = tuple(len(range(s.start, s.stop, s.step)) for s in box)
        if not all(counts):
            return
        steps = [s.step for s in box]
        first = _flat((s.start for s in box), self.shape)
        ends = (s.start + (n - 1) * s.step for s, n in zip(box, counts, strict=True))
        span, asked = _flat(ends, self.shape) + 1 - first, math.prod(counts)
        down, run = self._pieces(box, counts) if span > asked else ([], asked)
        straight = out.dtype == np.dtype(self.kind) and out.flags.c_contiguous
        far = self._is_far(span, asked, run)
        if straight and span > asked and far and len(down) == 1:
            step = c_strides(self.shape)[down[0]] * box[down[0]].step
            size = run * self.itemsize
            self._evenly(handle, first * self.itemsize, step * self.itemsize, size, out)
            return
        axis = next((k for k, n in enumerate(counts) if n > 1), -1)
        most = 1 if span > asked and far else self._at_once(box, axis, span, asked)
        if axis >= 0 and most < counts[axis]:
            for k in range(0, counts[axis], most):
                begin, step = box[axis].start + k * box[axis].step, box[axis].step
                some = slice(begin, min(begin + most * step, box[axis].stop), step)
                here = (*box[:axis], some, *box[axis + 1 :])
                self._fill(handle, here, out[(slice(None),) * axis + (slice(k, k + most),)], room)
            return
        start = self.offset + first * self.itemsize
        if span == asked and straight:
            self._bytes(handle, start, out)
            return
        if not room or room[0].size < span * self.itemsize:
            room[:] = [page_memory(span * self.itemsize)]
        memory = room[0][: span * self.itemsize].view(self.kind)
        self._bytes(handle, start, memory)
        strides = (s * k * self.itemsize for s, k in zip(c_strides(self.shape), steps, strict=True))
        out[...] = as_strided(memory, counts, tuple(strides))

    def pieces_bytes(self, box: Box) -> int | None:
        """Bytes that are read for ``box`` where only those that are asked for are; else None."""
        counts = tuple(len(range(s.start, s.stop, s.step)) for s in box)
        ends = (s.start + (n - 1) * s.step for s, n in zip(box, counts, strict=True))
        asked = math.prod(counts)
        span = _flat(ends, self.shape) + 1 - _flat((s.start for s in box), self.shape)
        if self.decodes or not asked or not np.dtype(self.kind).isnative:
            return None
        down, run = self._pieces(box, counts) if span > asked else ([], asked)
        alone = span == asked or (len(down) == 1 and self._is_far(span, asked, run))
        return asked * self.itemsize if alone else None

    def _is_far(self, span: int, asked: int, run: int) -> bool:
        """Whether pieces of ``run`` elements are read one by one: long, or far from the next."""
        between = (span - asked) * self.itemsize * run // asked  # of two pieces
        return between > _NEAR or run * self.itemsize >= _LEAST_PIECE

    def _pieces(self, box: Box, counts: tuple[int, ...]) -> tuple[list[int], int]:
        """The axes along which ``box`` is pieces that lie apart, and the elements of one."""
        cut = max(k for k, n in enumerate(counts) if n < self.shape[k])  # all behind are whole
        if counts[cut] > 1 and box[cut].step > 1:
            cut += 1
        return [k for k, n in enumerate(counts[:cut]) if n > 1], math.prod(counts[cut:])

    def _at_once(self, box: Box, axis: int, span: int, asked: int) -> int:
        """How many along ``axis``, the first of more than one, are read with what lies between.

        All of what follows one another.
        """
        if span == asked or span * self.itemsize <= _AT_ONCE:
            return len(range(box[axis].start, box[axis].stop, box[axis].step)) if axis >= 0 else 1
        each = c_strides(self.shape)[axis] * box[axis].step * self.itemsize
        return max(1, int(_AT_ONCE // each))

    def _evenly(self, handle: int, first: int, step: int, size: int, out: NDArray[Any]) -> None:
        """Fill ``out`` with pieces of ``size`` bytes that lie ``step`` apart."""
        memory, first = out.reshape(-1).view(np.uint8), first + self.offset
        done = read_pieces(handle, first, step, size, memory)
        for k in range(done, memory.size // size):  # it was interrupted, or the file is short
            self._bytes(handle, first + k * step, memory[k * size : (k + 1) * size])

    def _bytes(self, handle: int, start: int, memory: NDArray[Any]) -> None:
        """Fill ``memory`` with what lies from byte ``start`` on."""
        view = memory.reshape(-1).view(np.uint8).data
        while view.nbytes:
            count = os.preadv(handle, [view], start)
            if not count:
                raise DataFileError(
                    f"{self.path} ends before its last element: it was cut short after it was "
                    "opened, or never whole"
                )
            view, start = view[count:], start + count


def open_npy(path: str | os.PathLike[str]) -> tuple[NpyFile, bool]:
    """The ``.npy`` file at ``path``, and whether it is in Fortran order.

    `UnsafeFileError` for what is no such file, holds objects, or is shorter than it says.
    """
    place = os.fspath(path)
    with naming(place), open_regular(place) as file:
        status = os.fstat(file.fileno())
        told = header_of(place, file)
    shape, fortran, kind, offset = told
    needed = offset + math.prod(shape) * np.dtype(kind).itemsize
    if status.st_size < needed:
        raise UnsafeFileError(
            f"{path} cannot be read: it has {status.st_size:,} bytes, and its header promises "
            f"{needed:,}"
        )
    header = AsOpened(place, layout(*told), _layout_in, status)
    return NpyFile(place, shape, kind, offset, header), fortran


def layout(shape: tuple[int, ...], fortran: bool, kind: str, offset: int) -> Layout:
    """What `header_of` found, each by its name; the shape as NumPy has it."""
    own = shape[::-1] if fortran else shape
    return {"dtype": kind, "shape": own, "order": "FC"[not fortran], "first byte": offset}


def _layout_in(path: str) -> Layout:
    with naming(path), open_regular(path) as file:
        return layout(*header_of(path, file))


def header_of(shown: str, file: Any) -> tuple[tuple[int, ...], bool, str, int]:
    """The shape, slowest axis first, of the array in ``file``; its order, dtype and first byte."""
    try:
        shape, fortran, dtype = _header(file)
    except _WRONG as err:
        raise UnsafeFileError(f"{shown} cannot be read: its header is wrong ({err})") from err
    if dtype.hasobject:
        raise UnsafeFileError(
            f"{shown} cannot be read: it holds objects, and pickled files are never loaded"
        )
    return shape[::-1] if fortran else shape, fortran, dtype.str, file.tell()


def together(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """So many of the last axes of an array as are about a megabyte."""
    room, chunks = max(1, _AT_ONCE // itemsize), list[int]()
    for extent in reversed(shape):
        chunks.append(max(1, min(extent, room)))
        room //= max(1, extent)
    return tuple(reversed(chunks))


def pieces_of(
    shape: tuple[int, ...], dtype: np.dtype[Any], box: Sequence[slice]
) -> tuple[int, int, int] | None:
    """The byte of an array where ``box`` begins; its pieces, how far apart; None as of a file."""
    if not dtype.isnative:
        return None
    first, cut, counts, strides = 0, 0, list[int](), c_strides(shape)
    for k, one in enumerate(box):
        if one.step != 1:
            return None
        first += one.start * strides[k]
        counts.append(one.stop - one.start)
        if counts[k] < shape[k]:
            cut = k
    down = [k for k in range(cut) if counts[k] > 1]
    if not down:
        return first * dtype.itemsize, 1, 0
    if len(down) > 1 or math.prod(counts[cut:]) * dtype.itemsize < _LEAST_PIECE:
        return None
    return first * dtype.itemsize, counts[down[0]], strides[down[0]] * dtype.itemsize


def _header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"version {version} of the format; 1.0 and 2.0 hold arrays of numbers")
    with _parsing, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Python's parser, and of headers that Python 2 wrote
        shape, fortran, dtype = _HEADERS[version](file)
    if any(type(n) is not int or n < 0 for n in shape) or math.prod(shape) >= 2**63:
        raise ValueError(f"shape {shape}")
    if len(shape) + (dtype.kind == "c") > _AXES:  # the parts of complex numbers are an axis
        most = f"{_AXES}, one of complex numbers {_AXES - 1}"
        raise ValueError(f"{len(shape)} axes; an array has at most {most}")
    return shape, fortran, dtype


def _flat(index: Iterable[int], shape: tuple[int, ...]) -> int:
    """The place of the element at ``index`` in C order."""
    return sum(at * step for at, step in zip(index, c_strides(shape), strict=True))
