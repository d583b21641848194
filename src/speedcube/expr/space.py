"""The iteration space: the loops an expression needs, as few and as long as possible.

Axes of size one vanish; axes that every leaf (and the result) walks evenly become one; where
order is free (a reduction to one value) axes are sorted so that the innermost steps are short, and
axes walked backwards by every leaf are turned round. The planner cuts this space, lowering
writes its loops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..dataclass import dataclass
from .nodes import Const, Expr, Leaf, Random, Stored, c_strides, leaves


@dataclass(frozen=True)
class Space:
    """Loops, outermost first; the last is the lane loop.

    ``extents``, ``reduced`` and each leaf's strides have one entry for each loop.
    """

    extents: tuple[int, ...]
    reduced: tuple[bool, ...]
    leaves: tuple[Leaf, ...]
    offsets: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    out_offset: int
    out_strides: tuple[int, ...]  # 0 along reduced loops

    @property
    def size(self) -> int:
        """Elements visited."""
        return math.prod(self.extents)


@dataclass
class _Loop:
    extent: int
    reduced: bool
    strides: list[int]  # of each leaf, then of the result


def build(
    root: Expr,
    axes: tuple[int, ...],
    extra: tuple[Leaf, ...] = (),
    out_strides: tuple[int, ...] | None = None,
    reduction: bool = False,
    everywhere: bool = False,
) -> Space:
    """The space of reducing ``root`` over ``axes`` (none: every element is a result).

    ``extra`` leaves are fetched besides the root's own; ``out_strides`` has one entry for each
    axis that is kept (default: C order). A ``reduction`` has a reduced loop even over no axes.
    ``everywhere``: there are results at every element too, and out_strides are of all axes.
    """
    nodes = [leaf for leaf in leaves(root) if not isinstance(leaf.source, Const)]
    nodes += extra
    kept = [k for k in range(len(root.shape)) if everywhere or k not in axes]
    if out_strides is None:
        out_strides = c_strides(tuple(root.shape[k] for k in kept))
    out = dict(zip(kept, out_strides, strict=True))
    loops = [
        _Loop(n, k in axes, [*(leaf.strides[k] for leaf in nodes), out.get(k, 0)])
        for k, n in enumerate(root.shape)
        if n != 1
    ]
    offsets = [*(leaf.offset for leaf in nodes), 0]
    if axes:
        _turn_round([loop for loop in loops if loop.reduced], offsets)
    loops.sort(key=lambda loop: loop.reduced)  # stable: kept loops outside, reduced inside
    if axes:
        _sort_reduced(loops)
    elif not reduction and not everywhere:
        loops.sort(key=lambda loop: -abs(loop.strides[-1]))  # results one after the other
    if reduction and not any(loop.reduced for loop in loops):
        loops.append(_Loop(1, True, [0] * len(offsets)))
    loops = _merge(loops) or [_Loop(1, False, [0] * len(offsets))]
    if axes:
        _pairs_outside(loops)
        _walk_both_ways(loops, nodes)
    columns = list(zip(*(loop.strides for loop in loops), strict=True))
    return Space(
        tuple(loop.extent for loop in loops),
        tuple(loop.reduced for loop in loops),
        tuple(nodes),
        tuple(offsets[:-1]),
        tuple(columns[:-1]),
        offsets[-1],
        columns[-1],
    )


def _turn_round(loops: list[_Loop], offsets: list[int]) -> None:
    """Walk forwards what every leaf walks backwards (the result may then be written backwards)."""
    for loop in loops:
        inputs = loop.strides[:-1]
        if any(s < 0 for s in inputs) and all(s <= 0 for s in inputs):
            for k, stride in enumerate(loop.strides):
                offsets[k] += (loop.extent - 1) * stride
                loop.strides[k] = -stride


def _sort_reduced(loops: list[_Loop]) -> None:
    """Reduced loops by falling stride of their steepest leaf: order inside a reduction is free."""
    reduced = [loop for loop in loops if loop.reduced]
    reduced.sort(key=lambda loop: max((abs(s) for s in loop.strides), default=0), reverse=True)
    loops[:] = [loop for loop in loops if not loop.reduced] + reduced


def _merge(loops: list[_Loop]) -> list[_Loop]:
    merged: list[_Loop] = []
    for loop in loops:
        last = merged[-1] if merged else None
        if (
            last is not None
            and last.reduced == loop.reduced
            and all(a == b * loop.extent for a, b in zip(last.strides, loop.strides, strict=True))
        ):
            merged[-1] = _Loop(last.extent * loop.extent, loop.reduced, loop.strides)
        else:
            merged.append(loop)
    return merged


def _pairs_outside(loops: list[_Loop]) -> None:
    """Walk along what has a longer loop than a pair's, of which every other element is read.

    So are dots of complex numbers: a loop a pair takes ten times as long.
    """
    if len(loops) < 2 or not (loops[-1].reduced and loops[-2].reduced):
        return
    outer, inner = loops[-2:]
    results = math.prod(loop.extent for loop in loops if not loop.reduced)
    along = [outer, *(loop for loop in loops if not loop.reduced and results <= _FEW)]
    apart = any({abs(step) for step in loop.strides[:-1]} - {0} == {2} for loop in along)
    if apart and inner.extent == 2 < outer.extent:
        loops[-2:] = inner, outer


def _walk_both_ways(loops: list[_Loop], nodes: Sequence[Leaf]) -> None:
    """Cut the innermost reduced loop where one array lies as the loop walks, and another across.

    What is read across of one tile stays in the cache for the next step of the loop around, which
    reads the same lines. Only a length that tiles divide is cut.
    """
    if len(loops) < 2 or not (loops[-1].reduced and loops[-2].reduced):
        return
    outer, inner = loops[-2:]
    length = next((n for n in range(TILE // 2 + 1, TILE + 1) if not inner.extent % n), 0)
    if (
        not length
        or inner.extent <= TILE
        or not any(
            isinstance(leaf.source, Stored) and 0 < abs(near) < _LINE <= abs(far)
            for leaf, near, far in zip(nodes, outer.strides, inner.strides, strict=False)
        )
    ):
        return
    if any(isinstance(leaf.source, Random) for leaf in nodes):
        return
    across = [length * step for step in inner.strides]
    loops.insert(-2, _Loop(inner.extent // length, True, across))
    loops[-1] = _Loop(length, True, inner.strides)


_LINE: Final = 8  # elements: fewer lie in one line of memory
_FEW: Final = 16  # results, of which a vector holds all


def with_lanes(space: Space, lane: int) -> Space:
    """``space`` with loop ``lane`` as the last, that of the lanes."""
    order = [k for k in range(len(space.extents)) if k != lane] + [lane]

    def ordered(strides: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(strides[k] for k in order)

    return Space(
        ordered(space.extents),
        tuple(space.reduced[k] for k in order),
        space.leaves,
        space.offsets,
        tuple(ordered(strides) for strides in space.strides),
        space.out_offset,
        ordered(space.out_strides),
    )


def forwards(space: Space) -> Space:
    """``space`` with the lanes forwards where every leaf walks backwards, the result backwards."""
    steps = [strides[-1] for strides in space.strides]
    if not any(step < 0 for step in steps) or any(step > 0 for step in steps):
        return space
    end = space.extents[-1] - 1

    def turned(strides: tuple[int, ...]) -> tuple[int, ...]:
        return (*strides[:-1], -strides[-1])

    return replace(
        space,
        offsets=tuple(o + end * s for o, s in zip(space.offsets, steps, strict=True)),
        strides=tuple(turned(strides) for strides in space.strides),
        out_offset=space.out_offset + end * space.out_strides[-1],
        out_strides=turned(space.out_strides),
    )


TILE = 1024  # elements in a tile: its values fit in L1 several times over
_SHORT_ROW: Final = 16  # elements of rows that a CPU takes together
# The same of elements that are stored, where an array that is read lies in order all the same: a
# tile costs 20 ns, and no element of that array an offset.
_STORED_ROW: Final = 64


@dataclass(frozen=True)
class Tiling:
    """A tile is ``rows`` steps of loop ``first`` times all of the loops inside it (``inner``).

    With ``inner == 1`` the tile's offsets are multiples of one stride; otherwise they are a table.
    """

    first: int
    rows: int
    inner: int

    @property
    def table(self) -> bool:
        return self.inner > 1


def tile(space: Space, gpu: bool = False) -> Tiling:
    """Short innermost loops of one kind are taken together until they fill a tile.

    A loop of no steps is not taken: the tile inside it would have no elements. On a CPU a tile of
    what is stored is a row, unless that is very short: its elements are then read side by side, and
    those of several rows from an offset each. A sum of rows of 64 takes a ninth of the time.
    """
    most = TILE // 2 if gpu else _longest_short(space)
    first, inner = len(space.extents) - 1, 1
    while (
        first > 0
        and 0 < space.extents[first] * inner <= most
        and space.reduced[first - 1] == space.reduced[first]
    ):
        inner *= space.extents[first]
        first -= 1
    return Tiling(first, max(1, TILE // inner), inner)


def _longest_short(space: Space) -> int:
    """Elements of the longest rows of which a CPU takes several together."""
    if any(isinstance(leaf.source, Random) for leaf in space.leaves):
        return TILE // 2  # neighbours are drawn together
    if len(space.extents) < 2 or space.reduced[-1]:
        return _SHORT_ROW
    rows = space.extents[-1]
    in_order = any(one[-1] and one[-2] == rows * one[-1] for one in space.strides)
    return _STORED_ROW if in_order else _SHORT_ROW


def is_packed(strides: tuple[int, ...], space: Space, tiling: Tiling) -> bool:
    """Whether a tile's elements lie one after the other."""
    step = 1
    for n, stride in zip(
        space.extents[: tiling.first : -1], strides[: tiling.first : -1], strict=True
    ):
        if stride != step:
            return False
        step *= n
    return strides[tiling.first] == step


def offset_table(strides: tuple[int, ...], space: Space, tiling: Tiling) -> NDArray[np.int64]:
    """Offsets of a full tile's elements from its first, in tile order."""
    extents = (tiling.rows, *space.extents[tiling.first + 1 :])
    table = np.zeros(1, np.int64)
    for n, s in zip(extents, strides[tiling.first :], strict=True):
        table = (table[:, None] + np.arange(n, dtype=np.int64) * s).reshape(-1)
    return table
