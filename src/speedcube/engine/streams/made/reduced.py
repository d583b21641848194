"""Large results of reductions of few elements each, made a box at a time: of windows, mostly.

``rolling(time=7).mean()`` has as many results as the file has elements. They are made of what a box
of them reads, by whoever reads them, and are gone after that.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .... import dtypes
from ....expr import views
from ....expr.nodes import Expr, Reduced, Shape
from ....expr.push import push
from ....expr.sources.tiled import Box
from ....plan import streams
from ....plan.reads import BlockRoom
from ....plan.stages import Part, Stage
from ....plan.streams import readers_in, steps_of, tiled
from ....plan.touched import of_leaves
from ...boxes import Stop
from ...tasks import Worker
from .cells import Cells, plain, read_bytes
from .later import Later, Make, Weigh, read_later

Array: TypeAlias = NDArray[Any]

LEAST: Final = 64 << 20  # bytes of results: what is less lies in memory, and is made once
MOST_KEPT: Final = 128 << 20  # the same of results that are few beside what they read
MOST_BESIDE: Final = 4  # reductions of what is read
MOST_WAITING: Final = 8  # boxes of which some results were not asked for
MOST_LOST: Final = 8  # of them that were made for nothing, until that ends
_FEWER: Final = 0.25
MOST_CELL: Final = 64 << 20  # bytes that a box of results reads
_OPS: Final = frozenset(
    ("sum", "mean", "var", "std", "dot", "min", "max", "nanmin", "nanmax", "any", "all")
)


class ReducedCells(Cells):
    """Results of ``sources``, whose elements are those of ``roots``, in boxes that move."""

    as_they_are = False

    def __init__(
        self, sources: Sequence[Reduced], roots: Sequence[Expr], axes: Sequence[int]
    ) -> None:
        super().__init__(roots, axes)
        self._sources, self._worker = sources, Worker(Stop())

    def _stage(self, root: Expr, number: int) -> Stage:
        source = replace(self._sources[number], arg=root, keepdims=False)
        return Stage(root, source, source.axes, (Part(root, (), None, 0, 0),), "one")

    def _run(self, stage: Stage, inputs: dict[int, Array], share: Array) -> None:
        self._worker.reduce_into(stage, stage.parts[0], share, inputs)


class ReducedBlocks:
    """The results of ``source``, whose elements are those of ``root``; no axis is kept as 1."""

    noun = "blocks"
    decodes = True  # a part of a box reads more than its part: windows overlap

    def __init__(self, source: Reduced, root: Expr) -> None:
        self.source, self.root, self.made_of = source, root, (root,)
        self._kept = [k for k in range(len(root.shape)) if k not in source.axes]
        self.shape = source.shape
        steps = _steps(source, root)
        cut = [k for k in self._kept if steps[k][0] < root.shape[k]]
        self._cells = ReducedCells([source], [root], cut)
        self.cut, self.beside = cut, Beside([self])
        sizes = zip(root.shape, steps, strict=True)
        self.chunks = self._beside([min(n, step) for n, (step, _) in sizes], 1)
        self.begins = self._beside([first % step for step, first in steps], 0)
        self.label = f"{source.op} of {', '.join(self._labels())}"

    def __reduce__(self) -> Any:
        """As it was made: what threads make boxes by stays with them."""
        return ReducedBlocks, (self.source, self.root)

    def _labels(self) -> dict[str, None]:
        read = (one for one in readers_in([self.root]) if not isinstance(one, Later))
        return dict.fromkeys(one.label for one in read)

    def _beside(self, each: list[int], reduced: int) -> Shape:
        """``each`` of the axes of results; ``reduced`` where one stands for what is summed."""
        if not self.source.keepdims:
            return tuple(each[k] for k in self._kept)
        return tuple(reduced if k in self.source.axes else n for k, n in enumerate(each))

    @property
    def lies_in(self) -> tuple[str, ...]:
        """The files and folders that hold the elements."""
        each = (getattr(one, "lies_in", ()) for one in readers_in([self.root]))
        return tuple(place for some in each for place in some)

    @property
    def working_bytes(self) -> int:
        """Bytes of what a box of results is made of, and theirs once more."""
        extents = self._item(tuple(slice(0, min(n, c), 1) for n, c in self._sizes()))
        read = self._cells.bytes_of(tuple(one.stop for one in extents))
        results = math.prod(self.chunks) * sum(
            dtypes.itemsize(one.source.dtype) for one in self.beside.each
        )
        inner = sum(getattr(one, "working_bytes", 0) for one in readers_in([self.root]))
        return 2 * read + 2 * results + inner

    def _sizes(self) -> list[tuple[int, int]]:
        return list(zip(self.shape, self.chunks, strict=True))

    def touched(self, box: Box) -> tuple[int, int]:
        """Bytes and number of the chunks that are read for ``box``."""
        part = push(self.root, views.indexed(self.root.shape, self._item(box)))
        found = [of_leaves([leaf]) for leaf in tiled(part)]
        return sum(size for size, _ in found), sum(count for _, count in found)

    def read(self, box: Box, out: Array) -> None:
        """Put the results of ``box`` into ``out``."""
        item = self._item(box)
        results = out.reshape([len(range(*one.indices(one.stop))) for one in self._along(item)])
        if all(one.step == 1 for one in item):
            if not self.beside.give(self, item, results):
                self._cells.make(item, [results])
            return
        part = push(self.root, views.indexed(self.root.shape, item))
        cells = ReducedCells([self.source], [part], [])
        cells.make(tuple(slice(0, n) for n in part.shape), [results])

    def _along(self, item: Box) -> list[slice]:
        return [item[k] for k in self._kept]

    def _item(self, box: Box) -> Box:
        """The elements of the results of ``box``."""
        axes = self.source.axes
        places = iter(box if not self.source.keepdims else [box[k] for k in self._kept])
        return tuple(
            slice(0, n, 1) if k in axes else next(places) for k, n in enumerate(self.root.shape)
        )


class Beside:
    """Reductions of the same boxes of the same files: what one reads is reduced for all of them.

    So a mean of what is no NaN, a sum over a count, decodes each chunk once. Boxes of which nobody
    asked for the rest are few, or it is made no more.
    """

    def __init__(self, each: Sequence[ReducedBlocks]) -> None:
        self.each, self._lock = tuple(each), threading.Lock()
        self._cells: ReducedCells | None = None
        self._made: OrderedDict[object, dict[int, Array]] = OrderedDict()
        self._lost = 0

    def give(self, one: ReducedBlocks, item: Box, out: Array) -> bool:
        """Put the results ``item`` of ``one`` into ``out``; whether that was done."""
        if len(self.each) == 1 or self._lost > MOST_LOST:
            return False
        own = next(k for k, other in enumerate(self.each) if other is one)
        key = tuple((along.start, along.stop) for along in item)
        with self._lock:
            there = self._made.get(key, {})
            known = there.pop(own, None)
            if not there:
                self._made.pop(key, None)
            if self._cells is None:
                sources, roots = zip(*((x.source, x.root) for x in self.each), strict=True)
                self._cells = ReducedCells(sources, roots, one.cut)
        if known is not None:
            out[...] = known
            return True
        every = [out if x is one else np.empty(out.shape, x.source.dtype) for x in self.each]
        self._cells.make(item, every)
        with self._lock:
            self._made[key] = {k: x for k, x in enumerate(every) if k != own}
            while len(self._made) > MOST_WAITING:
                self._made.popitem(last=False)
                self._lost += 1
        return True


def put_beside(found: Sequence[ReducedBlocks]) -> None:
    """Tell those of ``found`` that reduce the same boxes of the same files of each other."""
    alike: dict[object, list[ReducedBlocks]] = {}
    for one in found:
        files = frozenset(id(leaf.source) for leaf in tiled(one.root))
        grid = one.root.shape, one.source.axes, one.source.keepdims, one.chunks, one.begins
        alike.setdefault((files, grid), []).append(one)
    for some in alike.values():
        beside = Beside(some[:MOST_BESIDE])
        for one in beside.each:
            one.beside = beside


def _steps(source: Reduced, root: Expr) -> list[tuple[int, int]]:
    """Of each axis of ``root`` how long a box is, and where the second begins.

    A box reads about a block, and has no more of results, which may be wider than what they read.
    """
    steps = steps_of(root)
    kept = (k for k in range(len(root.shape)) if k not in source.axes)
    results = math.prod(min(root.shape[k], steps[k][0]) for k in kept)
    size = results * dtypes.itemsize(source.dtype)
    return steps if size <= streams.BLOCK else steps_of(root, BlockRoom(streams.BLOCK**2 // size))


def reduced_blocks(source: Reduced, make: Make, weigh: Weigh) -> ReducedBlocks | None:
    """The results of ``source`` box by box; None where they lie in memory, or soon do."""
    size = math.prod(source.shape) * np.dtype(source.dtype).itemsize
    if size < LEAST or source.op not in _OPS or dtypes.stored(source.dtype) != source.dtype:
        return None
    root = plain(read_later(source.arg, make, weigh))
    if root is None or not tiled(root):
        return None
    if size < _FEWER * read_bytes(root) and size < MOST_KEPT:
        return None
    steps = _steps(source, root)
    extents = [
        n if k in source.axes else min(n, step)
        for k, (n, (step, _)) in enumerate(zip(root.shape, steps, strict=True))
    ]
    made = ReducedBlocks(source, root)
    most = made._cells.bytes_of(tuple(extents))
    return made if most <= MOST_CELL and math.prod(made.chunks) * 8 <= MOST_CELL else None
