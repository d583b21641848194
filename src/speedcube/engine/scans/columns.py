"""Scans whose lines lie side by side: a kernel takes a row after the other, a lane a column.

The results of running sums that the kernel gives up (odd columns: too wide, too large, infinities,
NaNs) are made again by the kernel that takes line after line, from the same elements.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ...dataclass import dataclass
from ...expr.nodes import Scanned
from ...expr.space import TILE
from ...kernel.llvm.scans.columns.layout import (
    COLUMN_WORDS,
    LINE_LENGTH,
    ODD_COLUMNS,
    PLACE,
    WIDTH,
    state_rows,
)
from ...kernel.llvm.scans.layout import PARTS
from ...kernel.program import Scan
from ...plan.stages import Part, Stage
from ..boxes import CALL, Stop
from ..cpu import address_of
from .call import scan_kernel
from .lines import ExactSums, Results
from .matrices import AxisOrder, Matrices, Panel, inner_axes, matrices, ordered
from .odd import OddColumns

Array: TypeAlias = NDArray[Any]
Inputs: TypeAlias = Mapping[int, Array]

_VECTOR: Final = 64  # columns of which the state's rows are multiples


@dataclass(frozen=True)
class Target:
    """Where results go: the steps, in elements, between matrices, rows, and (1) columns."""

    memory: Array
    shape: tuple[int, ...]  # of the matrices
    strides: tuple[int, ...]
    row: int

    def at(self, matrix: int) -> int:
        """The first element of ``matrix``."""
        index = np.unravel_index(matrix, self.shape) if self.shape else ()
        return sum(int(i) * s for i, s in zip(index, self.strides, strict=True))

    @property
    def step(self) -> int | None:
        """From one matrix to the next, where it is the same everywhere."""
        steps = [(n, s) for n, s in zip(self.shape, self.strides, strict=True) if n != 1]
        if any(a != b * n for (_, a), (n, b) in pairwise(steps)):
            return None
        return steps[-1][1] if steps else 0


def target_of(share: Array, order: AxisOrder, axis: int) -> Target | None:
    """Where the results of ``order`` go in ``share``; None where columns do not lie together."""
    turned = share.transpose(order.axes)
    steps = [s // share.itemsize for s in turned.strides]
    inner = [(n, s) for n, s in zip(turned.shape, steps, strict=True)][axis + 1 :]
    expected = 1
    for n, step in reversed([pair for pair in inner if pair[0] != 1]):
        if step != expected:
            return None
        expected *= n
    return Target(share, turned.shape[:axis], tuple(steps[:axis]), steps[axis])


def _aligned(shape: tuple[int, int], dtype: str) -> Array:
    """Zeros that begin a line of the cache: vectors of them lie in one."""
    room = np.zeros(math.prod(shape) + 8, dtype)
    first = -(address_of(room) // 8) % 8
    return room[first : first + math.prod(shape)].reshape(shape)


class ColumnCall:
    """A kernel of columns with its arguments in place, for one thread."""

    def __init__(self, program: Scan, found: Matrices) -> None:
        self.program, self.found = program, found
        self.kernel = scan_kernel(program)
        self.width = -(-found.width // _VECTOR) * _VECTOR
        self.words: Any = (ctypes.c_int64 * COLUMN_WORDS)()
        self.state = _aligned((state_rows(program.op, found.length), self.width), program.dtype)
        several = found.together if program.op == "cumsum" else 1
        self.rests = np.zeros((several, self.width), np.int64)
        self.words[LINE_LENGTH], self.words[WIDTH] = found.length, self.width
        self.addresses = (
            ctypes.addressof(self.words),
            address_of(self.state),
            address_of(self.rests),
        )

    def __call__(
        self, panel: Panel, count: int, place: int, rows: int, columns: int, out: tuple[int, ...]
    ) -> bool:
        """Take a panel; whether there are odd columns. ``out``: address, row and matrix step."""
        address, row, matrix = out
        words = self.words
        words[:PLACE] = rows, columns, panel.row, row, count, panel.matrix, matrix
        words[PLACE] = place
        words[ODD_COLUMNS] = 0
        begin, state, rests = self.addresses
        self.kernel.function(begin, panel.address, state, rests, address)
        return bool(words[ODD_COLUMNS])


# Products ----------------------------------------------------------------------------------------


def products(stage: Stage, part: Part, inputs: Inputs, out: Array, stop: Stop) -> bool:
    """The products of the part's lines into ``out``, if their neighbours lie side by side."""
    lines = stage.axes
    for order in _orders(part, lines, inner_axes(part, lines)):
        with matrices(stage, order, inputs, stage.dtype, CALL // TILE) as found:
            if found is None:
                continue
            kept = tuple(k for k in range(len(part.root.shape)) if k not in lines)
            axes = tuple(k for k in order.axes if k not in lines)
            results = out if axes == kept else np.empty(out.shape, out.dtype)
            read = found.dtype or stage.dtype
            _fill(Scan("prod", stage.dtype, stage.dtype, False, True, read), found, results, stop)
            if axes != kept:
                shape = [part.root.shape[k] for k in axes]
                back = results.reshape(shape).transpose([axes.index(k) for k in kept])
                out.reshape(back.shape)[...] = back
            return True
    return False


def _fill(program: Scan, found: Matrices, results: Array, stop: Stop) -> None:
    call = ColumnCall(program, found)
    begin, size = address_of(results), results.itemsize
    count = len(results) // found.columns
    for o, some, place, rows, c, width in _panels(found, count):
        if stop.is_set():
            return
        panel = found.panel(o, some, place, rows, c, width)
        address = begin + (o * found.columns + c) * size
        call(panel, some, place, rows, width, (address, 0, found.columns))


def _orders(part: Part, lines: tuple[int, ...], inner: tuple[int, ...]) -> Iterator[AxisOrder]:
    """The part with as many axes inside as may be, then with fewer."""
    while inner:
        order = ordered(part, lines, inner)
        if order.columns > 1:
            yield order
        inner = inner[1:]


def _panels(found: Matrices, count: int) -> Iterator[tuple[int, ...]]:
    """Panels that cover ``count`` matrices: first one, how many, row, rows, column, columns."""
    if found.together > 1:
        for o in range(0, count, found.together):
            yield o, min(found.together, count - o), 0, found.length, 0, found.columns
        return
    for o in range(count):
        for c in range(0, found.columns, found.width):
            width = min(found.width, found.columns - c)
            for r in range(0, found.length, found.rows):
                yield o, 1, r, min(found.rows, found.length - r), c, width


# Running sums and products -----------------------------------------------------------------------


def running(stage: Stage, part: Part, share: Array, inputs: Inputs, stop: Stop) -> bool:
    """The part's running results into ``share``, if columns of them lie side by side."""
    source = stage.source
    assert isinstance(source, Scanned)
    axis, ndim = source.axis, len(part.root.shape)
    if source.initial:
        share[(slice(None),) * axis + (slice(0, 1),)] = 0 if source.op == "cumsum" else 1
        share = share[(slice(None),) * axis + (slice(1, None),)]
    for order in _orders(part, source.axes, tuple(range(source.axes[-1] + 1, ndim))):
        target = target_of(share, order, order.first)
        if target is None:
            continue
        with matrices(stage, order, inputs, source.arg.dtype, None) as found:
            if found is not None:
                Running(source, found).run(target, math.prod(order.outer), stop)
                return True
    return False


class Running:
    """Running sums or products of the columns of matrices."""

    def __init__(self, source: Scanned, found: Matrices) -> None:
        self.source, self.found = source, found
        dtype = source.arg.dtype
        self.call = ColumnCall(Scan(source.op, dtype, source.dtype, source.odd, True), found)
        self.exact = source.op == "cumsum" and dtypes.is_float(dtype)
        self.odd = OddColumns(source, found.length)

    def run(self, target: Target, count: int, stop: Stop) -> None:
        """All panels of ``count`` matrices, to where ``target`` says."""
        found = self.found
        begin, size, step = address_of(target.memory), target.memory.itemsize, target.step
        together = found.together if step is not None else 1
        for o, some, place, rows, c, width in _panels(found, count):
            for first in range(o, o + some, together):
                if stop.is_set():
                    return
                these = min(together, o + some - first)
                at = target.at(first) + place * target.row + c
                out = Panel(begin + at * size, target.row, step or 0)
                panel = found.panel(first, these, place, rows, c, width)
                self.take(panel, out, these, place, rows, width)

    def take(
        self, panel: Panel, out: Panel, count: int, place: int, rows: int, columns: int
    ) -> None:
        """The results of one panel."""
        before = self.call.state[:PARTS].copy() if self.exact and place else None
        if place == 0:
            self.odd.begin(columns)
        where = (out.address, out.row, out.matrix)
        odd = self.call(panel, count, place, rows, columns, where)
        if not (odd and self.exact):
            return
        shape = count, rows, columns
        values = window(panel, shape, self.call.program.dtype)
        results = window(out, shape, self.source.dtype)
        flags = self.call.rests[:count, :columns] != 0
        if rows == self.found.length:
            self.whole_lines(values, results, flags)
        else:
            self.go_on(values[0], results[0], flags[0], place, before)

    def whole_lines(self, values: Array, results: Array, flags: Array) -> None:
        """The odd columns' results, of whole lines."""
        which, columns = np.nonzero(flags)
        results[which, :, columns] = self.sums_of(values[which, :, columns])

    def sums_of(self, lines: Array) -> Array:
        """The running sums of each of ``lines``."""
        made = np.empty(lines.shape, self.source.dtype)
        line = ExactSums(self.source, lines.shape[1], 0)
        line.feed(np.ascontiguousarray(lines).reshape(-1), Results(made, lines.shape[1]))
        return made

    def go_on(
        self, values: Array, results: Array, flags: Array, place: int, before: Array | None
    ) -> None:
        """The odd columns' results, of some of their rows."""
        columns = len(flags)
        parts = np.zeros((PARTS, columns)) if before is None else before[:, :columns]
        which, sums = self.odd.take(values, results, flags, place, parts)
        self.call.state[:PARTS, which] = sums


def window(panel: Panel, shape: tuple[int, ...], dtype: str) -> Array:
    """The memory of ``panel``, (matrices, rows, columns), as an array."""
    size = np.dtype(dtype).itemsize
    interface = {
        "version": 3,
        "typestr": np.dtype(dtype).str,
        "shape": shape,
        "strides": (panel.matrix * size, panel.row * size, size),
        "data": (panel.address, False),
    }
    return np.asarray(type("Window", (), {"__array_interface__": interface})())
