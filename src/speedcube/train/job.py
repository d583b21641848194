"""A training job as its user holds it, and the thread that runs it to its end."""

from __future__ import annotations

import json
import pickle
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from ..errors import ParameterError, RankError, TrainError
from . import agent, checkpoint, claims, placing
from .attempt import ANSWER_SECONDS, LOST, NO_SCHEDULER, Attempt
from .checkpoint import Checkpoint
from .emitted import Emitted, Inbox
from .failures import Failure, error
from .live import Live
from .metrics import MetricsFile
from .placing import Site
from .trackers import Trackers
from .wire import Settings

_T = TypeVar("_T")

CANCEL_SECONDS: Final = 10.0
REPLACE_SECONDS: Final = 60.0  # for a lost worker to come back
POLL_SECONDS: Final = 0.1


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


class Job:
    """A function running on every rank; `speedcube.train.run` makes it.

    Iterate for rank 0's rows as they happen; both that and `results` raise what went wrong.
    """

    def __init__(
        self, request: Request, site: Site, live: Live, trackers: Trackers, held: Any
    ) -> None:
        self.name = request.name
        self.out = request.out
        self.ranks = site.ranks
        self.status = "waiting"
        self.restarts = 0
        self.id = f"{request.name}-{time.time_ns():x}"
        self._request, self._site, self._live, self._trackers = request, site, live, trackers
        self._held = held  # arguments that must outlive the job: futures of collections
        self._changed = threading.Condition()
        self._rows: list[dict[str, Any]] = []
        self._emitted: list[Emitted] = []
        self._inbox = Inbox(self.out / "emitted" / self.id)
        self._values: list[bytes] | None = None
        self._error: BaseException | None = None
        self._cancel = threading.Event()
        self._attempt: Attempt | None = None
        self._failures: list[Failure] = []
        self._refused: set[str] = set()  # workers that failed this job
        (self.out / "logs").mkdir(parents=True, exist_ok=True)
        self._file = MetricsFile(self.out / "metrics.jsonl")
        self._thread = threading.Thread(target=self._run, name=self.id, daemon=True)
        _running.add(self)
        self._thread.start()

    # What a user asks

    def __iter__(self) -> Iterator[dict[str, Any]]:
        seen = 0
        while new := self._after(self._rows, seen):
            seen += len(new)
            yield from (row for row in new if row["rank"] == 0)
        self._raise()

    def _after(self, arrived: list[_T], seen: int) -> list[_T]:
        """What arrived after the first ``seen``; waits for one, [] where there will be none."""
        with self._changed:
            self._pause(lambda: len(arrived) > seen or self._ended())
            return arrived[seen:]

    def emitted(self) -> Iterator[Emitted]:
        """What ranks sent with `emit`, as it arrives; ends with the job, and raises nothing."""
        seen = 0
        while new := self._after(self._emitted, seen):
            seen += len(new)
            yield from new

    def rows(self) -> list[dict[str, Any]]:
        """Every row that any rank has reported so far."""
        with self._changed:
            return list(self._rows)

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it has ended; waits for that at most ``timeout`` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            self._pause(self._ended, deadline)
        return self._ended()

    def results(self) -> list[Any]:
        """What the function returned, one value a rank in the order of ranks.

        Raises what a rank raised (its own type where that can be imported), a `RankError`, or a
        `TrainError` where the job was cancelled.
        """
        return [pickle.loads(value) for value in self.pickled()]

    def pickled(self) -> list[bytes]:
        """`results`, each as the pickle in which it arrived."""
        self.wait()
        self._raise()
        assert self._values is not None
        return list(self._values)

    def cancel(self) -> None:
        """Kill every rank; returns when they are down."""
        self._cancel.set()
        self._thread.join(CANCEL_SECONDS)

    def stop(self, reason: str) -> None:
        """Ask every rank to stop at its next report; needs ``prunable=True``."""
        if not self._request.prunable:
            raise ParameterError("stop() needs a job started with prunable=True")
        if self._attempt is not None:
            self._attempt.tell("stop", reason=reason)

    def logs(self, rank: int = 0) -> str:
        """What a rank has printed, to standard output and error."""
        if not 0 <= rank < self.ranks:
            raise ParameterError(f"rank {rank}: the job has ranks 0 to {self.ranks - 1}")
        path = self._log(rank)
        return path.read_text() if path.exists() else ""

    def checkpoint(self) -> Checkpoint | None:
        """The newest valid checkpoint of the run's directory."""
        return checkpoint.newest(self.out / "checkpoints")

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._ended():
            self.cancel()

    def __repr__(self) -> str:
        return (
            f"<Job {self.name!r} on {self._site.name}: {self.ranks} ranks, {self.status}, "
            f"{len(self._rows)} rows, {self.restarts} restarts, in {self.out}>"
        )

    def _ended(self) -> bool:
        return self.status in ("finished", "failed", "cancelled")

    def _pause(self, until: Any, deadline: float | None = None) -> None:
        """Wait for ``until``, holding the condition; Ctrl-C cancels the job."""
        try:
            while not until() and (deadline is None or time.monotonic() < deadline):
                self._changed.wait(POLL_SECONDS)
        except KeyboardInterrupt:
            self._changed.release()
            try:
                self.cancel()
            finally:
                self._changed.acquire()
            raise

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _log(self, rank: int) -> Path:
        return self.out / "logs" / f"rank-{rank}.log"

    # The thread

    def _run(self) -> None:
        client, topic = self._site.client, agent.topic(self.id)
        status = "failed"
        try:
            self._note("start", ranks=self.ranks, on=self._site.name)
            self._trackers.start()
            client.subscribe_topic(topic, self._event)
            status = self._attempts()
        except BaseException as err:
            self._error = err
        finally:
            with suppress(Exception):
                client.unsubscribe_topic(topic)
            with suppress(Exception):
                client.run_on_scheduler(
                    claims.release, job=self.id, topic=topic, callback_timeout=ANSWER_SECONDS
                )
            self._finish(status)

    def _finish(self, status: str) -> None:
        """Close everything, whatever part of it fails, then tell those who wait."""
        with suppress(Exception):
            self._note("end", status=status)
        with suppress(Exception):
            self._live.close(status)
        with suppress(Exception):
            found = self.checkpoint()
            if found is not None:
                self._trackers.artifact(found.path, self.name)
        with suppress(Exception):
            self._trackers.finish(status)
        self._file.close()
        self._held = None
        _running.discard(self)
        with self._changed:
            self.status = status
            self._changed.notify_all()

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
            if failure.final or number == self._request.max_restarts:
                break
            if failure.cause == "worker":
                self._refused.add(self._worker_of(failure.rank))
            self.restarts += 1
            kept = self._kept()
            self._note("restart", number=self.restarts, of=self._request.max_restarts, text=kept)
            self._live.event(
                f"{failure.sentence()}; restart {self.restarts} of "
                f"{self._request.max_restarts}. {kept}"
            )
            number += 1
        self._error = error(failure, before, self._request.max_restarts, self._kept())
        return "cancelled" if failure.cause == "cancelled" else "failed"

    def _worker_of(self, rank: int) -> str:
        assert self._attempt is not None
        return self._attempt.places[rank].worker

    def _kept(self) -> str:
        """What is kept of the work, in words."""
        try:
            found = self.checkpoint()
        except Exception as err:
            return f"No checkpoint can be read in {self.out}: {err}"
        if found is None:
            return f"No checkpoint was kept; metrics and logs are in {self.out}."
        return f"Kept: the checkpoint of step {found.step} in {self.out}."

    def _once(self, number: int) -> Failure | None:
        """One attempt; its failure, or None with the values in place."""
        workers = self._claim(first=number == 0)
        if workers is None:
            return Failure(0, "", "cancelled", 0, time.time())
        places, backend = placing.place(self._site, workers)
        request = self._request
        settings = Settings(
            self.id,
            len(places),
            backend,
            str(self.out),
            request.keep,
            request.stop_on_nan,
            request.prunable,
            request.as_task,
        )
        scheduler = None
        if request.needs_scheduler:
            client = self._site.client
            scheduler = (client.scheduler.address, client.security)
        attempt = self._attempt = Attempt(
            self._site.client,
            settings,
            number,
            places,
            request.call,
            scheduler,
            request.step_timeout,
            self._hear,
            self._cancel.is_set,
        )
        self.status = "running"
        try:
            attempt.start()
            failure = attempt.watch()
        finally:
            attempt.stop()
        if failure is None:
            self._values = [attempt.values[rank] for rank in range(len(places))]
        return failure

    def _claim(self, first: bool) -> tuple[tuple[str, Any], ...] | None:
        """All the workers the job needs; None where it was cancelled while it waited."""
        began, said = time.monotonic(), False
        while not self._cancel.is_set():
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
            self._cancel.wait(POLL_SECONDS)
        return None

    def _ask_for_workers(self) -> tuple[tuple[Any, ...], str]:
        client = self._site.client
        try:
            found: tuple[tuple[Any, ...], str] = client.run_on_scheduler(
                claims.claim,
                job=self.id,
                client=client.id,
                count=self._site.ranks,
                names=self._site.workers,
                avoid=tuple(self._refused),
                callback_timeout=ANSWER_SECONDS,
            )
        except LOST as err:
            raise RankError(
                f"{NO_SCHEDULER} ({err or type(err).__name__}). {self._kept()}"
            ) from err
        return found

    def _event(self, event: tuple[float, dict[str, Any]]) -> None:
        """One of the job's Dask events, on the client's thread."""
        attempt = self._attempt
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
            with self._changed:
                self._rows.append(row)
                self._changed.notify_all()
        elif kind == "chunk":
            self._receive(event)
        elif kind == "log":
            with self._log(event["rank"]).open("a") as file:
                file.write(event["text"])
        elif kind == "checkpoint":
            self._note("checkpoint", step=event["step"], seconds=event["seconds"])
            self._live.checkpoint(event["step"])
        elif kind in ("started", "ready"):
            self._note(kind, **{k: v for k, v in event.items() if k != "kind"})

    def _receive(self, chunk: dict[str, Any]) -> None:
        """A part of what a rank emits; the scheduler, which logs every event, forgets it."""
        whole = self._inbox.add(chunk)
        if self._inbox.full():
            self._site.client.run_on_scheduler(
                claims.forget, topic=agent.topic(self.id), callback_timeout=ANSWER_SECONDS
            )
        if whole is not None:
            with self._changed:
                self._emitted.append(whole)
                self._changed.notify_all()

    def _note(self, event: str, **fields: Any) -> None:
        self._file.write({"event": event, "time": time.time(), **fields})


@dataclass
class _Running:
    jobs: set[Job] = field(default_factory=set)

    def add(self, job: Job) -> None:
        self.jobs.add(job)

    def discard(self, job: Job) -> None:
        self.jobs.discard(job)


_running: Final = _Running()


def cancel_all() -> None:
    """Cancel what still runs when the program ends."""
    for job in list(_running.jobs):
        job.cancel()


def write_settings(request: Request, site: Site, given: dict[str, Any]) -> None:
    """run.json: what was asked for, for those who look at a run later."""
    request.out.mkdir(parents=True, exist_ok=True)
    told = {"name": request.name, "on": site.name, "ranks": site.ranks, **given}
    (request.out / "run.json").write_text(json.dumps(told, indent=1, default=repr) + "\n")
