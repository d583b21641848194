"""Which stages share one kernel and one reading of their data: a pass over the same elements.

A reduction to one number and a stored result can be made as their elements come by. So those that
visit an array of one shape and read something in common are one pass, if none needs what comes
after it. So are sums, spreads and extremes of any arrays of one shape along the same axes; sums,
means and spreads of one array are made of the same sums, and so they are where others are not.
Scans, products, places of extremes, other results along axes and reductions of pieces have passes
of their own; results that are stored and made of the same pieces share one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from ..dataclass import dataclass
from ..expr.nodes import Expr, Map, Reduced, Through
from ..expr.piecewise.regions import pieces_within
from .requests import ALONE, Request
from .shares import shared_out
from .stages import Part, Stage, cut_stage, element_places, make_stage, sliced
from .streams import MOST_ADDED, cut_of, tiled

_MERGED: Final = 4 << 20  # bytes of results of which each worker makes its share of all


@dataclass(frozen=True, eq=False)
class Pass:
    """Stages that are made together; ``together`` has what they visit, of more than one.

    Its root is a "several" whose arguments are their roots.
    """

    stages: tuple[Stage, ...]
    together: Stage | None = None
    within: tuple[Pass, ...] = ()  # passes that share no more than the reading of their sources

    @property
    def visited(self) -> Stage:
        """The stage whose parts are run."""
        return self.stages[0] if self.together is None else self.together

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Of each stage, which argument of the "several" is its root."""
        assert self.together is not None
        assert isinstance(self.together.root, Map)
        place = {id(arg): k for k, arg in enumerate(self.together.root.args)}
        return tuple(place[id(stage.root)] for stage in self.stages)

    @property
    def is_along(self) -> bool:
        """Whether its stages are reductions along axes, with many results each."""
        return 0 < len(self.visited.axes) < len(self.visited.root.shape)

    def shares(self, number: int) -> tuple[str, int]:
        """What stage ``number`` of several has in common with which other, an earlier one."""
        start = 0
        for one in self.within:
            if start < number < start + len(one.stages):
                return "pass", start
            start += len(one.stages)
        return "reading" if self.within else "pass", 0

    def gives_records(self, stage: Stage) -> bool:
        """Whether a part gives the records of ``stage``, of several, not results in their place."""
        if stage.source is None:
            return False
        if self.within:
            cut = self.visited.parts[0].axis
            return cut in stage.axes or len(stage.axes) == len(stage.root.shape)
        return not (self.is_along and self.visited.join != "merge")


def make_pass(requests: Sequence[Request], workers: int, apart: bool = False) -> Pass:
    """The pass of ``requests`` for ``workers``; ``apart``: they have no memory in common."""
    return together([_stage(one, workers, apart) for one in requests], workers)


def together(stages: Sequence[Stage], workers: int) -> Pass:
    """The pass of ``stages``, which visit arrays of one shape, for ``workers``."""
    if len(stages) == 1:
        return Pass(tuple(stages))
    shape = stages[0].root.shape
    several = math.prod(stages[0].shape) > 1 and stages[0].source is not None
    folds = any(stage.source is not None for stage in stages)
    roots: dict[int, Expr] = {id(stage.root): stage.root for stage in stages}
    root = Map("several", tuple(roots.values()), shape, stages[0].root.dtype)
    axes = stages[0].axes if several else tuple(range(len(shape))) if folds else ()
    visited = cut_stage(root, None, axes, (), workers)
    few = max(math.prod(stage.shape) for stage in stages) * workers <= MOST_ADDED
    if several and few and visited.join == "one" and visited.streams:
        axis, _ = cut_of(root, (), workers)  # each worker reads its share of what all results need
        if axis is not None:
            visited = sliced(root, None, axes, (), workers, axis, "merge")
    return Pass(tuple(stages), visited)


def _stage(one: Request, workers: int, apart: bool) -> Stage:
    stage = make_stage(one.root, one.source, workers)
    if apart and isinstance(one.source, Through):
        stage = shared_out(stage, workers)
    return replace(stage, result=one.result, why=one.why)


def reading_once(passes: Sequence[Pass], workers: int, asked: set[int]) -> tuple[Pass, ...]:
    """``passes``, of which those that read the same files block after block share the blocks.

    Each block is given to all of their stages, whatever they make of it. What is stored for later
    readers, and not ``asked`` for, is made where it was.
    """
    groups: list[list[Pass]] = []
    made: dict[int, int] = {}  # results, by the number of their group
    for one in passes:
        first = 1 + max((made.get(id(need), -1) for need in one.visited.needs), default=-1)
        number = len(groups)
        if _can_share(one, asked):
            found = (k for k in range(first, number) if _share_blocks(groups[k][0], one, asked))
            number = next(found, number)
        groups[number:number] = [] if number < len(groups) else [[]]
        groups[number].append(one)
        made.update((id(stage.result), number) for stage in one.stages)
    return tuple(some[0] if len(some) == 1 else _beside(some, workers) for some in groups)


def _can_share(one: Pass, asked: set[int]) -> bool:
    """Whether all that ``one`` makes can be made of blocks as they come by."""
    folds = (stage.source is None or isinstance(stage.source, Reduced) for stage in one.stages)
    if not one.visited.streams or one.visited.is_scan or not all(folds):
        return False
    if any(stage.source is None and id(stage.result) not in asked for stage in one.stages):
        return False
    return not any(pieces_within(stage.root) or stage.why == ALONE for stage in one.stages)


def _share_blocks(one: Pass, other: Pass, asked: set[int]) -> bool:
    if not _can_share(one, asked) or one.visited.root.shape != other.visited.root.shape:
        return False
    read = [{id(leaf.source) for leaf in tiled(each.visited.root)} for each in (one, other)]
    return not read[0].isdisjoint(read[1])


def _beside(some: Sequence[Pass], workers: int) -> Pass:
    """The pass that reads what ``some`` read, and gives it to each."""
    stages = tuple(stage for one in some for stage in one.stages)
    roots = {id(stage.root): stage.root for stage in stages}
    first = stages[0].root
    root = Map("several", tuple(roots.values()), first.shape, first.dtype)
    single = [stage for one in some if one.together is None or one.is_along for stage in one.stages]
    argued = (stage for stage in single if stage.parts[0].extra)
    extra = tuple(element_places(stage.root, stage.axes) for stage in argued)
    many = {axis for stage in single if math.prod(stage.shape) > 1 for axis in stage.axes}
    axis, _ = cut_of(root, tuple(many), workers)
    if axis is None and sum(stage.result_bytes for stage in single) <= _MERGED:
        axis, _ = cut_of(root, (), workers)
    visited = Stage(root, None, (), (Part(root, extra, None, 0, 0),), "one")
    if axis is not None:
        visited = sliced(root, None, (), extra, workers, axis, "merge")
    return Pass(stages, visited, tuple(some))
