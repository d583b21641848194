"""The states of a loop on their way to its file, written by a thread while the loop goes on."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...dataclass import dataclass
from ...late import futures
from .states import KeptState, StateFile

COPIED: Final = 1 << 28  # bytes of a state; a larger one is no second time in memory


@dataclass(eq=False)
class StateWriter:
    """Writes states to ``file``, one at a time; ``failed`` is told where that cannot be."""

    file: StateFile
    failed: Callable[[OSError], None]
    cost: float = 0.0  # seconds that a write takes of the loop, and of a processor
    _share: float = 0.5  # of it that counts: the first one finds nothing loaded, and new memory
    _last: float = math.inf  # what the last one took
    _pool: Any = None
    _running: Any = None

    def is_free(self) -> bool:
        """Whether the last write is done; what it cost is known then."""
        if self._running is None:
            return True
        if not self._running.done():
            return False
        self._take()
        return True

    def write(self, step: int, tree: Any, leaves: Sequence[Any], began: float) -> None:
        """Write the state after ``step`` steps; the loop was held up for it since ``began``."""
        arrays = [np.asarray(one) for one in leaves]
        aside = sum(one.nbytes for one in arrays) <= COPIED
        if aside:  # a step may write over what it was given
            arrays = [one.copy() for one in arrays]
            self._pool = self._pool or futures.ThreadPoolExecutor(1, "speedcube-state")
            self._running = self._pool.submit(self._written, KeptState(step, tree, arrays))
        else:
            self._written_here(KeptState(step, tree, arrays))
        self.cost = time.monotonic() - began
        if not aside:
            self._count()

    def finish(self) -> None:
        """Wait for the write that runs."""
        try:
            if self._running is not None:
                self._take()
        finally:
            if self._pool is not None:
                self._pool.shutdown()

    def _written(self, state: KeptState) -> float:
        began = time.thread_time()  # waiting for a disk holds nobody up
        self.file.write(state)
        return time.thread_time() - began

    def _written_here(self, state: KeptState) -> None:
        try:
            self.file.write(state)
        except OSError as err:
            self.failed(err)

    def _take(self) -> None:
        running, self._running = self._running, None
        try:
            self.cost += running.result()
        except OSError as err:
            self.failed(err)
        self._count()

    def _count(self) -> None:
        """One that takes much longer than others, as the system makes room, is none to go by."""
        took, self._last = min(self.cost, self._last), self.cost
        self.cost, self._share = took * self._share, 1.0
