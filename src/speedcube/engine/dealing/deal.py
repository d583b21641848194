"""Who takes how many slices of an axis: as many as fit the speed that each worker has shown.

A worker asks for its next piece when it has done one. It gets half of what it would do until all
of them end together, if they went on as they did in their last pieces: pieces shrink towards the
end, so a slow worker is never waited for long, and there are few of them. The first two are small:
what is expected may be wrong, and in the first kernels are compiled. Which piece is whose
depends on time, so only what has the same bits wherever it is cut may be dealt.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import field
from typing import Final

from ...dataclass import dataclass

LEAST: Final = 0.02  # seconds of a piece: below that a GPU's launches count
MOST: Final = 1.0  # seconds of a piece: after them a stop is looked for
TRIED: Final = 2  # pieces of the least size: one warms up, one shows the speed


@dataclass(eq=False)
class Dealt:
    """What a worker was given so far: slices, pieces, seconds; and its last speed."""

    rate: float  # slices a second: expected, then as in the last piece
    slices: int = 0
    pieces: int = 0
    seconds: float = 0.0
    has_left: bool = False


@dataclass(eq=False)
class Dealer:
    """``extent`` slices for workers that are expected to do ``rates`` of them a second."""

    extent: int
    rates: Sequence[float]
    workers: list[Dealt] = field(default_factory=list)
    start: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.workers = [Dealt(rate) for rate in self.rates]

    def take(self, number: int) -> tuple[int, int] | None:
        """The next slices, ``[start, stop)``, of worker ``number``; None: it is done."""
        with self._lock:
            left = self.extent - self.start
            count = self._count(number, left)
            if not count:
                return None
            start, self.start = self.start, self.start + count
            dealt = self.workers[number]
            dealt.slices, dealt.pieces = dealt.slices + count, dealt.pieces + 1
            return start, start + count

    def _count(self, number: int, left: int) -> int:
        own = self.workers[number]
        others = [one.rate for one in self.workers if one is not own and not one.has_left]
        together = sum(others) + own.rate
        if others and 1 / own.rate > max(1 / max(others), left / sum(others)):
            own.has_left = True  # one slice would take it longer than the others all that are left
            return 0
        if others and own.rate < max(others) and left / together < LEAST:
            own.has_left = True  # what is left is one piece of a faster one
            return 0
        seconds = LEAST if own.pieces < TRIED else min(MOST, max(LEAST, left / together / 2))
        return min(left, max(1, int(own.rate * seconds)))

    def took(self, number: int, slices: int, seconds: float) -> None:
        """Worker ``number`` has done a piece of ``slices`` in ``seconds``."""
        with self._lock:
            own = self.workers[number]
            own.seconds += seconds
            if own.pieces >= TRIED:
                own.rate = slices / max(seconds, 1e-9)
