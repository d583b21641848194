"""An array in boxes of which other elements were put, one box after the other.

What was put where is written down as it comes; it is cut into boxes that do not overlap when these
are asked for. So a thousand assignments are no thousand arrays of a thousand pieces.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Final

from ...dataclass import dataclass
from ..nodes import Expr, Leaf, Piece, Piecewise, Shape, c_strides, is_whole
from ..pairs.node import is_pair, pair, parts
from .cut import cut_along, overwritten, slab_axis

_NAME: Final = "assigned"
# Pieces that one more is compared to: a step of a loop puts its inner elements and its edges where
# the step before it did.
LOOKED: Final = 6


@dataclass(eq=False)
class Writes:
    """What was put into ``base``, in order; several arrays share the beginning of the list."""

    base: Expr
    pieces: list[Piece]
    read: bool = False  # whether boxes were made of it
    copied: int = 0  # bytes that are kept for it alone


@dataclass(eq=False)
class First:
    """The first ``count`` of ``writes``: what an array is made of. Called, it gives the boxes."""

    writes: Writes
    count: int

    @property
    def last(self) -> Piece:
        """The box that was written last."""
        return self.writes.pieces[self.count - 1]

    def given(self) -> tuple[Expr, list[Piece]]:
        """What there was, and what was put over it, in order."""
        self.writes.read = True
        return self.writes.base, self.writes.pieces[: self.count]

    def __call__(self) -> tuple[Piece, ...]:
        base, some = self.given()
        axis = slab_axis(base.shape, some)
        boxes = overwritten(base, some) if axis is None else cut_along(axis, base, some)
        return tuple(sorted(boxes, key=attrgetter("at")))

    def followed_by(self, piece: Piece) -> First:
        """These and one more: in the same list, if no other array went on from here."""
        writes, count = self.writes, self.count
        same = self.place_of(piece.at, piece.expr.shape)
        if same is not None:
            others = writes.pieces[:same] + writes.pieces[same + 1 : count]
            return First(Writes(writes.base, [*others, piece], copied=writes.copied), count)
        if len(writes.pieces) == count:
            writes.pieces.append(piece)
            if writes.pieces[count] is piece:  # and no other thread
                return First(writes, count + 1)
        return First(Writes(writes.base, [*writes.pieces[:count], piece]), count + 1)

    def place_of(self, at: Shape, shape: Shape) -> int | None:
        """Which of the last pieces lies there, so that nothing is left of it."""
        pieces = self.writes.pieces
        for k in range(self.count - 1, max(self.count - LOOKED, 0) - 1, -1):
            if pieces[k].at == at and pieces[k].expr.shape == shape:
                return k
        return None


def assigned(root: Expr, at: Shape, part: Expr) -> Expr:
    """``root`` with ``part`` in the box of its shape that begins ``at``; one dtype.

    Boxes of several assignments are cut from what was there before, so that they are not nested.
    """
    if 0 in part.shape:
        return root
    if is_pair(root):
        return pair(*(assigned(a, at, b) for a, b in zip(parts(root), parts(part), strict=True)))
    if part.shape == root.shape:
        return part
    first = writes_of(root)
    if first is None or (first.writes.read and first.count >= LOOKED):
        first = First(Writes(root, []), 0)  # what was asked for may be kept: it goes on from there
    call = (_NAME, (first.writes.base, part), at)
    boxes = first.followed_by(Piece(at, part))
    changed = Piecewise(root.shape, root.dtype, boxes, call)
    return Leaf(changed, root.shape, 0, c_strides(root.shape))


def writes_of(root: Expr) -> First | None:
    """What was put into an array to make ``root``; None where it is made otherwise."""
    if type(root) is not Leaf or type(root.source) is not Piecewise:
        return None
    boxes = root.source.boxes
    here = isinstance(boxes, First) and root.shape == root.source.shape and is_whole(root)
    return boxes if here else None  # type: ignore[return-value]
