"""Large matrices in blocks: products, the factors of tall ones, and Cholesky's.

How they are cut follows from shapes and dtypes alone, never from the rung; what fits into one block
is not cut. Each block is a call of the library by itself: its arguments are made, taken, and gone
before the next, so that a matrix may be larger than the memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from typing import Final

from .. import dtypes
from ..api.array import Array
from ..api.creation import zeros
from ..api.joining import concatenate
from ..expr.nodes import Shape
from .calls import routine

BLOCK_BYTES: Final = 1 << 28  # of what a call takes, about
MOST_BLOCKS: Final = 256  # of one product or matrix, as many calls: beyond, blocks are larger


def _bytes(array: Array) -> int:
    expr = array._expr
    return math.prod(expr.shape) * dtypes.itemsize(expr.dtype)


def are_one_block(*arrays: Array) -> bool:
    """Whether a library takes each of ``arrays`` at once."""
    for array in arrays:  # noqa: SIM110 (a small product would notice the generator)
        if _bytes(array) > BLOCK_BYTES:
            return False
    return True


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


_AT_ONCE: Final = 8  # blocks


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


def _turned(x: Array) -> Array:
    return x.conj().T


def _zeros(rows: slice, columns: slice, dtype: str) -> Array:
    return zeros((rows.stop - rows.start, columns.stop - columns.start), dtype=dtype)


def _shapes(rows: int, inner: int, columns: int) -> list[Shape]:
    return [(rows, inner), (inner, columns)]
