"""Stages: one kernel each, cut into at most one part per worker.

A stage stores an expression or reduces it. It is cut by slicing the expression along one axis:
a part is the same expression with a shorter axis, so nothing about a part is special. Parts of
a stored result (or of kept axes) are disjoint and joined; parts of a reduction are merged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from .. import dtypes
from ..expr import views
from ..expr.nodes import Deferred, Expr, Leaf, Position, Reduced, c_strides, leaves

# Bytes a worker needs besides its inputs and results: scratch tiles, records, code.
WORKER_OVERHEAD = 48 << 20  # measured: 37e6 for three kernels compiled one after another


@dataclass(frozen=True, eq=False)
class Part:
    """One worker's share: ``root`` sliced to [start, stop) of axis ``axis`` (None: all of it)."""

    root: Expr
    extra: tuple[Leaf, ...]
    axis: int | None
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class Stage:
    """One kernel over one expression.

    ``reduction`` is None (store) or the `Reduced` that asked for it; ``join`` says how parts come
    together: ``one`` part, ``concatenate`` along the cut axis, or ``merge`` of partial results.
    """

    root: Expr
    source: Reduced | None
    axes: tuple[int, ...]
    parts: tuple[Part, ...]
    join: str

    @property
    def op(self) -> str | None:
        return None if self.source is None else self.source.op

    @property
    def dtype(self) -> str:
        return self.root.dtype if self.source is None else self.source.dtype

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The result's shape, without reduced axes."""
        return tuple(n for k, n in enumerate(self.root.shape) if k not in self.axes)

    @property
    def result_bytes(self) -> int:
        return math.prod(self.shape) * dtypes.itemsize(self.dtype)

    @cached_property
    def needs(self) -> tuple[Reduced | Deferred, ...]:
        """Sources that must be in memory before this stage runs."""
        found = {
            id(leaf.source): leaf.source
            for leaf in leaves(self.root)
            if isinstance(leaf.source, (Reduced, Deferred))
        }
        return tuple(found.values())


def make_stage(root: Expr, source: Reduced | None, workers: int) -> Stage:
    """The stage that stores ``root``, or reduces it as ``source`` says, for ``workers``."""
    axes = () if source is None else source.axes
    extra: tuple[Leaf, ...] = ()
    if source is not None and source.op.startswith("arg"):
        extra = (_places(root, axes),)
    return cut_stage(root, source, axes, extra, workers)


def cut_stage(
    root: Expr,
    source: Reduced | None,
    axes: tuple[int, ...],
    extra: tuple[Leaf, ...],
    workers: int,
) -> Stage:
    """The stage of ``root`` cut for ``workers``; ``extra`` leaves are cut with it."""
    axis, join = _cut(root.shape, axes, workers)
    if axis is None:
        return Stage(root, source, axes, (Part(root, extra, None, 0, 0),), "one")
    extent = root.shape[axis]
    pieces = min(workers, extent)
    bounds = [extent * k // pieces for k in range(pieces + 1)]
    parts = []
    for start, stop in pairwise(bounds):
        item = (slice(None),) * axis + (slice(start, stop),)
        more = tuple(views.index(leaf, item) for leaf in extra)
        assert all(isinstance(leaf, Leaf) for leaf in more)
        parts.append(Part(views.index(root, item), more, axis, start, stop))  # type: ignore[arg-type]
    return Stage(root, source, axes, tuple(parts), join)


def _places(root: Expr, axes: tuple[int, ...]) -> Leaf:
    """The place of each element within its reduction, counted in C order over ``axes``."""
    inner = c_strides(tuple(root.shape[k] for k in axes))
    place = dict(zip(axes, inner, strict=True))
    strides = tuple(place.get(k, 0) for k in range(len(root.shape)))
    return Leaf(Position(), root.shape, 0, strides)


_SMALL = 1 << 15  # elements below which a second worker costs more than it brings


def _cut(shape: tuple[int, ...], axes: tuple[int, ...], workers: int) -> tuple[int | None, str]:
    """The axis to cut and how its parts join: a kept axis if one is long enough, else any."""
    if workers == 1 or math.prod(shape) < _SMALL:
        return None, "one"
    kept = [k for k in range(len(shape)) if k not in axes]
    for k in kept:
        if shape[k] >= workers:
            return k, "concatenate"
    if axes:
        return max(axes, key=lambda k: shape[k]), "merge"
    longest = max(kept, key=lambda k: shape[k], default=None)
    return longest, "concatenate" if longest is not None else "one"
