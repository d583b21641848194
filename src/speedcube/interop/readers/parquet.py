"""Columns of Parquet files, read a row group at a time and never more than a batch in memory."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property, partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...errors import DataFileError, SpeedcubeError
from ...expr.sources.tiled import Box
from ...files import open_regular
from .again import again
from .npy import together
from .remote import is_address, open_remote
from .zarr_files import shown_place, without_secrets

_BATCH: Final = 1 << 17  # rows that are decoded at a time
_BUFFER: Final = 1 << 20  # bytes of a file that are read at a time
_MOST: Final = 16 << 20  # bytes of a row group that is read at once
_PASSING: Final = (ConnectionError, TimeoutError)  # of a store
_OPEN: Final = 4  # files of a column that stay open: a thread reads from one of them


@dataclass(frozen=True)
class RowGroups:
    """A Parquet file, and the rows of each of its groups."""

    path: str
    rows: tuple[int, ...]
    options: Mapping[str, Any] | None = field(default=None, repr=False)  # of a store; secrets


@dataclass(frozen=True, eq=False)
class ParquetColumn:
    """A column of ``files``, one after the other; ``fill`` stands where there is no value."""

    files: tuple[RowGroups, ...]
    column: str
    kind: str  # NumPy's text of the dtype
    label: str
    fill: Any = None
    noun = "row groups"  # that a plan counts
    cursors: Cursors = field(default_factory=lambda: Cursors())

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """The rows of each group of each file."""
        return tuple(n for file in self.files for n in file.rows)

    @cached_property
    def ends(self) -> list[int]:
        """After which row each group ends."""
        return list(accumulate(self.groups))

    @cached_property
    def firsts(self) -> list[int]:
        """Of each file, which group is its first."""
        return [0, *accumulate(len(file.rows) for file in self.files)]

    def place(self, number: int) -> tuple[RowGroups, int]:
        """The file that has the group ``number``, and which of its own that is."""
        file = bisect_right(self.firsts, number) - 1
        return self.files[file], number - self.firsts[file]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """As many elements as there are rows."""
        return (sum(self.groups),)

    @cached_property
    def chunks(self) -> tuple[int, ...]:
        """A row group; where that is long, about a megabyte of it: what follows is read on."""
        longest, size = max(self.groups, default=1), np.dtype(self.kind).itemsize
        return (longest,) if longest * size <= _MOST else together(self.shape, size)

    def touched(self, box: Box) -> tuple[int, int]:
        """Bytes and number of the row groups that ``box`` has elements of."""
        (one,) = box
        rows = count = 0
        for end, n in zip(self.ends, self.groups, strict=True):
            first = max(0, -(-(end - n - one.start) // one.step)) * one.step + one.start
            if n and first < min(end, one.stop):
                rows, count = rows + n, count + 1
        return rows * np.dtype(self.kind).itemsize, count

    def read(self, box: Box, out: NDArray[Any]) -> None:
        """Put the elements of ``box`` into ``out``."""
        (one,) = box
        done = 0
        while done < len(out):
            at = one.start + done * one.step
            number = bisect_right(self.ends, at)
            cursor = self.cursors.take(self, number)
            try:
                values = cursor.values_from(number, at - (self.ends[number] - self.groups[number]))
                part = values[:: one.step][: len(out) - done]
                out[done : done + len(part)] = part
            except BaseException:
                cursor.close()
                raise
            self.cursors.give(cursor)
            done += len(part)


class Cursors:
    """Files that are open, each at the place to which it was read: a pass decodes a group once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Cursor] = []

    def __reduce__(self) -> Any:
        return Cursors, ()  # open files do not travel

    def take(self, column: ParquetColumn, number: int) -> _Cursor:
        """A cursor for the group ``number`` of ``column``: the one that stands nearest before."""
        with self._lock:
            near = [one for one in self._idle if number - 1 <= one.number <= number]
            if near:
                self._idle.remove(near[-1])
                return near[-1]
        return _Cursor(column)

    def give(self, cursor: _Cursor) -> None:
        """Keep ``cursor`` for who reads on."""
        with self._lock:
            self._idle.append(cursor)
            old = self._idle.pop(0) if len(self._idle) > _OPEN else None
        if old is not None:
            old.close()


class _Cursor:
    """A place in a file of a column, up to which it was decoded."""

    def __init__(self, column: ParquetColumn) -> None:
        self.column, self.number = column, -2
        self._file: Any = None
        self._path = ""
        self._batches: Iterator[Any] = iter(())
        self._begin, self._values = 0, np.empty(0, column.kind)

    def values_from(self, number: int, row: int) -> NDArray[Any]:
        """Values of the group ``number`` from its row ``row`` on: those of a batch.

        A store that fails for a moment is asked again.
        """
        file, own = self.column.place(number)
        if not is_address(file.path):
            return self._values_from(number, row)
        read = partial(self._values_from, number, row)
        return again(read, self._file, f"{shown_place(file.path)}, row group {own},")

    def _values_from(self, number: int, row: int) -> NDArray[Any]:
        try:
            if number != self.number or row < self._begin:
                self._go_to(number)
            while self._begin + len(self._values) <= row:
                self._begin += len(self._values)
                self._values = _numbers(self.column, next(self._batches))
        except (OSError, MemoryError, SpeedcubeError) as err:
            self.number = -2
            if not isinstance(err, OSError) or err.errno or isinstance(err, _PASSING):
                raise
            raise self._wrong(number, err) from None  # Arrow's, for what does not decode
        except StopIteration:
            raise self._wrong(number, "it ends before its last row") from None
        except Exception as err:
            raise self._wrong(number, err) from None
        return self._values[row - self._begin :]

    def _go_to(self, number: int) -> None:
        """Stand before the first row of the group ``number``, in whichever file that is."""
        known, own = self.column.place(number)
        if self._file is None or self._path != known.path:
            self.close()
            self._file, self._path = _opened(known.path, known.options), known.path
            if rows_of(self._file) != known.rows:
                raise DataFileError(f"{shown_place(known.path)} has changed since it was opened")
        self._batches = self._file.iter_batches(
            _BATCH, row_groups=[own], columns=[self.column.column], use_threads=False
        )
        self.number, self._begin = number, 0
        self._values = np.empty(0, self.column.kind)

    def _wrong(self, number: int, why: object) -> DataFileError:
        file, own = self.column.place(number)
        return DataFileError(
            f"{shown_place(file.path)}, row group {own} of column {self.column.column!r}, "
            f"cannot be read: {without_secrets(str(why), file.path, file.options)}"
        )

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._batches = iter(())
            self._file.close(force=True)
            self._file, self.number = None, -2


def _numbers(column: ParquetColumn, batch: Any) -> NDArray[Any]:
    """The values of ``batch``, with what is to stand where there are none."""
    values = batch.column(0)
    if hasattr(values, "dictionary"):
        values = values.dictionary_decode()
    if values.null_count and column.fill is not None:
        values = values.fill_null(column.fill)
    if values.null_count and not column.kind[1:].startswith("f"):
        raise no_values(column.label, column.column, column.kind)
    return np.asarray(values.to_numpy(zero_copy_only=False), column.kind)


def no_values(place: str, name: str, kind: str) -> DataFileError:
    """What is said of integers and truths that are missing."""
    return DataFileError(
        f"column {name!r} of {place} has rows without a value, for which "
        f"{np.dtype(kind)} has no number: fill={{{name!r}: 0}} puts one there"
    )


def opened(path: str, options: Mapping[str, Any] | None = None) -> Any:
    """The Parquet file at ``path``, a name or an address; `DataFileError` for what is none.

    A store that fails for a moment is asked again.
    """
    if not is_address(path):
        return _opened(path, options)
    return again(partial(_opened, path, options), None, shown_place(path))


def _opened(path: str, options: Mapping[str, Any] | None) -> Any:
    from pyarrow.parquet import ParquetFile

    place: Any = path
    if is_address(path):
        place = open_remote(path, options)
    else:
        open_regular(path).close()  # a pipe would be waited for
    try:
        return ParquetFile(
            place, buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True
        )
    except MemoryError:
        raise
    except Exception as err:
        if isinstance(err, OSError) and (err.errno or isinstance(err, _PASSING)):
            raise
        text = without_secrets(str(err), path, options)
        raise DataFileError(f"{shown_place(path)} cannot be read as Parquet: {text}") from None


def rows_of(file: Any) -> tuple[int, ...]:
    """The rows of each row group of ``file``."""
    found = file.metadata
    return tuple(int(found.row_group(k).num_rows) for k in range(found.num_row_groups))


def short(paths: list[str]) -> str:
    """What a plan calls these files."""
    return f"parquet {Path(shown_place(paths[0])).name}" + (
        f" and {len(paths) - 1} more" * (len(paths) > 1)
    )
