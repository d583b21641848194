"""A plan on a Dask client's workers, whatever becomes of them while it is computed.

Tasks of a worker that dies run elsewhere: Dask sees to that. What a worker that is stopped was to
give is then computed by others, under names of its own; what others have given stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ...errors import WorkerError
from ...late import uuid
from ...plan.plan import Plan
from ..progress.count import Told
from .asked import let_go, logs, spans
from .asked.calls import Calls
from .asked.joining import final_shape
from .asked.outcomes import Taken, made_there, values_of
from .asked.pieces import grain_of
from .asked.submitted import Submission
from .fingerprint import expected
from .handing import TOPIC
from .losses import forget, none_left, on_loop, reported, standing
from .patience import SAY, Listed, interval
from .plans import How, calls_of
from .roster import worker_addresses
from .watch import Follower, Watch, alive


def run_on(
    client: Any,
    plan: Plan,
    shapes: Sequence[tuple[int, ...]],
    ready: dict[int, Any],
    workers: Sequence[str],
    told: Told,
) -> list[Any]:
    """The results of ``plan`` from ``client``'s ``workers``: one part on each."""
    how = How(hand_over=True, grain=grain_of(client, plan), here=True)
    calls = calls_of(plan, ready, f"speedcube-{uuid.uuid4().hex}", how)
    return run_calls(client, calls, shapes, workers, told=told)


def run_calls(
    client: Any,
    calls: Calls,
    shapes: Sequence[tuple[int, ...]],
    workers: Sequence[str],
    follower: Follower | None = None,
    told: Told | None = None,
) -> list[Any]:
    """The results of ``calls``; ``follower`` is told how far they are, and ``told`` can ask."""
    found = calls.whole(settled(client, calls, workers, values_of, follower, told))
    return [final_shape(*one) for one in zip(shapes, found, strict=True)]


def hold_calls(client: Any, calls: Calls, workers: Sequence[str], told: Told) -> list[Any]:
    """The futures of the results of ``calls``, which are made, and lie where they were made."""
    return settled(client, calls, workers, made_there, None, told)


def settled(
    client: Any,
    calls: Calls,
    workers: Sequence[str],
    taken: Taken,
    follower: Follower | None,
    told: Told | None,
) -> list[Any]:
    """What is ``taken`` of the futures of the results of ``calls``."""
    by_name = {call.name: call for call in calls.all}
    submission = Submission(client, by_name, calls.results, expected())
    watch = Watch(client)
    if told is not None:
        told.tasks = submission.done
    try:
        with reported(client, submission.failed):
            submission.submit(let_go.of(client, submission.inputs(), workers))
            waiting = partial(waited, watch, submission, taken, follower)
            while (result := on_loop(client, waiting)) is None:
                others = let_go.of(client, submission.inputs(), worker_addresses(client))
                kept = on_loop(client, partial(submission.kept, others))
                submission.submit(others, kept)
            if taken is made_there:
                on_loop(client, partial(_free, watch, submission))
            return result
    except BaseException as err:
        forget(client, [*submission.futures.values()])
        if isinstance(err, Exception) and submission.failed():
            _blame(client, err)
        raise
    finally:
        logs.empty(client)
        spans.empty(client)


async def _free(watch: Watch, submission: Submission) -> None:
    work = submission.go_anywhere()
    await standing(watch.client, work, watch.limit, watch.sayings)


def _blame(client: Any, err: Exception) -> None:
    """Raise what is wrong with a worker that joined since, if that is why a task failed."""
    try:
        worker_addresses(client)
    except WorkerError as wrong:
        raise wrong from err


async def waited(
    watch: Watch, submission: Submission, taken: Taken, follower: Follower | None
) -> list[Any] | None:
    """The results; None where tasks have to be given to other workers."""
    import asyncio

    task = asyncio.ensure_future(taken(submission))
    workers = 0
    try:
        while True:
            await asyncio.wait({task}, timeout=interval(workers))
            if task.done():
                return task.result()
            submission.let_go(taken is not made_there)
            if follower is not None:
                events = await watch.told(TOPIC) if follower.hears else ()
                await asyncio.to_thread(follower.look, submission.finished(), events)
            there, silent = await watch.look()
            workers = len(there)
            gone = submission.gone(there)
            watch.say_gone([*gone.values()], len(there))
            await watch.disconnect([*gone], there)
            if await _is_stuck(watch, submission, there, silent) and not task.done():
                return None
    finally:
        task.cancel()


async def _is_stuck(
    watch: Watch, submission: Submission, there: list[Listed], silent: dict[Listed, float]
) -> bool:
    """Whether to go on without workers that are there no more, or silent; says what it waits for.

    `WorkerError` where there are no others.
    """
    empty = watch.silence.empty
    if empty >= watch.limit:
        raise none_left(watch.client, watch.limit, there)
    if empty >= SAY:
        watch.sayings.say(
            f"{watch.client} has no workers left: waiting for one, {watch.limit:g} s in all "
            "(worker_timeout=)",
            "no workers",
        )
    if there and submission.is_left_by(there):
        return True
    if not silent:
        return False
    # Also those that were given up before: Dask moves tasks to them, since they have nothing to do.
    awaited = await submission.awaited(silent)
    given_up = await watch.hopeless(silent, awaited)
    left = len({*alive(there)} - {*silent})
    if given_up and not left:
        raise none_left(watch.client, watch.limit, there)
    watch.say_given_up({one: silent[one] for one in given_up}, awaited, left)
    return bool(given_up)
