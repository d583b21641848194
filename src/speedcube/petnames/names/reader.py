"""The names in a CSV file, read strictly: what is wrong is said with file, line and reason.

RFC 4180 with commas, UTF-8 with or without a byte order mark, a header. The names' column is found
by its name, in any of the spellings under which the City of Seattle's data goes around.
"""

from __future__ import annotations

import csv
import hashlib
import io
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from ...dataclass import dataclass
from ...errors import DataFileError
from ...shown import quoted

MAX_SIZE: Final = 1 << 20  # bytes of one line, characters of one field
# Letters of the spellings, the portal's first; a file may have columns of several.
SPELLINGS: Final = ("animalsname", "animalname", "petsname", "petname", "name")
_STRANGERS: Final = {
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"\x1f\x8b": "a gzip archive",
    b"PK\x03\x04": "a zip archive or a spreadsheet",
}
_REASONS: Final = {  # of the csv module, in the words of somebody who did not call it
    "new-line character seen": "a carriage return without a line feed; save it with line feeds",
    "field larger than": f"a field of more than {MAX_SIZE:,} characters",
    "unexpected end of data": "a quotation mark opens here and the file ends before it closes",
    "expected after": "a quotation mark within a field; write it twice",
}
_LIMIT: Final = threading.Lock()  # the csv module's own limit is the process's


@dataclass(frozen=True)
class NamesFile:
    """What a file said: its names, as they stand there, and the SHA-256 of its bytes."""

    names: list[str]
    sha256: str


def read_file(path: str | Path) -> NamesFile:
    """The names in the file ``path``; `DataFileError` where it cannot be read or understood."""
    try:
        with open(path, "rb") as file:
            return read(file, quoted(path))
    except OSError as err:
        raise DataFileError(f"{quoted(path)} cannot be read: {err.strerror or err}") from err


def read_bytes(content: bytes, name: str) -> NamesFile:
    """The names in ``content``, called ``name`` in errors."""
    return read(io.BytesIO(content), name)


def read(file: BinaryIO, name: str) -> NamesFile:
    """The names in ``file``, which is read once and called ``name`` in errors."""
    lines = _Lines(file, name)
    with _LIMIT:
        before = csv.field_size_limit(MAX_SIZE)
        try:
            rows = _rows(lines)
            header = next(rows, [])
            place = _place(header, lines)
            names = [_field(row, place, header, lines) for row in rows]
        finally:
            csv.field_size_limit(before)
    return NamesFile(names, lines.digest.hexdigest())


class _Lines:
    """The lines of a file as text, each counted and checked."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.file = file
        self.name = name
        self.line = 0  # the last one read
        self.row = 1  # where the row begins that is being read
        self.digest = hashlib.sha256()

    def __iter__(self) -> Iterator[str]:
        while raw := self.file.readline(MAX_SIZE + 1):
            self.digest.update(raw)
            self.line += 1
            yield self._text(raw)

    def _text(self, raw: bytes) -> str:
        if self.line == 1:
            self._check_kind(raw)
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        if len(raw) > MAX_SIZE:
            raise self.fault(f"longer than {MAX_SIZE:,} bytes", self.line)
        if b"\0" in raw:
            raise self.fault("it holds a NUL byte, which no text does", self.line)
        try:
            return raw.decode()
        except UnicodeDecodeError as err:
            reason = f"byte {err.start + 1}, 0x{raw[err.start]:02x}, is not UTF-8; save it as UTF-8"
            raise self.fault(reason, self.line) from err

    def _check_kind(self, raw: bytes) -> None:
        for magic, kind in _STRANGERS.items():
            if raw.startswith(magic):
                raise self.fault(f"it is {kind}, not a CSV file in UTF-8", 1)

    def fault(self, reason: str, line: int) -> DataFileError:
        return DataFileError(f"{self.name}, line {line}: {reason}")


def _rows(lines: _Lines) -> Iterator[list[str]]:
    """The rows that are not empty."""
    reader = csv.reader(iter(lines), strict=True)
    while True:
        lines.row = lines.line + 1
        try:
            row = next(reader, None)
        except csv.Error as err:
            said = next((text for key, text in _REASONS.items() if key in str(err)), str(err))
            raise lines.fault(said, lines.row) from err
        if row is None:
            return
        if row:
            yield row


def _place(header: Sequence[str], lines: _Lines) -> int:
    """Which column of ``header`` the names are in."""
    if not header:
        raise lines.fault("the file is empty; its first line names the columns", 1)
    letters = ["".join(filter(str.isalnum, column.casefold())) for column in header]
    for spelling in SPELLINGS:
        if letters.count(spelling) > 1:
            raise lines.fault(f"{letters.count(spelling)} columns are names of pets", lines.row)
        if spelling in letters:
            return letters.index(spelling)
    shown = ", ".join(map(repr, header))
    if len(shown) > 200:
        shown = shown[:197] + "..."
    raise lines.fault(
        f'no column "Animal\'s Name" (or "name") among {shown}; separate columns by commas',
        lines.row,
    )


def _field(row: Sequence[str], place: int, header: Sequence[str], lines: _Lines) -> str:
    if len(row) != len(header):
        reason = f"{len(row)} fields, where the header names {len(header)}"
        raise lines.fault(reason, lines.row)
    return row[place]
