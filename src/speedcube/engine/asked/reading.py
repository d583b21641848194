"""Arrays that several computations are made of: kept from the second one that reads them.

A loop that asks for a number of its state in each step (``while abs(new - old).max() > 1e-6``)
would make all steps before it each time. So the second computation that is made of what another
one was made of makes that first, keeps its values, and reads them; in the next step the array that
stands where it stood is made and kept at once. Only where an element takes many operations, up to
as many bytes as Dask's setting ``speedcube.keep-asked`` says, as long as the array's expression
lives and the data that it reads are what they were. The values are the same bits.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np

from ... import dtypes
from ...dataclass import dataclass
from ...errors import MemoryLimitError
from ...expr.nodes import Expr, Node, Stored
from ...plan.plan import Plan
from ..known.budget import most_bytes
from ..known.spans import reading
from ..routines import direct
from ..rungs import Rung
from ..stepwise.choice import MOST
from .below import HEAVY, Thing, Work, as_expr, nodes_below, read_below, things_of, work_of
from .noticed import asked_again, few_between, foreseen, forget, notice
from .unwritten import Read, Witness, is_ours_alone, witness_of
from .values import Recollection, Remembered, Witnesses

SETTING: Final = "speedcube.keep-asked"
# Nodes of a computation from which on it is noticed, by rung. A GPU's kernels take longest to make,
# and other steps of a loop that are not kept have other kernels.
LONG: Final = {"core": 48, "cores": 48, "gpu": 16}

# Operations that it takes to compare an element, where those of a step are made one by one. A
# kernel makes many of them in the time of one.
COMPARED: Final = 2
FEW_COMPARED: Final = 1 << 16  # elements, in some ten microseconds

Make: TypeAlias = Callable[[Sequence[Expr]], list[Any]]


_state: Final = Recollection()


class _Pause(threading.local):
    """Whether this thread computes for what is kept."""

    paused: bool = False


_thread: Final = _Pause()


@contextmanager
def paused() -> Iterator[None]:
    """Nothing that this thread computes inside is noticed."""
    before, _thread.paused = _thread.paused, True
    try:
        yield
    finally:
        _thread.paused = before


def held() -> int:
    """Bytes that are kept, with the copies that tell whether data were written to."""
    return _state.nbytes


def has_kept() -> bool:
    """Whether this thread may read something."""
    return bool(_state.kept) and not _thread.paused


class _SoonRead:
    """The ids of what is kept, and looked at in some microseconds whether it still holds."""

    def __contains__(self, name: object) -> bool:
        one = _state.kept.get(name)  # type: ignore[call-overload]
        return one is not None and sum(w.size for w in one.witnesses.values()) <= FEW_COMPARED


SOON_READ: Final[Container[int]] = _SoonRead()


class _KeptOnHost:
    """The ids of what is kept in the host's memory."""

    def __contains__(self, name: object) -> bool:
        one = _state.kept.get(name)  # type: ignore[call-overload]
        return one is not None and not one.on_gpu


KEPT_ON_HOST: Final[Container[int]] = _KeptOnHost()


def drop() -> None:
    """Keep nothing any more."""
    _state.clear()
    forget()


def plan_with_kept(
    roots: Sequence[Expr], rung: Rung, plan_of: Callable[[Sequence[Expr], Rung], Plan]
) -> Plan | None:
    """The plan of ``roots`` that read what is kept; None where they read nothing that is."""
    look = _Look(roots, rung)
    nodes = look.below(roots) if look.allowed and most_bytes(SETTING, 0) else None
    if nodes is None or not look.met:
        return None
    size = sum(one.nbytes for one in look.met.values())
    reason = f"{rung.reason}; asked before: kept, {size:,} bytes"
    return plan_of(look.reading(roots, nodes), replace(rung, reason=reason))


def reading_asked(roots: Sequence[Expr], rung: Rung, make: Make) -> Sequence[Expr] | None:
    """``roots`` that read what is kept; None where they read nothing that is.

    What they are the second to read is kept from now on: ``make`` gives its values.
    """
    look = _Look(roots, rung)
    nodes = look.below(roots) if look.allowed else None
    if nodes is None or (not look.met and len(nodes) < LONG[rung.kind]):
        return None
    if not most_bytes(SETTING, 0):
        return None
    things = things_of(nodes)
    with paused():
        wanted = asked_again(roots, things, look.met)
        if wanted:
            look.keep(few_between(things), make)
        if look.met:
            wanted += foreseen(things)
        if wanted and look.keep(wanted, make):
            nodes = look.below(roots) or nodes
    notice(roots, things)
    if not look.met:
        return None
    _state.read()
    return look.reading(roots, nodes)


class _Look:
    """One computation's look at what is kept, and what it ``met`` there."""

    def __init__(self, roots: Sequence[Expr], rung: Rung) -> None:
        self._roots = roots
        self.allowed = not _thread.paused and rung.kind in LONG and not rung.cores
        self.on_gpu = rung.kind == "gpu"
        self.met: dict[int, Remembered] = {}
        self._holds: dict[int, bool] = {}

    @property
    def _asked(self) -> int:
        """Elements that are asked for, or reduced."""
        return max(map(direct.elements, self._roots))

    def below(self, roots: Sequence[Expr]) -> list[Node] | None:
        """What ``roots`` need, down to what is kept."""
        return nodes_below(roots, self.is_kept if _state.kept else None)

    def reading(self, roots: Sequence[Expr], nodes: Sequence[Node]) -> Sequence[Expr]:
        """``roots``, which need ``nodes``, that read what was met."""
        return reading(roots, nodes, {name: (one.stored, 0) for name, one in self.met.items()})

    def is_kept(self, node: Node) -> bool:
        """Whether the values of ``node`` are at hand."""
        one = _state.kept.get(id(node))
        if one is None or one.on_gpu != self.on_gpu:
            return False
        if id(node) not in self.met:
            if not all(map(self._is_unwritten, one.witnesses.values())):
                _state.drop(id(node))
                return False
            one.last = _state.computations
            self.met[id(node)] = one
        return True

    def _is_unwritten(self, witness: Witness) -> bool:
        name = id(witness)
        if name not in self._holds:
            self._holds[name] = witness.holds()
        return self._holds[name]

    def keep(self, wanted: Sequence[Thing], make: Make) -> bool:
        """Make the values of those that are ``wanted``, and keep them; whether any are kept."""
        some = {id(thing): thing for thing in wanted if not self.is_kept(thing)}
        ready = self._ready([*some.values()]) if some else None
        if ready is None:
            return bool(self.met)
        try:
            filled = _filled(ready, make)
        except (MemoryError, MemoryLimitError):
            drop()
            self.met.clear()
            return True
        for thing, stored in zip(ready.things, filled, strict=True):
            given = thing, stored, ready.witnesses, self.on_gpu, ready.work
            self.met[id(thing)] = _state.add(*given)
        return True

    def _ready(self, things: Sequence[Thing]) -> _Ready | None:
        """How ``things`` are made of what is kept, as far as there is room; None if they are not.

        Nor are they where that takes longer than what is asked for does: to make and to store
        them, and to compare the data that they are made of each time.
        """
        met, self.met = self.met, {}
        try:
            roots = [as_expr(thing) for thing in things]
            nodes = self.below(roots)
            reads = None if nodes is None else read_below(nodes)
            if nodes is None or reads is None:
                return None
            most = most_bytes(SETTING, held())
            sizes = [math.prod(one.shape) * dtypes.itemsize(one.dtype) for one in things]
            fitting = _fitting(sizes, most - _bytes_of([*met.values(), *self.met.values()]))
            if not fitting:
                return None
            if len(fitting) < len(things):
                return self._ready([things[k] for k in fitting])
            known = self._witnesses()
            seen = [w.read for w in known.values()]
            reads = [one for one in reads if not any(map(one.is_part_of, seen))]
            work = work_of(nodes, self.on_gpu).and_before([one.work for one in self.met.values()])
            compared = [0 if is_ours_alone(one.stored) else one.high - one.low for one in reads]
            elements = [math.prod(one.shape) for one in things]
            looked = sum(compared) + sum(w.size for w in known.values())
            each = COMPARED if max(elements) <= MOST else HEAVY
            takes = HEAVY * sum(elements) + each * looked
            if work.for_some(self._asked / max(*elements, 1)) < takes:
                return None
            witnesses = _witnesses_of(reads, most - sum(sizes))
            if witnesses is None:
                return None
            _state.make_room(most - sum(sizes) - sum(w.nbytes for w in witnesses.values()))
            return _Ready(things, self.reading(roots, nodes), known | witnesses, work)
        finally:
            self.met = met | self.met

    def _witnesses(self) -> Witnesses:
        """What tells whether the data were written to of which that is made which was met."""
        return {name: w for one in self.met.values() for name, w in one.witnesses.items()}


def _witnesses_of(reads: Sequence[Read], room: int) -> Witnesses | None:
    """The same of what is read; None where there is no room for a copy of it."""
    found: Witnesses = {}
    for one in reads:
        witness = witness_of(one, room)
        if witness is None:
            return None
        found[one.name] = witness
        room -= witness.nbytes
    return found


def _bytes_of(some: Sequence[Remembered]) -> int:
    """Bytes of ``some``, with the copies that tell whether data were written to."""
    copies = {id(w): w.nbytes for one in some for w in one.witnesses.values()}
    return sum({id(one): one.nbytes for one in some}.values()) + sum(copies.values())


def _fitting(sizes: Sequence[int], room: int) -> list[int]:
    """Which of ``sizes`` have ``room`` together, the first ones first."""
    found = []
    for k, size in enumerate(sizes):
        if size <= room:
            found.append(k)
            room -= size
    return found


@dataclass(frozen=True)
class _Ready:
    """``things`` as ``roots`` that read what is kept, and what tells later if data are the same."""

    things: Sequence[Thing]
    roots: Sequence[Expr]
    witnesses: Witnesses
    work: Work


def _filled(ready: _Ready, make: Make) -> list[Stored]:
    """The values of what is ``ready``, flat."""
    values = zip(ready.things, make(ready.roots), strict=True)
    return [
        Stored((one if hasattr(one, "reshape") else np.asarray(one)).reshape(-1), thing.dtype)
        for thing, one in values
    ]
