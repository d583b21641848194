"""Sums, means and spreads of groups of rows that are read block after block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ....expr.nodes import Expr
from ....expr.through.grouping import Options
from ....expr.through.node import Through
from ...grouping.exact import GroupSums, exact_sums, rounded_once
from ...grouping.rows import RowKernel, parts_of_rows

Array: TypeAlias = NDArray[Any]


class Rows(Protocol):
    """What reads rows, for what it makes of their groups."""

    source: Through
    root: Expr
    threads: int
    op: str
    options: Options
    shape: tuple[int, ...]

    def blocks(self, pool: Any) -> Iterator[tuple[int, Array]]:
        """The first row of each block, and its rows, which are gone when the next is asked for."""


class Summed:
    """Sums, means or spreads of groups of rows that are read block after block."""

    def __init__(self, rows: Rows, codes: Array, pool: Any) -> None:
        self.rows, self.codes, self.pool = rows, codes, pool
        self.squares = rows.op in ("var", "std")
        groups, columns = rows.shape
        ends = [columns * k // rows.threads for k in range(rows.threads + 1)]
        self.spans = [(a, b) for a, b in pairwise(ends) if b > a]
        self.sums: dict[int, list[Array]] = {}  # of groups whose rows are not at their end
        self.rows_of: dict[int, int] = {}  # how many those had
        self.inexact: set[tuple[int, int]] = set()  # groups in spans whose sums are no doubles
        self.last = last_rows(codes, groups)
        self.results = np.empty(rows.shape, rows.source.dtype)
        self.sure = np.zeros(rows.shape, bool)

    def made(self) -> Array:
        """The results, rounded once."""
        kind, parts = np.dtype(self.rows.root.dtype), parts_of_rows(self.squares)
        kernels = [RowKernel(kind, self.squares, self.rows.options.skip) for _ in self.spans]
        for start, block in self.rows.blocks(self.pool):
            order, groups = self._groups_of(start, len(block))
            for group, first, last in groups:
                if group not in self.sums:
                    self.sums[group] = [np.zeros((parts, b - a)) for a, b in self.spans]
                self.rows_of[group] = self.rows_of.get(group, 0) + last - first
            held = RowKernel.readable(block)

            def add(k: int, held: Array = held, order: Array = order, groups: Any = groups) -> None:
                places = [(a, b, self.sums[group][k].ctypes.data, 0) for group, a, b in groups]
                if places:
                    table = np.array(places)
                    kernels[k].add(held, order, self.spans[k], table)
                    told = np.flatnonzero(table[:, -1]).tolist()
                    self.inexact.update((groups[at][0], k) for at in told)

            self._each(add, range(len(self.spans)))
            stop = start + len(block)
            self._each(self._finish, [group for group, *_ in groups if self.last[group] < stop])
        self._each(self._finish, np.flatnonzero(self.last < 0).tolist())
        if not self.sure.all():
            self._put_right(self.results, ~self.sure)
        return self.results

    def _finish(self, group: int) -> None:
        """The results of a ``group`` that has no more rows."""
        options, parts = self.rows.options, parts_of_rows(self.squares)
        nothing = [np.zeros((parts, b - a)) for a, b in self.spans]
        rows = self.rows_of.pop(group, 0)
        every = self.sums.pop(group, nothing)
        for k, ((first, last), sums) in enumerate(zip(self.spans, every, strict=True)):
            how = (group, k) in self.inexact, self.results.dtype, options.ddof
            made, sure = RowKernel.finished(self.rows.op, sums, rows, *how)
            self.results[group, first:last], self.sure[group, first:last] = made, sure

    def _groups_of(self, start: int, count: int) -> tuple[Array, list[tuple[int, int, int]]]:
        """``count`` rows from ``start`` on group after group, and of each from where to where."""
        numbers = self.codes[start : start + count]
        order = np.argsort(numbers, kind="stable").astype(np.int64)
        ends = np.flatnonzero(np.diff(numbers[order], prepend=np.nan, append=np.nan) != 0)
        each = zip(numbers[order[ends[:-1]]].tolist(), pairwise(ends.tolist()), strict=True)
        groups = self.rows.options.groups
        return order, [(group, *span) for group, span in each if 0 <= group < groups]

    def _each(self, work: Callable[[int], None], items: Sequence[int]) -> None:
        for done in [self.pool.submit(work, one) for one in items]:
            done.result()

    def _put_right(self, results: Array, open_: Array) -> None:
        """The results that are ``open_``, by integers, in one more reading."""
        op, options = self.rows.op, self.rows.options
        few = {int(g): np.flatnonzero(open_[g]) for g in np.flatnonzero(open_.any(axis=1))}
        left = {group: np.ones(len(columns), bool) for group, columns in few.items()}
        totals = {group: [GroupSums()] * len(columns) for group, columns in few.items()}
        for start, block in self.rows.blocks(self.pool):
            order, groups = self._groups_of(start, len(block))
            for group, first, last in groups:
                if group not in few:
                    continue
                values = block[order[first:last]][:, few[group]]
                if not options.skip and values.dtype.kind == "f":
                    left[group] &= ~np.isnan(values).any(axis=0)
                for k in np.flatnonzero(left[group]).tolist():
                    totals[group][k] += exact_sums(values[:, k], options.skip, self.squares)
        for group, columns in few.items():
            for k, column in enumerate(columns.tolist()):
                results[group, column] = (
                    rounded_once(op, totals[group][k], results.dtype, options.ddof)
                    if left[group][k]
                    else np.nan
                )


def last_rows(codes: Array, groups: int) -> Array:
    """The last row of each group; -1 of those without any."""
    last = np.full(groups, -1, np.int64)
    valid = np.flatnonzero((codes >= 0) & (codes < groups))
    last[codes[valid]] = valid  # of several the last one stays
    return last


def most_at_once(codes: Array, ends: Sequence[int], groups: int) -> int:
    """How many groups have begun and are not at their end, where most are."""
    last = last_rows(codes, groups)
    first = len(codes) - 1 - last_rows(codes[::-1], groups)
    there = last >= 0
    begun = np.searchsorted(ends, first[there], side="right")
    done = np.searchsorted(ends, last[there], side="right")
    changes = (
        np.bincount(begun, minlength=len(ends) + 1)
        - np.bincount(done + 1, minlength=len(ends) + 1)[: len(ends) + 1]
    )
    return int(np.cumsum(changes).max(initial=0))
