"""Where the names come from: a file, a URL, the City of Seattle's portal, or the sample here."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Final

from ...dataclass import dataclass
from ...errors import DataFileError
from ...shown import line, quoted
from . import data, fetch, reader

PORTAL: Final = "https://data.seattle.gov/api/views/jguv-t9rb/rows.csv?accessType=DOWNLOAD"
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


@dataclass(frozen=True)
class CleanNames:
    """Clean names, where they are from, and the SHA-256 of the file they were in."""

    origin: str
    names: list[str]
    sha256: str


def load(asked: str | None, tell: Callable[[str], object]) -> CleanNames:
    """The names in the file or at the URL ``asked``; None: the portal's, or else the sample.

    ``tell`` gets a line to show where the sample had to do. Whatever else cannot be had is a
    `DataFileError`.
    """
    if asked is None:
        try:
            return _fetched(PORTAL)
        except DataFileError as err:
            tell(f"{err}; the sample that ships with speedcube is used instead")
            return sample()
    if _URL.match(asked):
        return _fetched(asked)
    return _clean(Path(asked).name, reader.read_file(asked))


def sample() -> CleanNames:
    """The names that ship with the package: the 600 most frequent of the portal's."""
    content = resources.files(__package__).joinpath("sample.csv").read_bytes()
    name = "the sample of speedcube"
    return _clean(name, reader.read_bytes(content, name))


def _fetched(url: str) -> CleanNames:
    known = fetch.cached(url)
    content = fetch.download(url) if known is None else known
    names = _clean(url, reader.read_bytes(content, line(url)))
    if known is None:  # kept only now that it is known to be good
        fetch.keep(url, content)
    return names


def _clean(origin: str, table: reader.NamesFile) -> CleanNames:
    names = data.clean(table.names)
    training, held_out = data.split(names)
    if not training or not held_out:
        raise DataFileError(
            f"{quoted(origin)} holds {len(names)} names of a-z, hyphen, full stop and space, of "
            f"which {len(held_out)} are held out for validation; there must be names on both sides"
        )
    return CleanNames(origin, names, table.sha256)
