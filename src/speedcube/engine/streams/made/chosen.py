"""What a mask chooses of an array, where either is read a box at a time: so is what it chooses."""

from __future__ import annotations

import math
import threading
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .... import dtypes
from ....errors import DataFileError
from ....expr.nodes import Expr, Tiled
from ....expr.sources.tiled import Box
from ....plan import streams
from ....plan.streams import readers_in, steps_of, tiled
from .cells import Cells, plain, read_bytes

Array: TypeAlias = NDArray[Any]

LEAST: Final = 64 << 20  # bytes that are read: of less the places lie in memory
MOST_CELL: Final = 64 << 20  # bytes of the elements of which some are chosen at once
_COPIES: Final = 4  # of them: their values, those that are chosen, of two boxes


class ChosenBlocks:
    """The ``count`` rows of ``values`` where ``mask`` is true, found ``step`` rows at a time."""

    noun = "blocks"
    in_order = (0,)

    def __init__(self, values: Expr, mask: Expr, count: int, step: int) -> None:
        self.made_of = values, mask
        self.dtype, self._step, self._axes = values.dtype, step, len(mask.shape)
        self._extent = mask.shape[0]
        self.shape = (count, *values.shape[self._axes :])
        groups = [[values, mask]] if values.shape == mask.shape else [[values], [mask]]
        self._cells = [Cells(some, [0]) for some in groups]
        self._begins = [0]  # of each box of rows, the number of what was chosen before
        self._held: tuple[int, Array] | None = None
        self._lock = threading.Lock()

    def __reduce__(self) -> Any:
        """As it was made: neither a lock nor what was read travels."""
        return ChosenBlocks, (*self.made_of, self.shape[0], self._step)

    @property
    def chunks(self) -> tuple[int, ...]:
        """About a block of what is chosen."""
        row = math.prod(self.shape[1:]) * dtypes.itemsize(self.dtype)
        return (max(1, streams.BLOCK // max(1, row)), *(max(1, n) for n in self.shape[1:]))

    @property
    def label(self) -> str:
        """What a plan calls it."""
        return f"what is chosen of {', '.join(one.label for one in readers_in(self.made_of))}"

    @property
    def lies_in(self) -> tuple[str, ...]:
        """The files and folders that hold the elements."""
        each = (getattr(one, "lies_in", ()) for one in readers_in(self.made_of))
        return tuple(place for some in each for place in some)

    @property
    def working_bytes(self) -> int:
        """Bytes of the rows of which some are chosen, and of what is read for them."""
        values, mask = self.made_of
        cell = sum(_row_bytes(one) for one in (values, mask)) * self._step
        read = sum(one.bytes_of((self._step, *one.roots[0].shape[1:])) for one in self._cells)
        inner = sum(getattr(one, "working_bytes", 0) for one in readers_in(self.made_of))
        return int(_COPIES * cell + read + inner + 64 * -(-self._extent // self._step))

    def touched(self, box: Box) -> tuple[int, int]:
        """Bytes and number of the boxes that are read: for any of it all, at most."""
        return sum(map(read_bytes, self.made_of)), -(-self._extent // self._step)

    def read(self, box: Box, out: Array) -> None:
        """Put what is chosen, from ``box``, into ``out``."""
        first, *rest = box
        done, count = 0, len(range(first.start, first.stop, first.step))
        with self._lock:
            if first.start == 0:
                self._begins, self._held = [0], None  # whoever begins again reads what is there now
            while done < count:
                at = first.start + done * first.step
                begin, chosen = self._rows_at(at)
                here = min(count - done, -(-(begin + len(chosen) - at) // first.step))
                low = at - begin
                some = chosen[(slice(low, low + (here - 1) * first.step + 1, first.step), *rest)]
                out[done : done + here] = some
                done += here

    def _rows_at(self, at: int) -> tuple[int, Array]:
        """The rows chosen together with row ``at``, and the number of the first."""
        number = min(bisect_right(self._begins, at), len(self._begins)) - 1
        while True:
            if number * self._step >= self._extent:
                raise self._changed()
            begin, chosen = self._begins[number], self._chosen(number)
            if begin + len(chosen) > self.shape[0]:
                raise self._changed()
            if number + 1 == len(self._begins):
                self._begins.append(begin + len(chosen))
            if at < begin + len(chosen):
                return begin, chosen
            number += 1

    def _changed(self) -> DataFileError:
        return DataFileError(
            f"{self.label} changed while it was read: {self.shape[0]:,} rows were counted"
        )

    def _chosen(self, number: int) -> Array:
        """What is chosen of box ``number`` of the rows."""
        if self._held is not None and self._held[0] == number:
            return self._held[1]
        low = number * self._step
        high = min(self._extent, low + self._step)
        made = [np.empty((high - low, *one.shape[1:]), one.dtype) for one in self.made_of]
        waiting = iter(made)
        for cells in self._cells:
            shape = cells.roots[0].shape
            item = (slice(low, high), *(slice(0, n) for n in shape[1:]))
            cells.make(item, [next(waiting) for _ in cells.roots])
        values, mask = made
        chosen = values.reshape(-1, *self.shape[1:])[mask.reshape(-1)]
        self._held = number, chosen
        return chosen


def is_chosen_by_blocks(values: Expr, mask: Expr) -> bool:
    """Whether what ``mask`` chooses of ``values`` is read so: where it would fill the memory."""
    return sum(read_bytes(one) for one in _planned(values, mask)) >= LEAST


def chosen_blocks(values: Expr, mask: Expr, count: int) -> Tiled | None:
    """The ``count`` rows of ``values`` where ``mask`` is true; None where they are no boxes."""
    found = _planned(values, mask)
    if not found:
        return None
    rows = [steps_of(one)[0][0] for one in found if tiled(one)]
    step = min(max(rows), mask.shape[0])
    return Tiled(ChosenBlocks(found[0], found[1], count, step), values.dtype)


def _planned(values: Expr, mask: Expr) -> Sequence[Expr]:
    """Both, if boxes of their rows can be made; else nothing."""
    found = [plain(values), plain(mask)]
    known = [one for one in found if one is not None]
    if len(known) < 2 or 0 in values.shape or not any(map(tiled, known)):
        return ()
    if any(dtypes.stored(one.dtype) != one.dtype for one in known):
        return ()
    rows = max(steps_of(one)[0][0] for one in known if tiled(one))
    return known if rows * sum(map(_row_bytes, known)) <= MOST_CELL else ()


def _row_bytes(root: Expr) -> int:
    return math.prod(root.shape[1:]) * int(dtypes.itemsize(root.dtype))
