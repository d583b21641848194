"""Workers are claimed all at once or not at all. These functions run on the Dask scheduler.

A table in the scheduler's memory says which job holds which workers and who waits, first come
first served. It is read by polling, so that a driver that died holds nothing: claims and places
in the queue of clients that are gone are dropped at the next call.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import field
from typing import Any, Final

from ...dataclass import dataclass

LATELY_SECONDS: Final = 3.0  # workers tell their scheduler every half second that they live


@dataclass
class ClaimTable:
    """Who holds what, who waits for how much: jobs by name, in order of arrival."""

    held: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)  # client, workers
    queue: dict[str, tuple[str, int, frozenset[str]]] = field(default_factory=dict)

    def drop(self, clients: set[str], workers: set[str]) -> None:
        """Forget what belongs to clients and workers that are gone."""
        self.held = {
            job: (client, tuple(worker for worker in claimed if worker in workers))
            for job, (client, claimed) in self.held.items()
            if client in clients
        }
        self.queue = {job: wait for job, wait in self.queue.items() if wait[0] in clients}

    def busy(self, but: str) -> set[str]:
        """Workers that other jobs hold."""
        return {
            worker for job, (_, claimed) in self.held.items() if job != but for worker in claimed
        }

    def claim(
        self,
        job: str,
        client: str,
        count: int,
        allowed: frozenset[str],
        hosts: dict[str, str],
        occupied: frozenset[str],
    ) -> tuple[str, ...]:
        """``count`` workers of ``allowed`` for ``job``, or () while others have them or wait.

        Those ``occupied`` with tasks come only where there are too few others.
        """
        own = [worker for worker in self.held.get(job, ("", ()))[1] if worker in allowed]
        if job not in self.held:  # a restart has waited once, and goes before those who wait
            self.queue.setdefault(job, (client, count, allowed))
            before = list(self.queue)[: list(self.queue).index(job)]
            if any(self.queue[other][2] & allowed for other in before):
                return ()
        free = allowed - self.busy(job) - set(own)
        if len(own) + len(free) < count:
            return ()
        if len(own) + len(free - occupied) >= count:
            free -= occupied
        chosen = tuple(sorted((*own, *together(free, count - len(own), hosts))[:count]))
        self.held[job] = (client, chosen)
        self.queue.pop(job, None)
        return chosen


def together(free: frozenset[str], count: int, hosts: dict[str, str]) -> list[str]:
    """``count`` of the free workers on as few hosts as possible, the fullest that fits first."""
    sizes = Counter(hosts[worker] for worker in free)
    fits = [host for host, size in sizes.items() if size >= count]
    if fits:
        best = min(fits, key=lambda host: (sizes[host], host))
        return sorted(worker for worker in free if hosts[worker] == best)[:count]
    return sorted(free, key=lambda worker: (-sizes[hosts[worker]], hosts[worker], worker))[:count]


def _table(scheduler: Any) -> ClaimTable:
    table: ClaimTable = scheduler.extensions.setdefault("speedcube-train", ClaimTable())
    table.drop(set(scheduler.clients), set(scheduler.workers))
    return table


def claim(
    job: str,
    client: str,
    count: int,
    names: tuple[Any, ...] | None,
    avoid: tuple[str, ...] = (),
    dask_scheduler: Any = None,
) -> tuple[tuple[tuple[str, Any], ...], str]:
    """The (address, name) of each worker granted to ``job``, none yet: (), and why it has to wait.

    ``names`` are the workers it may have (None: all), ``avoid`` addresses that failed it before.
    """
    table = _table(dask_scheduler)
    workers = {
        address: state
        for address, state in dask_scheduler.workers.items()
        if state.status.name == "running" and address not in avoid
    }
    usable = frozenset(a for a, w in workers.items() if names is None or w.name in names)
    hosts = {address: state.host for address, state in workers.items()}
    occupied = frozenset(a for a in usable if _occupied(workers[a], job))
    granted = table.claim(job, client, count, usable, hosts, occupied)
    if granted:
        return tuple((address, workers[address].name) for address in granted), ""
    holders = ", ".join(
        f"{other} has {len(claimed)}" for other, (_, claimed) in table.held.items() if other != job
    )
    return (), f"{len(usable)} workers can be used, {count} are needed; {holders or 'none taken'}"


def release(job: str, topic: str, dask_scheduler: Any = None) -> None:
    """Give back what ``job`` holds and its place in the queue; forget its events."""
    table = _table(dask_scheduler)
    table.held.pop(job, None)
    table.queue.pop(job, None)
    forget(topic, dask_scheduler)


def forget(topic: str, dask_scheduler: Any = None) -> None:
    """Drop the events that the scheduler keeps of ``topic``; its subscribers have them."""
    dask_scheduler._broker.truncate(topic)


def look(
    job: str, workers: tuple[str, ...], dask_scheduler: Any = None
) -> tuple[list[str], list[str], list[str]]:
    """Of ``workers`` those that the scheduler has lost; that are busy with what is not ``job``'s;
    that it has heard of lately.
    """
    known = dask_scheduler.workers
    gone = [worker for worker in workers if worker not in known]
    busy = [w for w in workers if w in known and _occupied(known[w], job)]
    lately = time.time() - LATELY_SECONDS
    return gone, busy, [w for w in workers if w in known and known[w].last_seen > lately]


def _occupied(state: Any, job: str) -> bool:
    """Whether tasks other than ``job``'s have, or wait for, the threads of a worker."""
    tasks = state.processing - state.long_running  # a rank's agent has left its thread
    return any(not str(task.key).startswith(f"{job}-attempt-") for task in tasks)
