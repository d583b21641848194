"""Kernels that add up numbers by group; of rows, what is made of their sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernel.llvm.grouping.near import BOUND, COUNT, HIGH, LOW, TABLE, WORDS
from ...kernel.llvm.grouping.program import Grouped
from ...kernel.llvm.simd import targets
from ..ordering.elements import Array
from .finish import exact_finished, finished
from .stream import compiled, kernel_dtype


class NearKernel:
    """The kernel for elements of ``dtype``."""

    def __init__(self, dtype: Any, rows: bool, squares: bool, skip: bool) -> None:
        skip = skip and dtype.kind == "f"
        program = Grouped(kernel_dtype(dtype), rows, squares, skip)
        self.native = compiled(program, targets()[0])
        self.words = np.zeros(WORDS, np.int64)

    def __call__(self, sizes: tuple[int, int, int], places: Array, values: int, out: Array) -> None:
        self.words[:] = sizes
        state, sums = places.ctypes.data, out.ctypes.data
        self.native.function(self.words.ctypes.data, values, state, sums, sums)


class RowKernel:
    """Adds rows to the sums of their groups: parts first, columns side by side.

    The counts of such sums are of what rows lack: how many rows there were `finished` is told.
    """

    def __init__(self, dtype: Any, squares: bool, skip: bool) -> None:
        kind = np.dtype(np.float32) if dtype == np.float16 else dtype
        self._kernel, self._squares = NearKernel(kind, True, squares, skip), squares

    @staticmethod
    def readable(rows: Array) -> Array:
        """``rows`` of a dtype that kernels read."""
        return rows.astype(np.float32) if rows.dtype == np.float16 else np.ascontiguousarray(rows)

    def add(self, rows: Array, places: Array, columns: tuple[int, int], table: Array) -> None:
        """Add the rows at ``places``, of which ``columns``, to sums of these.

        ``table`` has a row for each group: which of the places are its own, from and to, the
        address of its sums, and 0, which becomes 1 where a sum is no double.
        """
        first, last = columns
        where = rows.ctypes.data + first * rows.itemsize
        self._kernel((len(table), last - first, rows.shape[1]), places, where, table)

    def made(
        self,
        op: str,
        rows: Array,
        places: Array,
        ends: Array,
        columns: tuple[int, int],
        dtype: Any,
        ddof: float,
    ) -> tuple[Array, Array]:
        """The results of groups, whose rows are at ``places`` up to ``ends``; which are certain."""
        groups, width, counts = len(ends) - 1, columns[1] - columns[0], np.diff(ends)
        sums = np.zeros((groups, parts_of_rows(self._squares), width))
        table = np.zeros((groups, TABLE), np.int64)
        table[:, 0], table[:, 1] = ends[:-1], ends[1:]
        table[:, 2] = sums.ctypes.data + np.arange(groups) * sums.strides[0]
        self.add(rows, places, columns, table)
        if groups == 1:
            told = int(counts[0]), bool(table[0, -1])
            made, sure = self.finished(op, sums[0], *told, dtype, ddof)
        else:
            flat = np.ascontiguousarray(sums.swapaxes(0, 1)).reshape(sums.shape[1], -1)
            flat[COUNT] += np.repeat(counts, width)
            made, sure = finished(op, flat, dtype, ddof)
        shape = groups, width
        return made.reshape(shape), np.broadcast_to(sure, made.shape).reshape(shape)

    @staticmethod
    def finished(
        op: str, sums: Array, rows: int, inexact: bool, dtype: Any, ddof: float
    ) -> tuple[Array, Array]:
        """`finished` of the ``sums`` of so many ``rows``.

        Where they are not ``inexact`` they are doubles, and nothing else of them is read.
        """
        if not inexact and (op == "sum" or (op == "mean" and rows)):
            return exact_finished(op, sums[HIGH], rows, dtype)
        sums[COUNT] += rows
        return finished(op, sums, dtype, ddof)


def parts_of_rows(squares: bool) -> int:
    """How many doubles a sum has beside those of its neighbours."""
    return 6 if squares else len((HIGH, LOW, BOUND, COUNT))
