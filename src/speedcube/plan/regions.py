"""Regions: a part that reads arrays of pieces, as boxes with a kernel each.

They follow from the part alone, so that what travels is the part.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Hashable
from dataclasses import replace
from functools import cached_property
from types import EllipsisType

from ..dataclass import dataclass
from ..expr.nodes import Leaf, Piecewise, Reduced, Shape, leaves, walk
from ..expr.piecewise.again import split_again
from .stages import Part, Stage


@dataclass(frozen=True, eq=False)
class Region:
    """A box of a part, whose first element has the index ``at``: a stage with one part."""

    at: Shape
    stage: Stage

    @property
    def part(self) -> Part:
        return self.stage.parts[0]

    @cached_property
    def kept(self) -> tuple[slice | EllipsisType, ...]:
        """Where in the part's results those of this region lie, a single one as an array, too."""
        ends = enumerate(zip(self.at, self.stage.root.shape, strict=True))
        here = (slice(at, at + n) for k, (at, n) in ends if k not in self.stage.axes)
        return (*here, ...)

    @cached_property
    def structure(self) -> Hashable:
        """What is computed of what, whatever its length: regions that share it share a kernel."""
        nodes = walk(self.part.root)
        place = {id(node): k for k, node in enumerate(nodes)}
        return tuple(
            [
                (type(node.source).__name__, node.dtype, node.strides)
                if isinstance(node, Leaf)
                else (node.op, node.dtype, *[place[id(arg)] for arg in node.args])
                for node in nodes
            ]
        )


_memo: weakref.WeakKeyDictionary[Part, tuple[Region, ...]] = weakref.WeakKeyDictionary()


def regions_of(stage: Stage, part: Part) -> tuple[Region, ...]:
    """The regions of ``part``; none where it is one kernel. Remembered while the part lives."""
    known = _memo.get(part)
    if known is None:
        known = _memo[part] = _regions(stage, part)
    return known


def _regions(stage: Stage, part: Part) -> tuple[Region, ...]:
    if not any(isinstance(leaf.source, Piecewise) for leaf in leaves(part.root)):
        return ()
    regions = []
    for box in split_again(part.root, part.extra):
        source = stage.source
        if isinstance(source, Reduced):
            source = replace(source, arg=box.root, keepdims=False)
        one = Part(box.root, box.extra, None, 0, 0)
        regions.append(Region(box.at, Stage(box.root, source, stage.axes, (one,), "one")))
    # In the order of memory, whose fresh pages are then written while they are in the cache.
    return tuple(sorted(regions, key=lambda one: one.at))


def kernels_of(stage: Stage) -> list[tuple[Stage, Part]]:
    """The kernels of the first part of ``stage``, the largest first."""
    part = stage.parts[0]
    regions = regions_of(stage, part)
    if not regions:
        return [(stage, part)]
    return sorted(
        ((region.stage, region.part) for region in regions),
        key=lambda one: -math.prod(one[0].root.shape),
    )


def folds_across(stage: Stage, part: Part) -> bool:
    """Whether regions of ``part`` share results, so that their records are merged."""
    return any(
        region.stage.root.shape[k] != part.root.shape[k]
        for region in regions_of(stage, part)
        for k in stage.axes
    )
