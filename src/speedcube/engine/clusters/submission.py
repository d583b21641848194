"""A plan on a Dask client's workers, whatever becomes of them while it is computed.

Tasks of a worker that dies run elsewhere: Dask sees to that. What a worker that is stopped was to
give is then computed by others, under names of its own; what others have given stays.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import partial
from typing import Any

from ...dataclass import dataclass
from ...errors import WorkerError
from ...late import task_spec, uuid
from ...plan.plan import Plan
from ..progress.count import Told
from .asked import let_go, logs
from .asked.joining import final_shape
from .asked.outcomes import Taken, made_there, values_of
from .fingerprint import Fingerprint, expected
from .handing import TOPIC
from .losses import forget, none_left, on_loop, reported
from .patience import SAY, Listed, interval
from .plans import Calls, How, PlanCall, calls_of, function_of
from .roster import worker_addresses
from .watch import Follower, Watch, alive


@dataclass
class Submission:
    """The calls of a plan as tasks on a client's workers, as often as it takes."""

    client: Any
    calls: dict[str, PlanCall]
    results: tuple[str, ...]  # the calls that give what is wanted
    here: Fingerprint
    futures: dict[str, Any] = field(default_factory=dict)  # by the call's name
    times: int = 0
    allowed: frozenset[str] = frozenset()  # the only workers that may run them; empty: all
    meant: frozenset[str] = frozenset()  # the workers that they were made for; empty: any
    seen: frozenset[Listed] = frozenset()  # the workers at the last look

    def submit(self, workers: Sequence[str], kept: dict[str, Any] | None = None) -> None:
        """Make tasks of the calls, but for those that ``kept`` futures give the result of.

        At first Dask moves those of a worker that dies. Later only ``workers`` may run them.
        """
        old, self.futures = self.futures, dict(kept or {})
        self.allowed = frozenset(workers) if self.times else frozenset()
        for name in self._missing():
            call = self.calls[name]
            where = list(workers) if self.allowed else [workers[call.worker % len(workers)]]
            with warnings.catch_warnings():  # of what it sends Dask says that it is large
                warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
                self.futures[name] = self.client.submit(
                    *(function_of(call, self.here), *map(self._read, call.arguments)),
                    key=f"{name}-again-{self.times}" if self.times else name,
                    pure=False,
                    workers=where,
                    allow_other_workers=not self.allowed,
                )
        self.meant, self.seen = frozenset(workers), frozenset()
        self.times += 1
        for name, future in old.items():
            if self.futures.get(name) is not future:
                future.release()  # to cancel it would cancel what is kept of what depends on it

    def _read(self, argument: Any) -> Any:
        return self.futures[argument.key] if type(argument) is task_spec.TaskRef else argument

    def _missing(self) -> list[str]:
        """The calls that the results need and no future gives, each after those it needs."""
        needed, open_ = set[str](), [*self.results]
        while open_:
            name = open_.pop()
            if name not in self.futures and name not in needed:
                needed.add(name)
                open_ += self.calls[name].needs
        return [name for name in self.calls if name in needed]

    def gone(self, there: Sequence[Listed]) -> list[str]:
        """The workers that were there at the last look, or at first, and are no more."""
        if self.seen:
            return [str(one) for one in self.seen if one not in there]
        return sorted(self.meant - {one.address for one in there})

    def is_left_by(self, there: Sequence[Listed]) -> bool:
        """Whether all workers that it was made for, or that were last seen, have gone.

        A task that had no worker at all for a moment keeps its wish for one that has gone, and Dask
        does not give it to those that come later.
        """
        before, self.seen = self.seen, frozenset(there)
        gone = self.meant and not self.meant & {worker.address for worker in there}
        return bool(gone or (before and not before & self.seen))

    def finished(self) -> list[str]:
        """The calls that are done."""
        known = [*self.futures.items()]  # another thread asks, too
        return [name for name, future in known if future.status == "finished"]

    def done(self) -> tuple[int, int]:
        """How many calls gave their results, and how many there are."""
        return len(self.finished()), len(self.calls)

    def failed(self) -> bool:
        """Whether a task raised something."""
        return any(future.status == "error" for future in self.futures.values())

    async def awaited(self, workers: Iterable[Listed]) -> dict[Listed, str]:
        """Which of ``workers`` run tasks of this or hold a result that is needed, in words."""
        asked = {worker.address: worker for worker in workers}
        held = await self._holders()
        running = await self._running([*asked])
        names = self._wanted()
        counts: Counter[str] = Counter()
        for name in names:
            places = {running[name]} if name in running else {*held.get(name, ())}
            counts.update(places & {*asked})
        found = await let_go.holding(self.client, self.inputs(), [*asked.values()])
        tasks = {a: f"{n} of this computation's {len(self.calls)} tasks" for a, n in counts.items()}
        return {asked[a]: text for a, text in {**found, **tasks}.items()}

    def inputs(self) -> list[Any]:
        """The futures that calls read and this did not make: arrays that lie on the cluster."""
        read = [one for call in self.calls.values() for one in call.arguments]
        return [one for one in read if isinstance(getattr(one, "status", None), str)]

    def _wanted(self) -> set[str]:
        """The calls that run, and those whose results these, or nobody yet, have read."""
        open_ = {name for name, future in self.futures.items() if future.status != "finished"}
        read = {need for name in open_ for need in self.calls[name].needs}
        return open_ | read & {*self.futures} or {*self.results}

    async def kept(self, workers: Sequence[str]) -> dict[str, Any]:
        """The futures that need none but ``workers``: held by them, or run there on what they hold.

        A task that reads what another worker holds may be waiting for that for ever.
        """
        here = {*workers}
        held, running = await self._holders(), await self._running(workers)
        kept: dict[str, Any] = {}
        for name, future in self.futures.items():
            if future.status == "finished":
                keep = bool(here & {*held.get(name, ())})
            else:
                needs = self.calls[name].needs
                safe = all(n in kept and here >= {*held.get(n, ())} for n in needs)
                keep = future.status == "pending" and name in running and safe
            if keep:
                kept[name] = future
        return kept

    async def _holders(self) -> dict[str, Sequence[str]]:
        """The addresses of those that hold a result, by the call's name."""
        names = {future.key: name for name, future in self.futures.items()}
        held = await self.client.who_has([*self.futures.values()])
        return {names[key]: places for key, places in held.items() if key in names}

    async def _running(self, workers: Sequence[str]) -> dict[str, str]:
        """The address of the one of ``workers`` that runs a call, by the call's name."""
        names = {future.key: name for name, future in self.futures.items()}
        processing = await let_go.processing(self.client, workers)
        return {
            names[key]: address
            for address, keys in processing.items()
            for key in keys
            if key in names
        }


def run_on(
    client: Any,
    plan: Plan,
    shapes: Sequence[tuple[int, ...]],
    ready: dict[int, Any],
    workers: Sequence[str],
    told: Told,
) -> list[Any]:
    """The results of ``plan`` from ``client``'s ``workers``: one part on each."""
    calls = calls_of(plan, ready, f"speedcube-{uuid.uuid4().hex}", How(hand_over=True))
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
    found = settled(client, calls, workers, values_of, follower, told)
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
            return result
    except BaseException as err:
        forget(client, [*submission.futures.values()])
        if isinstance(err, Exception) and submission.failed():
            _blame(client, err)
        raise
    finally:
        logs.empty(client)


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

    futures = [submission.futures[name] for name in submission.results]
    task = asyncio.ensure_future(taken(futures))
    workers = 0
    try:
        while True:
            await asyncio.wait({task}, timeout=interval(workers))
            if task.done():
                return task.result()
            if follower is not None:
                events = await watch.told(TOPIC) if follower.hears else ()
                await asyncio.to_thread(follower.look, submission.finished(), events)
            there, silent = await watch.look()
            workers = len(there)
            watch.say_gone(submission.gone(there), len(there))
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
    given_up = await watch.hopeless(silent, await submission.awaited(silent))
    if given_up and not {*alive(there)} - {*silent}:
        raise none_left(watch.client, watch.limit, there)
    return bool(given_up)
