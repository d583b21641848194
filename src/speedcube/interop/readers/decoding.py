"""Threads that decode chunks: as many as there are cores, for all who read, as long as we live.

New ones for each box would take longer than its chunks, and each has memory of its own allocator.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from ...engine.machine import cores
from ...late import futures

Item = TypeVar("Item")


class _Decoders:
    """The pool; a process that was forked has none of its threads, and makes its own."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self._lock = threading.Lock()
        self._pool: Any = None

    def pool(self) -> Any:
        """The executor, made when it is first needed."""
        with self._lock:
            if self._pool is None:
                self._pool = futures.ThreadPoolExecutor(cores(), "speedcube-decoder")
            return self._pool


_DECODERS: Final = _Decoders()
os.register_at_fork(after_in_child=_DECODERS.forget)


def all_done(work: Callable[[Item], bool], items: Sequence[Item]) -> bool:
    """Whether ``work`` could be done of all ``items``; none goes on when this returns or raises."""
    if len(items) == 1:
        return work(items[0])
    pool = _DECODERS.pool()
    given = [pool.submit(work, one) for one in items]
    try:
        return all([one.result() for one in given])
    finally:
        for one in given:
            one.cancel()
        futures.wait(given)
