"""What is raised where a scheduler, a client or workers are lost: whose, what is gone, what to do.

Questions to a scheduler run on the client's event loop, and end when the connection does.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

from ...errors import SchedulerError, SpeedcubeError, WorkerError
from ...late import futures
from .patience import LOOK, SAY, Listed, Sayings

Result = TypeVar("Result")

_NOTICE: Final = 0.5  # seconds until a client knows that its connection is lost
_ENDED: Final = 2.0  # seconds for what still runs on the loop of a client that was closed
_GONE: Final = (
    "what it was computing is lost, and so is what was persisted on its workers; start it again or "
    "make a new Client, and compute again"
)


def address_of(client: Any) -> str:
    """The scheduler's address; a closed client has forgotten it."""
    return str(getattr(client.scheduler, "address", None) or client)


def on_loop(client: Any, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """What ``work`` gives on the client's loop; unlike ``client.sync`` not after that stopped."""
    import asyncio

    loop = client.loop.asyncio_loop
    if loop.is_closed():
        raise closed(client)
    future = asyncio.run_coroutine_threadsafe(work(), loop)
    closed_at = None
    try:
        while True:
            with suppress(TimeoutError):
                return future.result(LOOK)
            if future.done():
                return future.result()
            if client.status == "closed":
                closed_at = closed_at or time.monotonic()
                if time.monotonic() - closed_at > _ENDED:
                    raise closed(client)
    finally:
        future.cancel()


def scheduler_of(client: Any) -> Any:
    """What asks the scheduler of ``client``; a closed one has none."""
    if client.scheduler is None:
        raise closed(client)
    return client.scheduler


def closed(client: Any) -> SchedulerError:
    return SchedulerError(
        f"{client} is closed; make a new Client, and compute again: what was computed through it, "
        "and not handed over yet, is lost"
    )


async def standing(
    client: Any, work: Awaitable[Result], timeout: float, sayings: Sayings
) -> Result:
    """What ``work``, a question to the scheduler, gives; `SchedulerError` where that is lost."""
    import asyncio

    address = address_of(client)
    task = asyncio.ensure_future(work)
    waited = 0.0
    try:
        while True:
            await asyncio.wait({task}, timeout=LOOK)
            if task.done():
                return task.result()
            waited += LOOK  # a pause of this process counts once
            if client.status != "running":
                raise lost(client, address)
            if waited >= timeout:
                raise SchedulerError(
                    f"the Dask scheduler at {address} has not answered for {timeout:g} s, though "
                    "it is still connected: is it stopped, or its machine too busy? See its log; "
                    "a longer worker_timeout= waits longer"
                )
            if waited >= SAY:
                sayings.say(
                    f"the scheduler at {address} has not answered for {SAY:g} s; after "
                    f"{timeout:g} s this computation fails (worker_timeout=)",
                    "scheduler",
                )
    finally:
        task.cancel()


def lost(client: Any, address: str, err: BaseException | None = None) -> SchedulerError:
    """The error for a connection that is lost, or for a client that somebody closed."""
    if client.status in ("closing", "closed") and "scheduler-connection" not in _reason(err):
        return SchedulerError(
            f"the Client of the scheduler at {address} was closed meanwhile: what it was computing "
            "is lost, and so is what it persisted; make a new Client, and compute again"
        )
    return SchedulerError(f"the connection to the Dask scheduler at {address} is lost: {_GONE}")


def _reason(err: BaseException | None) -> str:
    """Why Dask says that a future was cancelled."""
    return str(getattr(err, "reason", None) or "")


@contextmanager
def reported(client: Any, failed: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Errors of Dask inside, and of a connection, as ours.

    What a task raised, which ``failed`` says, stays what it is.
    """
    import asyncio

    address = address_of(client)
    try:
        yield
    except SpeedcubeError:
        raise
    except (Exception, asyncio.CancelledError) as err:
        ours = _translated(client, address, err, failed())
        if ours is None:
            raise
        raise ours from err


def _translated(
    client: Any, address: str, err: BaseException, of_task: bool
) -> SpeedcubeError | None:
    import asyncio

    from distributed.client import ClosedClientError
    from distributed.scheduler import KilledWorker

    if isinstance(err, KilledWorker):
        return WorkerError(
            f"{err.allowed_failures + 1} workers died, one after the other, while they computed "
            f"one part of this (last {err.last_worker.address}): often its memory did not suffice. "
            "See the workers' logs; give them more memory, or ask for less at once"
        )
    if isinstance(err, ClosedClientError):  # between two questions of ours
        return lost(client, address, err)
    if of_task:
        return None
    connection = isinstance(
        err, (OSError, futures.CancelledError, asyncio.CancelledError, RuntimeError)
    )
    if connection and _went_down(client):
        return lost(client, address, err)
    if isinstance(err, (futures.CancelledError, asyncio.CancelledError)):
        reason = _reason(err)
        if "scheduler-connection" in reason:
            return lost(client, address, err)
        return WorkerError(
            f"Dask cancelled the tasks of this computation on {address}"
            f"{f' ({reason})' if reason else ''}: somebody cancelled them or restarted the "
            "workers; compute again"
        )
    if isinstance(err, OSError):
        return SchedulerError(f"no answer from the Dask scheduler at {address}: {err}; {_GONE}")
    return None


def _went_down(client: Any) -> bool:
    """Whether the client has lost its scheduler: it may know a moment after a question failed."""
    deadline = time.monotonic() + _NOTICE
    while client.status == "running" and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(client.status != "running")


def none_left(client: Any, seconds: float, silent: list[Listed]) -> WorkerError:
    """The error where nobody can compute."""
    if silent:
        names = ", ".join(str(worker) for worker in silent[:3])
        more = f" and {len(silent) - 3} more" if silent[3:] else ""
        return WorkerError(
            f"all workers of the scheduler at {address_of(client)} have been silent for "
            f"{seconds:g} s: {names}{more}; continue them (kill -CONT) or end them and start "
            "others, then compute again (worker_timeout= says how long this waits)"
        )
    return WorkerError(
        f"{client} has no workers; start some, then compute again (this waited {seconds:g} s for "
        "one: worker_timeout=)"
    )


def forget(client: Any, futures: list[Any]) -> None:
    """Cancel ``futures``; a client that is gone has nothing to cancel."""
    with suppress(Exception):
        if futures and client.status == "running":
            client.cancel(futures)
