"""Rows for a matrix too large for one call: its factors, and what they divide.

The matrix M is cut into blocks of rows. Of ``M.T = P L U`` follows ``M = U.T @ L.T @ P.T``, and
each block of rows becomes rows of ``U.T`` and ``L.T``, packed: the one's triangle is the lower one.
The pivot of a row is the largest element of all of it, so this is as stable as LAPACK's factors.
Lines are divided by M from the right (``lines @ inv(M)``), or by ``M.T``: that is
``inv(M) @ lines.T``, transposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from . import lu_gpu
from .row import Routine

_NARROW: Final = 16  # rows whose factors are made one after the other
_SMALL: Final = 64  # rows of a triangle that LAPACK divides by


class _Sizes(NamedTuple):
    """How much is done at a time."""

    piece: int  # elements of a product that is subtracted
    lines: int  # lines whose elements change places


_IN_CACHE: Final = _Sizes(1 << 19, 64)
_ON_GPU: Final = _Sizes(1 << 26, 1 << 10)  # each is a launch: a few hundred MB of numbers


def _factors(xp: Any, rows: Any, *before: Any) -> tuple[Any, Any]:
    """The packed factors of ``rows``, after the blocks ``before``; and how columns changed places.

    These are places from the column on at which the diagonal begins in these rows.
    """
    made = xp.array(rows, order="C")
    first = 0
    for factors, swaps in _pairs(before):
        _eliminate(xp, made[:, first:], factors[:, first:], swaps)
        first += len(factors)
    return made, xp.asarray(_factored(xp, made[:, first:]), made.real.dtype)


def _pairs(blocks: Sequence[Any]) -> list[tuple[Any, list[int]]]:
    """Factors and swaps, which are numbers of the factors' dtype, of each block."""
    return [
        (factors, [int(place) for place in swaps.real.tolist()])
        for factors, swaps in zip(blocks[::2], blocks[1::2], strict=True)
    ]


def _factored(xp: Any, a: Any) -> list[int]:
    """Factor ``a`` where it lies: halves of its rows, one after the other."""
    if xp is not np:
        return lu_gpu.factored(a)
    if len(a) <= _NARROW:
        return _narrow_factored(xp, a)
    half = len(a) // 2
    above, below = a[:half], a[half:]
    swaps = _factored(xp, above)
    _eliminate(xp, below, above, swaps)
    later = _factored(xp, below[:, half:])
    _change_places(xp, above[:, half:], later)
    return swaps + [half + column for column in later]


def _narrow_factored(xp: Any, a: Any) -> list[int]:
    swaps: list[int] = []
    inverse = xp.eye(len(a), dtype=a.dtype)  # of the triangle of ones so far
    for k, row in enumerate(a):
        if k:
            row[:k] = row[:k] @ inverse[:k, :k]
            row[k:] -= row[:k] @ a[:k, k:]
        pivot = k + int(abs(row[k:]).argmax())
        swaps.append(pivot)
        if pivot != k:
            column = a[:, k].copy()
            a[:, k] = a[:, pivot]
            a[:, pivot] = column
        if row[k] != 0:
            row[k + 1 :] /= row[k]
        inverse[:k, k] = -(inverse[:k, :k] @ a[:k, k])
    return swaps


def _eliminate(xp: Any, lines: Any, factors: Any, swaps: list[int]) -> None:
    """What the rows of ``factors`` do to ``lines``, of which each has a column for each pivot."""
    count = len(factors)
    _change_places(xp, lines, swaps)
    _divide(xp, lines[:, :count], factors[:, :count], _OF_L)
    _subtract(xp, lines[:, count:], lines[:, :count], factors[:, count:])


def _change_places(xp: Any, lines: Any, swaps: list[int], back: bool = False) -> None:
    """Let columns of ``lines`` change places: the first with the first of ``swaps``, and so on."""
    order = np.arange(lines.shape[1])
    for column, other in enumerate(swaps):
        order[column], order[other] = order[other], order[column]
    places = np.flatnonzero(order != np.arange(len(order)))
    pair = (order[places], places) if back else (places, order[places])
    here, there = map(xp.asarray, pair)
    step = _sizes(xp).lines
    for k in range(0, len(lines), step):
        lines[k : k + step, here] = lines[k : k + step, there]


class _Kind(NamedTuple):
    """Which triangle of a matrix is meant, and whether it has ones on its diagonal."""

    upper: bool
    ones: bool

    def of(self, xp: Any, matrix: Any) -> Any:
        """That triangle, with zeros beside it."""
        beside = (1 if self.upper else -1) if self.ones else 0
        alone = (xp.triu if self.upper else xp.tril)(matrix, beside)
        return alone + xp.eye(len(matrix), dtype=matrix.dtype) if self.ones else alone


# Of the packed factors, and of these transposed.
_OF_L: Final = _Kind(upper=True, ones=True)
_OF_U: Final = _Kind(upper=False, ones=False)
_L: Final = _Kind(upper=False, ones=True)
_U: Final = _Kind(upper=True, ones=False)


def _divide(xp: Any, lines: Any, matrix: Any, kind: _Kind) -> None:
    """Multiply ``lines`` by the inverse of a triangle of ``matrix``, where they lie."""
    if xp is not np:
        lu_gpu.divide(lines, matrix, kind.upper, kind.ones)
        return
    size = len(matrix)
    if size <= _SMALL:
        lines[...] = xp.linalg.solve(kind.of(xp, matrix).T, lines.T).T
        return
    first, then = slice(size // 2), slice(size // 2, None)
    if not kind.upper:
        first, then = then, first
    _divide(xp, lines[:, first], matrix[first, first], kind)
    _subtract(xp, lines[:, then], lines[:, first], matrix[first, then])
    _divide(xp, lines[:, then], matrix[then, then], kind)


def _sizes(xp: Any) -> _Sizes:
    return _IN_CACHE if xp is np else _ON_GPU


def _subtract(xp: Any, lines: Any, a: Any, b: Any) -> None:
    """Subtract ``a @ b`` from ``lines``, a piece after the other."""
    width = max(256, _sizes(xp).piece // max(1, len(lines)))
    for k in range(0, lines.shape[1], width):
        lines[:, k : k + width] -= a @ b[:, k : k + width]


def _divided(xp: Any, lines: Any, *blocks: Any) -> Any:
    """``lines @ inv(M)``, by the factors of all blocks."""
    made, pairs, first = xp.array(lines, order="C"), _pairs(blocks), 0
    for factors, swaps in pairs:
        _eliminate(xp, made[:, first:], factors[:, first:], swaps)
        first += len(factors)
    for factors, _ in reversed(pairs):
        end, first = first, first - len(factors)
        _divide(xp, made[:, first:end], factors[:, first:end], _OF_U)
        _subtract(xp, made[:, :first], made[:, first:end], factors[:, :first])
    return made


def _solved(xp: Any, lines: Any, *blocks: Any) -> Any:
    """``lines @ inv(M.T)``, by the factors of all blocks."""
    made, pairs, first = xp.array(lines, order="C"), _pairs(blocks), 0
    for factors, _ in pairs:
        end = first + len(factors)
        _subtract(xp, made[:, first:end], made[:, :first], factors[:, :first].T)
        _divide(xp, made[:, first:end], factors[:, first:end].T, _U)
        first = end
    for factors, swaps in reversed(pairs):
        end, first = first, first - len(factors)
        _subtract(xp, made[:, first:end], made[:, end:], factors[:, end:].T)
        _divide(xp, made[:, first:end], factors[:, first:end].T, _L)
        _change_places(xp, made[:, first:], swaps, back=True)
    return made


# Factors that are arguments lie in memory already. What there is besides follows from the result:
# the lines as they are taken, pieces of products, and lines that change places.
_LIE_THERE: Final = -1.0
_BESIDE: Final = 24

ROWS: Final = (
    Routine("lu_factors", "LAPACK", _factors, _LIE_THERE, _BESIDE),
    Routine("lu_divided", "LAPACK", _divided, _LIE_THERE, _BESIDE),
    Routine("lu_solved", "LAPACK", _solved, _LIE_THERE, _BESIDE),
)
