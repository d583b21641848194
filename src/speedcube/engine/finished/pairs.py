"""Exact sums of the rounded products of all pairs of rows, as of a covariance, by blocks of both.

A kernel that takes a result after the other reads two elements for each product. Of blocks of rows
each element that is loaded is used several times, and where both sides are the same rows, each pair
is made once. The sums are exact and rounded once, so they have the bits of any other order.
"""

from __future__ import annotations

import ctypes
import math
import platform
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr.nodes import Expr, Leaf, Map, Reduced, StageResult
from ...expr.sources.read import Stored
from ...kernel.llvm.pairs.frame import ROWS, SETTLED, UNCERTAIN, WORDS, anchors_at, scratch_length
from ...kernel.llvm.simd import targets
from ...kernel.orders import RowPairs, RowSizes
from ...plan.stages import Part, Stage
from ..boxes import Stop
from ..cpu import address_of, host_array, scratch_address
from ..ordering.fixed import compiled
from .cpu import failed_places, repaired

Array: TypeAlias = NDArray[Any]
_LANES: Final = {"avx512": 8, "avx2": 4, "plain": 2}
_STRETCH: Final = 1 << 16  # columns of a block in one call: some hundredths of a second
_MOST_LEFT: Final = 1 / 16  # results that records make; of more all are made in another way
_SEVERAL: Final = 4  # rows
_LEAST: Final = 1 << 17  # products; of fewer the call takes longer than they
_Words: Final = ctypes.c_int64 * WORDS
_SizeWords: Final = ctypes.c_int64 * 4


@dataclass(frozen=True)
class _RowsAt:
    """Doubles in memory, and where in them the first of some lines begins; distances are counted.

    Of one number a line, what lies beyond it is nowhere: ``by_column`` is 0 and ``columns`` 1.
    """

    source: Any
    offset: int
    count: int
    columns: int
    by_row: int
    by_column: int

    def array(self, inputs: Mapping[int, Array]) -> Array | None:
        """They, where they lie as they are described; else None."""
        found = inputs.get(id(self.source))
        if found is None:
            if not isinstance(self.source, Stored) or self.source.on_device:
                return None
            found = host_array(self.source)
        if not (isinstance(found, np.ndarray) and found.flags.c_contiguous and found.flags.aligned):
            return None
        first = found.reshape(-1)[self.offset :]
        shape, strides = (self.count, self.columns), (8 * self.by_row, 8 * self.by_column)
        return as_strided(first, shape, strides, writeable=False)


@dataclass(frozen=True)
class _Rows:
    """Rows in memory, off whose elements a number is taken that each row has; None: nothing."""

    lines: _RowsAt
    shifts: _RowsAt | None

    @property
    def are_thin(self) -> bool:
        """Whether they are so few columns of a table that reading it once is all that counts."""
        return self.lines.count < _SEVERAL and self.lines.by_column != 1

    def arrays(self, inputs: Mapping[int, Array]) -> tuple[Array, Array] | None:
        """The rows and their shifts, where both lie as they are described."""
        rows = self.lines.array(inputs)
        zeros = np.zeros((self.lines.count, 1))
        shifts = zeros if self.shifts is None else self.shifts.array(inputs)
        if rows is None or shifts is None:
            return None
        return rows, np.ascontiguousarray(shifts[:, 0])


def run_pairs(
    stage: Stage, part: Part, inputs: Mapping[int, Array], stop: Stop, out: Any
) -> Array | None:
    """The results of ``part``; None: they are made in another way."""
    sides = _sides(stage, part)
    if sides is None:
        return None
    left, right = (side.arrays(inputs) for side in sides)
    if left is None or right is None:
        return None
    fits = isinstance(out, np.ndarray) and out.dtype == "float64" and out.flags.c_contiguous
    results = out.reshape(-1) if fits else np.empty(len(left[0]) * len(right[0]))
    pairs = Pairs(left, right, results, _first_of_left(*sides))
    pairs.run(stop)
    if not pairs.failures:
        return results
    failed = failed_places(results, "float64", 1)
    if len(failed) > _MOST_LEFT * len(results):
        return None
    return repaired(stage, part, inputs, stop, results, failed)


def are_pairs(stage: Stage, part: Part) -> bool:
    """Whether ``part`` sums the products of so many pairs of rows that blocks of them pay."""
    return _sides(stage, part) is not None


def _sides(stage: Stage, part: Part) -> tuple[_Rows, _Rows] | None:
    """The rows whose products ``part`` sums; None where it is something else."""
    source, root = stage.source, part.root
    if not isinstance(source, Reduced) or (source.op, source.dtype) != ("sum", "float64"):
        return None
    if stage.axes != (2,) or part.extra or len(root.shape) != 3:
        return None
    if not isinstance(root, Map) or root.op != "multiply" or root.dtype != "float64":
        return None
    if min(root.shape) < 2 or math.prod(root.shape) < _LEAST:
        return None
    for one, other in (root.args, root.args[::-1]):
        left, right = _rows_of(one, 0), _rows_of(other, 1)
        if left is not None and right is not None and not (left.are_thin and right.are_thin):
            return left, right
    return None


def _rows_of(side: Expr, axis: int) -> _Rows | None:
    """The rows of ``side`` along ``axis``, which it repeats along the other; None: it has none."""
    if isinstance(side, Map) and side.op == "subtract" and side.dtype == "float64":
        lines, shifts = (_lines_of(one, axis) for one in side.args)
        alike = shifts is not None and not shifts.by_column
    else:
        lines, shifts, alike = _lines_of(side, axis), None, True
    return _Rows(lines, shifts) if lines is not None and lines.by_column and alike else None


def _lines_of(leaf: Expr, axis: int) -> _RowsAt | None:
    """The lines along the last axis of ``leaf``, which differ along ``axis`` alone."""
    if not isinstance(leaf, Leaf) or not isinstance(leaf.source, (Stored, StageResult)):
        return None
    by_row, by_column, across = leaf.strides[axis], leaf.strides[2], leaf.strides[1 - axis]
    if leaf.source.dtype != "float64" or across or by_row <= 0 or by_column < 0:
        return None
    columns = leaf.shape[2] if by_column else 1
    return _RowsAt(leaf.source, leaf.offset, leaf.shape[axis], columns, by_row, by_column)


def _first_of_left(left: _Rows, right: _Rows) -> int | None:
    """The number that the first left row has among the right ones; None where it is none."""
    first = _first_among(left.lines, right.lines)
    if (left.shifts is None) != (right.shifts is None):
        return None
    if left.shifts is None or right.shifts is None:
        return first
    return first if _first_among(left.shifts, right.shifts) == first else None


def _first_among(some: _RowsAt, lines: _RowsAt) -> int | None:
    """The number that the first of ``some`` has among ``lines``; None where it is none of them."""
    distances = (some.by_row, some.by_column) == (lines.by_row, lines.by_column)
    if some.source is not lines.source or not distances:
        return None
    first, rest = divmod(some.offset - lines.offset, some.by_row)
    return None if rest or first < 0 or first + some.count > lines.count else first


class Pairs:
    """Sums of products of ``left`` and ``right`` rows; ``own``: where the left ones are right."""

    def __init__(
        self,
        left: tuple[Array, Array],
        right: tuple[Array, Array],
        results: Array,
        own: int | None,
    ) -> None:
        (self.left, self.left_shifts), (self.right, self.right_shifts) = left, right
        self.own, self.columns = own, self.left.shape[1]
        target = targets()[0]
        self.lanes = _LANES[target]
        fused = target != "plain" or platform.machine() in ("aarch64", "arm64")
        self.kernel, self.sizes = compiled(RowPairs(self.lanes, fused)), compiled(RowSizes())
        length = scratch_length(self.lanes)
        self.scratch = scratch_address(8 * length)
        doubles = (ctypes.c_double * length).from_address(self.scratch)
        self.anchors: Array = np.frombuffer(memoryview(doubles))[anchors_at(self.lanes) :]
        self.out, self.results = address_of(results), results
        self.words, self.failures = _Words(), 0

    def run(self, stop: Stop) -> None:
        """All results."""
        left, right, self.anchors[6 * ROWS :] = self._bounds()
        for i, i_end in _blocks(0, len(self.left)):
            self._put(0, left, i, i_end)
            for j, j_end in self._right_blocks():
                own = None if self.own is None else self.own
                inside = own is not None and own <= j < own + len(self.left)
                if inside and j < i + (own or 0):
                    continue  # turned round from there
                self._put(ROWS, right, j, j_end)
                self._block((i, i_end), (j, j_end), inside, stop)
                if stop.is_set():
                    return
                if stop.counts:
                    stop.points += (i_end - i) * (j_end - j) * self.columns

    def _put(self, at: int, numbers: Array, start: int, end: int) -> None:
        """The numbers of some rows to where the kernel finds those of a side."""
        for k, some in enumerate(numbers):
            first = at + 2 * ROWS * k
            self.anchors[first : first + end - start] = some[start:end]

    def _right_blocks(self) -> Iterator[tuple[int, int]]:
        """Blocks of right rows; those that are left rows, too, are blocks of the same rows."""
        cuts = {0, len(self.right)}
        if self.own is not None:
            cuts |= {self.own, self.own + len(self.left)}
        for start, end in pairwise(sorted(cuts)):
            yield from _blocks(start, end)

    def _block(
        self, rows: tuple[int, int], columns: tuple[int, int], inside: bool, stop: Stop
    ) -> None:
        """The results of a block of each side."""
        width, (i, i_end), (j, j_end) = len(self.right), rows, columns
        left, right = self.left[i:], self.right[j:]
        at = i * width + j
        turned = 0
        if inside:
            assert self.own is not None
            turned = (j - self.own) * width + i + self.own - at
        same = inside and j - (self.own or 0) == i
        distances = [step // 8 for one in (left, right) for step in one.strides]
        ends = self.columns
        for first in range(0, ends, _STRETCH):
            last = min(first + _STRETCH, ends)
            state = same, first == 0, last == ends, width, 1, inside, turned, 0
            self.words[:] = [i_end - i, j_end - j, first, last, *distances, *state]
            self.kernel.function(
                ctypes.addressof(self.words),
                left.__array_interface__["data"][0],
                right.__array_interface__["data"][0],
                self.scratch,
                self.out + 8 * at,
            )
            self.failures += self.words[UNCERTAIN]
            if stop.is_set():
                return

    def _bounds(self) -> tuple[Array, Array, tuple[float, float, float]]:
        """What a kernel needs to know of the rows of both sides, and of all sums.

        Let N be the elements that a lane takes, at most. An anchor is 1.5 * 2**k where 2**k is
        more than 8 * N times any product, so the unit is 2**(k - 52), totals keep their binade and
        the lanes' sum of them is exact. A rest takes S elements, of 0.6 units at most, before it
        is put aside: what is rounded away of it is below 2**-53 * 0.6 * (S + 2)**2 / 2 units. The
        lanes' rests are below a unit each when they are added up. A rest is a multiple of the last
        bit of the least product that is not zero. So nothing is rounded away where that product is
        no less than S + 2 units, and than a unit for each lane.
        """
        lanes, columns = self.lanes, self.columns
        blocks = -(-columns // SETTLED)
        most = -(-min(columns, SETTLED) // lanes)
        room = math.frexp(8.0 * (columns // lanes + 1 + blocks))[1]
        error = (0.21 * blocks * lanes * (most + 2) ** 2 + lanes**2) * 2.0**-105
        size = (most + 2 + lanes) * 2.0**-52
        right = self._numbers(self.right, self.right_shifts)
        own, constants = self.own, (1.5 * 2.0**room, error, size)
        if own is None:
            return self._numbers(self.left, self.left_shifts), right, constants
        return right[:, own : own + len(self.left)], right, constants

    def _numbers(self, rows: Array, shifts: Array) -> Array:
        """Powers of two above the greatest magnitudes of ``rows``, not above the least; ``shifts``.

        NaN where sums are not certain. A sum that is zero has no sign, whatever its terms have.
        """
        numbers = np.empty((3, len(rows)))
        words = _SizeWords(*rows.shape, *(step // 8 for step in rows.strides))
        out, first = address_of(numbers), rows.__array_interface__["data"][0]
        self.sizes.function(ctypes.addressof(words), first, address_of(shifts), out, out)
        return numbers


def _blocks(start: int, end: int) -> Iterator[tuple[int, int]]:
    for first in range(start, end, ROWS):
        yield first, min(first + ROWS, end)
