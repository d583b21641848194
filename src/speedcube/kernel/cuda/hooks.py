"""What every GPU sink is: a class of hooks around units, tiles, batches and elements."""

from __future__ import annotations

from typing import Final

from ..program import Sink
from .text import CudaText

WAIT: Final = "__syncthreads();"


class CudaSink:
    """A sink's declarations, what it does as a unit begins, with each element, as a unit ends."""

    dealt = False  # tiles are dealt out to the pieces one by one

    def __init__(self, text: CudaText, sink: Sink, tag: str) -> None:
        self.text, self.put = text, text.put
        self.sink, self.tag = sink, tag  # which sets its names apart from those of others
        self.out = f"out{tag}"

    def support(self) -> list[str]:
        """Functions that the kernel calls."""
        return []

    def declare(self) -> None:
        """Shared memory of the kernel."""

    def begin(self) -> None:
        """A unit begins."""

    def batch(self, size: int) -> None:
        """A thread computes ``size`` elements."""

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        """Element (j, e) of the tile, number ``a`` of the batch, has been computed."""
        raise NotImplementedError

    def after_batch(self, size: int) -> None:
        """The elements of the batch have been computed."""

    def place(self, j: str, e: str) -> str:
        """Where (the first sink) stores element (j, e)."""
        raise NotImplementedError

    def neighbours(self, count: int) -> None:
        """The next ``count`` elements, from ``e0``, lie side by side."""

    def after_neighbours(self, count: int) -> None:
        """They have been computed."""

    def after_tile(self) -> None:
        """A tile is done."""

    def end(self) -> None:
        """A unit ends."""
