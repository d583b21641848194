"""The order in memory of a result's axes: that of what it reads, as NumPy lays results out, too."""

from __future__ import annotations

from collections.abc import Iterator

from ..graph import memories
from ..nodes import Const, Expr, Leaf, Piecewise, Shape, c_strides, walk


def memory_order(root: Expr) -> tuple[int, ...] | None:
    """The axes of ``root``, slowest first, as everything that it reads lies in memory.

    None where that is C order, or where arrays differ. A result in this order is read and written
    from one end to the other.
    """
    if len(root.shape) < 2 or memories(walk(root)):
        return None
    long = [k for k, n in enumerate(root.shape) if n != 1]
    steps = [tuple(one[k] for k in long) for one in _steps(root)]
    first = next((one for one in steps if all(one)), None)
    if first is None:
        return None
    order = sorted(range(len(long)), key=lambda k: -first[k])
    for one in steps:
        walked = [one[k] for k in order if one[k]]
        if walked != sorted(walked, reverse=True):
            return None
    if order == [*range(len(long))]:
        return None
    return (*(k for k, n in enumerate(root.shape) if n == 1), *(long[k] for k in order))


def _steps(root: Expr) -> Iterator[Shape]:
    """How far apart in memory are neighbours along each axis, of all that ``root`` reads; 0: one.

    An array of pieces that is read as it is lies as its pieces do.
    """
    for node in walk(root):
        if not isinstance(node, Leaf) or isinstance(node.source, Const):
            continue
        source = node.source
        if isinstance(source, Piecewise) and _is_whole(node, source.shape):
            for piece in source.pieces:
                yield from _steps(piece.expr)
        else:
            strides = zip(node.strides, node.shape, strict=True)
            yield tuple(abs(step) if extent > 1 else 0 for step, extent in strides)


def _is_whole(leaf: Leaf, shape: Shape) -> bool:
    return leaf.shape == shape and not leaf.offset and leaf.strides == c_strides(shape)
