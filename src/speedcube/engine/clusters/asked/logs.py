"""What Dask keeps of the messages that were sent, for its developers.

A connection keeps the last thousand, each of up to a megabyte, and with them the arrays of tasks:
a driver whose scheduler is in its own process would grow by a gigabyte for each worker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any


def empty(client: Any) -> None:
    """Drop what ``client``'s connections in this process have kept."""
    for connection in _connections(client):
        log = getattr(connection, "recent_message_log", None)
        if isinstance(log, deque):
            log.clear()


def _connections(client: Any) -> Iterator[Any]:
    """The client's own, and those of a scheduler in this process."""
    yield getattr(client, "scheduler_comm", None)
    scheduler = getattr(client.cluster, "scheduler", None)
    for name in ("stream_comms", "client_comms"):
        yield from [*getattr(scheduler, name, {}).values()]
