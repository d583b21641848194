"""Arrays of pieces that are read a box at a time: each piece's part of a box, put where it belongs.

Two views of one file, of which one is moved and padded, read the same boxes of it then. As regions
with a kernel each they would read it once for each region.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .... import dtypes
from ....expr import views
from ....expr.graph import below
from ....expr.nodes import Const, Expr, Leaf, Node, Piecewise, Shape, Through, Tiled
from ....expr.push import push
from ....expr.routines.table import ROUTINES
from ....expr.sources.tiled import Box
from ....plan.pieces import MOST_REGIONS
from ....plan.reads import bytes_of, in_order, places_in, units_of
from ....plan.streams import BLOCK, readers_in, tiled
from ....plan.touched import of_leaves
from .cells import Cells, plain, read_bytes
from .later import Later, Make, Weigh, read_later

Array: TypeAlias = NDArray[Any]

LEAST: Final = 8 << 20  # bytes that pieces read: what is less is quickly read again
MOST_KEPT: Final = 8 << 20  # bytes of a chunk of which the rest is kept for the next box
_MOST_PIECES: Final = 1 << 10


class PiecedBlocks:
    """The elements of ``source``, whose pieces have the elements of ``roots``."""

    noun = "blocks"

    def __init__(self, source: Piecewise, roots: Sequence[Expr]) -> None:
        self.source, self.made_of = source, tuple(roots)
        self.shape = source.shape
        self.chunks, self.begins = self._grid()
        inner = readers_in(roots)
        self.decodes = any(getattr(one, "decodes", True) for one in inner)
        self.in_order = tuple({k for root in roots for leaf in tiled(root) for k in in_order(leaf)})
        self._cells: dict[int, Cells] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> Any:
        """As it was made: what threads make boxes by stays with them."""
        return PiecedBlocks, (self.source, self.made_of)

    def _grid(self) -> tuple[Shape, Shape]:
        """How long blocks are along each axis, and where the first that is whole begins.

        They are those of what most is read of.
        """
        every = [
            (bytes_of(leaf, root.shape), piece, leaf)
            for piece, root in zip(self.source.pieces, self.made_of, strict=True)
            for leaf in tiled(root)
        ]
        _, piece, leaf = max(every, key=lambda one: one[0])
        chunks, begins = [], []
        for extent, at, own, (unit, first) in zip(
            self.shape, piece.at, leaf.shape, units_of(leaf), strict=True
        ):
            if unit >= own and 2 * own > extent:
                chunks.append(extent)
                begins.append(0)
            else:
                chunks.append(min(unit, own))
                begins.append((at + first) % chunks[-1])
        return tuple(chunks), tuple(begins)

    @property
    def label(self) -> str:
        """What a plan calls it."""
        labels = (one.label for one in readers_in(self.made_of) if not isinstance(one, Later))
        return f"{self.source.call[0]} of {', '.join(dict.fromkeys(labels))}"

    @property
    def lies_in(self) -> tuple[str, ...]:
        """The files and folders that hold the elements."""
        each = (getattr(one, "lies_in", ()) for one in readers_in(self.made_of))
        return tuple(place for some in each for place in some)

    @property
    def working_bytes(self) -> int:
        """Bytes that a box takes while it is made, but for its own."""
        chunk = math.prod(self.chunks) * dtypes.itemsize(self.source.dtype)
        inner = sum(getattr(one, "working_bytes", 0) for one in readers_in(self.made_of))
        return 2 * max(BLOCK, chunk) + inner

    def touched(self, box: Box) -> tuple[int, int]:
        """Bytes and number of the chunks that are read for ``box``."""
        found = [
            of_leaves([leaf])
            for k, inside, _ in self._met(box)
            for leaf in tiled(_part(self.made_of[k], inside))
        ]
        return sum(size for size, _ in found), sum(count for _, count in found)

    def read(self, box: Box, out: Array) -> None:
        """Put the elements of ``box`` into ``out``."""
        for k, inside, places in self._met(box):
            where: tuple[Any, ...] = (*places, ...)
            self._place(k, inside, out[where])

    def _met(self, box: Box) -> list[tuple[int, Box, Box]]:
        """The pieces that have elements of ``box``: which of theirs, and where in it those are."""
        found = []
        for k, (piece, root) in enumerate(zip(self.source.pieces, self.made_of, strict=True)):
            each = list(map(_meeting, box, piece.at, root.shape))
            if all(n > 0 for _, _, n in each):
                inside = tuple(one for one, _, _ in each)
                found.append((k, inside, tuple(place for _, place, _ in each)))
        return found

    def _place(self, k: int, inside: Box, here: Array) -> None:
        """Put the elements ``inside`` of piece ``k`` into ``here``, which may lie in strides."""
        root = self.made_of[k]
        if isinstance(root, Leaf) and isinstance(root.source, Const):
            here[...] = root.source.value
            return
        if _read_straight(_part(root, inside), here):
            return
        made = here if here.flags.c_contiguous else np.empty(here.shape, here.dtype)
        if all(one.step == 1 for one in inside):
            with self._lock:
                cells = self._cells.setdefault(k, Cells([root], range(len(root.shape))))
            cells.make(inside, [made])
        else:
            part = _part(root, inside)
            Cells([part], ()).make(tuple(slice(0, n) for n in part.shape), [made])
        if made is not here:
            here[...] = made


def _part(root: Expr, item: Box) -> Expr:
    return push(root, views.indexed(root.shape, item))


def _meeting(along: slice, at: int, length: int) -> tuple[slice, slice, int]:
    """Which of ``length`` indices from ``at`` on lie in ``along``, where there, and how many."""
    first = max(0, -((along.start - at) // along.step))
    all_of_them = len(range(along.start, along.stop, along.step))
    stop = min(all_of_them, -((along.start - at - length) // along.step))
    begin = along.start + first * along.step - at
    inside = slice(begin, begin + (stop - first - 1) * along.step + 1, along.step)
    return inside, slice(first, stop), stop - first


def _read_straight(root: Expr, here: Array) -> bool:
    """Whether ``root`` is a box of one source, its axes in their order: read into ``here`` then."""
    if not isinstance(root, Leaf) or not isinstance(root.source, Tiled):
        return False
    tiles, axes, box, index = root.source.tiles, list[int](), list[slice](), list[Any]()
    for start, row in places_in(root):
        moving = [k for k, step in enumerate(row) if step and root.shape[k] > 1]
        if len(moving) > 1 or any(row[k] < 0 for k in moving):
            return False
        if moving:
            k, step = moving[0], row[moving[0]]
            box.append(slice(start, start + step * (root.shape[k] - 1) + 1, step))
        else:
            box.append(slice(start, start + 1, 1))
        axes += moving
        index.append(slice(None) if moving else None)
    others = [k for k, n in enumerate(root.shape) if n > 1 and k not in axes]
    if axes != sorted(set(axes)) or others:
        return False
    there = [slice(None) if k in axes else 0 for k in range(here.ndim)]
    moved = here[(*there, ...)]  # a view of one element, too
    target = moved[tuple(index)]
    if target.flags.c_contiguous or getattr(tiles, "anywhere", False):
        tiles.read(tuple(box), target)
        return True
    return False


def has_large_chunks(source: Piecewise) -> bool:
    """Whether ``source`` puts files one behind the other whose chunks are too large to be kept.

    Boxes across their borders would decode them twice.
    """
    if source.call[0] not in ("concatenate", "stack") or len(source.pieces) > MOST_REGIONS:
        return False
    readers = readers_in([piece.expr for piece in source.pieces])
    size = dtypes.itemsize(source.dtype)
    decoded = (one for one in readers if getattr(one, "decodes", True))
    return any(math.prod(one.chunks) * size > MOST_KEPT for one in decoded)


def pieced_blocks(source: Piecewise, make: Make, weigh: Weigh) -> PiecedBlocks | None:
    """The elements of ``source`` box by box; None where pieces lie in memory, or soon do."""
    if 0 in source.shape or len(source.pieces) > _MOST_PIECES:
        return None
    if dtypes.stored(source.dtype) != source.dtype:
        return None
    if any(map(_is_of_library, below(*(piece.expr for piece in source.pieces)))):
        return None  # what pieces share of that would be made for each
    roots = [plain(read_later(piece.expr, make, weigh)) for piece in source.pieces]
    made = [root for root in roots if root is not None]
    if len(made) < len(roots) or sum(map(read_bytes, made)) < LEAST:
        return None
    return PiecedBlocks(source, made)


def _is_of_library(node: Node) -> bool:
    return isinstance(node, Through) and node.op in ROUTINES
