"""Steps of a loop over large arrays, made for a block of rows at a time (overlapped tiling).

What one stage leaves is read by the next while it lies in the cache; only the last one's rows go to
memory. A block needs some rows more of the stages before the last (its halo), which the
blocks beside it make, too; `boxes.py` says which. All blocks are one program that reads elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, TypeAlias

from .. import dtypes
from ..dataclass import dataclass
from ..expr import views
from ..expr.graph import memories
from ..expr.nodes import Leaf, Map, Piecewise, StageResult, Stored, leaves, walk
from .passes import Pass, make_pass
from .requests import Request
from .stages import Stage

# Measured by `bench/blocking.py` (docs/loops.md): bytes of an array from which it pays, of a block
# of one (up to four times that where rows are long), and stages that are made for a block; what is
# made, some of it again, over what whole arrays take.
LARGE: Final = 1 << 24
BLOCK: Final = 1 << 21
MOST_STAGES: Final = 10
AGAIN: Final = 1.25


Moves: TypeAlias = tuple[tuple[Stored | StageResult, int], ...]


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Stages that make some rows; ``last`` says for each which of them are not needed after it."""

    stages: tuple[Stage, ...]
    last: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Blocked:
    """Passes ``[first, end)`` of a plan, made for ``step`` rows after the other of ``rows``.

    ``block`` makes the first of them. The others read what lies ``sources`` elements on for each
    block: by what is read. ``rest`` makes the last rows, where they are fewer.
    """

    first: int
    end: int
    rows: int
    step: int
    block: RowBlock
    sources: Moves
    rest: RowBlock | None

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return -(-self.rows // self.step)


def blocked(passes: Sequence[Pass], results: Sequence[StageResult]) -> tuple[Blocked, ...]:
    """Which of ``passes`` are made by blocks where one worker makes all; ``results`` are wanted."""
    ends = {id(need): k for k, one in enumerate(passes) for need in one.visited.needs}
    ends |= {id(result): len(passes) for result in results}
    found, first = list[Blocked](), 0
    while first < len(passes):
        end = _end(passes, first, ends)
        chain = _blocked(passes, first, end) if end - first > 1 else None
        if chain is not None:
            found.append(chain)
        first = max(end, first + 1)
    return tuple(found)


def _end(passes: Sequence[Pass], first: int, ends: dict[int, int]) -> int:
    """The end of the longest chain from ``first`` on of which others read the last array alone."""
    best, latest = first, -1
    for k in range(first, min(len(passes), first + MOST_STAGES)):
        one = passes[k]
        if not _is_large(one) or (
            k > first and passes[k - 1].visited.result not in one.visited.needs
        ):
            break
        if latest <= k:
            best = k + 1
        latest = max(latest, ends.get(id(one.visited.result), len(passes)))
    return best


def _is_large(one: Pass) -> bool:
    stage = one.visited
    if one.together is not None or stage.source is not None or len(stage.shape) < 2:
        return False
    pieces = any(isinstance(leaf.source, Piecewise) for leaf in leaves(stage.root))
    return stage.result_bytes >= LARGE and not pieces and stage.order is None


def _blocked(passes: Sequence[Pass], first: int, end: int) -> Blocked | None:
    """Passes ``[first, end)`` by blocks; None where too much would be made again."""
    stages = [one.visited for one in passes[first:end]]
    shape = stages[-1].shape
    rows, itemsize = shape[0], max(dtypes.itemsize(stage.dtype) for stage in stages)
    for factor in (1, 2, 4):
        step = max(1, factor * BLOCK // (math.prod(shape[1:]) * itemsize))
        moves = _moves(stages, step) if 3 * step <= rows else None
        if moves is None:
            return None
        whole = sum(math.prod(stage.shape) for stage in stages)
        needed = _needed(stages, 0, step)
        made = sum(math.prod(_rows(stage, needed)) for stage in stages)
        if made * rows <= AGAIN * whole * step:
            left = rows % step
            rest = _block(stages, rows - left, rows) if left else None
            return Blocked(first, end, rows, step, _block(stages, 0, step), moves, rest)
    return None


Needed: TypeAlias = dict[int, tuple[int, int]]


def _needed(stages: Sequence[Stage], start: int, stop: int) -> Needed:
    """The first row and the end of what each stage is to make for rows of the last, by result."""
    needed = {id(stages[-1].result): (start, stop)}
    own = {id(stage.result) for stage in stages}
    for stage in reversed(stages):
        first, end = needed[id(stage.result)]
        for leaf in leaves(stage.root):
            if id(leaf.source) not in own:
                continue
            row = _row(leaf)
            extents = zip(leaf.strides, (end - first, *leaf.shape[1:]), strict=True)
            reach = [stride * (extent - 1) for stride, extent in extents]
            at = leaf.offset + leaf.strides[0] * first
            lowest = (at + sum(min(0, r) for r in reach)) // row
            highest = (at + sum(max(0, r) for r in reach)) // row
            low, high = needed.get(id(leaf.source), (lowest, highest + 1))
            needed[id(leaf.source)] = min(low, lowest), max(high, highest + 1)
    return needed


def _row(leaf: Leaf) -> int:
    """How many elements a row has of what a stage leaves and ``leaf`` reads."""
    assert isinstance(leaf.source, StageResult)
    return math.prod(leaf.source.shape[1:])


def _rows(stage: Stage, needed: Needed) -> tuple[int, ...]:
    """The shape of the rows of ``stage`` that are ``needed``."""
    first, end = needed[id(stage.result)]
    return (end - first, *stage.shape[1:])


def _block(stages: Sequence[Stage], start: int, stop: int) -> RowBlock:
    """What makes rows ``[start, stop)`` of the last of ``stages``, and only those."""
    needed = _needed(stages, start, stop)
    results = {id(s.result): StageResult(_rows(s, needed), s.dtype) for s in stages}
    made, last, seen = list[Stage](), [], set[int]()
    for stage in stages:
        first, shape = needed[id(stage.result)][0], _rows(stage, needed)

        def read(leaf: Leaf, first: int = first, shape: tuple[int, ...] = shape) -> Leaf:
            offset, source = leaf.offset + leaf.strides[0] * first, results.get(id(leaf.source))
            if source is not None:
                offset -= needed[id(leaf.source)][0] * _row(leaf)
            return Leaf(source or leaf.source, shape, offset, leaf.strides)

        root = views.rebuild(stage.root, shape, read)
        one = Request(root, None, results[id(stage.result)], stage.why)
        made += make_pass([one], 1).stages
    own = {id(result) for result in results.values()}
    for stage in reversed(made):
        reads = {id(need) for need in stage.needs} & own
        last.append(tuple(reads - seen))
        seen |= reads
    return RowBlock(tuple(made), tuple(last[::-1]))


def _moves(stages: Sequence[Stage], step: int) -> Moves | None:
    """How much further on the next block, ``step`` rows on, reads each source.

    None where it does not read all of them further on by whole rows, or the same of them again.
    """
    own = {id(stage.result) for stage in stages}
    paces = {id(stages[-1].result): step}  # rows from one block to the next, by result
    moves: dict[int, int] = {}
    sources: dict[int, Stored | StageResult] = {}
    for stage in reversed(stages):
        nodes, pace = walk(stage.root), paces[id(stage.result)]
        gathers = memories(nodes)
        if stage.source is not None or not isinstance(stage.root, Map):
            return None
        for leaf in nodes:
            if not isinstance(leaf, Leaf):
                continue
            source, move = leaf.source, leaf.strides[0] * pace
            if id(source) in own:
                rows, rest = divmod(move, _row(leaf))
                if rest or rows < 0 or id(leaf) in gathers:
                    return None
                if paces.setdefault(id(source), rows) != rows:
                    return None
            elif isinstance(source, (Stored, StageResult)):
                if move < 0 or moves.setdefault(id(source), move) != move:
                    return None
                sources[id(source)] = source
            elif any(leaf.strides):
                return None
    return tuple((sources[name], move) for name, move in moves.items())
