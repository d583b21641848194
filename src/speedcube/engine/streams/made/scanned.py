"""Running sums and products of what is read a box at a time, made a box at a time themselves.

They go on from box to box. What a line needs for that is kept at the beginning of some boxes, so
that whoever reads backwards, or again, does not begin with the first element each time.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .... import dtypes
from ....expr import views
from ....expr.nodes import Expr, Scanned
from ....expr.push import push
from ....expr.sources.tiled import Box
from ....expr.space import TILE
from ....plan.streams import readers_in, steps_of, tiled
from .carried import FEW, CarriedColumns, CarriedLines
from .cells import Cells, Item, plain, read_bytes
from .following import Following, is_worth_it
from .later import Later, Make, Weigh, read_later

Array: TypeAlias = NDArray[Any]

LEAST: Final = 64 << 20  # bytes that a scan reads: what is less lies in memory
MOST_LINES: Final = 1 << 20  # that go on at the same time: 64 bytes each
MOST_CELL: Final = 64 << 20  # bytes of the elements of a box
MOST_AHEAD: Final = 16 << 20  # the same of one of which the next is made meanwhile
KEPT: Final = 16 << 20  # bytes of what lines go on from, kept of earlier boxes
_LINE: Final = 64  # of a line side by side with others
_ALONE: Final = 1024  # of a line by itself
_HELD: Final = 2  # boxes of results of which the next reader may want some


class LinesRun:
    """``count`` lines that go on together: how far they are, and where they can begin again.

    ``side_by_side``: elements are taken as (positions, lines), else as (lines, positions).
    """

    def __init__(self, source: Scanned, count: int, side_by_side: bool, most: int) -> None:
        self.source, self.count, self.most = source, count, most
        self.side_by_side = side_by_side
        self.lock = threading.Lock()
        self.kept: dict[int, Any] = {}
        self.every = 1  # boxes between two that are kept
        self.next = 0
        self._begin()

    def _begin(self) -> None:
        kind = CarriedColumns if self.side_by_side else CarriedLines
        self.lines: CarriedColumns | CarriedLines = kind(self.source, self.count)

    def go_to(self, number: int) -> int:
        """Go back for the results of box ``number``, if need be; the box from where to go on."""
        if number == 0:
            self.kept.clear()  # whoever begins again reads what is there now
            self.every, self.next = 1, 0
            self._begin()
        elif number < self.next:
            self.next = max((k for k in self.kept if k <= number), default=0)
            if self.next:
                self.lines.restore(self.kept[self.next])
            else:
                self._begin()
        return self.next

    def take(self, values: Array, results: Array, place: int) -> None:
        """The results of the next box, whose elements are ``values``."""
        if self.next and self.next % self.every == 0 and self.next not in self.kept:
            self.kept[self.next] = self.lines.snapshot()
            if len(self.kept) > self.most:
                self.every *= 2
                self.kept = {k: one for k, one in self.kept.items() if k % self.every == 0}
        self.lines.take(values, results, place)
        self.next += 1


class ScanBlocks:
    """The results of a scan, made in boxes of ``extents`` of its elements."""

    noun = "blocks"

    def __init__(self, source: Scanned, root: Expr, extents: Sequence[int]) -> None:
        self.source, self.extents = source, tuple(extents)
        self.shape = source.shape
        first, last = source.axes[0], source.axes[-1]
        self.in_order = (source.axis,)
        self._first = first
        beside = [k for k in range(len(root.shape)) if k not in source.axes]
        count = math.prod(self.extents[k] for k in beside)
        self._side = count >= FEW
        self._turned = [*source.axes, *beside] if self._side else [*beside, *source.axes]
        turned = push(root, views.turned(root.shape, tuple(self._turned)))
        axes = [k for k, n in enumerate(root.shape) if self.extents[k] < n]
        self._cells = Cells([turned], [self._turned.index(k) for k in axes])
        self._step = math.prod(self.extents[first : last + 1])
        self._panels: dict[tuple[int, ...], LinesRun] = {}
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[int, ...], Array] = OrderedDict()
        self.root, self.made_of = root, (root,)
        self._following = Following(self._values) if self._goes_ahead() else None

    def _goes_ahead(self) -> bool:
        """Whether the box behind one is read meanwhile: where it is the next, and no large one."""
        boxes = zip(self.extents, self.root.shape, strict=True)
        alone = all(step == n for k, (step, n) in enumerate(boxes) if k != self._first)
        return alone and self._cell_bytes <= MOST_AHEAD and is_worth_it([self.root])

    @property
    def _cell_bytes(self) -> int:
        """Bytes of a box while it is made, at most."""
        return math.prod(self.extents) * 8

    @property
    def chunks(self) -> tuple[int, ...]:
        """A box of the results."""
        first, last = self.source.axes[0], self.source.axes[-1]
        return (*self.extents[:first], self._step, *self.extents[last + 1 :])

    @property
    def label(self) -> str:
        """What a plan calls it."""
        labels = [one.label for one in readers_in([self.root]) if not isinstance(one, Later)]
        return f"{self.source.op} of {', '.join(labels)}"

    @property
    def lies_in(self) -> tuple[str, ...]:
        """The files and folders that hold the elements."""
        each = (getattr(one, "lies_in", ()) for one in readers_in([self.root]))
        return tuple(place for some in each for place in some)

    @property
    def working_bytes(self) -> int:
        """Bytes of what goes on, and of a box while it is made."""
        cell = self._cell_bytes
        read = self._cells.bytes_of(tuple(self.extents[k] for k in self._turned))
        inner = sum(getattr(one, "working_bytes", 0) for one in readers_in([self.root]))
        one = cell + read + inner
        ahead = one if self._following else 0
        return one + ahead + (1 + _HELD) * cell + 2 * self._line_bytes + 2 * KEPT

    @property
    def _line_bytes(self) -> int:
        """Bytes of what all lines go on from."""
        arg, axes = self.source.arg, self.source.axes
        lines = math.prod(n for k, n in enumerate(arg.shape) if k not in axes)
        return lines * (_LINE if self._side else _ALONE)

    def touched(self, box: Box) -> tuple[int, int]:
        """Bytes and number of the boxes that are read for ``box``: all before it, too."""
        counts, extents = [], []
        for k, (one, chunk, n) in enumerate(zip(box, self.chunks, self.shape, strict=True)):
            low = 0 if k == self._first else one.start // chunk
            high = (one.stop - 1) // chunk + 1
            counts.append(high - low)
            extents.append(min(n, high * chunk) - low * chunk)
        rest = math.prod(extents) / math.prod(self.shape)
        return round(rest * read_bytes(self.root)), math.prod(counts)

    def read(self, box: Box, out: Array) -> None:
        """Put the results of ``box`` into ``out``."""
        each = [list(_along(one, n)) for one, n in zip(box, self.chunks, strict=True)]
        for some in product(*each):
            number = tuple(k for k, _, _ in some)
            here: tuple[Any, ...] = tuple(place for _, place, _ in some)
            inside: tuple[Any, ...] = tuple(which for _, _, which in some)
            out[(*here, ...)] = self._results(number)[(*inside, ...)]

    def _results(self, number: tuple[int, ...]) -> Array:
        """Box ``number`` of the results."""
        along = number[self._first]
        panel = (*number[: self._first], *number[self._first + 1 :])
        run = self._run(panel)
        with run.lock:
            with self._lock:
                held = self._held.get(number)
            if held is not None and along:
                return held
            for k in range(run.go_to(along), along + 1):
                here = (*number[: self._first], k, *number[self._first + 1 :])
                results = self._made(run, here)
                with self._lock:
                    self._held[here] = results
                    while len(self._held) > _HELD:
                        self._held.popitem(last=False)
            return results

    def _run(self, panel: tuple[int, ...]) -> LinesRun:
        with self._lock:
            if panel not in self._panels:
                count = math.prod(self._beside(panel))
                each = _LINE if self._side else _ALONE
                panels = max(1, self._line_bytes // (each * count))
                most = max(2, KEPT // (each * count * panels))
                self._panels[panel] = LinesRun(self.source, count, self._side, most)
            return self._panels[panel]

    def _beside(self, panel: tuple[int, ...]) -> list[int]:
        """The extents of a panel beside its lines."""
        chunks = [n for k, n in enumerate(self.chunks) if k != self._first]
        shape = [n for k, n in enumerate(self.shape) if k != self._first]
        pairs = zip(panel, chunks, shape, strict=True)
        return [min(n, (k + 1) * chunk) - k * chunk for k, chunk, n in pairs]

    def _made(self, run: LinesRun, number: tuple[int, ...]) -> Array:
        """Box ``number``, the next one of its lines."""
        begins = [k * n for k, n in zip(number, self.chunks, strict=True)]
        place = begins[self._first]
        length = min(self._step, self.shape[self._first] - place)
        item = self._item(begins)
        shape = tuple(one.stop - one.start for one in item)
        values = self._taken(item, run.next > 0)
        beside = [n for k, n in enumerate(shape) if k not in self.source.axes]
        cut = (length, run.count) if run.side_by_side else (run.count, length)
        results = np.empty(cut, self.source.dtype)
        run.take(values.reshape(cut), results, place)
        if run.side_by_side:
            return np.moveaxis(results.reshape(length, *beside), 0, self._first)
        return np.moveaxis(results.reshape(*beside, length), -1, self._first)

    def _taken(self, item: Item, goes_on: bool) -> Array:
        """The elements ``item``; those behind are begun, where boxes are asked for in turn."""
        if self._following is None:
            return self._values(item)
        values = self._following.taken(item)
        step, extent = self.extents[self._first], self.root.shape[self._first]
        begin = item[self._first].start + step
        if goes_on and begin < extent:
            behind = slice(begin, min(extent, begin + step))
            self._following.begin((*item[: self._first], behind, *item[self._first + 1 :]))
        return values

    def _values(self, item: Item) -> Array:
        """The elements ``item``, its axes turned."""
        turned = tuple(item[k] for k in self._turned)
        values = np.empty([one.stop - one.start for one in turned], self.source.arg.dtype)
        self._cells.make(turned, [values])
        return values

    def _item(self, begins: Sequence[int]) -> tuple[slice, ...]:
        """The elements of the box of results that ``begins`` there."""
        first, last = self.source.axes[0], self.source.axes[-1]
        row = self._step // self.extents[first]
        shape = self.root.shape
        within = begins[first] // row, *(0,) * (last - first)
        begin = (*begins[:first], *within, *begins[first + 1 :])
        pairs = zip(begin, self.extents, shape, strict=True)
        return tuple(slice(at, min(n, at + step)) for at, step, n in pairs)


def scan_blocks(source: Scanned, make: Make, weigh: Weigh) -> ScanBlocks | None:
    """The results of ``source`` box by box; None where its elements lie in memory, or soon do."""
    first, last = source.axes[0], source.axes[-1]
    if source.initial or 0 in source.arg.shape:
        return None
    root = plain(read_later(source.arg, make, weigh))
    if root is None or not tiled(root) or read_bytes(root) < LEAST:
        return None
    if dtypes.stored(root.dtype) != root.dtype:
        return None
    extents = [min(n, step) for n, (step, _) in zip(root.shape, steps_of(root), strict=True)]
    for k in range(first + 1, last + 1):
        extents[k] = root.shape[k]
    row = math.prod(extents[first + 1 : last + 1])
    if source.op == "cumprod":  # pieces of products are whole
        piece = TILE // math.gcd(TILE, row)
        extents[first] = -(-extents[first] // piece) * piece
    lines = math.prod(n for k, n in enumerate(root.shape) if k not in source.axes)
    if math.prod(extents) * 8 > MOST_CELL or lines > MOST_LINES:
        return None
    return ScanBlocks(source, root, extents)


def _along(one: slice, step: int) -> Iterator[tuple[int, slice, slice]]:
    """The boxes of ``step`` that ``one`` meets: which, where its elements go, which of them."""
    begin, count = 0, len(range(one.start, one.stop, one.step))
    while begin < count:
        at = one.start + begin * one.step
        number = at // step
        here = min(count, begin + -(-((number + 1) * step - at) // one.step))
        last = at + (here - begin - 1) * one.step
        first = number * step
        yield number, slice(begin, here), slice(at - first, last - first + 1, one.step)
        begin = here
