"""Long parts hand over their record at fixed positions, so that a lost worker costs a second of it.

A part that gives a record is folded slice by slice. Between two of them its record so far goes to
Dask's scheduler as an event, with the position behind it. Who runs the part after its worker is
gone begins there. Positions follow from the expression and the costs of the plan alone; a record
has the same bits wherever it is cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...expr import views
from ...expr.push import push
from ...plan.costs import of_element
from ...plan.stages import Part, leaf_at

Array: TypeAlias = NDArray[Any]
Records: TypeAlias = list[Array]  # of a part, one for each of its results
# Folds a slice; and what several gave into one.
Fold: TypeAlias = Callable[[Part], Records]
Merge: TypeAlias = Callable[[list[Any]], Records]

TOPIC: Final = "speedcube-records"  # Dask keeps its last thousand events
MOST: Final = 1 << 16  # bytes that are handed over at once
# Nanoseconds of a slice by the plan's costs, on one thread. Where an element takes eight times as
# long, as on a busy machine, that is a second; and it is much beside the 3 ms that a slice costs.
WORK: Final = 0.12e9
GPU: Final = 512  # slices that one takes at once


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


def in_slices(name: str, slices: Slices, at_once: int, fold: Fold, merge: Merge) -> Records:
    """The records of a part, by so many slices ``at_once``.

    ``name`` is the part's own, of this computation. What another worker left of it is taken.
    """
    extent, step = slices.extent, slices.step * at_once
    if not name or extent <= step:
        return fold(slices.part)
    start, records = _left(name)
    while start < extent:
        stop = min(extent, start + step)
        some = fold(slices.between(start, stop))
        records, start = merge([records, some]) if records else some, stop
        if start < extent and sum(record.nbytes for record in records) <= MOST:
            _leave(name, start, records)
    return records


def _leave(name: str, position: int, records: Records) -> None:
    """Tell the scheduler what there is up to ``position``."""
    from distributed import get_worker

    data = [(list(one.shape), np.ascontiguousarray(one, np.int64).tobytes()) for one in records]
    worker = get_worker()
    event = {"name": name, "position": position, "records": data, "worker": worker.address}
    worker.log_event(TOPIC, event)


def _left(name: str) -> tuple[int, Records]:
    """The last position that somebody came to, and the records up to there."""
    from distributed import get_worker
    from distributed.utils import sync

    worker = get_worker()
    try:
        events = sync(worker.loop, worker.scheduler.events, topic=TOPIC)
    except (OSError, TimeoutError):  # it costs time, and nothing else
        return 0, []
    for _, event in reversed(events or ()):
        if event["name"] == name:
            data = event["records"]
            found = [np.frombuffer(raw, np.int64).reshape(shape) for shape, raw in data]
            return int(event["position"]), found
    return 0, []
