"""What arrays are written to, as those see it who write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias

from numpy.typing import NDArray

from ...dataclass import dataclass

Item: TypeAlias = tuple[slice, ...]


@dataclass(frozen=True)
class Begun:
    """What a write notes before its first block: what is written, and on which blocks."""

    what: str  # the digest of the expression
    extents: tuple[int, ...]
    count: int


@dataclass(frozen=True, eq=False)
class Over:
    """What is there and is written over: a ``place``, as readers tell it, or ``memory``, or both.

    ``clears``: all of it goes before anything is read. ``resumes``: some of it may be written
    already. Readers of the same place have the same indices, those of a ``.npy`` file if their
    elements begin at byte ``start``; None where they never have.
    """

    place: str = ""
    memory: NDArray[Any] | None = None
    clears: bool = False
    resumes: bool = False
    start: int | None = -1


class BoxTarget(Protocol):
    """What takes boxes of an array."""

    @property
    def label(self) -> str:
        """What messages call it."""

    @property
    def is_kept(self) -> bool:
        """Whether what is written before an error or a kill can be gone on with."""

    def write(self, number: int, item: Item, values: NDArray[Any]) -> None:
        """Put ``values`` where the box ``item`` of the array, block ``number``, lies."""


class WriteTarget(BoxTarget, Protocol):
    """What takes an array a box at a time."""

    @property
    def unit(self) -> tuple[int, ...]:
        """How long each axis is of what is written at once: a chunk, or a shard."""

    @property
    def first(self) -> tuple[int, ...]:
        """Where the array begins in it."""

    @property
    def travels(self) -> bool:
        """Whether other processes can write to it, too."""

    @property
    def at_once(self) -> bool:
        """Whether several threads may write at a time."""

    @property
    def beside(self) -> str | None:
        """The path of what is written, where that is a file or folder of this machine."""

    def copies(self, extents: tuple[int, ...]) -> float:
        """How often a block of ``extents`` is held, at most, while it is written."""

    def over(self) -> Over | None:
        """What it writes over; None where it is new, or takes its place at the end."""

    def open(self) -> None:
        """Find it, or make it: what cannot be written to says so before anything is computed."""

    def earlier(self) -> Begun | None:
        """What an earlier write began and did not end, if that is to be gone on with."""

    def begin(self, begun: Begun) -> None:
        """Mark it incomplete."""

    def done(self) -> Iterable[int]:
        """The blocks that are there already."""

    def has(self, number: int) -> bool:
        """Whether block ``number`` is there already."""

    def clear(self) -> None:
        """Take away what a worker that was lost had begun to write."""

    def finish(self) -> None:
        """Everything is written: mark it so."""

    def leave(self) -> None:
        """Nobody writes any more: what is open is closed."""
