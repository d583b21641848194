"""What ranks emit, put together from its chunks in the run's directory."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ...dataclass import dataclass
from ...files import OWN_FOLDER, own_file
from ..messages import ANY_TEXT, Chunk

FORGET_BYTES: Final = 32 << 20  # that the scheduler may keep in its log of events


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
        return data.decode("utf-8", ANY_TEXT) if self.text else data


class Inbox:
    """Chunks put together at the driver, in files below ``directory``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._logged = 0

    def add(self, rank: int, attempt: int, chunk: Chunk) -> Emitted | None:
        """Keep one chunk of a rank; with the last one, what it belongs to."""
        for folder in (self._directory.parent, self._directory):
            folder.mkdir(OWN_FOLDER, exist_ok=True)
        path = self._directory / f"{attempt}-{rank}-{chunk.number}"
        with open(path, "ab", opener=own_file) as file:
            file.write(chunk.data)
        self._logged += len(chunk.data)
        if not chunk.last:
            return None
        topic, name = (field.decode("utf-8", ANY_TEXT) for field in (chunk.topic, chunk.name))
        return Emitted(rank, topic, name, chunk.text, path)

    def full(self) -> bool:
        """Whether so much came since this was last true that the scheduler should forget it."""
        full = self._logged > FORGET_BYTES
        self._logged *= not full
        return full
