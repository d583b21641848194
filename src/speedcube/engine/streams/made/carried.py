"""Running sums and products that go on: a few lines' elements, then the next ones."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from numpy.typing import NDArray

from ....expr.nodes import Scanned
from ....expr.space import TILE
from ...cpu import address_of
from ...scans.columns import Running
from ...scans.lines import Results, line_of
from ...scans.matrices import WIDE, Matrices, Panel, rows_of_panel

Array: TypeAlias = NDArray[Any]

FEW: Final = 8  # lines that are taken one after the other, not side by side


class CarriedLines:
    """Running results of ``count`` lines, whose elements come as (lines, positions)."""

    def __init__(self, source: Scanned, count: int) -> None:
        self.lines = [line_of(source, 0, TILE) for _ in range(count)]
        self.is_product = source.op == "cumprod"

    def take(self, values: Array, results: Array, place: int) -> None:
        """The results of ``values``, the elements from ``place`` on of each line."""
        for line, some, its in zip(self.lines, values, results, strict=True):
            ends = self.is_product and place + len(some) == line.length
            line.feed(some, Results(its[None], len(some)), ends)

    def snapshot(self) -> Any:
        """What `restore` goes on from."""
        return [(line.position, line.call.state.copy()) for line in self.lines]

    def restore(self, known: Any) -> None:
        """Go on from where ``known`` was taken."""
        for line, (position, state) in zip(self.lines, known, strict=True):
            line.position, line.call.state[...] = position, state


class CarriedColumns:
    """The same of lines side by side, whose elements come as (positions, lines)."""

    def __init__(self, source: Scanned, count: int) -> None:
        self.source = source
        self.width = min(WIDE, count)
        self.rows = rows_of_panel(self.width)
        self.columns = []
        for first in range(0, count, self.width):
            width = min(self.width, count - first)
            found = Matrices(source.count, width, width, self.rows, 1, _nowhere)
            self.columns.append((first, width, Running(source, found)))

    def take(self, values: Array, results: Array, place: int) -> None:
        """The results of ``values``, the rows from ``place`` on."""
        count, step = values.shape
        begin, there = address_of(values), address_of(results)
        size, its = values.itemsize, results.itemsize
        for first, width, running in self.columns:
            row = 0
            while row < count:
                rows = min(self.rows - (place + row) % self.rows, count - row)
                at = row * step + first
                panel = Panel(begin + at * size, step, 0)
                out = Panel(there + at * its, step, 0)
                running.take(panel, out, 1, place + row, rows, width)
                row += rows

    def snapshot(self) -> Any:
        """What `restore` goes on from."""
        return [(one.call.state.copy(), one.odd.snapshot()) for _, _, one in self.columns]

    def restore(self, known: Any) -> None:
        """Go on from where ``known`` was taken."""
        for (_, _, one), (state, odd) in zip(self.columns, known, strict=True):
            one.call.state[...] = state
            one.odd.restore(odd)


def _nowhere(*_: int) -> Panel:
    raise AssertionError("panels are given")
