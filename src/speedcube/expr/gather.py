"""Reading at computed positions, and what samplers make of them: nothing is materialised for it."""

from __future__ import annotations

from collections.abc import Sequence

from ..ops import SAMPLERS
from . import views
from .build import elementwise
from .nodes import Const, Expr, Leaf, Map, Position, Shape, Source, const, countable, memory
from .push import in_place
from .views import Affine, Axis


def sampled(op: str, args: Sequence[Expr], shape: Shape) -> Expr:
    """The sampler ``op``, a name of `ops.SAMPLERS`, of arguments broadcast to ``shape``."""
    return Map(op, tuple(views.broadcast_to(arg, shape) for arg in args), shape, SAMPLERS[op])


def gathered(source: Source, first: int, last: int, index: Expr) -> Expr:
    """What ``source`` has at each position ``index``, held between ``first`` and ``last``."""
    shape = index.shape
    ends = const(first, "int64", shape), const(last, "int64", shape)
    return Map("gather", (index, memory(source, shape), *ends), shape, source.dtype)


def take(root: Expr, index: Expr, axis: int) -> Expr:
    """``root`` with ``axis`` read at each of ``index``, whose axes take its place."""
    inner = len(index.shape)
    shape = countable((*root.shape[:axis], *index.shape, *root.shape[axis + 1 :]))
    places = tuple(Axis(axis + k, 0, 1) for k in range(inner))
    return _read(root, axis, inner, views.apply(index, Affine(shape, places)))


def take_along(root: Expr, index: Expr, axis: int) -> Expr:
    """``root`` read at ``index`` along ``axis``, and at the element's own place along the others.

    ``index`` has the shape of ``root`` but for the extent of ``axis``.
    """
    return _read(root, axis, 1, index)


def _read(root: Expr, axis: int, inner: int, index: Expr) -> Expr:
    """``root`` at ``index``, whose shape has ``inner`` axes in the place of ``axis``."""

    def leaf(node: Leaf) -> Expr:
        stride = node.strides[axis]
        rest = (*node.strides[:axis], *(0,) * inner, *node.strides[axis + 1 :])
        if isinstance(node.source, Const) or stride == 0:
            return Leaf(node.source, index.shape, node.offset, rest)
        start = Leaf(Position(), index.shape, node.offset, rest)
        at = elementwise("add", [start, elementwise("multiply", [index, stride])])
        if isinstance(node.source, Position):
            return at
        return gathered(node.source, *_extent(node), at)

    return views.rebuild(in_place(root), index.shape, leaf)


def _extent(leaf: Leaf) -> tuple[int, int]:
    """The first and the last position that ``leaf`` reads."""
    spans = [(n - 1) * s for n, s in zip(leaf.shape, leaf.strides, strict=True)]
    first, last = (leaf.offset + sum(end(0, span) for span in spans) for end in (min, max))
    return first, last
