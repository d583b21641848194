"""The calls of a plan as tasks on a client's workers: which are there, kept, or given once more."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Any

from ....dataclass import dataclass
from ....late import task_spec
from ..fingerprint import Fingerprint
from ..losses import scheduler_of
from ..patience import Listed
from ..plans import function_of
from . import let_go, spans
from .calls import PlanCall


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
    keys: dict[str, Any] = field(default_factory=dict)  # of the last task of each call
    taken: dict[str, Any] = field(default_factory=dict)  # values of results that are here
    read: set[str] = field(default_factory=set)  # calls that all have read that need them
    depths: dict[str, int] = field(default_factory=dict)  # how many calls come before each

    def submit(self, workers: Sequence[str], kept: dict[str, Any] | None = None) -> None:
        """Make tasks of the calls, but for those that ``kept`` futures give the result of.

        At first Dask moves those of a worker that dies. Later only ``workers`` may run them.
        """
        old, self.futures = self.futures, dict(kept or {})
        self.depths = self.depths or _depths(c for c in self.calls.values() if not c.aside)
        soonest = 1 + max(self.depths.values(), default=0)
        self.allowed = frozenset(workers) if self.times else frozenset()
        for name in self._missing():
            call = self.calls[name]
            where = list(workers) if self.allowed else [workers[call.worker % len(workers)]]
            with (
                spans.annotated(),
                warnings.catch_warnings(),
            ):  # of what it sends Dask says that it is large
                warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
                self.futures[name] = self.client.submit(
                    *(function_of(call, self.here), *map(self._read, call.arguments)),
                    key=f"{name}-again-{self.times}" if self.times else name,
                    pure=False,
                    # A copy is made before the next piece is begun, and what is there is read
                    # before more of it is made: a kill loses less, and less lies there.
                    priority=soonest if call.aside else self.depths[name],
                    workers=where,
                    allow_other_workers=not self.allowed,
                )
                self.keys[name] = self.futures[name].key
        self.meant, self.seen = frozenset(workers), frozenset()
        self.times += 1
        for name, future in old.items():
            if self.futures.get(name) is not future:
                future.release()  # to cancel it would cancel what is kept of what depends on it

    def _read(self, argument: Any) -> Any:
        return self.futures[argument.key] if type(argument) is task_spec.TaskRef else argument

    def _missing(self) -> list[str]:
        """The calls that the results need and no future gives, each after those it needs.

        At first also what makes copies of results: Dask makes these again where they are lost.
        """
        needed, open_ = set[str](), [name for name in self.results if name not in self.taken]
        while open_:
            name = open_.pop()
            if name not in self.futures and name not in needed:
                needed.add(name)
                open_ += self.calls[name].needs
        if not self.times:
            needed.update(name for name, call in self.calls.items() if call.aside)
        self.read -= needed
        return [name for name in self.calls if name in needed]

    def gone(self, there: Sequence[Listed]) -> dict[str, str]:
        """The workers that were there at the last look, or at first, and are no more.

        What each is called, by its address.
        """
        if self.seen:
            return {one.address: str(one) for one in self.seen if one not in there}
        missing = self.meant - {one.address for one in there}
        return {address: address for address in sorted(missing)}

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
        done = [name for name, future in known if future.status == "finished"]
        return [*done, *self.taken, *self.read]

    def wanted(self) -> list[Any]:
        """The futures of the results."""
        return [self.futures[name] for name in self.results]

    def take(self, name: str, value: Any) -> None:
        """Note the ``value`` of a result: nobody is to make it again if its worker is lost now."""
        self.taken[name] = value
        self.futures.pop(name).release()

    def let_go(self, until_here: bool) -> None:
        """Let Dask forget what all have read that need it; else it would make that again, too.

        ``until_here``: results are taken here, and what they were made of is kept until they are.
        """
        open_ = {name for name, future in self.futures.items() if future.status != "finished"}
        open_.update({*self.results} & self.futures.keys() if until_here else ())
        needed = {need for name in open_ for need in self.calls[name].needs}
        for name in self.futures.keys() - open_ - needed - {*self.results}:
            self.read.add(name)
            self.futures.pop(name).release()

    def done(self) -> tuple[int, int]:
        """How many calls gave their results, and how many there are."""
        return len(self.finished()), len(self.calls)

    def failed(self) -> bool:
        """Whether a task raised something."""
        return any(future.status == "error" for future in self.futures.values())

    async def go_anywhere(self) -> None:
        """Let Dask make what is lost of this on any worker, whatever they were made for.

        A task whose worker goes while there is no other keeps its wish for that one, and Dask gives
        it to none that comes later: `is_left_by` is asked only until this is made.
        """
        keys = {key: None for name, key in self.keys.items() if not self.calls[name].aside}
        with suppress(KeyError):  # what nobody needs any more it has forgotten
            await scheduler_of(self.client).set_restrictions(worker=keys)

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


def _depths(calls: Iterable[PlanCall]) -> dict[str, int]:
    """The most calls that come one after another before each of ``calls``, by its name."""
    found = dict[str, int]()
    for call in calls:  # each comes after those that it needs
        found[call.name] = 1 + max((found.get(need, -1) for need in call.needs), default=-1)
    return found
