"""What there is to see of a job at a glance: its last step as a table, or as one line."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from ...numbers import duration_text, value_text
from ...shown import line
from .rows import Row, Scalar
from .steps import Ranks, StepCollector

if TYPE_CHECKING:
    from rich.console import RenderableType

_WINDOW: Final = 40  # points that the rate is taken from
_APART: Final = 0.25  # seconds between two of them: the last ten seconds of a fast job


class Summary:
    """The last step that the ranks have reported, with the rate of the steps before it.

    Parameters
    ----------
    name, ranks
        The job's name, and how many ranks report.
    total
        The number of steps, if it is known.
    """

    def __init__(self, name: str, ranks: int, total: int | None = None) -> None:
        self.name = name
        self.status = ""
        self.checkpoint = 0
        self._ranks = ranks
        self._total = total
        self._steps = StepCollector(ranks, wait=1.0)  # who looks would rather see part of a step
        self._last: Ranks = {}
        self._points: deque[tuple[float, int]] = deque(maxlen=_WINDOW)  # (time, step)

    def add(self, row: Row) -> None:
        """Take a row of any rank."""
        for ranks in self._steps.add(row):
            self._show(ranks)

    def close(self, status: str) -> None:
        """Take what still waits, and how the job ended."""
        for ranks in self._steps.rest():
            self._show(ranks)
        self.status = status

    def _show(self, ranks: Ranks) -> None:
        self._last = ranks
        step, time = self._first()["step"], self._first()["time"]
        if self._points and step <= self._points[-1][1]:  # a restart went back
            self._points.clear()
        if not self._points or time - self._points[-1][0] >= _APART:
            self._points.append((time, step))

    def _first(self) -> Row:
        return next(iter(self._last.values()))

    @property
    def empty(self) -> bool:
        """Whether no step has been reported yet."""
        return not self._last

    def rate(self) -> float | None:
        """StepCollector a second; None as long as there is too little to tell."""
        if len(self._points) < 2:
            return None
        (start, first), (end, last) = self._points[0], self._points[-1]
        return (last - first) / (end - start)

    def heading(self) -> str:
        """Return step, rate and times in one line."""
        if self.empty:
            return self.status or "no step reported yet"
        row, rate = self._first(), self.rate()
        of = f" of {self._total}" if self._total else ""
        parts = [f"step {row['step']}{of}", duration_text(row["seconds"])]
        if rate is not None:
            parts.append(f"{rate:.3g} steps/s")
        if rate and self._total and not self.status:
            parts.append(f"{duration_text(max(0, self._total - row['step']) / rate)} left")
        if self.checkpoint:
            parts.append(f"checkpoint of step {self.checkpoint}")
        return ", ".join([self.status] * bool(self.status) + parts)

    def values(self) -> list[tuple[str, str, str]]:
        """Return name, value and spread of each metric.

        The value is that of the lowest rank that reported, which is rank 0 unless it has died.
        """
        names = dict.fromkeys(name for row in self._last.values() for name in row["metrics"])
        values = []
        for name in names:
            by_rank = {
                rank: row["metrics"][name]
                for rank, row in self._last.items()
                if name in row["metrics"]
            }
            values.append((name, value_text(next(iter(by_rank.values()))), spread(by_rank)))
        return values

    def line(self) -> str:
        """Return all of it as one line."""
        values = [f"{n} {v}" + f" ({s})" * bool(s) for n, v, s in self.values()]
        return f"{self.name}: " + ", ".join([self.heading(), *values])

    def table(self) -> RenderableType:
        """Return all of it as a heading and a line for each metric."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        ranks = f"{self._ranks} ranks" if self._ranks > 1 else "1 rank"
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        # Where there is little room, names and spreads are cut: only they are not ``no_wrap``.
        table.add_column()
        table.add_column(justify="right", no_wrap=True)
        table.add_column(style="dim")
        for cells in self.values():
            shown = (Text(line(cell), no_wrap=True, overflow="ellipsis") for cell in cells)
            table.add_row(*shown)
        return Group(Text(f"{self.name}, {ranks}: {self.heading()}", style="bold"), table)


def spread(by_rank: dict[int, Scalar]) -> str:
    """How the values of the ranks differ: nothing, "min .. max", or which rank is off."""
    values = list(by_rank.values())
    bad = [rank for rank, value in by_rank.items() if isinstance(value, float) and value != value]
    if bad and len(bad) < len(values):
        return f"NaN at rank {bad[0]}"
    if bad or all(value == values[0] for value in values):
        return ""
    numbers = [value for value in values if isinstance(value, bool | int | float)]
    if len(numbers) < len(values):
        return "differs between ranks"
    return f"{value_text(min(numbers))} .. {value_text(max(numbers))}"
