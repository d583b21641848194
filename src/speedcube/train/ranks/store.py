"""The store that the ranks of a job share: a file of this user's, or a server of rank 0's.

A server takes keys from whoever connects, and knows no users. So ranks on our own cluster, which
are all on one machine, share a file in a directory that only their user can enter.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from ...dataclass import dataclass
from ..messages import Launch

RENDEZVOUS_SECONDS: Final = 1800  # for peers, whose workers may be busy: as PyTorch waits
STEPS: Final = 4096  # in one file
POLLS: Final = (0.0001, 0.05)  # seconds between two looks into the file: at first, after a while


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


class Steps:
    """The store of what ranks agree on at each step: of a few thousand steps, then another.

    A store in a file grows with all that is written, and a job may have millions of steps.
    """

    def __init__(self, launch: Launch, store: Any) -> None:
        self._launch = launch
        self._number, self._store = 0, store

    def at(self, step: int) -> tuple[Any, Any]:
        """The store for ``step``, in which all ranks are or to which they come.

        Again, or None, where a witness can use a connection of its own to the ranks' first store.
        """
        number = step // STEPS if self._launch.store else 0
        if number != self._number:
            from torch import distributed as dist

            self._number = number
            name = f"{self._launch.store}-{number}"
            store = dist.FileStore(name, -1)
            store.set_timeout(timedelta(seconds=RENDEZVOUS_SECONDS))
            self._store = part(store, "steps")
            if self._launch.rank == 0 and number > 1:  # nobody is in there any more
                Path(f"{self._launch.store}-{number - 2}").unlink(missing_ok=True)
        return self._store, self._store if number else None


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
