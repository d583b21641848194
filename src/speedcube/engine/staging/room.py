"""Memory of the host for chunks that are decoded: as many at once as there is room for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...plan.reads import AHEAD, LARGE


class Room:
    """Buffers of about ``most`` bytes together, each used again by what has its size.

    Memory that is new costs a page fault for every 4 kB, at which threads wait for one another.
    """

    def __init__(self, most: int) -> None:
        self.most, self.taken = most, 0
        self._idle, self._change = list[NDArray[np.uint8]](), Condition()

    @contextmanager
    def buffer(self, count: int) -> Iterator[NDArray[np.uint8]]:
        """A buffer of ``count`` bytes, once there is room for it; `AHEAD` always have room."""
        memory = self._take(count)
        try:
            yield memory
        finally:
            with self._change:
                self.taken -= count
                self._idle.append(memory)
                self._change.notify_all()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep buffers for what comes next; none is left in the end."""
        try:
            yield
        finally:
            with self._change:
                self._idle.clear()

    def _take(self, count: int) -> NDArray[np.uint8]:
        with self._change:
            self._change.wait_for(lambda: self.taken + count <= max(self.most, AHEAD * count))
            self.taken += count
            same = [one for one in self._idle if one.size == count]
            if same:
                self._idle = [one for one in self._idle if one is not same[0]]
                return same[0]
            kept = self.taken + sum(one.size for one in self._idle)
            while self._idle and kept > self.most:
                kept -= self._idle.pop(0).size
        return np.empty(count, np.uint8)


LARGE_CHUNKS: Final = Room(LARGE)
