"""Boxes that were written one over the other, cut so that none overlaps: the last one counts."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from .. import views
from ..nodes import Expr, Piece, Shape


def slab_axis(shape: Shape, pieces: Sequence[Piece]) -> int | None:
    """The axis along which alone all ``pieces`` are cut from an array of ``shape``, if any."""
    axes = {
        k
        for piece in pieces
        for k, (had, n) in enumerate(zip(piece.expr.shape, shape, strict=True))
        if had != n
    }
    return axes.pop() if len(axes) == 1 else None


def cut_along(axis: int, base: Expr, pieces: Sequence[Piece]) -> Iterator[Piece]:
    """``base`` and ``pieces`` in stretches of one ``axis``: from the last one to the first.

    What is taken is a list of stretches in order, that are joined where they touch.
    """
    begins, ends = list[int](), list[int]()
    every = (slice(None),) * axis
    for piece in (*reversed(pieces), Piece((0,) * len(base.shape), base)):
        low = piece.at[axis]
        high = low + piece.expr.shape[axis]
        k, last = bisect_left(ends, low), bisect_right(begins, high)  # those that it touches
        start, free = low, []
        for first, end in zip(begins[k:last], ends[k:last], strict=True):
            free.append((start, first))
            start = end
        free.append((start, high))
        for first, end in free:
            if first < end:
                part = views.index(piece.expr, (*every, slice(first - low, end - low)))
                yield Piece((*piece.at[:axis], first, *piece.at[axis + 1 :]), part)
        if k < last:
            low, high = min(low, begins[k]), max(high, ends[last - 1])
        begins[k:last], ends[k:last] = [low], [high]


def overwritten(base: Expr, pieces: Sequence[Piece]) -> list[Piece]:
    """``base`` and ``pieces``: each cut where a later one begins."""
    found = [Piece((0,) * len(base.shape), base)]
    for new in pieces:
        at, end = new.at, tuple(a + n for a, n in zip(new.at, new.expr.shape, strict=True))
        first, last = at[0], end[0]
        kept: list[Piece] = []
        for piece in found:
            low = piece.at[0]  # the first axis tells nearly always, of many
            if low >= last or first >= low + piece.expr.shape[0] or _apart(piece, at, end):
                kept.append(piece)
            else:
                kept += _without(piece, at, end)
        found = [*kept, new]
    return found


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
