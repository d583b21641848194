"""Boxes whose rows are all alike, as numbers in columns are: one select makes all rows they meet.

The rows are cut into bands that the same boxes meet. What these put there is one row, and where
they put it a row of bools. Written over what was made before, strips of columns take 1.5 to 2.5
times as long.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...expr import build
from ...expr.nodes import Expr, Leaf, Piece, Shape, Stored, whole
from ...expr.views import broadcast_to
from .into import called
from .moves import values_of
from .patched import Patched, gaps_of, is_patched, part_of, plain

Array: TypeAlias = NDArray[Any]

# A row of a band is made by NumPy, box after box, and each band is given to a kernel: 30 us.
_ROWS: Final = 8  # the least that a band has on average
_LEAST: Final = 1 << 14  # elements of it, likewise
_WIDE: Final = 64  # the least elements of a row
_MEETS: Final = 4  # bands that a box may meet, on average


class _Alike(NamedTuple):
    """A piece, and the numbers that it has in each of its rows."""

    piece: Piece
    row: Array


_Band: TypeAlias = tuple[int, int, list[_Alike]]


def banded(base: Expr, pieces: Sequence[Piece]) -> Sequence[Piece]:
    """The same array of fewer pieces, which cover rows whole; ``pieces`` where that is no gain.

    Those that come first are replaced, up to one whose rows differ.
    """
    size = math.prod(base.shape)
    if values_of(base, {}) is not None or size < _WIDE * base.shape[0]:
        return pieces  # to copy it, or short rows, and write over some takes less
    if all(one.expr.shape[1:] == base.shape[1:] for one in pieces):
        return pieces
    alike = list(_alike(base, pieces))
    if 2 * sum(math.prod(one.piece.expr.shape) for one in alike) <= size:
        return pieces
    if len(alike) < 2 or all(one.piece.expr.shape[1:] == base.shape[1:] for one in alike):
        return pieces
    bands = list(_bands(alike, base.shape[0]))
    rows, meets = sum(end - first for first, end, _ in bands), sum(len(met) for *_, met in bands)
    few = len(bands) * max(_ROWS, _LEAST * base.shape[0] // size) <= rows
    if not few or meets > _MEETS * len(alike):
        return pieces
    made = _made(base, bands)
    if called(made[0].expr) is None:
        return pieces
    return [*made, *pieces[len(alike) :]]


def ends(piece: Piece) -> tuple[int, int]:
    """The first row of ``piece``, and the one after its last."""
    return piece.at[0], piece.at[0] + piece.expr.shape[0]


def rows_of(expr: Expr, low: int, high: int) -> Expr:
    """The rows of ``expr`` from ``low`` to ``high``."""
    return part_of(expr, (slice(low, high),))


def _alike(base: Expr, pieces: Sequence[Piece]) -> Iterator[_Alike]:
    """The first of ``pieces``, while their rows are all alike."""
    for one in pieces:
        values = values_of(one.expr, {})
        if values is None or values.dtype != base.dtype or (values.ndim and values.strides[0]):
            return
        yield _Alike(one, values[0] if values.ndim else values)


def _bands(alike: Sequence[_Alike], rows: int) -> Iterator[_Band]:
    """The rows that the same pieces meet: the first, the one after the last, and these pieces."""
    begins: dict[int, list[int]] = {0: [], rows: []}
    for k, one in enumerate(alike):
        for end in ends(one.piece):
            begins.setdefault(end, []).append(k)
    met: set[int] = set()
    for first, end in pairwise(sorted(begins)):
        met.symmetric_difference_update(begins[first])
        if met:
            yield first, end, [alike[k] for k in sorted(met)]


def _made(base: Expr, bands: Sequence[_Band]) -> list[Piece]:
    """The rows of ``bands``, each as one piece."""
    rows = [_row_of(base, met) for *_, met in bands]
    gaps = [gaps_of(put) for put, _ in rows]
    heights = [end - first for first, end, _ in bands]
    patched = is_patched(whole_base := plain(base), heights, gaps)
    made: list[Piece] = []
    for (first, end, _), (put, row), some in zip(bands, rows, gaps, strict=True):
        at, shape = _at(first, base), (end - first, *base.shape[1:])
        given = broadcast_to(_kept(row), shape)
        if put.all():
            made.append(Piece(at, given))
        elif patched:
            made.append(Patched(at, given, row, some, whole_base))
        else:
            left = rows_of(base, first, end)
            kept = broadcast_to(_kept(put), shape)
            made.append(Piece(at, build.elementwise("where", [kept, given, left])))
    return made


def _row_of(base: Expr, met: Sequence[_Alike]) -> tuple[Array, Array]:
    """Where ``met`` were put in a row of a band, and what they put there."""
    put, row = np.zeros(base.shape[1:], bool), np.zeros(base.shape[1:], base.dtype)
    for piece, values in met:
        beside = zip(piece.at[1:], piece.expr.shape[1:], strict=True)
        here = tuple([slice(at, at + n) for at, n in beside])
        put[here], row[here] = True, values
    return put, row


def _kept(values: Array) -> Leaf:
    return whole(Stored(values.reshape(-1), values.dtype.name), values.shape)


def _at(first: int, base: Expr) -> Shape:
    return (first, *[0] * (len(base.shape) - 1))
