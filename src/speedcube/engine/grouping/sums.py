"""Sums, means and spreads by group: by kernels that miss hardly a bit, else exactly.

Whoever adds what in which order: where a result is not certain it is made of integers.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any, Final

import numpy as np

from ...expr.through.grouping import Options
from ...kernel.llvm.grouping.near import BOUND, COUNT, HIGH, HIGH2, LOW, LOW2, WORDS, parts_of
from ...kernel.llvm.grouping.program import Grouped
from ...kernel.llvm.simd import targets
from ..cpu import address_of
from ..ordering.elements import AllElements, Array
from .exact import exactly
from .finish import exact_finished, finished
from .members import members_of
from .stream import compiled, kernel_dtype, line_of, pairs

_COLUMNS: Final = 1 << 13  # that are finished together
_PLAIN: Final = 1 << 53  # integers up to here are doubles


class _Kernel:
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
        self._kernel = _Kernel(kind, True, squares, skip)

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


def summed(op: str, codes: AllElements, x: AllElements, options: Options, dtype: Any) -> Array:
    """``op`` (sum, mean, var, std) of each group in ``dtype``."""
    if dtype.kind != "f":
        return wrapped(codes, x, options)
    squares = op in ("var", "std")
    if x.dtype.itemsize == 8 and x.dtype.kind in "iu" and not are_doubles(x):
        return _of_members(op, codes, x, options, dtype)
    if options.rows:
        return _down_rows(op, codes, x, options, dtype, squares)
    return _along_lines(op, codes, x, options, dtype, squares)


def are_doubles(x: AllElements) -> bool:
    def fit(span: tuple[int, int]) -> bool:
        return all(
            int(block.max()) <= _PLAIN and int(block.min()) >= -_PLAIN
            for block in x.blocks(*span)
            if len(block)
        )

    return all(x.each(fit, x.spans()))


def _carried(x: AllElements) -> Array:
    """All elements in memory, of a dtype that kernels read."""
    held = x.held().reshape(x.root.shape)
    return held.astype(np.float32) if x.dtype == np.float16 else np.ascontiguousarray(held)


def _of_members(op: str, codes: AllElements, x: AllElements, options: Options, dtype: Any) -> Array:
    """Group by group with integers."""
    members, held = members_of(codes, options.groups), x.held().reshape(x.root.shape)
    lines = held.T if options.rows else held
    found = [
        [exactly(op, line[members.of(g)], dtype, options.ddof, options.skip) for line in lines]
        for g in range(options.groups)
    ]
    results = np.array(found, dtype).reshape(options.groups, len(lines))
    return results if options.rows else results.T


def wrapped(codes: AllElements, x: AllElements, options: Options) -> Array:
    """Sums of integers, which wrap in 64 bits."""
    held = x.held().reshape(x.root.shape)
    members = members_of(codes, options.groups)
    axis = 0 if options.rows else 1
    shape = (options.groups, held.shape[1]) if options.rows else (held.shape[0], options.groups)
    out = np.zeros(shape, np.uint64 if x.dtype == np.uint64 else np.int64)
    if options.rows:
        for g in members.present.tolist():
            out[g] = held[members.of(g)].sum(axis=0, dtype=out.dtype)
    elif len(members.present):
        taken = held[:, members.order].astype(out.dtype, copy=False)
        out[:, members.present] = np.add.reduceat(taken, members.starts, axis=axis)
    return out


# Rows side by side --------------------------------------------------------------------------------


def _down_rows(
    op: str, codes: AllElements, x: AllElements, options: Options, dtype: Any, squares: bool
) -> Array:
    members, held = members_of(codes, options.groups), _carried(x)
    columns = held.shape[1]
    results = np.empty((options.groups, columns), dtype)

    def make(columns_of: tuple[int, int]) -> None:
        kernel = RowKernel(held.dtype, squares, options.skip)
        for g, first in product(range(options.groups), range(*columns_of, _COLUMNS)):
            if x.stop.is_set():
                return
            last = min(first + _COLUMNS, columns_of[1])
            rows = members.of(g)
            sums = np.zeros((parts_of_rows(squares), last - first))
            table = np.array([[0, len(rows), sums.ctypes.data, 0]])
            kernel.add(held, rows, (first, last), table)
            inexact = bool(table[0, -1])
            made, sure = kernel.finished(op, sums, len(rows), inexact, dtype, options.ddof)
            results[g, first:last] = made
            if not sure.all():
                few = np.flatnonzero(~sure)
                results[g, first + few] = _again(op, held, rows, first + few, options, dtype)

    ends = [columns * k // x.threads for k in range(x.threads + 1)]
    x.each(make, [(a, b) for a, b in pairwise(ends) if b > a])
    return results


def _again(
    op: str, held: Array, rows: Array, columns: Array, options: Options, dtype: Any
) -> Array:
    """The results of ``columns`` that are not certain."""
    block = held[rows][:, columns]
    results = np.full(len(columns), np.nan, dtype)
    skip = options.skip or block.dtype.kind != "f"
    left = np.full(len(columns), True) if skip else ~np.isnan(block).any(axis=0)
    for k in np.flatnonzero(left).tolist():
        results[k] = exactly(op, block[:, k], dtype, options.ddof, options.skip)
    return results


# Scattered ----------------------------------------------------------------------------------------


def _along_lines(
    op: str, codes: AllElements, x: AllElements, options: Options, dtype: Any, squares: bool
) -> Array:
    """Lines one after the other; of one line each thread has a span."""
    lines, length = x.root.shape
    results = np.empty((lines, options.groups), dtype)
    if lines == 1:
        each = x.each(lambda span: near_sums(codes, x, 0, span, options, squares), codes.spans())
        _finish(op, merged_sums(each)[:, None], 0, results, (codes, x), options)
        return results
    some = max(1, _COLUMNS // max(1, options.groups))

    def make(first: int) -> None:
        sums = [
            near_sums(codes, x, k * length, (0, length), options, squares)
            for k in range(first, min(first + some, lines))
        ]
        _finish(op, np.stack(sums, axis=1), first, results, (codes, x), options)

    x.each(make, range(0, lines, some))
    return results


def _finish(
    op: str,
    sums: Array,
    first: int,
    results: Array,
    given: tuple[AllElements, AllElements],
    options: Options,
) -> None:
    """The results of some lines from the ``first`` on."""
    codes, x = given
    length, count = x.root.shape[1], sums.shape[1]
    flat = sums.reshape(len(sums), -1)
    made, sure = finished(op, flat, results.dtype, options.ddof)
    results[first : first + count] = made.reshape(count, -1)
    if sure.all():
        return
    members = members_of(codes, options.groups)
    for k, g in zip(*np.divmod(np.flatnonzero(~sure), options.groups), strict=True):
        values = line_of(x, first + int(k), length)[members.of(int(g))]
        results[first + k, g] = exactly(op, values, results.dtype, options.ddof, options.skip)


def near_sums(
    codes: AllElements,
    x: AllElements,
    at: int,
    span: tuple[int, int],
    options: Options,
    squares: bool,
) -> Array:
    """The sums of a span of elements, parts first; line ``at``."""
    kernel = _Kernel(x.dtype, False, squares, options.skip)
    sums = np.zeros((options.groups + 1, parts_of(squares)))
    for _, numbers, values in pairs(codes, x, at, span):
        kernel((len(numbers), options.groups, 0), numbers, address_of(values), sums)
    return np.ascontiguousarray(sums[: options.groups].T)


def merged_sums(each: list[Array]) -> Array:
    """One sum of several for each group."""
    total = each[0]
    with np.errstate(all="ignore"):
        for part in each[1:]:
            for high, low in ((HIGH, LOW), (HIGH2, LOW2))[: 2 if len(total) > 4 else 1]:
                a, b = total[high], part[high]
                both = a + b
                c = both - a
                error = (a - (both - c)) + (b - c)
                rest = total[low] + part[low]
                c = rest - total[low]
                lost = (total[low] - (rest - c)) + (part[low] - c)
                tail = rest + error
                c = tail - rest
                more = (rest - (tail - c)) + (error - c)
                total[high], total[low] = both, tail
                total[BOUND] += np.abs(lost) + np.abs(more)
            total[BOUND] += part[BOUND]
            total[COUNT] += part[COUNT]
    return total
