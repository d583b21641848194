"""An array that was assigned to often: what was put where, in order, some rows at a time.

So strips of columns cost one way through memory, and a box no more than to copy it there: a plan
costs 10 to 30 us a box. What cannot be made so is planned.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr.nodes import Expr, Leaf, Piece, Piecewise, Shape, is_whole
from ...late import futures
from .. import machine
from ..boxes import Stop
from .bands import banded, ends, rows_of
from .into import PlannedError, Storing, called
from .moves import copied, values_of
from .patched import Gaps, InPatches, Patched

Array: TypeAlias = NDArray[Any]

LEAST: Final = 1 << 16  # elements; fewer are one call
FEW: Final = 3  # boxes up to which nothing is made that is written over
# Bytes of the results that are made at a time: they stay in the cache where boxes lie over others.
_BYTES: Final = 1 << 22
_APART: Final = 1 << 26
# Elements that are sooner made and written over than left out: by a kernel for any number of rows,
# and by one that is looked for.
_NEAR: Final = 1 << 13
_FAR: Final = 1 << 15
_STOP: Final = Stop()
_SMALL: Final = 1 << 14  # elements that NumPy copies at once, whatever their rows are


@dataclass(eq=False)
class _AtHand:
    """``values`` in rows ``first`` to ``end`` of the results, in their ``share`` of these."""

    first: int
    end: int
    share: Array
    values: Array

    def make(self, low: int, high: int) -> None:
        """Its rows from ``low`` to ``high`` of the results."""
        share, values = self.share, self.values
        if self.first < low or high < self.end:
            rows = slice(max(low - self.first, 0), high - self.first)
            share, values = share[rows], values[rows] if values.ndim == share.ndim else values
        if share.size <= _SMALL:
            share[...] = values
        else:
            copied(values, share, _STOP)


@dataclass(eq=False)
class _InPlace:
    """What is in rows ``first`` to ``end`` of the results: ``values`` at hand, or ``expr``.

    These and the ``share`` of the results, where it is put, begin at row ``origin``. ``call`` makes
    ``made`` rows, from there on, or ``any`` of them.
    """

    origin: int
    first: int
    end: int
    share: Array
    values: Array | None
    expr: Expr
    call: Storing | None = None
    made: int = 0
    any: bool = False

    def make(self, low: int, high: int) -> None:
        """Its rows from ``low`` to ``high`` of the results."""
        origin, call = self.origin, self.call
        low = (low if low > self.first else self.first) - origin
        high = (high if high < self.end else self.end) - origin
        share = self.share if high - low == len(self.share) else self.share[low:high]
        if self.values is not None:
            copied(self.values[low:high] if self.values.ndim else self.values, share, _STOP)
            return
        if call is None or not (self.any or (low == 0 and high == self.made)):
            call, low = called(rows_of(self.expr, low, high)), 0
        if call is None:
            raise PlannedError
        if share.flags.c_contiguous:
            call.into(share, low)
        else:
            made = np.empty(share.shape, share.dtype)
            call.into(made, low)
            share[...] = made


_Box: TypeAlias = _AtHand | _InPlace | InPatches


def put_together(root: Expr, workers: int) -> Array | None:
    """The values of ``root``, by ``workers`` threads; None where it is no such array."""
    if type(root) is not Leaf or type(root.source) is not Piecewise or not is_whole(root):
        return None
    boxes, shape, size = root.source.boxes, root.source.shape, math.prod(root.shape)
    if isinstance(boxes, tuple) or root.shape != shape or size < LEAST:
        return None
    base, pieces = boxes.given()
    if len(pieces) <= FEW or sum([math.prod(one.expr.shape) for one in pieces]) > 2 * size:
        return None  # little is left of what was put there first
    if 8 * size + 2 * workers * _BYTES > machine.free_memory():
        return None
    pieces = banded(base, pieces)
    result = np.empty(shape, root.dtype)
    try:
        _fill(result, [*_under(base, pieces, result), *_over(pieces, result)], workers)
    except PlannedError:
        return None
    return result


def _fill(result: Array, boxes: Sequence[_Box], workers: int) -> None:
    in_order = sorted(boxes, key=attrgetter("first"))
    apart = all(one.end <= after.first for one, after in pairwise(in_order))
    row = result.nbytes // len(result)
    share = max(-(-len(result) // workers), _BYTES // row, 1)
    rows = max((_APART if apart else _BYTES) // row, 1)
    make = partial(_make, in_order if apart else boxes, rows)
    ends = [(low, min(low + share, len(result))) for low in range(0, len(result), share)]
    if len(ends) == 1:
        make(ends[0])
        return
    with futures.ThreadPoolExecutor(workers) as pool:
        list(pool.map(make, ends))


def _make(boxes: Sequence[_Box], rows: int, ends: tuple[int, int]) -> None:
    """What lies between the ``ends``, ``rows`` at a time."""
    begin, end = ends
    for low in range(begin, end, rows):
        high = min(low + rows, end)
        for box in boxes:
            if box.first < high and low < box.end:
                box.make(low, high)


def _box(first: int, share: Array, expr: Expr) -> _InPlace | _AtHand:
    """``expr`` in its ``share`` of the results, from row ``first`` on."""
    values, made = values_of(expr, {}), len(share)
    if values is not None:
        return _AtHand(first, first + made, share, values)
    if (call := called(expr)) is None:
        raise PlannedError
    return _InPlace(first, first, first + made, share, None, expr, call, made)


def _under(base: Expr, pieces: Sequence[Piece], result: Array) -> list[_InPlace]:
    """The rows of ``base`` of which something is left."""
    values = values_of(base, {})
    if (
        values is not None
        and list(map(abs, values.strides)) != sorted(map(abs, values.strides))[::-1]
    ):
        raise PlannedError  # results lie as what they are made of
    rows = list(_between(pieces, base.shape))
    if not rows:
        return []
    (first, end), left = rows[0], rows_of(base, rows[0][0], len(result))
    values = values_of(left, {})
    call = called(rows_of(base, first, end)) if values is None else None
    little = values is not None or (call is not None and call.is_one_line(base))
    near = (_NEAR if little else _FAR) * len(result) // result.size
    return [
        _InPlace(first, low, high, result[first:], values, left, call, end - first, little)
        for low, high in _joined(rows, near)
    ]


def _between(pieces: Sequence[Piece], shape: Shape) -> Iterator[tuple[int, int]]:
    """The rows that no piece covers whole: where they begin and end."""
    last = 0
    whole = sorted(ends(one) for one in pieces if one.expr.shape[1:] == shape[1:])
    for first, end in [*whole, (shape[0], shape[0])]:
        if last < first:
            yield last, first
        last = max(last, end)


def _joined(rows: Sequence[tuple[int, int]], near: int) -> list[tuple[int, int]]:
    """The same, where at most ``near`` rows are left between two: these are made, too."""
    joined = [rows[0]]
    for first, end in rows[1:]:
        begin, last = joined[-1]
        if first - last <= near:
            joined[-1] = begin, end
        else:
            joined.append((first, end))
    return joined


def _over(pieces: Sequence[Piece], result: Array) -> Iterator[_Box]:
    """What was put over it."""
    parts: Gaps | None = None
    for one in pieces:
        if type(one) is Patched:
            parts = parts or Gaps(one.base)
            first, end = ends(one)
            yield InPatches(first, end, result[first:end], one, parts)
            continue
        where = zip(one.at, one.expr.shape, strict=True)
        share = result[tuple([slice(at, at + n) for at, n in where])]
        yield _box(one.at[0], share, one.expr)
