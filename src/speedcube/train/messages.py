"""What crosses from process to process: small frozen dataclasses, and the channel they travel on.

    driver --Dask task--> worker (agent) --fork server--> rank
    rank --channel--> agent --Dask events--> driver

Nothing here touches a disk. A channel is a socket pair between a worker and its own child.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final

from .environment import Surroundings

BEAT_SECONDS: Final = 0.5  # between two heartbeats of a rank
AWAY_SECONDS: Final = 1.0  # who did not run for so long was stopped itself, or its machine was


@dataclass(frozen=True)
class Place:
    """Where a rank runs: ``device`` is the name CUDA_VISIBLE_DEVICES knows it by; None: a CPU."""

    rank: int
    worker: str  # address
    host: str
    local_rank: int
    local_world_size: int
    device: str | None = None
    threads: int = 1  # of PyTorch, on a CPU


@dataclass(frozen=True)
class Settings:
    """What a job asked for, and every rank of it has to know."""

    job: str
    world_size: int
    backend: str
    out: str  # the run's directory, as ranks see it
    keep: int = 2  # checkpoints
    stop_on_nan: bool = False
    prunable: bool = False
    as_task: bool = False
    surroundings: Surroundings | None = None  # of the driver; None: the worker's stay


@dataclass(frozen=True)
class Launch:
    """Everything a rank needs to start; ``call`` is the pickled (function, args, kwargs)."""

    settings: Settings
    attempt: int
    place: Place
    devices: tuple[str, ...]  # of this job on this host, by local rank; (): as the worker sees them
    master: tuple[str, int]
    call: bytes
    scheduler: tuple[str, Any] | None = None  # address and Security, where futures travel
    path: tuple[str, ...] = ()  # where to import from: the driver's, and before it the worker's

    @property
    def rank(self) -> int:
        return self.place.rank


@dataclass(frozen=True)
class Outcome:
    """What the Dask task of a rank returns: the pickled value, or why there is none."""

    rank: int
    value: bytes | None
    problem: str = ""


class Channel:
    """One end of the socket pair between a rank and its agent; any thread may send."""

    def __init__(self, descriptor: int) -> None:
        self._connection = Connection(descriptor)
        self._sending = threading.Lock()

    def send(self, kind: str, **fields: Any) -> None:
        """Send a message; `OSError` where nobody listens any more."""
        with self._sending:
            self._connection.send((kind, fields))

    def receive(self, seconds: float) -> tuple[str, dict[str, Any]] | None:
        """The next message, or None after ``seconds``; `EOFError` at the other end's end."""
        if not self._connection.poll(seconds):
            return None
        try:
            kind, fields = self._connection.recv()
        except ConnectionResetError as err:
            raise EOFError from err
        return kind, fields

    def close(self) -> None:
        self._connection.close()
