"""One attempt of a job: its ranks from the Dask tasks that start them to the last one's end."""

from __future__ import annotations

import math
import queue
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from typing import Any, Final

from ...dataclass import dataclass
from ...errors import TrainError
from ..events import JobEvent, from_event
from ..messages import (
    AWAY_SECONDS,
    Alive,
    Cause,
    Done,
    Down,
    Failed,
    Launch,
    Outcome,
    Place,
    Ready,
    Reported,
    Saving,
    StopRequest,
    TaskEnded,
    Waits,
)
from ..patience import BUSY, Silence
from ..worker import agent
from . import claims, placement, scheduler, timeouts
from .failures import STOPPED, Failure, failure_of, root
from .request import JobRequest
from .scheduler import Answers
from .timeouts import Rank
from .words import behind

GRACE_SECONDS: Final = 0.3  # after a failure, for the one that caused it to arrive
STOP_SECONDS: Final = 5.0  # after a rank has stopped, for the others to reach the same step
WORKER_SECONDS: Final = 0.5  # between two looks at the workers
DOWN_SECONDS: Final = 5.0  # for ranks to be killed
PRIORITY: Final = 100  # above tasks that wait for the same worker


@dataclass
class Attempt:
    """Start with `start`, then `watch` until it returns, then `stop`."""

    client: Any
    request: JobRequest
    number: int
    places: list[Place]
    backend: str
    scheduler: tuple[str, Any] | None
    hear: Callable[[JobEvent], None]  # every event of this attempt
    cancelled: Callable[[], bool]  # whether the user wants it to end
    events: queue.Queue[Any] = field(default_factory=queue.Queue)  # Dask's, not read yet, and ours
    futures: list[Any] = field(default_factory=list)
    ranks: dict[int, Rank] = field(default_factory=dict)
    values: dict[int, bytes] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    waits: bool = False  # for a worker that is busy, and has said so
    durations: deque[float] = field(default_factory=lambda: deque(maxlen=101))
    _answers: Answers = field(default_factory=Answers)

    def start(self) -> None:
        """Open the rendezvous on rank 0's worker and submit a task for each rank."""
        settings, job, first = self.request.settings, self.request.settings.job, self.places[0]
        ours = settings.environment is not None  # our own cluster: all ranks are on this machine
        given = job, self.number, first.host, ours
        opened = scheduler.ask_workers(
            self.client, agent.open_rendezvous, *given, workers=[first.worker]
        )
        port, store = opened[first.worker]
        call = self.request.call
        if len(call) > 1 << 20:  # one copy on a worker, from where the others fetch it
            call = scheduler.scatter(self.client, call, first.worker)
        now = time.monotonic()
        for place in self.places:
            launch = Launch(
                settings,
                self.number,
                place,
                self.backend,
                placement.visible_gpus(settings, self.places, place.host),
                (first.host, port),
                b"",
                self.scheduler,
                tuple(sys.path),
                store,
            )
            silence = Silence(place.process, BUSY)
            self.ranks[place.rank] = Rank(place, now, silence)
            future = self.client.submit(
                agent.run_rank,
                launch,
                call,
                key=f"{job}-attempt-{self.number}-rank-{place.rank}",
                pure=False,
                retries=0,
                priority=PRIORITY,
                workers=[place.worker],  # alone: else a busy one's neighbour would steal it
            )
            future.add_done_callback(partial(self._put, place.rank))
            self.futures.append(future)

    def _put(self, rank: int, future: Any) -> None:
        self.events.put(self._own(rank, TaskEnded(future)))

    def _own(self, rank: int, message: TaskEnded | Waits) -> JobEvent:
        return JobEvent(rank, self.number, time.time(), message)

    def watch(self) -> Failure | None:
        """Handle events until every rank has a value, or one failed; its failure, or None."""
        looked = seen = time.monotonic()
        deadline = math.inf
        while len(self.values) < len(self.places):
            seen = self._listen(seen)
            now = time.monotonic()
            if self.cancelled():
                return self._failure(0, Cause.CANCELLED, "")
            if self.failures and deadline == math.inf:
                stopping = self.failures[0].cause in STOPPED  # the others do so by themselves
                deadline = now + (STOP_SECONDS if stopping else GRACE_SECONDS)
            if now > deadline or len(self.failures) == len(self.places):
                if root(self.failures).cause is Cause.EXCEPTION:
                    self._look(now)  # a dead worker is the cause of what others raise
                return root(self.failures)
            if now - looked > WORKER_SECONDS:
                self._look(now)
                looked = time.monotonic()
        return None

    def _listen(self, before: float) -> float:
        """Handle all that has been said, waiting a little for it; when that was.

        A driver that was stopped since ``before`` must not take its own silence for its ranks'.
        """
        arrived = []
        with suppress(queue.Empty):
            arrived.append(self.events.get(timeout=0.1))
            arrived += [self.events.get_nowait() for _ in range(self.events.qsize())]
        now = time.monotonic()
        if now - before > AWAY_SECONDS:
            for rank in self.ranks.values():
                rank.forgive(now - before)
        for event in filter(None, map(self._read, arrived)):
            self._handle(event)
        return now

    def _read(self, event: Any) -> JobEvent | None:
        """What arrived as an event; None where it is of an attempt before this one."""
        read = event if isinstance(event, JobEvent) else from_event(event)
        if read.attempt != self.number:
            return None
        if read.rank not in self.ranks:
            raise TrainError(
                f"a worker sent an event of rank {read.rank}, which this job does not have"
            )
        return read

    def _handle(self, event: JobEvent) -> None:
        rank, now = self.ranks[event.rank], time.monotonic()
        rank.silence.heard()
        rank.heard = True
        match event.message:
            case TaskEnded(future):
                self._ended(rank, future)
                return
            case Alive():
                return
            case Down():
                rank.running = False
            case Done(value_bytes):
                rank.done, rank.value_bytes = True, value_bytes
            case Ready():
                rank.ready, rank.since = True, now
            case Saving(begins):
                rank.saving, rank.since = begins, now
            case Reported(row):
                if rank.reported:
                    self.durations.append(now - rank.since)
                rank.step, rank.reported, rank.since = row["step"], True, now
            case Failed() as failed:
                self.failures.append(failure_of(failed, rank.place, rank.step, event.time))
        self.hear(event)

    def _ended(self, rank: Rank, future: Any) -> None:
        """The task of a rank has ended, in one of Dask's ways."""
        number = rank.place.rank
        failed = any(failure.rank == number for failure in self.failures)
        outcome: Outcome | None = scheduler.fetch(self.client, future, rank.place.worker)
        if outcome is None:
            if not failed:
                self._lost(rank)
            return
        if outcome.value is not None:
            rank.running = False
            self.values[number] = outcome.value
        elif not failed:
            self.failures.append(self._failure(number, Cause.DEATH, outcome.problem))

    def _failure(self, rank: int, cause: Cause, text: str) -> Failure:
        known, place = self.ranks[rank], self.ranks[rank].place
        return Failure(rank, place.host, cause, known.step, time.time(), text, worker=place.worker)

    def _lost(self, rank: Rank) -> None:
        rank.running = False
        text = f"{rank.place.worker} is gone"
        self.failures.append(self._failure(rank.place.rank, Cause.WORKER, text))

    def _look(self, now: float) -> None:
        """Are the scheduler, the workers and the agents there, and do the steps go on?"""
        workers = tuple(rank.place.worker for rank in self.ranks.values())
        try:
            lost, busy, lately = scheduler.ask_scheduler(
                self.client, claims.look, job=self.request.settings.job, workers=workers
            )
        except scheduler.LOST as err:
            if not self._answers.are_awaited(self.client, self.ranks.values()):
                self.failures.append(self._failure(0, Cause.SCHEDULER, scheduler.lost_text(err)))
            return
        self._answers.arrived(now, self.ranks.values())
        self._wait_for(busy, now)
        for rank in self.ranks.values():
            if not rank.heard and rank.place.worker in lately:
                rank.silence.heard()  # the worker lives, and is on its way to the agent
        known = {*self.values, *(failure.rank for failure in self.failures)}
        for number, rank in self.ranks.items():
            worker = rank.place.worker
            if number in known:
                continue
            if worker in lost:
                self._lost(rank)
            elif rank.silence.seconds() > (seconds := rank.patience(self.request.call)):
                text = f"its worker {worker} gave no sign of life for {seconds:g} s"
                self.failures.append(self._failure(number, Cause.SILENT, text))
        if not self.failures:
            self._look_at_steps(now)

    def _wait_for(self, busy: list[str], now: float) -> None:
        """To wait for a worker that computes something else is no silence, and no start."""
        waiting = [r for r in self.ranks.values() if r.place.worker in busy and not r.heard]
        if not waiting:
            return
        for rank in waiting:
            rank.silence.heard()
        for rank in self.ranks.values():
            if not rank.ready:  # those that wait for these
                rank.since = now
        if not self.waits:
            self.waits = True
            first = waiting[0].place
            text = f"worker {first.worker} is busy with other tasks; rank {first.rank} starts "
            self.hear(self._own(first.rank, Waits(f"{text}after them")))

    def _look_at_steps(self, now: float) -> None:
        late = timeouts.overdue(self.ranks.values(), now, self.request.step_timeout, self.durations)
        if late is not None:
            rank, text = late
            workers = sorted({known.place.worker for known in self.ranks.values()})
            answers = scheduler.ask_for_stacks(self.client, self.request.settings.job, workers)
            stacks = dict.fromkeys(self.ranks, "") | answers
            peers = (r.place.rank for r in self.ranks.values() if r.step == rank.step)
            number = behind(stacks, rank.place.rank, {*peers})
            self.failures.append(replace(self._failure(number, Cause.HUNG, text), stacks=stacks))

    def stop(self) -> None:
        """Kill what still runs; return when it is down, or its worker is gone."""
        scheduler.cancel(self.client, self.futures)
        deadline = time.monotonic() + DOWN_SECONDS
        while time.monotonic() < deadline and scheduler.any_there(self.client, self._up()):
            with suppress(queue.Empty):
                event = self._read(self.events.get(timeout=0.1))
                if event is None:
                    continue
                if isinstance(event.message, Down):
                    self.ranks[event.rank].running = False
                if not isinstance(event.message, TaskEnded | Alive):
                    self.hear(event)

    def _up(self) -> list[str]:
        """The workers with a rank that may be running."""
        return [rank.place.worker for rank in self.ranks.values() if rank.running]

    def tell(self, message: StopRequest) -> None:
        """A message for every rank."""
        job = self.request.settings.job
        for place in self.places:
            scheduler.tell_worker(self.client, place.worker, agent.tell, job, place.rank, message)
