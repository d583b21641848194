"""The process that a task runs in: its threads, its GPU, and whether the task was cancelled."""

from __future__ import annotations

import sys
import threading
from typing import Any

from ... import machine
from ...boxes import Stop
from ...streams.worker import StreamWorker
from ...tasks import Worker


def worker_threads() -> int:
    """Threads of the Dask worker this runs on; this machine's cores elsewhere."""
    from distributed import get_worker

    try:
        return int(get_worker().state.nthreads)
    except ValueError:
        return machine.cores()


def use_gpu() -> bool:
    """Whether this process was started for a GPU: dask-cuda prepared it, and it sees one."""
    return "dask_cuda" in sys.modules and machine.gpu_count() > 0


class TaskStop(Stop):
    """Raised also when Dask cancels the task of this thread: whoever asked pressed Ctrl-C.

    And when the program ends, which waits for its threads: Dask's threaded scheduler leaves its
    own to finish what nobody waits for any more.
    """

    __slots__ = ("task",)

    def __init__(self) -> None:
        super().__init__()
        self.task = _current_task()

    def is_set(self) -> bool:
        cancelled = self.task is not None and self.task.state == "cancelled"
        # No public name says so this early.
        if cancelled or getattr(threading, "_SHUTTING_DOWN", False):
            self.set()
        return self.raised


def _current_task() -> Any:
    """What the Dask worker knows of the task this thread runs; None elsewhere."""
    from distributed import get_worker

    try:
        worker = get_worker()
        return worker.state.tasks.get(worker.get_current_task())
    except (ValueError, KeyError):
        return None


def worker_here(gpu: bool | None, threads: int | None) -> tuple[int, Worker]:
    """Threads to use, and what runs parts on them."""
    on_gpu = use_gpu() if gpu is None else gpu
    count = 1 if on_gpu else worker_threads() if threads is None else threads
    return count, StreamWorker(TaskStop(), 0 if on_gpu else None)
