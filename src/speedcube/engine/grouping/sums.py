"""Sums, means and spreads by group: by kernels that miss hardly a bit, else exactly.

Whoever adds what in which order: where a result is not certain it is made of integers.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import numpy as np

from ...expr.through.grouping import Options
from ...kernel.llvm.grouping.near import BOUND, COUNT, HIGH, HIGH2, LOW, LOW2, parts_of
from ..cpu import address_of
from ..ordering.elements import AllElements, Array
from .exact import exactly
from .finish import finished
from .members import members_of
from .rows import NearKernel, RowKernel, parts_of_rows
from .stream import line_of, pairs

_COLUMNS: Final = 1 << 13  # that are finished together
_AT_ONCE: Final = 1 << 15  # sums' doubles of groups that one call adds up, which a cache holds
_PLAIN: Final = 1 << 53  # integers up to here are doubles


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
        for first in range(*columns_of, _COLUMNS):
            span = first, min(first + _COLUMNS, columns_of[1])
            step = max(1, _AT_ONCE // (parts_of_rows(squares) * (span[1] - first)))
            for g in range(0, options.groups, step):
                if x.stop.is_set():
                    return
                some = slice(g, min(g + step, options.groups))
                add_some(kernel, some, span)

    def add_some(kernel: RowKernel, some: slice, span: tuple[int, int]) -> None:
        ends = members.ends[some.start : some.stop + 1]
        made, sure = kernel.made(op, held, members.order, ends, span, dtype, options.ddof)
        results[some, slice(*span)] = made
        for k in np.flatnonzero(~sure.all(axis=1)).tolist():
            few = span[0] + np.flatnonzero(~sure[k])
            rows = members.of(some.start + k)
            results[some.start + k, few] = _again(op, held, rows, few, options, dtype)

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
    kernel = NearKernel(x.dtype, False, squares, options.skip)
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
