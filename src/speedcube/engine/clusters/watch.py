"""A look, now and then, at a scheduler and its workers, for those who wait for them.

A worker is done without when nothing was heard of it for the time that users give, and its
process, seen by its nanny, used no time of a processor: one that is only busy is waited for.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Any, Final, Protocol

from ...dataclass import dataclass
from .losses import scheduler_of, standing
from .patience import Listed, Quiet, Sayings, WorkerKey, worker_timeout

_NANNY: Final = 3.0  # seconds that a nanny has for its answer
_REACHED: Final = 1.0  # seconds for word to reach all workers that can be reached
_TIMES: Final = 3  # that they are told of one that has gone
_WINDOW: Final = 5.0  # seconds in which a busy process uses some processor time
_USED: Final = 0.02  # seconds of it

# Those that were done without, with their last sign of life.
_given_up: Final[dict[WorkerKey, float]] = {}


def alive(workers: Iterable[Listed]) -> list[Listed]:
    """Those of ``workers`` that were not given up, or have been heard of since."""
    return [one for one in workers if _given_up.get(one.key) != one.last_seen]


def any_given_up() -> bool:
    """Whether any worker ever was."""
    return bool(_given_up)


@dataclass
class Watch:
    """What one computation has seen of its scheduler and its workers, and has said of it."""

    client: Any
    limit: float = field(default_factory=worker_timeout)
    sayings: Sayings = field(default_factory=Sayings)
    silence: Quiet = field(default_factory=Quiet)
    began: float = field(default_factory=time.monotonic)
    _looked: float = field(default_factory=time.monotonic)
    _told: dict[str, int] = field(default_factory=dict)  # of workers that have gone: how often
    # Of silent workers: since when, the processor time then, whether it used some lately.
    _used: dict[WorkerKey, tuple[float, float, bool]] = field(default_factory=dict)

    async def look(self) -> tuple[list[Listed], dict[Listed, float]]:
        """The workers that the scheduler lists, and for how long the silent ones have been so."""
        scheduler, states = await identity(self)
        there = [
            Listed(address, (scheduler, address, s["local_directory"]), s["name"], s["last_seen"])
            for address, s in sorted(states.items())
        ]
        now = time.monotonic()
        passed, self._looked = now - self._looked, now
        return there, self.silence.after(passed, there, self.limit)

    async def told(self, topic: str) -> Sequence[Any]:
        """The last events of ``topic`` that the scheduler has."""
        question = scheduler_of(self.client).events(topic=topic)
        found: Sequence[Any] = await standing(self.client, question, self.limit, self.sayings)
        return found or ()

    async def hopeless(
        self, silent: Mapping[Listed, float], awaited: Mapping[Listed, str]
    ) -> list[Listed]:
        """Those of ``silent`` to go on without, where something is ``awaited`` of them."""
        given_up = []
        keys = {worker.key for worker in silent}
        self._used = {key: used for key, used in self._used.items() if key in keys}
        for worker, seconds in silent.items():
            if worker not in awaited:
                continue
            seen = worker.key in self._used
            busy = await self._is_busy(worker)
            if worker.key in self._used and not seen:
                continue  # the next look tells whether its process runs
            if busy or seconds < self.limit:
                self._say(worker, seconds, awaited[worker], busy)
            else:
                given_up.append(worker)
        _given_up.update((worker.key, worker.last_seen) for worker in given_up)
        return given_up

    def say_given_up(
        self, given_up: Mapping[Listed, float], awaited: Mapping[Listed, str], left: int
    ) -> None:
        """Say without which workers, silent for so many seconds, this computation goes on."""
        for worker, seconds in given_up.items():
            self.sayings.say(
                f"worker {worker} is given up, after {seconds:.0f} s without a sign of life "
                f"(worker_timeout={self.limit:g}), and with it {awaited[worker]}: others go on, "
                f"and make again what they need of that ({left} are there)",
                worker.key,
                worker.last_seen,
                "given up",
            )

    def say_gone(self, gone: Sequence[str], left: int) -> None:
        """Say which workers this computation has lost."""
        for worker in gone:
            self.sayings.say(
                f"worker {worker} has gone: what it had of this computation is made again, from "
                f"its last record on, by others ({left} are there)",
                worker,
                "gone",
            )

    async def disconnect(self, gone: Sequence[str], listed: Iterable[Listed]) -> None:
        """Have those ``listed`` give up connecting to workers ``gone``, at the next looks again.

        Dask tells them to. Who is told so, and just before that to fetch from such a worker, begins
        to connect after that, and goes on for 30 seconds (`distributed.comm.timeouts.connect`).
        """
        import asyncio

        self._told |= dict.fromkeys(gone, 0)
        back = {one.address for one in listed}
        some = [a for a, times in self._told.items() if times < _TIMES and a not in back]
        if not some:
            return
        self._told |= {address: self._told[address] + 1 for address in some}

        def there(gone: Sequence[str], dask_worker: Any) -> None:  # these are sent by value
            for address in gone:
                dask_worker.rpc.remove(address)

        def at_scheduler(gone: Sequence[str], dask_scheduler: Any) -> None:
            for address in {*gone}.difference(dask_scheduler.workers):
                dask_scheduler.rpc.remove(address)

        told = self.client.run(there, some, on_error="ignore")
        heard = self.client.run_on_scheduler(at_scheduler, some)
        # Workers may be stopped, and a scheduler may run nothing that is sent to it.
        with suppress(TimeoutError):
            both = asyncio.gather(told, heard, return_exceptions=True)
            await asyncio.wait_for(both, _REACHED)

    def _say(self, worker: Listed, seconds: float, awaited: str, busy: bool) -> None:
        why = "its process is busy" if busy else "it is stopped, or cut off"
        then = "" if busy else f"; after {self.limit:g} s without it (worker_timeout=)"
        text = f"no sign of life from worker {worker} for {seconds:.0f} s: {why}"
        self.sayings.say(f"{text}; waiting for {awaited}{then}", worker.key, busy)

    async def _is_busy(self, worker: Listed) -> bool:
        """Whether the worker's process has used processor time lately; its nanny can see that."""
        used = await self._used_by(worker)
        if used is None:
            return False
        now = time.monotonic()
        at, before, busy = self._used.get(worker.key, (now, used, False))
        if now - at >= _WINDOW:
            at, before, busy = now, used, used - before > _USED
        else:
            busy = busy or used - before > _USED
        self._used[worker.key] = (at, before, busy)
        return busy

    async def _used_by(self, worker: Listed) -> float | None:
        """Seconds of processor time of the worker's process; None where nobody can tell."""
        import asyncio

        def used(dask_worker: Any) -> float | None:  # sent by value to the nanny
            import psutil

            process = psutil.Process(dask_worker.pid)
            return None if process.status() == "stopped" else sum(process.cpu_times()[:2])

        question = self.client.run(used, workers=[worker.address], nanny=True, on_error="return")
        try:
            (answer,) = (await asyncio.wait_for(question, _NANNY)).values()
        except Exception:  # no nanny, or none that answers
            return None
        return answer if isinstance(answer, float) else None


class Follower(Protocol):
    """Who is told, about once a second, how far a computation is."""

    @property
    def hears(self) -> bool:
        """Whether it wants what parts hand over."""

    def look(self, finished: Collection[str], events: Sequence[Any]) -> None:
        """Take note of the calls that are done, and of what the scheduler was told."""


async def identity(watch: Watch) -> tuple[str, dict[str, Any]]:
    """The scheduler's name for itself, and what it says of each worker, by address."""
    # Not client.scheduler_info(): a refresh of that, for few workers or none, may come between; and
    # programs replace it to get more than five.
    question = scheduler_of(watch.client).identity(n_workers=-1)
    found = await standing(watch.client, question, watch.limit, watch.sayings)
    return found["id"], found["workers"]
