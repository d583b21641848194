"""The store that the ranks of a job share: a file of this user's, or a server of rank 0's.

A server takes keys from whoever connects, and knows no users. So ranks on our own cluster, which
are all on one machine, share a file in a directory that only their user can enter.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from ..messages import Launch

RENDEZVOUS_SECONDS: Final = 1800  # for peers, whose workers may be busy: as PyTorch waits
POLLS: Final = (0.0005, 0.05)  # seconds between two looks into the file: at first, after a while


def shared(launch: Launch, rendezvous: int | None) -> Any:
    """The store of a rank; rank 0 serves it on the socket ``rendezvous`` where it is no file."""
    from torch import distributed as dist

    patience = timedelta(seconds=RENDEZVOUS_SECONDS)
    if launch.store:
        store = dist.FileStore(launch.store, -1)
        store.set_timeout(patience)
        return store
    host, port = launch.master
    first = launch.rank == 0
    return dist.TCPStore(
        host,
        port,
        launch.settings.world_size,
        is_master=first,
        timeout=patience,
        wait_for_workers=False,
        master_listen_fd=rendezvous if first else None,
    )


def part(store: Any, name: str) -> Any:
    """A part of ``store``, whose keys clash with no other part's."""
    from torch import distributed as dist

    prefixed = dist.PrefixStore(name, store)
    return Polled(prefixed) if isinstance(store, dist.FileStore) else prefixed


@dataclass(frozen=True)
class Polled:
    """A store in a file that is looked into often at first; PyTorch does each 10 ms."""

    store: Any

    def wait(self, keys: Sequence[str], timeout: timedelta) -> None:
        """Return when all ``keys`` are there; ``DistStoreError`` after ``timeout``."""
        from torch.distributed import DistStoreError

        began, (pause, longest) = time.monotonic(), POLLS
        while not self.store.check(keys):
            if time.monotonic() - began > timeout.total_seconds():
                raise DistStoreError(f"{', '.join(keys)} did not come within {timeout}")
            time.sleep(pause)
            pause = min(pause * 1.05, longest)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)
