"""The thread that runs a job to its end: claims, attempts, restarts, what ranks say meanwhile."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from ...errors import RankError, TrainError
from .. import checkpoint
from ..messages import Cause
from ..metrics.progress import Progress
from ..trackers import Trackers
from ..worker import agent
from . import claims, placement
from .attempt import Attempt
from .failures import Failure, error
from .journal import Journal
from .placement import Site
from .request import JobRequest
from .run_lock import RunLock
from .scheduler import LOST, LostWorker, ask_scheduler, lost_text

ENDED: Final = ("finished", "failed", "cancelled")
REPLACE_SECONDS: Final = 60.0  # for a lost worker to come back
POLL_SECONDS: Final = 0.1
SHOWN: Final = 1000  # characters of a failure that are shown at once; the exception has all
CANCEL_SECONDS: Final = 10.0
TRIES: Final = 5  # to find workers that are there until their ranks start


class Supervisor:
    """Runs a job on a thread of its own; what it learns is read under its journal's ``changed``."""

    def __init__(
        self,
        request: JobRequest,
        site: Site,
        progress: Progress,
        trackers: Trackers,
        arguments: Any,
    ) -> None:
        self.request, self.site = request, site
        self.id, self.out = request.settings.job, Path(request.settings.out)
        self.status = "waiting"
        self.restarts = 0
        self.values: list[bytes] | None = None
        self.error: BaseException | None = None
        self.cancelled = threading.Event()
        self.attempt: Attempt | None = None
        self._arguments = arguments  # they must outlive the job: futures of collections
        self._failures: list[Failure] = []
        self._refused: set[str] = set()  # workers that failed this job
        self._topic = agent.topic(self.id)
        self._lock = RunLock(self.out)
        self.journal = Journal(self.out, self.id, progress, trackers, self._forget_events)
        self.thread = threading.Thread(target=self._run, name=self.id, daemon=True)

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    def start(self) -> None:
        """Start the thread."""
        _running.add(self)
        self.thread.start()

    def drop(self) -> None:
        """Cancel it because nobody is left to wait for it."""
        if not self.cancelled.is_set():
            self.journal.show("the program ends before this job; wait for it with job.results()")
        self.cancelled.set()

    def _run(self) -> None:
        client = self.site.client
        status = "failed"
        try:
            self.journal.start(self.site.ranks, self.site.name)
            client.subscribe_topic(self._topic, self._event)
            status = self._attempts()
        except BaseException as err:
            self.error = err
        finally:
            with suppress(Exception):
                client.unsubscribe_topic(self._topic)
            with suppress(Exception):
                ask_scheduler(client, claims.release, job=self.id, topic=self._topic)
            self._finish(status)

    def _finish(self, status: str) -> None:
        """Close everything, then tell those who wait."""
        self.journal.close(status, self.request.name)
        self._lock.release()
        self._arguments = None
        _running.discard(self)
        with self.journal.changed:
            self.status = status
            self.journal.changed.notify_all()

    def _attempts(self) -> str:
        """Run attempts until one succeeds or no more are allowed; the job's last status."""
        number = 0
        while True:
            failure = self._once(number)
            if failure is None:
                return "finished"
            what = failure.sentence()
            self.journal.note("failure", rank=failure.rank, step=failure.step, text=what)
            before = list(self._failures)
            self._failures.append(failure)
            if failure.final or number == self.request.max_restarts:
                break
            if failure.cause is Cause.WORKER:
                self._refused.add(failure.worker)
            number += 1
            left, most = self._work_left(), self.request.max_restarts
            self.journal.note("restart", number=number, of=most, text=left)
            self.journal.show(f"{what}; restart {number} of {most}. {left}")
        cancelled = failure.cause is Cause.CANCELLED
        if not cancelled:
            self.journal.show(what[:SHOWN])
        self.error = error(
            failure,
            before,
            self.request.max_restarts,
            self._work_left(),
            self.journal.last_lines(failure.rank, failure.trace) if failure.of_rank else "",
        )
        return "cancelled" if cancelled else "failed"

    def _work_left(self) -> str:
        """What is left of the work, in words."""
        try:
            newest = checkpoint.newest(self.out / "checkpoints")
        except Exception as err:
            return f"No checkpoint can be read in {self.out}: {err}"
        if newest is None:
            return f"No checkpoint was kept; metrics and logs are in {self.out}."
        return f"Kept: the checkpoint of step {newest.step} in {self.out}."

    def _once(self, number: int) -> Failure | None:
        """One attempt; its failure, or None with the values in place.

        A worker that is lost before any rank was started is none: others are claimed.
        """
        lost = None
        for _ in range(TRIES):
            workers = self._claim(first=number == 0)
            if workers is None:
                return Failure(0, "", Cause.CANCELLED, 0, time.time())
            self.restarts = number
            try:
                return self._attempt(number, workers)
            except LostWorker as err:
                lost = err
                self._refused.add(lost.worker)
        raise TrainError(f"workers are lost again and again: {lost}. {self._work_left()}")

    def _attempt(self, number: int, workers: tuple[tuple[str, Any], ...]) -> Failure | None:
        """Ranks on ``workers``, to their end; `LostWorker` where none was started."""
        places, backend = placement.place(self.site, workers)
        client, scheduler = self.site.client, None
        if self.request.needs_scheduler:
            scheduler = (client.scheduler.address, client.security)
        attempt = self.attempt = Attempt(
            client,
            self.request,
            number,
            places,
            backend,
            scheduler,
            self.journal.hear,
            self.cancelled.is_set,
        )
        self.status = "running"
        self.journal.begin(len(places))
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
                    f"no worker came back within {REPLACE_SECONDS:g} s: {why}. {self._work_left()}"
                )
            if not said and waited > 1:
                said = True
                self.journal.show(f"waiting: {why}")
            self.cancelled.wait(POLL_SECONDS)
        return None

    def _ask_for_workers(self) -> tuple[tuple[Any, ...], str]:
        client = self.site.client
        try:
            answer: tuple[tuple[Any, ...], str] = ask_scheduler(
                client,
                claims.claim,
                job=self.id,
                client=client.id,
                count=self.site.ranks,
                names=self.site.workers,
                avoid=tuple(self._refused),
            )
        except LOST as err:
            raise RankError(f"{lost_text(err)}. {self._work_left()}") from err
        return answer

    def _event(self, event: tuple[float, Any]) -> None:
        """One of the job's Dask events, on the client's thread; it is read on the job's."""
        if self.attempt is not None:
            self.attempt.events.put(event[1])

    def _forget_events(self) -> None:
        ask_scheduler(self.site.client, claims.forget, topic=self._topic)


_running: Final[set[Supervisor]] = set()


def cancel_all() -> None:
    """Cancel what still runs when the program ends, and say so."""
    for running in list(_running):
        running.drop()
    for running in list(_running):
        running.thread.join(CANCEL_SECONDS)
