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
from dataclasses import field, replace
from functools import cached_property
from typing import Final

from .. import dtypes
from ..dataclass import dataclass
from ..expr.analysis import analyse
from ..expr.nodes import Const, Expr, Leaf, Map, Piecewise, Reduced, StageResult, Through, walk
from ..expr.piecewise.regions import leaves_within, pieces_within
from . import costs
from .requests import ALONE, Request
from .shares import shared_out
from .stages import Part, Stage, cut_stage, element_places, make_stage, sliced
from .streams import MOST_ADDED, cut_of, tiled

SINKS: Final = 12  # of a kernel: each takes registers
EARLIER: Final = 4  # passes
EXTREMES: Final = ("min", "max", "nanmin", "nanmax")
FOLDED: Final = frozenset(("sum", "mean", "var", "std", *EXTREMES, "dot"))
# Sums of so few elements, or of so many and so few results, have ways of their own on a CPU.
SHORT, TALL, FEW = 16, 1 << 17, 16
ALONG: Final = frozenset(("sum", "mean", "var", "std"))  # with many results
_RECORDED: Final = 4.0  # nanoseconds that a product takes more in a record of a dot of float64
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


def passes_of(
    requests: Sequence[Request], wanted: Sequence[StageResult], gpu: bool = False
) -> list[list[Request]]:
    """``requests``, which are in order, together where they can be; in an order that works.

    A ``gpu`` makes other results along axes together, too.
    """
    groups: list[_Group] = []
    made: dict[int, int] = {}  # results, by the number of their group
    asked = {id(result) for result in wanted}
    for one in requests:
        group = _Group.of(one, gpu)
        first = 1 + max((made.get(need, -1) for need in group.needs), default=-1)
        # What is kept for later readers takes memory from then on: it is not made much earlier.
        late = one.source is None and id(one.result) not in asked
        candidates = range(max(first, len(groups) - EARLIER) if late else first, len(groups))
        number = next((k for k in candidates if groups[k].takes(group)), len(groups))
        if number == len(groups):
            groups.append(group)
        else:
            groups[number].add(group)
        made[id(one.result)] = number
    return [group.requests for group in groups]


@dataclass(eq=False)
class _Group:
    """Requests of one pass, and what they read."""

    requests: list[Request]
    alone: bool
    along: tuple[object, ...]  # for reductions with many results, what they must have in common
    needs: frozenset[int]
    reads: set[int] = field(default_factory=set)
    pieces: frozenset[int] = frozenset()  # arrays of pieces that are read
    weight: int = 0

    @classmethod
    def of(cls, one: Request, gpu: bool) -> _Group:
        nodes = walk(one.root)
        sources = [node.source for node in nodes if isinstance(node, Leaf)]
        pieces = frozenset(id(s) for s in sources if isinstance(s, Piecewise))
        if pieces:
            sources = [leaf.source for leaf in leaves_within(one.root)]
        needs = frozenset(id(s) for s in sources if isinstance(s, StageResult))
        reads = {id(s) for s in sources if not isinstance(s, Const)}
        along, weight = _along(one, gpu, bool(pieces)), sum(map(costs.weight, nodes))
        alone = not (along or _shares(one, bool(pieces))) or (not gpu and _is_finished(one))
        return cls([one], alone, along, needs, reads, pieces, weight)

    def takes(self, other: _Group) -> bool:
        """Whether ``other`` can be made with these, and gains by it."""
        if self.alone or other.alone or not self.reads & other.reads:
            return False
        if self.pieces != other.pieces or self.along != other.along:
            return False
        if self.requests[0].root.shape != other.requests[0].root.shape:
            return False
        enough = len(self.requests) < SINKS and self.weight + self.added(other) <= costs.MOST
        return enough and not any(id(one.result) in other.needs for one in self.requests)

    def add(self, other: _Group) -> None:
        """Make ``other`` with these."""
        self.reads |= other.reads
        self.weight += self.added(other)
        self.requests += other.requests

    def added(self, other: _Group) -> int:
        """The weight of ``other`` that these do not have."""
        roots = {id(one.root) for one in self.requests}
        return 0 if self.along and id(other.requests[0].root) in roots else other.weight


def _shares(one: Request, pieced: bool) -> bool:
    """Whether ``one``, of pieces if it is ``pieced``, can be made with others."""
    if not math.prod(one.root.shape):
        return False
    if one.source is None:
        return one.why != ALONE
    if pieced:
        return False
    whole = isinstance(one.source, Reduced) and math.prod(one.result.shape) == 1
    return whole and one.source.op in FOLDED


def _is_finished(one: Request) -> bool:
    """Whether ``one`` is a dot product of float64 whose own kernel a CPU takes less time for.

    That has two doubles for the sum. With others it leaves a record, of two terms an element.
    """
    if not isinstance(one.source, Reduced) or one.source.op != "dot":
        return False
    return one.root.dtype == "float64" and costs.of_element(one.root) < _RECORDED


def _along(one: Request, gpu: bool, pieced: bool) -> tuple[object, ...]:
    """What else ``one``, a reduction with many results, is made with: the same sums of doubles.

    On a ``gpu``, whatever its kernels finish.
    """
    source, root = one.source, one.root
    if not isinstance(source, Reduced) or math.prod(one.result.shape) < 2 or not source.count:
        return ()
    wraps = source.op == "sum" and not dtypes.is_float(root.dtype)
    any_of_them = gpu or _any_together(source)
    if any_of_them and not pieced and (wraps or source.op in EXTREMES):
        return (source.axes,)
    if source.op not in ALONG or wraps:
        return ()
    freedom = source.count - source.ddof
    if pieced or root.dtype == "bool" or freedom <= 0 or not float(freedom).is_integer():
        return ()
    if not dtypes.is_float(root.dtype):
        known = analyse(root)
        if max(abs(known.low), abs(known.high)) > 2.0**53:
            return ()
    return (source.axes,) if any_of_them else (source.axes, id(root))


def _any_together(source: Reduced) -> bool:
    """Whether a CPU's kernel makes ``source`` with any others of the same shape."""
    if source.arg.dtype == "float16" or source.count <= SHORT:
        return False
    return source.count <= TALL or math.prod(source.shape) >= FEW


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
