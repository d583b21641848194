"""Drawn numbers that several computations read: drawn once more, and kept, by the second of them.

Random numbers need no memory, so each computation draws its own. Where ``x`` is drawn before a loop
that computes with it, that is several times the work of reading them. Up to as many bytes as
Dask's setting ``speedcube.keep-drawn`` says, the values of a source are kept from the second
computation that reads most of it until the source dies, or until memory is scarce. The first one
keeps what it would draw twice (`spans.drawn_twice`). They are the same bits. A plan counts them:
`foreseen` is what the next computation will do.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ...dataclass import dataclass
from ...errors import MemoryLimitError
from ...expr.graph import below_up_to
from ...expr.nodes import Expr, Leaf, Stored
from ...late import dask
from ...plan.plan import Plan
from ..asked import reading as asked
from ..rungs import Rung
from .budget import most_bytes
from .spans import Drawing, Span, drawn_twice, reading, spans_of

SETTING: Final = "speedcube.keep-drawn"
RUNGS: Final = frozenset(("core", "cores"))  # where they are kept
LEAST: Final = 1 << 16  # numbers: fewer are drawn in 0.1 ms, and to look them up takes a third
_MOST_NODES: Final = 1 << 8  # of a program: to look through it costs little beside its run


@dataclass(eq=False)
class Drawn:
    """What is known of a source: how many computations read it, and its values where kept."""

    source: weakref.ref[Drawing]
    uses: int = 0
    first: int = 0  # position of the first value
    stored: Stored | None = None
    coming: int = 0  # bytes that a computation draws now

    @property
    def nbytes(self) -> int:
        return self.coming if self.stored is None else int(self.stored.buffer.nbytes)

    def has(self, span: Span) -> bool:
        """Whether all of ``span`` is kept."""
        if self.stored is None:
            return False
        return self.first <= span.low and span.high <= self.first + self.stored.buffer.size


_known: Final[dict[int, Drawn]] = {}
_lock = threading.RLock()  # a source may die while it is held


@dataclass(frozen=True)
class Reading:
    """``roots`` that read what is kept: ``held`` bytes, and ``new`` ones that are drawn for it."""

    roots: Sequence[Expr]
    held: int = 0
    new: int = 0

    @property
    def text(self) -> str:
        """What is kept of drawn numbers, for a plan's reason."""
        parts = [f"kept, {self.held:,} bytes"] * bool(self.held)
        parts += [f"to be kept, {self.new:,} bytes"] * bool(self.new)
        return f"drawn: {' and '.join(parts)}"


def limit() -> int:
    """Bytes that may be kept in all: what is set, and no more than a part of the free memory."""
    return most_bytes(SETTING, held())


def held() -> int:
    """Bytes that are kept."""
    with _lock:
        return sum(one.nbytes for one in _known.values())


@contextmanager
def drawing_again() -> Iterator[None]:
    """Each computation inside draws and makes its own, as one that is timed or compared has to."""
    with dask.config.set({SETTING: 0, asked.SETTING: 0}):
        yield


def drop() -> None:
    """Keep nothing; what is read again is drawn again."""
    with _lock:
        _known.clear()


def foreseen(roots: Sequence[Expr]) -> Reading:
    """``roots`` as `keeping_drawn` would make them now; what it would draw is not there yet."""
    nodes = below_up_to(roots, _MOST_NODES)
    spans = [] if nodes is None else spans_of(nodes)
    if nodes is None or not spans:
        return Reading(roots)
    room, twice = limit(), drawn_twice(nodes, spans)
    if held() > room:
        return Reading(roots)
    kept, new, old = {}, 0, 0
    for span in spans:
        again = id(span.source) in twice
        one = _known.get(id(span.source)) or (Drawn(weakref.ref(span.source)) if again else None)
        if one is None:
            continue
        if one.stored is not None and one.has(span):
            kept[id(span.source)] = one.stored, one.first
            old += one.nbytes
        elif (one.uses or again) and _fits(one, span, room - new):
            # Pages that nobody writes to are not there.
            kept[id(span.source)] = _empty(span), span.low
            new += span.nbytes
    return Reading(reading(roots, nodes, kept), old, new)


def plan_with_kept(
    roots: Sequence[Expr], rung: Rung, plan_of: Callable[[Sequence[Expr], Rung], Plan]
) -> Plan | None:
    """The plan of ``roots`` with drawn numbers that are kept, or will be; None without any."""
    found = foreseen(roots)
    if found.roots is roots:
        return None
    try:
        plan = plan_of(found.roots, replace(rung, reason=f"{rung.reason}; {found.text}"))
    except MemoryLimitError:
        return None  # what is kept is given back then
    return replace(plan, peak_bytes=plan.peak_bytes + found.new)


def keeping_drawn(
    roots: Sequence[Expr], draw: Callable[[Sequence[Expr]], list[Any]]
) -> Sequence[Expr]:
    """``roots`` as the next computation: what it is the second to read is kept, by ``draw``."""
    nodes = below_up_to(roots, _MOST_NODES)
    if nodes is None:
        return roots
    spans = spans_of(nodes)
    if not spans and not _known:
        return roots
    room = limit()
    if held() > room:
        drop()  # memory is scarce, or less is allowed now
    if not room or not spans:
        return roots
    all_seen = [(span, _seen(span.source)) for span in spans]
    known = all(one.has(span) for span, one in all_seen)
    kept, twice = {}, frozenset[int]() if known else drawn_twice(nodes, spans)
    for span, one in all_seen:
        if _is_ours_to_draw(one, span, room, id(span.source) in twice):
            _draw(one, span, draw)
        if one.stored is not None and one.has(span):
            kept[id(span.source)] = one.stored, one.first
    return reading(roots, nodes, kept)


def _seen(source: Drawing) -> Drawn:
    name = id(source)
    with _lock:
        if name not in _known:
            _known[name] = Drawn(weakref.ref(source, lambda _: _known.pop(name, None)))
        return _known[name]


def _fits(one: Drawn, span: Span, room: int) -> bool:
    return not one.nbytes and span.size >= LEAST and held() + span.nbytes <= room


def _is_ours_to_draw(one: Drawn, span: Span, room: int, again: bool) -> bool:
    """Whether this computation is to keep ``span``; then no other does so at the same time."""
    with _lock:
        one.uses += 1
        ours = (again or one.uses > 1) and _fits(one, span, room)
        if ours:
            one.coming = span.nbytes
    return ours


def _draw(one: Drawn, span: Span, draw: Callable[[Sequence[Expr]], list[Any]]) -> None:
    try:
        (values,) = draw([Leaf(span.source, (span.size,), span.low, (1,))])
        one.first, one.stored = span.low, Stored(values, span.source.dtype)
    finally:
        one.coming = 0


def _empty(span: Span) -> Stored:
    return Stored(np.empty(span.size, span.source.dtype), span.source.dtype)
