"""An array in one box of which other elements were put."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .. import views
from ..nodes import Expr, Leaf, Piece, Piecewise, Shape, is_whole, whole
from ..pairs.node import is_pair, pair, parts

_NAME: Final = "assigned"


def assigned(root: Expr, at: Shape, part: Expr) -> Expr:
    """``root`` with ``part`` in the box of its shape that begins ``at``; one dtype.

    Boxes of several assignments are cut from what was there before, so that they are not nested.
    """
    if 0 in part.shape:
        return root
    if is_pair(root):
        return pair(*(assigned(a, at, b) for a, b in zip(parts(root), parts(part), strict=True)))
    if not at:
        return part
    base, before = _pieces(root)
    end = tuple(a + n for a, n in zip(at, part.shape, strict=True))
    pieces: list[Piece] = []
    first, last = at[0], end[0]
    for piece in before:
        low = piece.at[0]  # the first axis tells nearly always, of many
        if low >= last or first >= low + piece.expr.shape[0] or _apart(piece, at, end):
            pieces.append(piece)
        else:
            pieces += _without(piece, at, end)
    if not pieces:
        return part
    call = (_NAME, (base, part), f"at={at}")
    return whole(Piecewise(root.shape, root.dtype, (*pieces, Piece(at, part)), call), root.shape)


def _pieces(root: Expr) -> tuple[Expr, tuple[Piece, ...]]:
    """What ``root`` was before the assignments, and the pieces of which it is made."""
    if isinstance(root, Leaf) and isinstance(root.source, Piecewise):
        name, (base, *_), _ = root.source.call if root.source.call[1] else ("", (root,), "")
        if name == _NAME and is_whole(root) and root.shape == root.source.shape:
            return base, root.source.pieces
    return root, (Piece((0,) * len(root.shape), root),)


def _apart(piece: Piece, begin: Shape, end: Shape) -> bool:
    """Whether ``piece`` has nothing in the box from ``begin`` to ``end``."""
    for low, count, first, last in zip(piece.at, piece.expr.shape, begin, end, strict=True):
        if low >= last or first >= low + count:
            return True
    return False


def _without(piece: Piece, begin: Shape, end: Shape) -> Iterator[Piece]:
    """What is left of ``piece`` outside the box from ``begin`` to ``end``, in which it has some."""
    low = list(piece.at)
    high = [a + n for a, n in zip(piece.at, piece.expr.shape, strict=True)]
    cut = [(max(a, b), min(c, d)) for a, b, c, d in zip(low, begin, high, end, strict=True)]
    for k, (first, last) in enumerate(cut):
        if low[k] < first:
            yield _part(piece, low, [*high[:k], first, *high[k + 1 :]])
        if last < high[k]:
            yield _part(piece, [*low[:k], last, *low[k + 1 :]], high)
        low[k], high[k] = first, last


def _part(piece: Piece, low: list[int], high: list[int]) -> Piece:
    item = tuple(slice(a - o, b - o) for a, b, o in zip(low, high, piece.at, strict=True))
    return Piece(tuple(low), views.index(piece.expr, item))
