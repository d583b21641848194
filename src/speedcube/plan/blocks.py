"""Steps of a loop over large arrays, made for a block of rows at a time (overlapped tiling).

What one stage leaves is read by the next while it lies in the cache; only the last one's rows go to
memory. A block needs some rows more of the stages before the last (its halo), which the
blocks beside it make, too; `boxes.py` says which. All blocks are one program that reads elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from .. import dtypes
from ..expr import views
from ..expr.nodes import Expr, Leaf, Map, Piecewise, StageResult, Stored, leaves, walk
from .cuts import cut
from .passes import Pass, make_pass, passes_of
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
    chain = passes[first:end]
    root = _nested(chain)
    rows = root.shape[0]
    each = math.prod(root.shape[1:]) * max(dtypes.itemsize(one.visited.dtype) for one in chain)
    for factor in (1, 2, 4):
        step = max(1, factor * BLOCK // each)
        found = _by_steps(root, step) if 3 * step <= rows else None
        if found is None:
            return None
        block, moves = found
        whole = sum(math.prod(one.visited.root.shape) for one in chain)
        made = sum(math.prod(stage.root.shape) for stage in block.stages)
        if made * rows <= AGAIN * whole * step:
            left = rows % step
            rest = _block(root, rows - left, rows) if left else None
            return Blocked(first, end, rows, step, block, moves, rest)
    return None


def _by_steps(root: Expr, step: int) -> tuple[RowBlock, Moves] | None:
    """The first ``step`` rows of ``root``, and how much further on the others read."""
    block = _block(root, 0, step)
    moves = _moves(block, _block(root, step, 2 * step))
    return None if moves is None else (block, moves)


def _nested(passes: Sequence[Pass]) -> Expr:
    """What the last of ``passes`` stores, as an expression over what those before it do."""
    made: dict[int, Expr] = {}

    def read(leaf: Leaf) -> Leaf:
        source = made.get(id(leaf.source))
        return leaf if source is None else Leaf(source, leaf.shape, leaf.offset, leaf.strides)

    root = passes[0].visited.root
    for one in passes:
        root = views.rebuild(one.visited.root, one.visited.root.shape, read)
        made[id(one.visited.result)] = root
    return root


def _block(root: Expr, start: int, stop: int) -> RowBlock:
    made = cut([views.index(root, slice(start, stop))])
    groups = passes_of(made.requests, made.results)
    stages = [stage for some in groups for stage in make_pass(some, 1).stages]
    own = {id(stage.result) for stage in stages[:-1]}
    seen, last = set[int](), []
    for stage in reversed(stages):
        reads = {id(need) for need in stage.needs} & own
        last.append(tuple(reads - seen))
        seen |= reads
    return RowBlock(tuple(stages), tuple(last[::-1]))


def _moves(one: RowBlock, other: RowBlock) -> Moves | None:
    """How much further on ``other``, the next block, reads each source; None: not the same."""
    if len(one.stages) != len(other.stages):
        return None
    same: dict[int, int] = {}  # what the stages of one leave, as those of the other do
    moves: dict[int, int] = {}
    sources: dict[int, Stored | StageResult] = {}
    for mine, theirs in zip(one.stages, other.stages, strict=True):
        nodes, others = walk(mine.root), walk(theirs.root)
        if mine.root.shape != theirs.root.shape or len(nodes) != len(others):
            return None
        if mine.source is not None or not isinstance(mine.root, Map):
            return None
        for a, b in zip(nodes, others, strict=True):
            if isinstance(a, Map) or isinstance(b, Map):
                if not (isinstance(a, Map) and isinstance(b, Map) and a.op == b.op):
                    return None
                continue
            if a.strides != b.strides:
                return None
            move, source = b.offset - a.offset, a.source
            if id(source) in same:
                if move or same[id(source)] != id(b.source):
                    return None
            elif isinstance(source, (Stored, StageResult)):
                if source is not b.source or move < 0 or moves.setdefault(id(source), move) != move:
                    return None
                sources[id(source)] = source
            elif any(a.strides) or move:
                return None
        same[id(mine.result)] = id(theirs.result)
    return tuple((sources[name], move) for name, move in moves.items())
