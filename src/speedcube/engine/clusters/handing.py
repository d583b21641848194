"""Long parts hand over their record at fixed positions, so that a lost worker costs a second of it.

A part that gives a record is folded slice by slice. Between two of them its record so far goes to
Dask's scheduler as an event, with the position behind it. Who runs the part after its worker is
gone begins there. Positions follow from the expression and the costs of the plan alone; a record
has the same bits wherever it is cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr import views
from ...expr.push import push
from ...plan.costs import of_element
from ...plan.stages import Part, leaf_at
from ...plan.streams import can_stream, steps_of, tiled

Array: TypeAlias = NDArray[Any]
Records: TypeAlias = list[Array]  # of a part, one for each of its results
# Folds a slice; and what several gave into one.
Fold: TypeAlias = Callable[[Part], Records]
Merge: TypeAlias = Callable[[list[Any]], Records]

TOPIC: Final = "speedcube-records"  # Dask keeps its last thousand events
PARTS: Final = 250  # so many hand over at that pace; more do it less often, or events would be lost
MOST: Final = 1 << 16  # bytes that are handed over at once
RECORD: Final = 1152  # bytes of the largest record of a result
# Nanoseconds of a slice by the plan's costs, on one thread. Where an element takes eight times as
# long, as on a busy machine, that is two seconds; and it is much beside the 3 to 13 ms of a slice.
WORK: Final = 0.25e9
GPU: Final = 512  # slices that one takes at once

# A position, and the records up to there.
Left: TypeAlias = tuple[int, Records]
Leave: TypeAlias = Callable[[str, int, Records], None]

_here: ContextVar[Leave | None] = ContextVar("speedcube_records", default=None)


@contextmanager
def left_here(leave: Leave) -> Iterator[None]:
    """Parts that this thread runs hand their records over to ``leave``: there is no scheduler."""
    token = _here.set(leave)
    try:
        yield
    finally:
        _here.reset(token)


@dataclass(frozen=True, eq=False)
class Slices:
    """``part`` in slices of ``step`` positions of ``axis``."""

    part: Part
    axis: int
    step: int

    @property
    def extent(self) -> int:
        return self.part.root.shape[self.axis]

    def between(self, start: int, stop: int) -> Part:
        """The elements at positions ``[start, stop)``."""
        part = self.part
        item = (slice(None),) * self.axis + (slice(start, stop),)
        root = push(part.root, views.indexed(part.root.shape, item))
        return Part(root, tuple(leaf_at(leaf, item) for leaf in part.extra), self.axis, start, stop)


def slices_of(part: Part, axes: tuple[int, ...]) -> Slices:
    """How ``part``, which is reduced over ``axes``, is cut: along the longest of them."""
    root = part.root
    axis = max(axes, key=lambda k: root.shape[k])
    each = of_element(root) * math.prod(root.shape) / max(1, root.shape[axis])
    return Slices(part, axis, max(1, math.ceil(WORK / each)) if each else root.shape[axis] or 1)


@dataclass(frozen=True, eq=False)
class AlongResults:
    """A part that is cut along its results: axis ``place`` of ``shape``, in ``slices``.

    Its record has a whole number for each result, slice after slice.
    """

    slices: Slices
    place: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def _words(self) -> str:
        return f"u{self.dtype.itemsize}"

    def record(self, results: Array) -> Array:
        """``results``, of a slice, as numbers that others can be put behind."""
        lines = np.ascontiguousarray(np.moveaxis(results, self.place, 0), self.dtype)
        return lines.reshape(-1).view(self._words).astype(np.int64)

    def results(self, record: Array) -> Array:
        """The results of the whole part."""
        lines = record.astype(self._words).view(self.dtype)
        first, *rest = self.shape[self.place], *np.delete(self.shape, self.place)
        found = lines.reshape(first, *map(int, rest))
        return np.ascontiguousarray(np.moveaxis(found, 0, self.place))


def along_results(part: Part, axes: tuple[int, ...], dtype: str) -> AlongResults | None:
    """How ``part``, which is reduced over ``axes`` to ``dtype``, is cut along its results.

    None where one of them takes longer than a slice should, or all of them are too much for the
    scheduler. Where chunks are decoded, a slice has whole ones.
    """
    root = part.root
    kept = tuple(k for k in range(len(root.shape)) if k not in axes)
    shape = tuple(root.shape[k] for k in kept)
    size = 8 * math.prod(shape)
    if not kept or not 0 < size <= MOST or 0 in root.shape:
        return None
    slices = slices_of(part, kept)
    each = of_element(root) * math.prod(root.shape) / slices.extent
    if each > WORK:
        return None
    if tiled(root):
        if not can_stream(root):
            return None
        step, second = steps_of(root)[slices.axis]
        if second not in (0, step):  # the part begins within a chunk
            return None
        slices = replace(slices, step=step * math.ceil(slices.step / step))
    return AlongResults(slices, kept.index(slices.axis), shape, np.dtype(dtype))


def has_few(part: Part, axes: tuple[int, ...]) -> bool:
    """Whether records of all results of ``part``, the largest of each, are handed over."""
    kept = [n for k, n in enumerate(part.root.shape) if k not in axes]
    return math.prod(kept) <= MOST // RECORD


class HandsOver(Protocol):
    """A part that was sent.

    ``name`` is its own, of this computation, if it hands its record over. ``left`` is what an
    earlier run came to, where somebody keeps the records, that of the whole part, too. It is one
    ``among`` so many parts of its stage.
    """

    @property
    def name(self) -> str: ...
    @property
    def left(self) -> Left | None: ...
    @property
    def among(self) -> int: ...


def in_slices(sent: HandsOver, slices: Slices, at_once: int, fold: Fold, merge: Merge) -> Records:
    """The records of a part, by so many slices ``at_once``.

    What another worker left of it is taken, or an earlier run.
    """
    name, left = sent.name, sent.left
    extent, step = slices.extent, slices.step * at_once * math.ceil(sent.among / PARTS)
    if not name or (extent <= step and left is None):
        return fold(slices.part)
    start, records = max(_left(name), left or (0, []), key=_position)
    while start < extent:
        stop = min(extent, start + step)
        some = fold(slices.between(start, stop))
        records, start = merge([records, some]) if records else some, stop
        told = start < extent or left is not None
        if told and sum(record.nbytes for record in records) <= MOST:
            _leave(name, start, records)
    return records


def _position(left: Left) -> int:
    return left[0]


def _leave(name: str, position: int, records: Records) -> None:
    """Tell the scheduler what there is up to ``position``."""
    if (leave := _here.get()) is not None:
        leave(name, position, records)
        return
    from distributed import get_worker

    data = [(list(one.shape), np.ascontiguousarray(one, np.int64).tobytes()) for one in records]
    worker = get_worker()
    event = {"name": name, "position": position, "records": data, "worker": worker.address}
    worker.log_event(TOPIC, event)


def _left(name: str) -> Left:
    """The last position that somebody came to, and the records up to there."""
    if _here.get() is not None:
        return 0, []
    from distributed import get_worker
    from distributed.utils import sync

    worker = get_worker()
    try:
        events = sync(worker.loop, worker.scheduler.events, topic=TOPIC)
    except (OSError, TimeoutError):  # it costs time, and nothing else
        return 0, []
    for _, event in reversed(events or ()):
        if event["name"] == name:
            return int(event["position"]), records_in(event)
    return 0, []


def records_in(event: Any) -> Records:
    """The records that an event brings."""
    return [np.frombuffer(raw, np.int64).reshape(shape) for shape, raw in event["records"]]
