"""A training job as its user holds it."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, TypeVar

from ...errors import ParameterError
from .. import checkpoint
from ..checkpoint import Checkpoint
from ..messages import StopRequest
from .inbox import Emitted
from .supervisor import CANCEL_SECONDS, POLL_SECONDS, Supervisor

_T = TypeVar("_T")


class Job:
    """A function running on every rank; `speedcube.train.run` makes it.

    Iterate for rank 0's rows as they happen; both that and `results` raise what went wrong.
    """

    def __init__(self, supervisor: Supervisor) -> None:
        self._run = supervisor
        self.id = supervisor.id
        self.name = supervisor.request.name
        self.out = supervisor.out
        self.ranks = supervisor.site.ranks

    @property
    def status(self) -> str:
        """Return "waiting" (for workers), "running", "finished", "failed" or "cancelled"."""
        return self._run.status

    @property
    def restarts(self) -> int:
        """How often it was started again."""
        return self._run.restarts

    def __iter__(self) -> Iterator[dict[str, Any]]:
        seen = 0
        while new := self._after(self._run.journal.rows, seen):
            seen += len(new)
            yield from (row for row in new if row["rank"] == 0)
        self._raise()

    def _after(self, arrived: list[_T], seen: int) -> list[_T]:
        """What arrived after the first ``seen``; waits for one, [] where there will be none."""
        with self._run.journal.changed:
            self._pause(lambda: len(arrived) > seen or self._run.ended)
            return arrived[seen:]

    def emitted(self) -> Iterator[Emitted]:
        """What ranks sent with `emit`, as it arrives; ends with the job, and raises nothing."""
        seen = 0
        while new := self._after(self._run.journal.emitted, seen):
            seen += len(new)
            yield from new

    def rows(self) -> list[dict[str, Any]]:
        """Every row that any rank has reported so far."""
        with self._run.journal.changed:
            return list(self._run.journal.rows)

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it has ended; waits for that at most ``timeout`` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._run.journal.changed:
            self._pause(lambda: self._run.ended, deadline)
        return self._run.ended

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
        assert self._run.values is not None
        return list(self._run.values)

    def cancel(self) -> None:
        """Kill every rank; returns when they are down."""
        self._run.cancelled.set()
        self._run.thread.join(CANCEL_SECONDS)

    def stop(self, reason: str) -> None:
        """Ask every rank to stop at its next report; needs ``prunable=True``."""
        if not self._run.request.settings.prunable:
            raise ParameterError("stop() needs a job started with prunable=True")
        if self._run.attempt is not None:
            self._run.attempt.tell(StopRequest(reason))

    def logs(self, rank: int = 0) -> str:
        """What a rank has printed, to standard output and error."""
        if not 0 <= rank < self.ranks:
            raise ParameterError(f"rank {rank}: the job has ranks 0 to {self.ranks - 1}")
        path = self._run.journal.log(rank)
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def checkpoint(self) -> Checkpoint | None:
        """The newest valid checkpoint of the run's directory."""
        return checkpoint.newest(self.out / "checkpoints")

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._run.ended:
            self.cancel()

    def __repr__(self) -> str:
        return (
            f"<Job {self.name!r} on {self._run.site.name}: {self.ranks} ranks, {self.status}, "
            f"{len(self._run.journal.rows)} rows, {self.restarts} restarts, in {self.out}>"
        )

    def _pause(self, until: Any, deadline: float | None = None) -> None:
        """Wait for ``until``, holding the condition; Ctrl-C cancels the job."""
        if until():
            return
        _leave_thread()
        try:
            while not until() and (deadline is None or time.monotonic() < deadline):
                self._run.journal.changed.wait(POLL_SECONDS)
        except KeyboardInterrupt:
            self._run.journal.changed.release()
            try:
                self.cancel()
            finally:
                self._run.journal.changed.acquire()
            raise

    def _raise(self) -> None:
        if self._run.error is not None:
            raise self._run.error


def _leave_thread() -> None:
    """In a Dask task, give its worker's thread to others, as computing there does: to the ranks."""
    from distributed.worker import secede, thread_state

    if getattr(thread_state, "key", None):
        with suppress(KeyError):  # it has done so before
            secede()
