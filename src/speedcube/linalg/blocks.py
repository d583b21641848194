"""Large matrices in blocks: products, the factors of tall ones, Cholesky's, and triangles.

How they are cut follows from shapes and dtypes alone, never from the rung; what fits into one block
is not cut. Each block is a call of the library by itself: its arguments are made, taken, and gone
before the next, so that a matrix may be larger than the memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from .. import dtypes
from ..api.array import Array
from ..api.creation import zeros
from ..api.joining import concatenate
from ..api.namespace.diagonals import eye
from ..api.namespace.ranges import arange
from ..expr.nodes import Shape
from .calls import as_dtype, routine

BLOCK_BYTES: Final = 1 << 28  # of what a call takes, about
MOST_BLOCKS: Final = 256  # of one product or matrix, as many calls: beyond, blocks are larger
# Blocks of a square matrix that one call takes: that is quicker, and needs more memory.
_AT_ONCE: Final = 8
_SOLVED_AT_ONCE: Final = 32


def _bytes(array: Array) -> int:
    expr = array._expr
    return math.prod(expr.shape) * dtypes.itemsize(expr.dtype)


def are_one_block(*arrays: Array) -> bool:
    """Whether a library takes each of ``arrays`` at once."""
    for array in arrays:  # noqa: SIM110 (a small product would notice the generator)
        if _bytes(array) > BLOCK_BYTES:
            return False
    return True


def is_solved_at_once(x: Array) -> bool:
    """Whether a library factors the square matrix ``x`` at once, or ``x`` is several."""
    return x.ndim != 2 or _bytes(x) <= _SOLVED_AT_ONCE * BLOCK_BYTES


def _count(size: int, length: int, most: int = MOST_BLOCKS) -> int:
    """Into how many parts ``length`` indices of ``size`` bytes are cut."""
    return max(1, min(-(-size // BLOCK_BYTES), length, most))


def cuts(length: int, count: int) -> list[slice]:
    """``count`` stretches of ``length`` indices, as long as each other, or one less."""
    ends = [length * k // count for k in range(count + 1)]
    return [slice(*pair) for pair in pairwise(ends)]


# Products ---------------------------------------------------------------------------------------


def product_in_blocks(name: str, x: Array, y: Array, dtype: str) -> Array | None:
    """``x @ y`` of two matrices by routine ``name``; None where it is one block.

    Cut along the axis that is summed where the results are few; else the rows of the result, and
    its columns.
    """
    if are_one_block(x, y) or x.ndim != 2 or y.ndim != 2:
        return None
    (rows, length), columns = x.shape, y.shape[1]
    parts = _count(max(_bytes(x), _bytes(y)), length)
    if parts * rows * columns * dtypes.itemsize(dtype) <= BLOCK_BYTES and length > max(
        rows, columns
    ):
        each = [_product(name, x[:, k], y[k], dtype) for k in cuts(length, parts)]
        return reduce(Array.__add__, each)
    above = cuts(rows, _count(_bytes(x), rows))
    beside = cuts(columns, _count(_bytes(y), columns, MOST_BLOCKS // len(above)))
    lines = [[_product(name, x[k], y[:, j], dtype) for j in beside] for k in above]
    return concatenate([_joined(line, 1) for line in lines], axis=0)


def _product(name: str, x: Array, y: Array, dtype: str) -> Array:
    return routine(name, [x, y], [(x.shape[0], y.shape[1])], dtype)[0]


def _joined(parts: Sequence[Array], axis: int) -> Array:
    return parts[0] if len(parts) == 1 else concatenate(parts, axis=axis)


# Tall matrices ----------------------------------------------------------------------------------


def tall_cuts(x: Array) -> list[slice]:
    """The rows of each block of ``x``; none where it is one block, or not tall."""
    if x.ndim != 2 or not x.shape[1] or are_one_block(x):
        return []
    rows, columns = x.shape
    count = min(_count(_bytes(x), rows), rows // (2 * columns))
    return cuts(rows, count) if count > 1 else []


def triangle(x: Array) -> Array:
    """R of the factors of ``x``, by those of blocks of rows one above the other."""
    columns, dtype = x.shape[1], x._expr.dtype
    blocks = tall_cuts(x)
    if not blocks:
        least = min(x.shape)
        return routine("qr_r", [x], [(least, columns)], dtype)[0]
    each = [routine("qr_r", [x[rows]], [(columns, columns)], dtype)[0] for rows in blocks]
    return triangle(concatenate(each, axis=0))


def factors(x: Array) -> tuple[Array, Array]:
    """Q and R of ``x``, by those of blocks of rows."""
    (rows, columns), dtype = x.shape, x._expr.dtype
    blocks = tall_cuts(x)
    if not blocks:
        least = min(x.shape)
        q, r = routine("qr", [x], _shapes(rows, least, columns), dtype, "reduced")
        return q, r
    each = [
        routine("qr", [x[k]], _shapes(k.stop - k.start, columns, columns), dtype, "reduced")
        for k in blocks
    ]
    turns, r = factors(concatenate([below for _, below in each], axis=0))
    parts = [
        _product("matmul", q, turns[columns * k : columns * (k + 1)], dtype)
        for k, (q, _) in enumerate(each)
    ]
    return concatenate(parts, axis=0), r


# Cholesky's factors ------------------------------------------------------------------------------


def cholesky_in_blocks(x: Array) -> Array | None:
    """The lower triangle L of which ``L @ L.conj().T`` is ``x``; None where one call makes it.

    Column after column of blocks: the factor of the one on the diagonal, then, with the inverse of
    that, those below. Of ``x`` the lower triangle is read. One call takes half the time, and half
    as much memory again: so up to some blocks that is what makes it.
    """
    if x.ndim != 2 or _bytes(x) <= _AT_ONCE * BLOCK_BYTES:
        return None
    size, dtype = x.shape[0], x._expr.dtype
    parts = cuts(size, math.isqrt(_count(_bytes(x), size) - 1) + 1)
    made: dict[tuple[int, int], Array] = {}
    for k in range(len(parts)):
        for j in range(k, len(parts)):
            rest = x[parts[j], parts[k]]
            for left in range(k):
                rest = rest - _product("matmul", made[j, left], _turned(made[k, left]), dtype)
            if j == k:
                made[k, k] = routine("cholesky", [rest], [rest.shape], dtype, False)[0]
                inverse = routine("inv", [made[k, k]], [rest.shape], dtype)[0]
            else:
                made[j, k] = _product("matmul", rest, _turned(inverse), dtype)
    lines = [
        [made[j, k] if k <= j else _zeros(below, beside, dtype) for k, beside in enumerate(parts)]
        for j, below in enumerate(parts)
    ]
    return concatenate([concatenate(line, axis=1) for line in lines], axis=0)


# Triangles with pivots ---------------------------------------------------------------------------


class Factors(NamedTuple):
    """A block of rows of the packed factors of a matrix, and which columns changed places."""

    rows: Array
    swaps: Array


def lu_in_blocks(x: Array) -> list[Factors]:
    """The factors of ``x``, of `expr.routines.lu`, by blocks of rows.

    Each row has its pivot among all its columns. Of ``x`` one block is made at a time.
    """
    size, dtype = x.shape[0], x._expr.dtype
    made: list[Factors] = []
    for rows in cuts(size, _count(_bytes(x), size, math.isqrt(MOST_BLOCKS))):
        lines = x[rows]
        operands, shapes = [lines, *_operands(made, dtype)], [lines.shape, (len(lines),)]
        made.append(Factors(*routine("lu_factors", operands, shapes, dtype)))
    return made


def _operands(blocks: Sequence[Factors], dtype: str) -> list[Array]:
    return [one for block in blocks for one in (block.rows, as_dtype(block.swaps, dtype))]


def inverse_in_blocks(x: Array) -> Array | None:
    """The inverse of ``x``; None where one call makes it."""
    if is_solved_at_once(x):
        return None
    blocks, parts, first = lu_in_blocks(x), list[Array](), 0
    dtype = x._expr.dtype
    for block in blocks:  # as many rows of the inverse
        ones = eye(len(block.rows), x.shape[0], k=first, dtype=dtype)
        parts += routine("lu_divided", [ones, *_operands(blocks, dtype)], [ones.shape], dtype)
        first += len(block.rows)
    return concatenate(parts, axis=0)


def solution_in_blocks(x: Array, y: Array) -> Array | None:
    """The solution of ``x @ z == y``, a vector or a matrix; None where one call makes it."""
    if is_solved_at_once(x) or y.ndim > 2:
        return None
    lines, dtype = y[None] if y.ndim == 1 else y.T, x._expr.dtype
    operands = [lines, *_operands(lu_in_blocks(x), dtype)]
    (turned,) = routine("lu_solved", operands, [lines.shape], dtype)
    return turned[0] if y.ndim == 1 else turned.T


def diagonal_in_blocks(x: Array) -> tuple[Array, Array] | None:
    """The diagonal of ``x``'s triangle, and whether the pivots turn the determinant's sign.

    None where one call makes it.
    """
    if is_solved_at_once(x):
        return None
    blocks = lu_in_blocks(x)
    firsts = accumulate((len(block.rows) for block in blocks), initial=0)
    each = [block.rows.diagonal(first) for block, first in zip(blocks, firsts, strict=False)]
    diagonal = concatenate(each, axis=0)
    moved = [(block.swaps != arange(len(block.swaps))).sum() for block in blocks]
    return diagonal, reduce(Array.__add__, moved) % 2 == 1


def _turned(x: Array) -> Array:
    return x.conj().T


def _zeros(rows: slice, columns: slice, dtype: str) -> Array:
    return zeros((rows.stop - rows.start, columns.stop - columns.start), dtype=dtype)


def _shapes(rows: int, inner: int, columns: int) -> list[Shape]:
    return [(rows, inner), (inner, columns)]
