"""Long computations of a block with ``checkpoint=``: what was kept is gone on from.

Parts hand their records over as they do for lost workers (`clusters/handing.py`); this process
writes them to a file, about once a second. A later one that plans the same begins each part behind
what it had come to. Where the number of workers has changed, the parts stay those of the first run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias

from ...dataclass import dataclass
from ...expr.graph import below
from ...expr.nodes import Expr
from ...late import dask, task_spec, uuid
from ...plan.plan import Plan
from ..clusters.asked.calls import Calls
from ..clusters.asked.joining import final_shape
from ..clusters.fingerprint import sources
from ..clusters.handing import TOPIC, left_here
from ..clusters.losses import on_loop, reported
from ..clusters.patience import Sayings
from ..clusters.plans import How, calls_of
from ..clusters.roster import worker_addresses
from ..clusters.submission import run_calls
from ..clusters.watch import Watch
from ..foreign.values import deferred_values, values_there
from ..results import joined
from ..rungs import Rung
from .claims import DamagedError
from .identity import Identity, NoIdentityError
from .ledger import Ledger, going_on, is_long, structure_of
from .records import KeptFile, KeptParts
from .where import folder

RUNGS: Final = ("core", "cores", "client")
_SMALL: Final = 1 << 17  # elements that never take a second
_MOST_WORKERS: Final = 1 << 20  # that a file may name

_sayings: Final = Sayings()
Planned: TypeAlias = Callable[[Rung], Plan]


@dataclass(frozen=True, eq=False)
class _Run:
    """The calls of ``plan`` on ``rung``."""

    rung: Rung
    plan: Plan
    calls: Calls
    token: str

    @classmethod
    def of(cls, rung: Rung, plan: Plan) -> _Run:
        token = f"speedcube-{uuid.uuid4().hex}"
        if rung.kind == "client":
            with reported(rung.client):
                ready = values_there(plan, rung.client)
            how = How(hand_over=True)
        else:
            threads = partial(dask.threaded.get, num_workers=rung.workers)
            ready = deferred_values(plan, threads)
            how = How(False, rung.workers, True)
        return cls(rung, plan, calls_of(plan, ready, token, how), token)

    def results(self, shapes: Sequence[tuple[int, ...]], ledger: Ledger) -> list[Any]:
        """The values that are asked for."""
        calls = going_on(self.calls, ledger)
        if self.rung.kind == "client":
            workers = self.rung.addresses or worker_addresses(self.rung.client)
            return run_calls(self.rung.client, calls, shapes, workers, ledger)

        def leave(name: str, position: int, records: list[Any]) -> None:
            ledger.take(name, position, records)
            ledger.save()

        with left_here(leave):
            found = _run_here(calls)
        return [final_shape(*one) for one in zip(shapes, found, strict=True)]


def _run_here(calls: Calls) -> list[Any]:
    """The results of ``calls``, one after the other; what nobody reads any more goes."""
    readers = Counter(need for call in calls.all for need in call.needs)
    readers.update(calls.results)
    values: dict[str, Any] = {}
    for call in calls.all:
        arguments = [
            values[a.key] if isinstance(a, task_spec.TaskRef) else a for a in call.arguments
        ]
        values[call.name] = call.function(*arguments)
        del arguments
        for need in call.needs:
            readers[need] -= 1
            if not readers[need]:
                del values[need]
    return [values[name] for name in calls.results]


def kept_values(roots: Sequence[Expr], rung: Rung, planned: Planned) -> list[Any] | None:
    """The values of ``roots``; None where the block keeps nothing of such a computation.

    `CheckpointError` where another program keeps the same there.
    """
    place = folder.get()
    if place is None or rung.kind not in RUNGS or _is_small(roots):
        return None
    here = rung if rung.kind == "client" else replace(rung, workers=1)
    identity = Identity()
    try:
        plan = planned(here)
        if not any(map(is_long, _calls_without_values(plan).all)):
            return None
        key = identity.of(sources(), [*roots])
    except NoIdentityError as err:
        _sayings.say(f"checkpoint= keeps nothing of a computation that reads {err}", str(err))
        return None
    file = KeptFile(place, key)
    file.open()
    done = False
    try:
        values = _values(roots, _Run.of(rung, plan), file, identity, planned)
        done = True
        return values
    finally:
        file.close(done)


def _is_small(roots: Sequence[Expr]) -> bool:
    return all(math.prod(node.shape) < _SMALL for node in below(*roots))


def _calls_without_values(plan: Plan) -> Calls:
    """The calls of ``plan``, to be looked at only: what it needs in memory is not there."""
    return calls_of(plan, dict.fromkeys(map(id, plan.deferred)), "", How(hand_over=True))


def _values(
    roots: Sequence[Expr], run: _Run, file: KeptFile, identity: Identity, planned: Planned
) -> list[Any]:
    run, ledger = _begun(run, file, identity, planned)
    plan = run.plan
    shapes = [root.shape for root, own in zip(roots, plan.roots, strict=True) for _ in own]
    try:
        found = run.results(shapes, ledger)
    except BaseException:
        ledger.save(now=True)
        raise
    return [joined([found[k] for k in own]) for own in plan.roots]


def _heard_on(rung: Rung) -> Sequence[Any]:
    """What the scheduler of ``rung``, if it is a cluster, was last told of parts."""
    if rung.kind != "client":
        return ()
    watch = Watch(rung.client)
    with reported(rung.client):
        return on_loop(rung.client, lambda: watch.told(TOPIC))


def _begun(run: _Run, file: KeptFile, identity: Identity, planned: Planned) -> tuple[_Run, Ledger]:
    """The run that goes on with what ``file`` has, or ``run``, which begins anew."""
    workers = run.plan.workers
    new = KeptParts(structure_of(run.calls, run.token, identity), workers, token=run.token)
    try:
        kept = file.read()
    except DamagedError as err:
        _sayings.say(f"{file.path} is not used: {err}; this computation begins anew", file.path)
        kept = None
    if kept is not None and kept.workers != workers and 0 < kept.workers <= _MOST_WORKERS:
        other = _Run.of(run.rung, planned(replace(run.rung, workers=kept.workers)))
        if structure_of(other.calls, other.token, identity) == kept.structure:
            run, new = other, KeptParts(kept.structure, kept.workers, token=other.token)
    ledger = Ledger(file, run.calls, new, run.token)
    if kept is not None and kept.structure == new.structure:
        ledger.parts.update(kept.parts)
        ledger.add_later(kept.token, _heard_on(run.rung))
        ledger.sayings.say(
            f"goes on with what {file.path} has of {len(ledger.parts)} parts of this computation"
        )
    return run, ledger
