"""What users make of pieces that are arrays: one after the other, or along a new axis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Final

from ... import dtypes
from ...errors import ShapeError
from ..build import cast, check_axis
from ..nodes import Expr, Leaf, Piece, Piecewise, Shape, c_strides, const, countable, whole
from ..pairs.node import interleaved, is_pair, of_all_parts, of_pairs_in, of_parts

_REMEMBERED: Final = 64  # parts up to which the places of like ones are


def concatenated(parts: Sequence[Expr], axis: int, dtype: str | None = None) -> Expr:
    """``parts`` one after the other along ``axis``, in their common dtype unless one is given."""
    if not parts:
        raise ShapeError("concatenate needs at least one array")
    shapes = [part.shape for part in parts]
    if not all(shapes):
        raise ShapeError(
            "zero-dimensional arrays cannot be concatenated: stack() gives them an axis"
        )
    k = check_axis(axis, len(shapes[0]))
    beside = _side_by_side if len(shapes) <= _REMEMBERED else _side_by_side.__wrapped__
    shape, strides, starts = beside(tuple(shapes), k)
    name = dtype or dtypes.promote(*[part.dtype for part in parts])
    if name in dtypes.COMPLEX:
        pairs = [cast(part, name) for part in parts]
        laid = [one for pair in pairs if (one := interleaved(pair)) is not None]
        if len(laid) == len(pairs):
            return of_pairs_in(concatenated(laid, k))
        return of_all_parts(lambda of_one: concatenated(of_one, axis), pairs)
    placed = zip(starts, parts, strict=True)
    pieces = tuple([Piece(at, cast(part, name)) for at, part in placed if part.shape[k]])
    if len(pieces) == 1:
        return pieces[0].expr
    if not pieces or 0 in shape:
        return const(0, name, shape)
    source = Piecewise(shape, name, pieces, ("concatenate", tuple(parts), f"axis={k}"))
    return Leaf(source, shape, 0, strides)


@lru_cache(maxsize=1024)
def _side_by_side(
    shapes: tuple[Shape, ...], axis: int
) -> tuple[Shape, tuple[int, ...], tuple[Shape, ...]]:
    """The shape of arrays one after the other, its strides in C order, and where each begins."""
    first = shapes[0]
    for number, shape in enumerate(shapes):
        _fits(first, shape, number, axis)
    ends = list(accumulate((shape[axis] for shape in shapes), initial=0))
    shape = countable((*first[:axis], ends[-1], *first[axis + 1 :]))
    rest = (0,) * (len(shape) - axis - 1)
    return shape, c_strides(shape), tuple([(*(0,) * axis, start, *rest) for start in ends[:-1]])


def _fits(first: Shape, shape: Shape, number: int, axis: int) -> None:
    """Refuse the shape of array ``number`` where it does not go on after the ``first``."""
    if len(shape) != len(first):
        raise ShapeError(
            "concatenate wants arrays with the same number of dimensions: array 0 has "
            f"{len(first)}, array {number} has {len(shape)}"
        )
    for k, (a, b) in enumerate(zip(first, shape, strict=True)):
        if k != axis and a != b:
            raise ShapeError(
                f"concatenate along axis {axis} wants the same shape along all others: along axis "
                f"{k} array 0 has {a}, array {number} has {b}"
            )


def raised(root: Expr, k: int) -> Expr:
    """``root`` with an axis of one element more, which is number ``k``."""
    if is_pair(root):
        return of_parts(lambda part: raised(part, k), root)
    leaf = root if isinstance(root, Leaf) else whole(root, root.shape)
    shape, strides = leaf.shape, leaf.strides
    longer = (*shape[:k], 1, *shape[k:]), leaf.offset, (*strides[:k], 0, *strides[k:])
    return Leaf(leaf.source, *longer)
