"""One long line in order, a cell after the other, each by a pass over what it is made of.

No copy of the elements is stored: they are read, or made, once more for each cell. A cell is what
memory has room for. Where it is to hold what, counting the elements says.
"""

from __future__ import annotations

import math
import threading
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .... import dtypes
from ....errors import DataFileError
from ....expr.nodes import Expr, Through
from ....expr.sources.tiled import Box
from ....expr.through.ordering import one_nan
from ....numbers import bytes_text
from ....plan import streams
from ....plan.streams import readers_in, tiled, walked
from ....plan.working import stream_bytes
from ...boxes import Stop
from ...ordering.elements import AllElements
from ...ordering.keys import value_of
from ...ordering.sorting import line_sorted, places_of
from ..elements import WalkedElements
from ..made.cells import read_bytes
from ..worker import StreamWorker
from .cuts import COUNTERS, COUNTING, OrderCell, cells_of, most_passes
from .gathered import LeftAt, gathered, gathered_of_one

Array: TypeAlias = NDArray[Any]

LEAST_CELL: Final = 1 << 16  # elements
_BLOCK: Final = 1 << 23  # bytes of elements that a thread makes at a time


class SortedBlocks:
    """What ``source`` makes of ``root``, one line: its elements in order, or their places.

    ``room``: bytes that this may take, with those of a cell while it is made. ``threads`` make it.
    """

    noun = "passes at most"
    in_order = (0,)

    def __init__(self, source: Through, root: Expr, room: int, threads: int) -> None:
        self.source, self.root, self.threads = source, root, threads
        self.made_of = (root,)
        self.shape = source.shape
        each = dtypes.itemsize(root.dtype)
        # Sorted: what was found, put together; the sort's own. Places: keys with these, twice.
        self._each = 6 * each + 40 if self._places else 3 * each + 2 + threads
        self._room = room
        self.most = max(LEAST_CELL, (room - self._beside) // self._each)
        self._lock = threading.Lock()
        self._forget()

    def __reduce__(self) -> Any:
        """As it was made: neither a lock nor what was read travels."""
        return SortedBlocks, (self.source, self.root, self._room, self.threads)

    def _forget(self) -> None:
        self._cells: list[OrderCell] | None = None
        self._held: tuple[OrderCell, Array] | None = None
        self._stopped: LeftAt | None = None

    @property
    def _places(self) -> bool:
        return self.source.op == "argsort"

    @property
    def chunks(self) -> tuple[int, ...]:
        """About a block."""
        return (max(1, streams.BLOCK // dtypes.itemsize(self.source.dtype)),)

    @property
    def label(self) -> str:
        """What a plan calls it."""
        labels = [one.label for one in readers_in([self.root])]
        return f"{self.source.op} of {', '.join(labels) or 'what is made again for each'}"

    @property
    def lies_in(self) -> tuple[str, ...]:
        """The files and folders that hold the elements."""
        each = (getattr(one, "lies_in", ()) for one in readers_in([self.root]))
        return tuple(place for some in each for place in some)

    @property
    def working_bytes(self) -> int:
        """Bytes of a cell while it is made, and of what each thread reads and counts for it."""
        return self._beside + min(self.most, self.source.count) * self._each

    @property
    def _beside(self) -> int:
        """Bytes of what threads read and count, whatever a cell holds."""
        inner = sum(getattr(one, "working_bytes", 0) for one in readers_in([self.root]))
        read = stream_bytes(self.root, self.source) if tiled(self.root) else _BLOCK
        return int(self.threads * (read + COUNTERS * COUNTING) + inner)

    def touched(self, box: Box) -> tuple[int, int]:
        """Bytes that are read, or made, for ``box``, and in how many passes, at most."""
        count = len(range(box[0].start, box[0].stop))
        size, dtype = self.source.count, self.root.dtype
        counting, passes = most_passes(size, self.most, dtype, self._places)
        if count < size:
            passes = min(passes, most_passes(count, self.most, dtype, self._places)[1] + 1)
        once = read_bytes(self.root) or size * dtypes.itemsize(dtype)
        return (counting + passes) * once, counting + passes

    @property
    def passes(self) -> str:
        """In words what all of it reads, and the memory of a cell."""
        size, passes = self.touched((slice(0, self.source.count, 1),))
        verb = "reads" if readers_in([self.root]) else "makes"
        return (
            f"{self.label}: {passes:,} {self.noun}, which {verb} {bytes_text(size)} in all; "
            f"a pass takes {bytes_text(self.working_bytes)}"
        )

    def read(self, box: Box, out: Array) -> None:
        """Put what ``box`` has of the order into ``out``."""
        (along,) = box
        with self._lock:
            if along.start == 0:
                self._forget()  # whoever begins again reads what is there now
            done, count = 0, len(out)
            while done < count:
                at = along.start + done * along.step
                cell, values = self._cell_at(at)
                low = at - cell.first
                here = min(count - done, -(-(cell.count - low) // along.step))
                last = low + (here - 1) * along.step
                out[done : done + here] = values[low : last + 1 : along.step]
                done += here

    def _cell_at(self, at: int) -> tuple[OrderCell, Array]:
        """The cell with place ``at``, in order."""
        if self._held is not None and self._held[0].first <= at < self._held[0].end:
            return self._held
        self._held = None  # its memory is the next one's
        stop = Stop()
        elements = elements_of_line(self.root, self.threads, stop)
        assert elements is not None
        try:
            if self._cells is None:
                self._cells = cells_of(elements, self.most)
            found = (one for one in self._cells if one.first <= at < one.end)
            cell = next(found, None)
            if cell is None:
                raise self._changed()
            self._held = cell, self._made(elements, cell)
        finally:
            stop.set()
        return self._held

    def _made(self, elements: AllElements, cell: OrderCell) -> Array:
        if cell.is_one_key:
            return self._equal(elements, cell)
        values, places = gathered(elements, cell, self._places)
        missing = cell.count - len(values)  # NaN, which are no numbers between two others
        if missing < 0 or (missing and (places is not None or values.dtype.kind != "f")):
            raise self._changed()
        if places is not None:
            return places[places_of(values)]
        line_sorted(elements, values)
        if not missing:
            return values
        return np.concatenate([values, np.full(missing, np.nan, values.dtype)])

    def _equal(self, elements: AllElements, cell: OrderCell) -> Array:
        """Elements that are equal; of zeros their signs have to be read."""
        value = value_of(cell.low, elements.dtype)
        if not self._places and (value != 0 or elements.dtype.kind != "f"):
            return one_nan(np.full(cell.count, value, elements.dtype))
        (values, places), self._stopped = gathered_of_one(elements, cell, self._stopped)
        if len(values) != cell.count:
            raise self._changed()
        return values if not self._places or places is None else places

    def _changed(self) -> DataFileError:
        return DataFileError(
            f"{self.label} changed while it was read: {self.source.count:,} elements were counted"
        )


def elements_of_line(root: Expr, threads: int, stop: Stop) -> AllElements | None:
    """All elements of ``root``, read or made block after block; None where they cannot be."""
    worker = StreamWorker(stop)
    if not tiled(root):
        return AllElements(root, {}, None, stop, worker.store, threads)
    given = worker.walked([root], {}, threads)
    return given[0] if given and isinstance(given[0], WalkedElements) else None


def can_be_walked(root: Expr) -> bool:
    """Whether all elements of ``root`` can be read, or made, in their order."""
    return math.prod(root.shape) > 0 and (not tiled(root) or walked(root) is not None)
