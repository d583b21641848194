"""Where an expression over arrays of pieces is cut, so that in each region it reads one piece."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import TypeAlias

from ...dataclass import dataclass
from ..nodes import Expr, Leaf, Piece, Piecewise, Shape, StageResult, leaves
from ..push import places, push
from ..views import Affine, Axis, indexed, rebuild, through

Borders: TypeAlias = tuple[frozenset[int], ...]  # of each axis, where a region begins


def pieced(root: Expr) -> list[Leaf]:
    """The leaves of ``root`` that read arrays of pieces."""
    return [leaf for leaf in leaves(root) if isinstance(leaf.source, Piecewise)]


def leaves_within(root: Expr) -> list[Leaf]:
    """The leaves of ``root``, and of the pieces that it reads, that have other sources."""
    known: dict[int, Leaf] = {}
    roots, seen = [root], set[int]()
    while roots:
        for leaf in leaves(roots.pop()):
            source = leaf.source
            if not isinstance(source, Piecewise):
                known[id(leaf)] = leaf
            elif id(source) not in seen:
                seen.add(id(source))
                roots += [piece.expr for piece in source.pieces]
    return list(known.values())


def pieces_within(root: Expr) -> list[Piecewise]:
    """The arrays of pieces that ``root`` reads, and that their pieces read."""
    known: dict[int, Piecewise] = {}
    roots = [root]
    while roots:
        for leaf in pieced(roots.pop()):
            source = leaf.source
            if isinstance(source, Piecewise) and id(source) not in known:
                known[id(source)] = source
                roots += [piece.expr for piece in source.pieces]
    return list(known.values())


def window(leaf: Leaf, shape: Shape) -> tuple[Axis, ...] | None:
    """Where a leaf of an array of ``shape`` reads each of its axes; None where no box is a box."""
    where = places(leaf, shape)
    if where is None:
        return None
    axes = []
    for start, row in zip(*where, strict=True):
        moving = [k for k, step in enumerate(row) if step and leaf.shape[k] > 1]
        if len(moving) > 1:
            return None
        axes.append(Axis(moving[0], start, row[moving[0]]) if moving else Axis(None, start, 0))
    return tuple(axes)


def seen_through(leaf: Leaf, shape: Shape, borders: Borders) -> Borders | None:
    """The ``borders`` of an array of ``shape`` in a leaf of it; None where regions are no boxes."""
    axes = window(leaf, shape)
    if axes is None:
        return None
    cuts: list[set[int]] = [set() for _ in leaf.shape]
    for axis, own in zip(axes, borders, strict=True):
        if axis.source is not None:
            crossed = (_first(axis, border) for border in own)
            cuts[axis.source] |= {c for c in crossed if 0 < c < leaf.shape[axis.source]}
    return tuple(map(frozenset, cuts))


def _first(axis: Axis, border: int) -> int:
    """The first index at which ``axis`` is beyond ``border``, on whichever side it began."""
    if axis.step > 0:
        return -((axis.start - border) // axis.step)
    return (axis.start - border) // -axis.step + 1


def united(several: Iterable[Borders], ndim: int) -> Borders:
    """All of the borders of expressions that are read together."""
    cuts: list[frozenset[int]] = [frozenset()] * ndim
    for borders in several:
        cuts = [a | b for a, b in zip(cuts, borders, strict=True)]
    return tuple(cuts)


def shifted(borders: Borders, at: Shape) -> Borders:
    """The ``borders`` of a piece in the array, its own begin among them."""
    return tuple(
        frozenset({start, *(start + cut for cut in own)} - {0})
        for start, own in zip(at, borders, strict=True)
    )


def count(borders: Borders) -> int:
    """How many regions there are at most."""
    return math.prod(len(cuts) + 1 for cuts in borders)


@dataclass(frozen=True, eq=False)
class Box:
    """What ``root`` is in the box whose first element has the index ``at``; ``extra`` with it."""

    at: Shape
    root: Expr
    extra: tuple[Leaf, ...]


def split(root: Expr, extra: tuple[Leaf, ...] = ()) -> list[Box]:
    """Boxes that cover ``root``, in each of which it reads no array of pieces."""
    done: list[Box] = []
    stack = [Box((0,) * len(root.shape), root, extra)]
    while stack:
        box = stack.pop()
        views = [_View(leaf) for leaf in pieced(box.root)]
        if views:
            stack += reversed(list(_cut(box, views)))
        else:
            done.append(box)
    return done


class _View:
    """A leaf of an array of pieces, and which of its axes reads which of the array's."""

    def __init__(self, leaf: Leaf) -> None:
        assert isinstance(leaf.source, Piecewise)
        axes = window(leaf, leaf.source.shape)
        assert axes is not None
        self.leaf, self.pieces, self.axes = leaf, leaf.source.pieces, axes

    def reads(self, piece: Piece) -> tuple[range, ...] | None:
        """The indices of the leaf that read ``piece``; None where there are none."""
        shape = self.leaf.shape
        starts, stops = [0] * len(shape), list(shape)
        for axis, at, extent in zip(self.axes, piece.at, piece.expr.shape, strict=True):
            if axis.source is None:
                if not at <= axis.start < at + extent:
                    return None
                continue
            ends = sorted((_first(axis, at), _first(axis, at + extent)))
            starts[axis.source] = max(starts[axis.source], ends[0])
            stops[axis.source] = min(stops[axis.source], ends[1])
        ranges = tuple(map(range, starts, stops))
        return ranges if all(ranges) or 0 in shape else None

    def inside(self, piece: Piece, ranges: Sequence[range]) -> Expr:
        """What the leaf reads of ``piece`` at the indices ``ranges``."""
        axes = [
            Axis(None, axis.start - at, 0)
            if axis.source is None
            else Axis(
                axis.source, axis.start - at + axis.step * ranges[axis.source].start, axis.step
            )
            for axis, at in zip(self.axes, piece.at, strict=True)
        ]
        return push(piece.expr, Affine(tuple(map(len, ranges)), tuple(axes)))


def _cut(box: Box, views: Sequence[_View]) -> Iterator[Box]:
    """``box`` cut where a leaf goes from one piece to the next.

    One leaf is cut into its pieces; several on a grid.
    """
    several = [[(p, r) for p in view.pieces if (r := view.reads(p)) is not None] for view in views]
    if len(views) == 1:
        for piece, ranges in several[0]:
            yield _inside(box, ranges, {id(views[0].leaf): views[0].inside(piece, ranges)})
        return
    for ranges in product(*_grid(box.root.shape, [r for reads in several for _, r in reads])):
        here: dict[int, Expr] = {}
        for view, reads in zip(views, several, strict=True):
            piece = next(
                p
                for p, r in reads
                if all(a.start in b or not a for a, b in zip(ranges, r, strict=True))
            )
            here[id(view.leaf)] = view.inside(piece, ranges)
        yield _inside(box, ranges, here)


def _grid(shape: Shape, several: Sequence[Sequence[range]]) -> list[list[range]]:
    """Of each axis the stretches between all begins of ``several``."""
    axes = []
    for k, extent in enumerate(shape):
        begins = sorted({0, *(ranges[k].start for ranges in several)})
        axes.append(list(map(range, begins, [*begins[1:], extent])))
    return axes


def _inside(box: Box, ranges: Sequence[range], here: dict[int, Expr]) -> Box:
    """``box`` at the indices ``ranges``, with what ``here`` has by the ids of leaves."""
    change = indexed(box.root.shape, tuple(slice(r.start, r.stop) for r in ranges))
    root = rebuild(
        box.root,
        change.shape,
        lambda one: here[id(one)] if id(one) in here else through(one, change),
    )
    at = tuple(start + r.start for start, r in zip(box.at, ranges, strict=True))
    return Box(at, root, tuple(through(one, change) for one in box.extra))


def without_pieces(root: Expr, keep: dict[int, StageResult]) -> Expr:
    """``root`` that reads, in place of each array of pieces, what ``keep`` has by its id."""

    def leaf(one: Leaf) -> Expr:
        kept = keep.get(id(one.source))
        return one if kept is None else Leaf(kept, one.shape, one.offset, one.strides)

    return rebuild(root, root.shape, leaf)
