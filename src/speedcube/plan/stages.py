"""Stages: one kernel each, cut into at most one part per worker.

A stage stores an expression or reduces it. It is cut by slicing the expression along one axis:
a part is the same expression with a shorter axis, so nothing about a part is special. Parts of
a stored result (or of kept axes) are disjoint and joined; parts of a reduction are merged.
Scans (products, running products, running sums) take elements in their order. Where a line of
them is cut, a part is a range of positions (`cut_scan`).
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import pairwise

from .. import dtypes
from ..dataclass import dataclass
from ..expr import views
from ..expr.nodes import (
    Deferred,
    Expr,
    Leaf,
    Position,
    Reduced,
    Scanned,
    Staged,
    StageResult,
    Through,
    Tiled,
    c_strides,
)
from ..expr.piecewise.order import memory_order
from ..expr.piecewise.regions import leaves_within
from ..expr.push import push, push_shape
from .costs import axis_to_cut, cut_along, is_for_one
from .streams import can_stream, cut_for, tiled, walks

# Bytes a worker needs besides its inputs and results: scratch tiles, records, code.
WORKER_OVERHEAD = 48 << 20  # measured: 37e6 for three kernels compiled one after another


@dataclass(frozen=True, eq=False)
class Part:
    """One worker's share: ``root`` sliced to ``[start, stop)`` of axis ``axis``.

    Without one: all of it, or elements ``[start, stop)`` of a scan, line after line.
    """

    root: Expr
    extra: tuple[Leaf, ...]
    axis: int | None
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class Stage:
    """One kernel over one expression.

    ``source`` is the reduction or scan that the stage computes, None where it stores ``root``.
    ``join`` says how parts come together: ``one`` part; ``concatenate`` along the cut axis;
    ``merge`` of records; ``carry``, where each part goes on where the one before it in its line
    ends; ``rounds`` and ``exchange`` (`shares`). A scan's parts that share a line begin at
    multiples of ``block`` elements of it.
    ``totals`` are stages that give each part's sum, where sums are exact in any order.
    ``result`` is what other stages read this one's by, ``why`` the reason that it is one.
    ``threads``: how many the one task of a `Through` may use.
    """

    root: Expr
    source: Staged | None
    axes: tuple[int, ...]
    parts: tuple[Part, ...]
    join: str
    block: int = 0
    totals: tuple[Stage, ...] = ()
    result: StageResult | None = None
    why: str = ""
    threads: int = 1

    def folded(self, number: int) -> tuple[Stage, Part]:
        """What gives the record of a part that shares a line: its total, or the part itself."""
        if self.totals:
            return self.totals[number], self.totals[number].parts[0]
        return self, self.parts[number]

    @property
    def op(self) -> str | None:
        return None if self.source is None else self.source.op

    @property
    def dtype(self) -> str:
        return self.root.dtype if self.source is None else self.source.dtype

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The result's shape, without reduced axes."""
        if isinstance(self.source, Scanned):
            shape, axes = self.root.shape, self.source.axes
            line = self.source.count + self.source.initial
            return (*shape[: axes[0]], line, *shape[axes[-1] + 1 :])
        if isinstance(self.source, Through):
            return self.source.shape
        return tuple(n for k, n in enumerate(self.root.shape) if k not in self.axes)

    @cached_property
    def order(self) -> tuple[int, ...] | None:
        """The axes of what is stored, slowest first, as what it reads lies; None: C order."""
        return memory_order(self.root) if self.source is None else None

    @property
    def result_bytes(self) -> int:
        return math.prod(self.shape) * dtypes.itemsize(self.dtype)

    @cached_property
    def is_scan(self) -> bool:
        """Whether elements are taken in their order: a running sum or product, or a product."""
        return isinstance(self.source, Scanned) or self.op == "prod"

    @cached_property
    def sources(self) -> tuple[StageResult | Deferred | Tiled, ...]:
        """All that it reads that kernels do not make."""
        every = {id(leaf.source): leaf.source for leaf in leaves_within(self.root)}
        return tuple(x for x in every.values() if isinstance(x, (StageResult, Deferred, Tiled)))

    @cached_property
    def needs(self) -> tuple[StageResult | Deferred | Tiled, ...]:
        """Sources that must be in memory before this stage runs."""
        if 0 not in self.root.shape and not self.streams:
            return self.sources
        return tuple(one for one in self.sources if not isinstance(one, Tiled))

    def sent(self, count: int) -> tuple[StageResult | Deferred | Tiled, ...]:
        """What ``count`` arrays are: the stage of all parts may have all its sources in memory."""
        return self.needs if len(self.needs) == count else self.sources

    @cached_property
    def streams(self) -> bool:
        """Whether it reads sources a box at a time."""
        if not any(isinstance(one, Tiled) for one in self.sources):
            return False
        if isinstance(self.source, Through):  # of shares of a line the plan cannot tell yet
            return self.join == "one" and walks(self.source)
        return not self.is_scan and can_stream(self.root)


def make_stage(root: Expr, source: Staged | None, workers: int) -> Stage:
    """The stage that stores ``root``, or makes of it what ``source`` says."""
    if isinstance(source, Scanned) or (source is not None and source.op == "prod"):
        return cut_scan(root, source, workers)
    if isinstance(source, Through):
        return Stage(root, source, (), (Part(root, (), None, 0, 0),), "one", threads=workers)
    axes = () if source is None else source.axes
    extra: tuple[Leaf, ...] = ()
    if source is not None and source.op.startswith("arg"):
        extra = (element_places(root, axes),)
    return cut_stage(root, source, axes, extra, workers)


def cut_stage(
    root: Expr,
    source: Staged | None,
    axes: tuple[int, ...],
    extra: tuple[Leaf, ...],
    workers: int,
) -> Stage:
    """The stage of ``root`` cut for ``workers``; ``extra`` leaves are cut with it."""
    if tiled(root) and can_stream(root):
        axis, join = cut_for(source, root, axes, workers)
    else:
        axis, join = axis_to_cut(root.shape, axes, workers)
    if axis is None:
        return Stage(root, source, axes, (Part(root, extra, None, 0, 0),), "one")
    return sliced(root, source, axes, extra, workers, axis, join)


def cut_reduced(
    root: Expr,
    source: Staged | None,
    axes: tuple[int, ...],
    extra: tuple[Leaf, ...],
    workers: int,
) -> Stage:
    """The same, cut along what is reduced, so that the records of all parts are of all results."""
    if is_for_one(root.shape, workers):
        return Stage(root, source, axes, (Part(root, extra, None, 0, 0),), "merge")
    axis = cut_along(root.shape, axes, workers)
    return sliced(root, source, axes, extra, workers, axis, "merge")


def sliced(
    root: Expr,
    source: Staged | None,
    axes: tuple[int, ...],
    extra: tuple[Leaf, ...],
    workers: int,
    axis: int,
    join: str,
) -> Stage:
    """The stage with a part for each slice of ``axis``."""
    extent = root.shape[axis]
    pieces = min(workers, extent)
    bounds = [extent * k // pieces for k in range(pieces + 1)]
    parts = []
    for start, stop in pairwise(bounds):
        item = (slice(None),) * axis + (slice(start, stop),)
        cut = tuple(leaf_at(leaf, item) for leaf in extra)
        sliced = push(root, views.indexed(root.shape, item))
        parts.append(Part(sliced, cut, axis, start, stop))
    return Stage(root, source, axes, tuple(parts), join)


def leaf_at(leaf: Leaf, item: tuple[slice, ...]) -> Leaf:
    """``leaf`` at ``item``: a leaf again."""
    view = views.index(leaf, item)
    assert isinstance(view, Leaf)
    return view


_LEAST_BLOCK = 1 << 10  # elements: the pieces in which products are made
_BLOCKS = 64  # about so many of them in a part


def cut_scan(root: Expr, source: Staged, workers: int) -> Stage:
    """A scan's stage: cut between lines, else within them.

    The parts of a line begin at multiples of a power of two of its elements.
    """
    axes = source.axes if isinstance(source, Reduced) else ()
    size, length = math.prod(root.shape), source.count
    axis, join = axis_to_cut(root.shape, source.axes, workers)
    if axis is None:
        return Stage(root, source, axes, (Part(root, (), None, 0, size),), "one")
    lines = size // length
    pieces = min(workers // lines, -(-length // _LEAST_BLOCK))
    if join == "concatenate" or pieces < 2:
        kept = [k for k in range(len(root.shape)) if k not in source.axes]
        enough = (k for k in kept if root.shape[k] >= workers)
        between = next(enough, max(kept, key=lambda k: root.shape[k]))
        return sliced(root, source, axes, (), workers, between, "concatenate")
    block = _LEAST_BLOCK
    while block * _BLOCKS * pieces < length:
        block *= 2
    count = -(-length // block)
    pieces = min(pieces, count)
    bounds = [min(length, count * k // pieces * block) for k in range(pieces + 1)]
    parts = [
        Part(root, (), None, line * length + start, line * length + stop)
        for line in range(lines)
        for start, stop in pairwise(bounds)
    ]
    join = "carry" if isinstance(source, Scanned) else "merge"
    totals = _totals(root, source, parts) if source.op == "cumsum" else ()
    return Stage(root, source, axes, tuple(parts), join, block, totals)


def _totals(root: Expr, source: Staged, parts: list[Part]) -> tuple[Stage, ...]:
    """A sum for each part; none where the lines of ``root`` cannot be sliced."""
    length = source.count
    lines = push_shape(lines_last(root, source), (math.prod(root.shape) // length, length))
    if lines is None:
        return ()
    totals = []
    for part in parts:
        line, place = divmod(part.start, length)
        item = line, slice(place, place + part.stop - part.start)
        elements = push(lines, views.indexed(lines.shape, item))
        total = Reduced("sum", elements, (0,), False, elements.dtype)
        totals.append(Stage(elements, total, (0,), (Part(elements, (), None, 0, 0),), "merge"))
    return tuple(totals)


def lines_last(root: Expr, source: Staged) -> Expr:
    """``root`` with the axes of its lines last: its elements in C order are line after line."""
    kept = tuple(k for k in range(len(root.shape)) if k not in source.axes)
    return push(root, views.turned(root.shape, (*kept, *source.axes)))


def element_places(root: Expr, axes: tuple[int, ...]) -> Leaf:
    """The place of each element within its reduction, counted in C order over ``axes``."""
    inner = c_strides(tuple(root.shape[k] for k in axes))
    place = dict(zip(axes, inner, strict=True))
    strides = tuple(place.get(k, 0) for k in range(len(root.shape)))
    return Leaf(Position(), root.shape, 0, strides)


def lies_apart(stage: Stage, on_cores: bool) -> bool:
    """Whether a scan's results may be made elsewhere, together, before they are put in place."""
    if stage.op == "prod":
        return len(stage.shape) > 1
    if not isinstance(stage.source, Scanned):
        return False
    by_lines = stage.join == "carry" or not on_cores
    return bool(stage.parts[0].axis or (stage.source.inner and by_lines))
