"""The thread that runs a job to its end: claims, attempts, restarts, what ranks say meanwhile."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ...errors import RankError, TrainError
from .. import checkpoint
from ..messages import Settings
from ..metrics.progress import Live
from ..metrics.rows import MetricsFile
from ..ranks.emit import Emitted, Inbox
from ..trackers import Trackers
from ..worker import agent
from . import claims, placement
from .attempt import Attempt
from .failures import Failure, error
from .placement import Site
from .run_lock import Hold
from .scheduler import LOST, NO_SCHEDULER, ask_scheduler

ENDED: Final = ("finished", "failed", "cancelled")
REPLACE_SECONDS: Final = 60.0  # for a lost worker to come back
POLL_SECONDS: Final = 0.1
TOLD: Final = 1000  # characters of a failure that are shown at once; the exception has all
CANCEL_SECONDS: Final = 10.0


@dataclass(frozen=True)
class Request:
    """What `run` was asked for, checked."""

    name: str
    out: Path
    call: bytes
    needs_scheduler: bool
    max_restarts: int
    step_timeout: float | None
    keep: int
    stop_on_nan: bool
    prunable: bool
    as_task: bool


class Supervisor:
    """Runs a job on a thread of its own; what it learns is read under ``changed``."""

    def __init__(
        self, request: Request, site: Site, live: Live, trackers: Trackers, held: Any
    ) -> None:
        self.request, self.site = request, site
        self.id = f"{request.name}-{time.time_ns():x}"
        self.changed = threading.Condition()
        self.status = "waiting"
        self.restarts = 0
        self.rows: list[dict[str, Any]] = []
        self.emitted: list[Emitted] = []
        self.values: list[bytes] | None = None
        self.error: BaseException | None = None
        self.cancelled = threading.Event()
        self.attempt: Attempt | None = None
        self._live, self._trackers = live, trackers
        self._held = held  # arguments that must outlive the job: futures of collections
        self._inbox = Inbox(request.out / "emitted" / self.id)
        self._failures: list[Failure] = []
        self._refused: set[str] = set()  # workers that failed this job
        self._hold = Hold(request.out)
        (request.out / "logs").mkdir(exist_ok=True)
        self._file = MetricsFile(request.out / "metrics.jsonl")
        self.thread = threading.Thread(target=self._run, name=self.id, daemon=True)

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    def log(self, rank: int) -> Path:
        """The file of what a rank prints."""
        return self.request.out / "logs" / f"rank-{rank}.log"

    def start(self) -> None:
        """Start the thread."""
        _running.add(self)
        self.thread.start()

    def drop(self) -> None:
        """Cancel it because nobody is left to wait for it."""
        if not self.cancelled.is_set():
            self._live.event("the program ends before this job; wait for it with job.results()")
        self.cancelled.set()

    def _run(self) -> None:
        client, topic = self.site.client, agent.topic(self.id)
        status = "failed"
        try:
            self._note("start", ranks=self.site.ranks, on=self.site.name)
            self._trackers.start()
            client.subscribe_topic(topic, self._event)
            status = self._attempts()
        except BaseException as err:
            self.error = err
        finally:
            with suppress(Exception):
                client.unsubscribe_topic(topic)
            with suppress(Exception):
                ask_scheduler(client, claims.release, job=self.id, topic=topic)
            self._finish(status)

    def _finish(self, status: str) -> None:
        """Close everything, whatever part of it fails, then tell those who wait."""
        with suppress(Exception):
            self._note("end", status=status)
        with suppress(Exception):
            self._live.close(status)
        with suppress(Exception):
            found = checkpoint.newest(self.request.out / "checkpoints")
            if found is not None:
                self._trackers.artifact(found.path, self.request.name)
        with suppress(Exception):
            self._trackers.finish(status)
        self._file.close()
        self._hold.release()
        self._held = None
        _running.discard(self)
        with self.changed:
            self.status = status
            self.changed.notify_all()

    def _attempts(self) -> str:
        """Run attempts until one succeeds or no more are allowed; the job's last status."""
        number = 0
        while True:
            failure = self._once(number)
            if failure is None:
                return "finished"
            self._note("failure", rank=failure.rank, step=failure.step, text=failure.sentence())
            before = list(self._failures)
            self._failures.append(failure)
            if failure.final or number == self.request.max_restarts:
                break
            if failure.cause == "worker":
                self._refused.add(self._worker_of(failure.rank))
            number += 1
            kept, most = self._kept(), self.request.max_restarts
            self._note("restart", number=number, of=most, text=kept)
            self._live.event(f"{failure.sentence()}; restart {number} of {most}. {kept}")
        if failure.cause != "cancelled":
            self._live.event(failure.sentence()[:TOLD])
        self.error = error(failure, before, self.request.max_restarts, self._kept())
        return "cancelled" if failure.cause == "cancelled" else "failed"

    def _worker_of(self, rank: int) -> str:
        assert self.attempt is not None
        return self.attempt.places[rank].worker

    def _kept(self) -> str:
        """What is kept of the work, in words."""
        try:
            found = checkpoint.newest(self.request.out / "checkpoints")
        except Exception as err:
            return f"No checkpoint can be read in {self.request.out}: {err}"
        if found is None:
            return f"No checkpoint was kept; metrics and logs are in {self.request.out}."
        return f"Kept: the checkpoint of step {found.step} in {self.request.out}."

    def _once(self, number: int) -> Failure | None:
        """One attempt; its failure, or None with the values in place."""
        workers = self._claim(first=number == 0)
        if workers is None:
            return Failure(0, "", "cancelled", 0, time.time())
        self.restarts = number
        places, backend = placement.place(self.site, workers)
        request = self.request
        settings = Settings(
            self.id,
            len(places),
            backend,
            str(self.request.out),
            request.keep,
            request.stop_on_nan,
            request.prunable,
            request.as_task,
            self.site.surroundings,
        )
        scheduler = None
        if request.needs_scheduler:
            client = self.site.client
            scheduler = (client.scheduler.address, client.security)
        attempt = self.attempt = Attempt(
            self.site.client,
            settings,
            number,
            places,
            request.call,
            scheduler,
            request.step_timeout,
            self._hear,
            self.cancelled.is_set,
        )
        self.status = "running"
        try:
            attempt.start()
            failure = attempt.watch()
        finally:
            attempt.stop()
        if failure is None:
            self.values = [attempt.values[rank] for rank in range(len(places))]
        return failure

    def _claim(self, first: bool) -> tuple[tuple[str, Any], ...] | None:
        """All the workers the job needs; None where it was cancelled while it waited."""
        began, said = time.monotonic(), False
        while not self.cancelled.is_set():
            granted, why = self._ask_for_workers()
            if granted:
                return tuple(tuple(worker) for worker in granted)
            waited = time.monotonic() - began
            if not first and waited > REPLACE_SECONDS:
                raise TrainError(
                    f"no worker came back within {REPLACE_SECONDS:g} s: {why}. {self._kept()}"
                )
            if not said and waited > 1:
                said = True
                self._live.event(f"waiting: {why}")
            self.cancelled.wait(POLL_SECONDS)
        return None

    def _ask_for_workers(self) -> tuple[tuple[Any, ...], str]:
        client = self.site.client
        try:
            found: tuple[tuple[Any, ...], str] = ask_scheduler(
                client,
                claims.claim,
                job=self.id,
                client=client.id,
                count=self.site.ranks,
                names=self.site.workers,
                avoid=tuple(self._refused),
            )
        except LOST as err:
            raise RankError(
                f"{NO_SCHEDULER} ({err or type(err).__name__}). {self._kept()}"
            ) from err
        return found

    def _event(self, event: tuple[float, dict[str, Any]]) -> None:
        """One of the job's Dask events, on the client's thread."""
        attempt = self.attempt
        if attempt is not None and event[1]["attempt"] == attempt.number:
            attempt.events.put(event[1])

    def _hear(self, event: dict[str, Any]) -> None:
        """What ranks say, in order, on this job's thread."""
        kind = event["kind"]
        if kind == "row":
            row = event["row"]
            self._file.write(row)
            self._live.update(row)
            self._trackers.log(row)
            with self.changed:
                self.rows.append(row)
                self.changed.notify_all()
        elif kind == "chunk":
            self._receive(event)
        elif kind == "log":
            with self.log(event["rank"]).open("a", encoding="utf-8") as file:
                file.write(event["text"])
        elif kind == "checkpoint":
            self._note("checkpoint", step=event["step"], seconds=event["seconds"])
            self._live.checkpoint(event["step"])
        elif kind == "waits":
            self._note("waits", text=event["text"])
            self._live.event(f"waiting: {event['text']}")
        elif kind in ("started", "ready"):
            self._note(kind, **{k: v for k, v in event.items() if k != "kind"})

    def _receive(self, chunk: dict[str, Any]) -> None:
        """A part of what a rank emits; the scheduler, which logs every event, forgets it."""
        whole = self._inbox.add(chunk)
        if self._inbox.full():
            ask_scheduler(self.site.client, claims.forget, topic=agent.topic(self.id))
        if whole is not None:
            with self.changed:
                self.emitted.append(whole)
                self.changed.notify_all()

    def _note(self, event: str, **fields: Any) -> None:
        self._file.write({"event": event, "time": time.time(), **fields})


_running: Final[set[Supervisor]] = set()


def cancel_all() -> None:
    """Cancel what still runs when the program ends, and say so."""
    for running in list(_running):
        running.drop()
    for running in list(_running):
        running.thread.join(CANCEL_SECONDS)
