"""Questions of the driver to the Dask scheduler and its workers: each has an end."""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, Future, wait
from contextlib import suppress
from dataclasses import field
from typing import Any, Final

from ...dataclass import dataclass
from ...engine.clusters.patience import worker_timeout
from ...errors import WorkerError
from ..patience import BUSY, Vitals, vitals
from ..worker import agent
from .timeouts import AGENT_SECONDS, Rank

ANSWER_SECONDS: Final = 5.0
WORKERS_SECONDS: Final = 60.0  # to answer: busy ones take long
LOOK_SECONDS: Final = 0.3  # between two looks at whether they are still there
LOST: Final = (OSError, TimeoutError, CancelledError)  # what a lost connection raises


def ask_scheduler(client: Any, function: Callable[..., Any], /, **arguments: Any) -> Any:
    """What ``function`` returns on the scheduler; it may run twice. Raises one of `LOST`.

    A driver that was stopped meanwhile finds its time over, though the answer lies there: as long
    as the connection stands, the scheduler is asked a second time; and again where it is in this
    process, and that is at work or waits for a CPU.
    """
    own = getattr(client.cluster, "scheduler", None) is not None
    for tried in itertools.count(1):
        before = vitals(os.getpid())
        try:
            return client.run_on_scheduler(function, callback_timeout=ANSWER_SECONDS, **arguments)
        except LOST:
            if client.status != "running" or (tried > 1 and not (own and _at_work(before))):
                raise
    raise AssertionError("unreachable")


def _at_work(before: Vitals | None) -> bool:
    """Whether this process ran, or waited for a CPU, for much of the last try."""
    now = vitals(os.getpid())
    return before is not None and now is not None and now.since(before) > BUSY * ANSWER_SECONDS


def ask_for_stacks(client: Any, job: str, workers: list[str]) -> dict[int, str]:
    """The stacks of a job's ranks on ``workers``, of those that answer."""
    stacks: dict[int, str] = {}
    with suppress(*LOST):  # a worker that does not answer must not keep us
        answers = client.run(
            agent.stacks,
            job,
            workers=workers,
            on_error="return",
            callback_timeout=ANSWER_SECONDS,
        )
        for answer in answers.values():
            stacks.update(answer if isinstance(answer, dict) else {})
    return stacks


def lost_text(err: BaseException) -> str:
    """One of `LOST` in words."""
    return f"the connection to the Dask scheduler is lost ({err or type(err).__name__})"


@dataclass
class Answers:
    """Those of a scheduler, the last of them ``since``: it may be behind a network that is cut."""

    since: float = field(default_factory=time.monotonic)
    settled: float = 0.0  # from when on a silence says something

    def are_awaited(self, client: Any, ranks: Iterable[Rank]) -> bool:
        """Whether to wait for one: for `worker_timeout`, if ``client`` is still connected.

        Of the ``ranks`` nobody can be heard meanwhile.
        """
        for rank in ranks:
            rank.silence.heard()
        return client.status == "running" and time.monotonic() - self.since < worker_timeout()

    def arrived(self, now: float, ranks: Iterable[Rank]) -> None:
        """One has come. After a pause each of the ``ranks`` may be silent for as long again.

        Every connection has its own end of the pause: TCP waits twice as long before each try, so
        one of them may be silent for as long as the network was, when others are not any more.
        """
        pause = now - self.since
        self.since = now
        if pause > AGENT_SECONDS:
            self.settled = now + pause
        if now < self.settled:
            for rank in ranks:
                rank.silence.heard()
                rank.forgive(pause)


class LostWorker(WorkerError):
    """A worker that went away while it was asked something."""

    def __init__(self, worker: str, how: str) -> None:
        super().__init__(f"worker {worker} {how}")
        self.worker, self.how = worker, how


def ask_workers(
    client: Any, function: Callable[..., Any], *arguments: Any, workers: Iterable[str]
) -> dict[str, Any]:
    """What ``function`` returns on each of ``workers``; `LostWorker` as soon as one is gone."""

    async def ask(worker: str) -> Any:
        answers = await client.run(function, *arguments, workers=[worker], asynchronous=True)
        return answers[worker]

    return with_workers(client, {worker: ask(worker) for worker in workers})


def scatter(client: Any, data: bytes, worker: str) -> Any:
    """A future of ``data``, which lies on ``worker`` then; `LostWorker` as soon as it is gone."""
    sending = client.scatter(data, workers=[worker], hash=False, asynchronous=True)
    return with_workers(client, {worker: sending})[worker]


def fetch(client: Any, future: Any, worker: str) -> Any:
    """The value of a task that has ended on ``worker``; None where it failed, or that is gone.

    A value goes with its worker, and Dask would wait for ever to compute it there again.
    """
    if future.status != "finished":
        return None
    fetching = client.gather(future, errors="skip", asynchronous=True)  # raised, it is logged, too
    with suppress(LostWorker, *LOST):
        return with_workers(client, {worker: fetching}, math.inf)[worker]  # it may be large
    return None


def with_workers(
    client: Any, doing: Mapping[str, Coroutine[Any, Any, Any]], seconds: float = WORKERS_SECONDS
) -> dict[str, Any]:
    """What each worker's coroutine returns; `LostWorker`, with its name, as soon as one is gone.

    Dask itself tries for half a minute to connect to a worker that was killed.
    """
    loop, end = client.loop.asyncio_loop, time.monotonic() + seconds
    asked = {worker: asyncio.run_coroutine_threadsafe(it, loop) for worker, it in doing.items()}
    try:
        while True:
            done, waits = wait(asked.values(), LOOK_SECONDS, FIRST_EXCEPTION)
            answers = {
                worker: _answer(client, worker, asked[worker])
                for worker in asked
                if asked[worker] in done
            }
            if not waits:
                return answers
            late = [worker for worker in asked if worker not in answers]
            for gone in unknown(client, late):
                raise LostWorker(gone, "is gone")
            if time.monotonic() > end:
                raise LostWorker(late[0], f"does not answer within {seconds:g} s")
    finally:
        for question in asked.values():
            question.cancel()


def _answer(client: Any, worker: str, question: Future[Any]) -> Any:
    try:
        return question.result()
    except LOST as err:
        if client.status != "running":
            raise
        raise LostWorker(worker, "is gone") from err


def tell_worker(client: Any, worker: str, function: Callable[..., Any], *arguments: Any) -> None:
    """Call ``function`` on ``worker``, which may be gone."""
    with suppress(*LOST):
        client.run(function, *arguments, workers=[worker], callback_timeout=ANSWER_SECONDS)


def cancel(client: Any, futures: Sequence[Any]) -> None:
    """Cancel ``futures``; the scheduler may be gone."""
    with suppress(*LOST):
        cancelling = client.cancel(futures, force=True, asynchronous=True)
        loop = client.loop.asyncio_loop
        asyncio.run_coroutine_threadsafe(cancelling, loop).result(ANSWER_SECONDS)


def any_there(client: Any, workers: Sequence[str]) -> bool:
    """Whether the scheduler is there, and knows one of ``workers``."""
    try:
        return bool(workers) and len(unknown(client, workers)) < len(workers)
    except LOST:
        return False


def unknown(client: Any, workers: Sequence[str]) -> list[str]:
    """Those of ``workers`` that the scheduler does not know any more; raises one of `LOST`."""
    lost: list[str] = ask_scheduler(client, _unknown, workers=tuple(workers))
    return lost


def _unknown(workers: tuple[str, ...], dask_scheduler: Any = None) -> list[str]:
    """Those of ``workers`` that the scheduler does not know any more."""
    return [worker for worker in workers if worker not in dask_scheduler.workers]
