"""What every CPU sink is: a class of hooks around records, tiles and vectors of elements."""

from __future__ import annotations

from .elements import Elements, Tile


class LaneSink:
    """What a sink does as a record begins, around a tile, with each vector, as a record ends."""

    def __init__(self, elements: Elements) -> None:
        self.elements = elements

    def begin(self, record: str) -> None:
        """A record begins, or the elements of a result, at ``record``."""
        raise NotImplementedError

    def take(self, tile: Tile) -> None:
        """Compute the elements of ``tile``."""
        self.before(tile)
        self.elements.element_loop(tile, self.consume)
        self.after(tile)

    def before(self, tile: Tile) -> None:
        """The elements of ``tile`` will be computed."""

    def consume(self, outputs: dict[str, str], j: str, mask: str | None) -> None:
        """Elements j, j + 1 ... of the tile have been; those of ``mask`` count."""
        raise NotImplementedError

    def after(self, tile: Tile) -> None:
        """The elements of ``tile`` have been computed."""

    def end(self) -> None:
        """The record ends."""
