"""One attempt of a job: its ranks from the Dask tasks that start them to the last one's end."""

from __future__ import annotations

import asyncio
import math
import queue
import statistics
import sys
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from . import agent, claims
from .failures import Failure, root
from .wire import Launch, Outcome, Place, Settings

FIRST_STEP_SECONDS: Final = 600.0
LEAST_STEP_SECONDS: Final = 30.0
MEDIANS: Final = 10  # a step that takes this many medians hangs
GRACE_SECONDS: Final = 0.3  # after a failure, for the one that caused it to arrive
STOP_SECONDS: Final = 5.0  # after a rank has stopped, for the others to reach the same step
WORKER_SECONDS: Final = 0.5  # between two looks at the workers
AGENT_SECONDS: Final = 6.0  # without a sign of life of an agent, its worker is stopped
DOWN_SECONDS: Final = 5.0  # for ranks to be killed
ANSWER_SECONDS: Final = 5.0
NO_SCHEDULER: Final = "the connection to the Dask scheduler is lost"
LOST: Final = (OSError, TimeoutError, CancelledError)  # what a lost connection raises


@dataclass
class _Rank:
    """What is known of a rank."""

    place: Place
    alive: float  # monotonic, as all times here
    running: bool = True  # its process may exist
    done: bool = False
    step: int = 0
    reported: float | None = None


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
    ranks: dict[int, _Rank] = field(default_factory=dict)
    values: dict[int, bytes] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    durations: deque[float] = field(default_factory=lambda: deque(maxlen=101))
    began: float = 0.0

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
        self.began = time.monotonic()
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
            self.ranks[place.rank] = _Rank(place, self.began)
            future = self.client.submit(
                agent.run_rank,
                launch,
                call,
                key=f"{job}-attempt-{self.number}-rank-{place.rank}",
                pure=False,
                retries=0,
                workers=[place.worker],
                allow_other_workers=True,  # or it would wait for a worker that never comes back
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
        looked = time.monotonic()
        deadline = math.inf
        while len(self.values) < len(self.places):
            with suppress(queue.Empty):
                self._handle(self.events.get(timeout=0.1))
            now = time.monotonic()
            if self.asked():
                return self._failure(0, "cancelled", "")
            if self.failures and deadline == math.inf:
                stopping = self.failures[0].cause == "stopped"  # the others do so by themselves
                deadline = now + (STOP_SECONDS if stopping else GRACE_SECONDS)
            if now > deadline or len(self.failures) == len(self.places):
                return root(self.failures)
            if now - looked > WORKER_SECONDS:
                self._look(now)
                looked = time.monotonic()
        return None

    def _handle(self, event: dict[str, Any]) -> None:
        rank = self.ranks[event["rank"]]
        rank.alive = time.monotonic()
        kind = event["kind"]
        if kind == "task":
            self._ended(event["rank"], event["future"])
        elif kind == "down":
            rank.running = False
        elif kind == "done":
            rank.done = True
        elif kind == "row":
            self._reported(rank, event["row"]["step"])
        elif kind == "failed":
            self._failed(rank, event)
        if kind not in ("task", "alive"):
            self.hear(event)

    def _reported(self, rank: _Rank, step: int) -> None:
        now = time.monotonic()
        if rank.reported is not None:
            self.durations.append(now - rank.reported)
        rank.step, rank.reported = step, now

    def _failed(self, rank: _Rank, event: dict[str, Any]) -> None:
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
            elif outcome.problem == "misplaced":  # its worker died, and Dask tried another
                self._lost(rank)
            elif not any(failure.rank == number for failure in self.failures):
                self.failures.append(self._failure(number, "death", outcome.problem))
            return
        if not any(failure.rank == number for failure in self.failures):
            self._lost(rank)

    def _failure(self, rank: int, cause: str, text: str) -> Failure:
        known = self.ranks[rank]
        return Failure(rank, known.place.host, cause, known.step, time.time(), text)

    def _lost(self, rank: _Rank, how: str = "is gone") -> None:
        rank.running = False
        text = f"{rank.place.worker} {how}"
        self.failures.append(self._failure(rank.place.rank, "worker", text))

    def _look(self, now: float) -> None:
        """Are the scheduler, the workers and the agents there, and do the steps go on?"""
        workers = tuple(rank.place.worker for rank in self.ranks.values())
        try:
            lost = self.client.run_on_scheduler(
                claims.gone, workers=workers, callback_timeout=ANSWER_SECONDS
            )
        except LOST as err:
            text = f"{NO_SCHEDULER} ({err or type(err).__name__})"
            self.failures.append(self._failure(0, "scheduler", text))
            return
        for rank in self.ranks.values():
            if rank.place.rank in self.values:
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

    def _limit(self) -> float:
        """Seconds that a step may take."""
        if self.step_timeout is not None:
            return self.step_timeout
        if not self.durations:
            return LEAST_STEP_SECONDS * 20 if self._any_step() else FIRST_STEP_SECONDS
        return max(LEAST_STEP_SECONDS, MEDIANS * statistics.median(self.durations))

    def _any_step(self) -> bool:
        return any(rank.reported is not None for rank in self.ranks.values())

    def _look_at_steps(self, now: float) -> None:
        if self._any_step():
            waiting = [r for r in self.ranks.values() if r.reported is not None and not r.done]
        else:
            waiting = [r for r in self.ranks.values() if not r.done]
        limit = self._limit()
        late = [r for r in waiting if now - (r.reported or self.began) > limit]
        if not late:
            return
        behind = min(late, key=lambda rank: (rank.step, rank.place.rank))
        text = (
            f"it hangs after step {behind.step}: no train.report() for {limit:.3g} s "
            "(step_timeout= sets the limit)"
        )
        made = self._failure(behind.place.rank, "hung", text)
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
