"""Anything that is assigned to by slices: arrays of NumPy's and h5py's, memory maps, Zarr's."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...engine.foreign.seen import mapped, place_of
from ...engine.writing.target import Begun, Item, Over


@dataclass(frozen=True, eq=False)
class Assigned:
    """``target[slices] = values``, one at a time while ``lock`` is held."""

    target: Any
    first: tuple[int, ...]
    shape: tuple[int, ...]
    unit: tuple[int, ...]
    lock: AbstractContextManager[Any]
    travels = False
    at_once = True
    is_kept = False
    is_plain = False
    beside = None

    def copies(self, extents: tuple[int, ...]) -> float:
        """Nobody knows; what encodes chunks has a few."""
        return 4.0

    @property
    def label(self) -> str:
        """The kind of the target."""
        return type(self.target).__name__

    def over(self) -> Over | None:
        """The box that is assigned to."""
        if not isinstance(self.target, np.ndarray):
            place = place_of(self.target)
            return None if place is None else Over(place)
        there: list[Any] = [slice(f, f + n) for f, n in zip(self.first, self.shape, strict=True)]
        memory, found = self.target[(*there, ...)], mapped(self.target)
        return Over(memory=memory) if found is None else Over(found[0], memory, start=found[1])

    def open(self) -> None:
        """It is there."""

    def earlier(self) -> Begun | None:
        """Nothing: who assigns leaves no note."""
        return None

    def begin(self, begun: Begun) -> None:
        """There is no mark."""

    def write(self, number: int, item: Item, values: NDArray[Any]) -> None:
        """Assign ``values`` where they belong."""
        places = zip(item, self.first, strict=True)
        there = tuple(slice(s.start + f, s.stop + f) for s, f in places)
        with self.lock:
            self.target[there] = values

    def done(self) -> Iterable[int]:
        """Nothing: who assigns cannot know."""
        return ()

    def has(self, number: int) -> bool:
        """Nobody can know."""
        return False

    def clear(self) -> None:
        """Nothing lies about."""

    def finish(self) -> None:
        """There is no mark."""

    def leave(self) -> None:
        """What is open is its owner's."""


def unit_of(target: Any, ndim: int) -> tuple[int, ...]:
    """How long each axis is of what ``target`` stores together: a shard, a chunk, an element."""
    for name in ("shards", "chunks"):
        unit = getattr(target, name, None)
        if isinstance(unit, tuple) and len(unit) == ndim and all(type(n) is int for n in unit):
            return tuple(max(1, n) for n in unit)
    return (1,) * ndim
