"""Data that ranks send home beside rows: `emit` in a rank, `Job.emitted` at the driver.

It travels in chunks with the job's other messages, in order with the rows, and through the Dask
scheduler: right for a summary, an image or a model of some MB. What must be large or survive a
crash is a checkpoint. Names are only names here; nobody opens a file of that name.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ...errors import ParameterTypeError
from ..messages import Chunk
from .context import current

CHUNK_BYTES: Final = 1 << 18
FORGET_BYTES: Final = 32 << 20  # that the scheduler may keep in its log of events
_ANY: Final = "surrogatepass"  # every str of Python travels

_numbers: Final = itertools.count()


@dataclass(frozen=True)
class Emitted:
    """What one call of `emit` sent; ``path`` holds it in the run's directory."""

    rank: int
    topic: str
    name: str
    text: bool  # whether it was a str
    path: Path

    def read(self) -> str | bytes:
        """The data as it was given."""
        data = self.path.read_bytes()
        return data.decode("utf-8", _ANY) if self.text else data


def emit(name: str, data: str | bytes, *, topic: str = "") -> None:
    """Send ``data`` to the driver, where `Job.emitted` yields it with its name, topic and rank.

    Raises
    ------
    ParameterTypeError
        ``data`` is no str, bytes or other buffer; ``name`` or ``topic`` no str.
    TrainError
        Outside of a rank.
    """
    link = current().link
    try:
        whole = memoryview(data.encode("utf-8", _ANY) if isinstance(data, str) else data).cast("B")
        called = name.encode("utf-8", _ANY), topic.encode("utf-8", _ANY)
    except (TypeError, AttributeError) as err:
        raise ParameterTypeError(
            f"emit({name!r}, a {type(data).__name__}): give a name and a str or bytes; "
            "json.dumps() or pickle.dumps() make one of other data"
        ) from err
    number, text = next(_numbers), isinstance(data, str)
    for start in range(0, max(1, len(whole)), CHUNK_BYTES):
        part = bytes(whole[start : start + CHUNK_BYTES])
        last = start + CHUNK_BYTES >= len(whole)
        link.send(Chunk(number, *called, text, part, last))


class Inbox:
    """Chunks put together at the driver, in files below ``directory``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._logged = 0

    def add(self, rank: int, attempt: int, chunk: Chunk) -> Emitted | None:
        """Keep one chunk of a rank; with the last one, what it belongs to."""
        self._directory.mkdir(parents=True, exist_ok=True)
        path = self._directory / f"{attempt}-{rank}-{chunk.number}"
        with path.open("ab") as file:
            file.write(chunk.data)
        self._logged += len(chunk.data)
        if not chunk.last:
            return None
        topic, name = (field.decode("utf-8", _ANY) for field in (chunk.topic, chunk.name))
        return Emitted(rank, topic, name, chunk.text, path)

    def full(self) -> bool:
        """Whether so much came since this was last true that the scheduler should forget it."""
        full = self._logged > FORGET_BYTES
        self._logged *= not full
        return full
