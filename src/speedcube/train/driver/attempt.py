"""One attempt of a job: its ranks from the Dask tasks that start them to the last one's end."""

from __future__ import annotations

import asyncio
import math
import queue
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..messages import AWAY_SECONDS, Launch, Outcome, Place, Settings
from ..worker import agent
from . import claims, timeouts
from .failures import Failure, root
from .scheduler import ANSWER_SECONDS, LOST, NO_SCHEDULER, ask_scheduler
from .timeouts import Rank

GRACE_SECONDS: Final = 0.3  # after a failure, for the one that caused it to arrive
STOP_SECONDS: Final = 5.0  # after a rank has stopped, for the others to reach the same step
WORKER_SECONDS: Final = 0.5  # between two looks at the workers
AGENT_SECONDS: Final = 6.0  # without a sign of life of an agent, its worker is stopped
DOWN_SECONDS: Final = 5.0  # for ranks to be killed
PRIORITY: Final = 100  # above tasks that wait for the same worker


@dataclass
class Attempt:
    """Start with `start`, then `watch` until it returns, then `stop`."""

    client: Any
    settings: Settings
    number: int
    places: list[Place]
    call: bytes
    scheduler: tuple[str, Any] | None
    step_timeout: float | None
    hear: Callable[[dict[str, Any]], None]  # every event of this attempt
    asked: Callable[[], bool]  # whether the user wants it cancelled
    events: queue.Queue[dict[str, Any]] = field(default_factory=queue.Queue)
    futures: list[Any] = field(default_factory=list)
    ranks: dict[int, Rank] = field(default_factory=dict)
    values: dict[int, bytes] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    waits: bool = False  # for a worker that is busy, and has said so
    durations: deque[float] = field(default_factory=lambda: deque(maxlen=101))

    def start(self) -> None:
        """Open the rendezvous on rank 0's worker and submit a task for each rank."""
        job, first = self.settings.job, self.places[0]
        opened = self.client.run(
            agent.open_rendezvous, job, self.number, first.host, workers=[first.worker]
        )
        master = (first.host, opened[first.worker])
        call = self.call
        if len(call) > 1 << 20:  # one copy on a worker, from where the others fetch it
            call = self.client.scatter(call, workers=[first.worker], hash=False)
        now = time.monotonic()
        for place in self.places:
            launch = Launch(
                self.settings,
                self.number,
                place,
                self._visible(place.host),
                master,
                b"",
                self.scheduler,
                tuple(sys.path),
            )
            self.ranks[place.rank] = Rank(place, now, now)
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
            future.add_done_callback(self._finished(place.rank))
            self.futures.append(future)

    def _visible(self, host: str) -> tuple[str, ...]:
        """The GPUs that ranks on ``host`` are to see; () where they see what their worker does."""
        if self.settings.as_task:
            return ()
        return tuple(p.device for p in self.places if p.host == host and p.device)

    def _finished(self, rank: int) -> Callable[[Any], None]:
        return lambda future: self.events.put({"kind": "task", "rank": rank, "future": future})

    def watch(self) -> Failure | None:
        """Handle events until every rank has a value, or one failed; its failure, or None."""
        looked = seen = time.monotonic()
        deadline = math.inf
        while len(self.values) < len(self.places):
            seen = self._listen(seen)
            now = time.monotonic()
            if self.asked():
                return self._failure(0, "cancelled", "")
            if self.failures and deadline == math.inf:
                stopping = self.failures[0].cause == "stopped"  # the others do so by themselves
                deadline = now + (STOP_SECONDS if stopping else GRACE_SECONDS)
            if now > deadline or len(self.failures) == len(self.places):
                if root(self.failures).cause == "exception":
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
        said = []
        with suppress(queue.Empty):
            said.append(self.events.get(timeout=0.1))
            said += [self.events.get_nowait() for _ in range(self.events.qsize())]
        now = time.monotonic()
        if now - before > AWAY_SECONDS:
            for rank in self.ranks.values():
                rank.forgive(now - before)
        for event in said:
            self._handle(event)
        return now

    def _handle(self, event: dict[str, Any]) -> None:
        rank = self.ranks[event["rank"]]
        rank.alive, rank.heard = time.monotonic(), True
        kind = event["kind"]
        if kind == "task":
            self._ended(event["rank"], event["future"])
        elif kind == "down":
            rank.running = False
        elif kind == "done":
            rank.done = True
        elif kind == "ready":
            rank.ready, rank.since = True, rank.alive
        elif kind in ("saving", "saved"):
            rank.saving, rank.since = kind == "saving", rank.alive
        elif kind == "row":
            self._reported(rank, event["row"]["step"])
        elif kind == "failed":
            self._failed(rank, event)
        if kind not in ("task", "alive"):
            self.hear(event)

    def _reported(self, rank: Rank, step: int) -> None:
        if rank.reported:
            self.durations.append(rank.alive - rank.since)
        rank.step, rank.reported, rank.since = step, True, rank.alive

    def _failed(self, rank: Rank, event: dict[str, Any]) -> None:
        text = event["message"] if event["cause"] == "exception" else event["text"]
        made = Failure(
            event["rank"],
            rank.place.host,
            event["cause"],
            max(event["step"], rank.step),
            event["time"],
            text,
            event.get("name", ""),
            event.get("blob"),
            event["text"] if event["cause"] == "exception" else "",
        )
        self.failures.append(made)

    def _ended(self, number: int, future: Any) -> None:
        """The task of a rank has ended, in one of Dask's ways."""
        rank = self.ranks[number]
        if future.status == "finished":
            outcome: Outcome = future.result()
            if outcome.value is not None:
                rank.running = False
                self.values[number] = outcome.value
            elif not any(failure.rank == number for failure in self.failures):
                self.failures.append(self._failure(number, "death", outcome.problem))
            return
        if not any(failure.rank == number for failure in self.failures):
            self._lost(rank)

    def _failure(self, rank: int, cause: str, text: str) -> Failure:
        known = self.ranks[rank]
        return Failure(rank, known.place.host, cause, known.step, time.time(), text)

    def _lost(self, rank: Rank, how: str = "is gone") -> None:
        rank.running = False
        text = f"{rank.place.worker} {how}"
        self.failures.append(self._failure(rank.place.rank, "worker", text))

    def _look(self, now: float) -> None:
        """Are the scheduler, the workers and the agents there, and do the steps go on?"""
        workers = tuple(rank.place.worker for rank in self.ranks.values())
        try:
            lost, busy = ask_scheduler(
                self.client, claims.look, job=self.settings.job, workers=workers
            )
        except LOST as err:
            text = f"{NO_SCHEDULER} ({err or type(err).__name__})"
            self.failures.append(self._failure(0, "scheduler", text))
            return
        self._wait_for(busy, now)
        known = {*self.values, *(failure.rank for failure in self.failures)}
        for rank in self.ranks.values():
            if rank.place.rank in known:
                continue
            if rank.place.worker in lost:
                self._lost(rank)
            elif now - rank.alive > AGENT_SECONDS:
                text = (
                    f"its worker {rank.place.worker} gave no sign of life for {AGENT_SECONDS:g} s"
                )
                self.failures.append(self._failure(rank.place.rank, "silent", text))
        if not self.failures:
            self._look_at_steps(now)

    def _wait_for(self, busy: list[str], now: float) -> None:
        """To wait for a worker that computes something else is no silence, and no start."""
        held = [r for r in self.ranks.values() if r.place.worker in busy and not r.heard]
        for rank in held:
            rank.alive = now
        if not held:
            return
        for rank in self.ranks.values():
            if not rank.ready:  # those that wait for these
                rank.since = now
        if not self.waits:
            self.waits = True
            text = f"worker {held[0].place.worker} is busy with other tasks; rank "
            self.hear({"kind": "waits", "text": f"{text}{held[0].place.rank} starts after them"})

    def _look_at_steps(self, now: float) -> None:
        late = timeouts.latest(self.ranks.values(), now, self.step_timeout, self.durations)
        if late is not None:
            rank, text = late
            made = self._failure(rank.place.rank, "hung", text)
            self.failures.append(replace(made, stacks=self._stacks()))

    def _stacks(self) -> dict[int, str]:
        """Every rank's stacks; "" for those that do not answer."""
        found = {rank: "" for rank in self.ranks}
        with suppress(*LOST):  # a worker that does not answer must not keep us
            answers = self.client.run(
                agent.stacks,
                self.settings.job,
                workers=sorted({rank.place.worker for rank in self.ranks.values()}),
                on_error="return",
                callback_timeout=ANSWER_SECONDS,
            )
            for answer in answers.values():
                found.update(answer if isinstance(answer, dict) else {})
        return found

    def stop(self) -> None:
        """Kill what still runs; return when it is down, or cannot be reached."""
        with suppress(*LOST):
            cancelling = self.client.cancel(self.futures, force=True, asynchronous=True)
            loop = self.client.loop.asyncio_loop
            asyncio.run_coroutine_threadsafe(cancelling, loop).result(ANSWER_SECONDS)
        deadline = time.monotonic() + DOWN_SECONDS
        while time.monotonic() < deadline and any(r.running for r in self.ranks.values()):
            with suppress(queue.Empty):
                event = self.events.get(timeout=0.1)
                if event["kind"] == "down":
                    self.ranks[event["rank"]].running = False
                if event["kind"] not in ("task", "alive", "failed"):
                    self.hear(event)

    def tell(self, kind: str, **fields: Any) -> None:
        """A message for every rank."""
        for rank in self.ranks.values():
            with suppress(*LOST):
                self.client.run(
                    agent.tell,
                    self.settings.job,
                    rank.place.rank,
                    kind,
                    workers=[rank.place.worker],
                    callback_timeout=ANSWER_SECONDS,
                    **fields,
                )
