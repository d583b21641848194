"""Values at every so many places, and what was there between them."""

from __future__ import annotations

from ....expr import build, gather, views
from ....expr.nodes import Expr, Leaf, Position, Shape


def between(
    root: Expr, start: list[int], shape: list[int], steps: list[int], part: Expr
) -> tuple[Expr, list[int]]:
    """``part`` at each of ``steps``, and what ``root`` has between them; its shape."""
    full = [(n - 1) * step + 1 for n, step in zip(shape, steps, strict=True)]
    item = tuple(slice(a, a + n) for a, n in zip(start, full, strict=True))
    old = views.index(root, item)
    here: Expr | None = None
    for k, step in enumerate(steps):
        if step == 1:
            continue
        place = _coordinate(tuple(full), k)
        on = _is_multiple(place, step)
        here = on if here is None else build.elementwise("logical_and", [here, on])
        if isinstance(part, Leaf) and part.strides[k] == 0:  # the same everywhere along it
            part = Leaf(part.source, _resized(part, k, full[k]), part.offset, part.strides)
            continue
        line = Leaf(Position(), (full[k],), 0, (1,))
        part = gather.take(part, build.elementwise("floor_divide", [line, step]), k)
    assert here is not None
    return build.elementwise("where", [here, part, old]), full


def _resized(part: Leaf, axis: int, extent: int) -> Shape:
    return (*part.shape[:axis], extent, *part.shape[axis + 1 :])


def _is_multiple(place: Expr, step: int) -> Expr:
    """Whether ``place``, far below 2**50, is a multiple of ``step``.

    A division of integers takes longer than all the rest: a product of doubles, rounded down from
    half a place above, is the quotient.
    """
    if not step & (step - 1):
        return build.elementwise("equal", [build.elementwise("bitwise_and", [place, step - 1]), 0])
    exact = build.cast(place, "float64")
    above = build.elementwise("add", [exact, 0.5])
    quotient = build.elementwise("floor", [build.elementwise("multiply", [above, 1.0 / step])])
    return build.elementwise("equal", [build.elementwise("multiply", [quotient, step]), exact])


def _coordinate(shape: Shape, axis: int) -> Leaf:
    """The index along ``axis`` of each element."""
    return Leaf(Position(), shape, 0, tuple(int(k == axis) for k in range(len(shape))))
