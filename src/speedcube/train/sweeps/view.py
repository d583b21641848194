"""`Sweep`: a sweep's directory as its user reads it."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...files import OWN_FILE, write_whole
from ..metrics.rows import Row
from ..reports.plots import save_figure
from . import figures, record, table
from .page import page
from .trials import Traced, TrialResult, traced


class Sweep:
    """The state of a sweep, read from its directory when this object is made.

    Parameters
    ----------
    out
        The directory.
    target
        The value of the metric whose time is looked for; None: as the sweep was asked.

    Raises
    ------
    ParameterError
        There is no sweep in ``out``.
    DataFileError
        A file of it cannot be read.
    """

    def __init__(self, out: str | os.PathLike[str], *, target: float | None = None) -> None:
        self.out = Path(out).absolute()
        settings = record.load(self.out)
        self.settings = settings if target is None else replace(settings, target=float(target))
        self._events = record.read_events(self.out)
        states = record.states(self._events, settings, self.out / record.EVENTS)
        self._trials = [
            traced(self.out, self.settings, states[number]) for number in sorted(states)
        ]

    def results(self) -> list[TrialResult]:
        """The trials that have started, by number."""
        return [trial.result for trial in self._trials]

    @property
    def best(self) -> TrialResult | None:
        """The finished trial whose last value is the best; None where none has a number."""
        best: TrialResult | None = None
        for result in self.results():
            value = math.nan if result.value is None else result.value
            if result.status == "finished" and not math.isnan(value):
                before = best.value if best is not None else None
                if before is None or self.settings.better(value, before):
                    best = result
        return best

    @property
    def seconds(self) -> float:
        """Wall time from the start of a session to its last sign of life, sessions summed."""
        return sum(end - start for start, end, _ in _sessions(self._events, self._trials))

    @property
    def busy(self) -> float:
        """The part of the workers' wall time between a rank's first step and its last, 0 to 1."""
        spans = _sessions(self._events, self._trials)
        there = sum((end - start) * workers for start, end, workers in spans)
        return sum(trial.busy for trial in self._trials) / there if there else 0.0

    def dataframe(self) -> Any:
        """A pandas DataFrame: a row for each trial, its parameters in columns "params_...".

        Columns: number, status, value, best, steps, seconds, target_seconds, ranks, params_*,
        error, out.
        """
        return table.frame(self.results(), list(self.settings.space))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the table of `dataframe` as a Parquet file."""
        table.to_parquet(self.dataframe(), Path(path))

    def curves(self, path: str | os.PathLike[str] | None = None) -> Any:
        """The metric against epoch (or step) and against seconds, a line for each trial.

        A matplotlib figure, written to ``path`` (.png or .svg) if given.
        """
        return save_figure(figures.curves(self.settings, self._trials), path)

    def target_times(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Seconds to the target by number of ranks, fastest trial of each, beside the ideal.

        The ideal is the time of the fewest ranks, divided by how many times more there are. A
        matplotlib figure, written to ``path`` (.png or .svg) if given.

        Raises
        ------
        ParameterError
            The sweep has no target, or no trial reached it.
        """
        return save_figure(figures.target_times(self.settings, self._trials), path)

    def html(self) -> str:
        """One page with the figures, the trials and the settings; it loads nothing else."""
        facts = {"busy": self.busy, "seconds": self.seconds, "out": str(self.out)}
        return page(self.settings, self._trials, self.best, facts)

    def write(self) -> Path:
        """Write ``trials.parquet`` and ``report.html`` into the directory; the latter's path."""
        table.to_parquet(self.dataframe(), self.out / "trials.parquet", OWN_FILE)
        path = self.out / "report.html"
        write_whole(path, self.html().encode(), mode=OWN_FILE, durable=True)
        return path

    def __repr__(self) -> str:
        counts: dict[str, int] = {}
        for result in self.results():
            counts[result.status] = counts.get(result.status, 0) + 1
        listed = (
            ", ".join(f"{count} {status}" for status, count in counts.items()) or "none started"
        )
        return f"<Sweep of {self.settings.trials} trials ({listed}) in {self.out}>"


def _sessions(events: Sequence[Row], trials: Sequence[Traced]) -> list[tuple[float, float, int]]:
    """Start, last sign of life and workers of each session."""
    starts = [(line["time"], line["workers"]) for line in events if line["event"] == "session"]
    times = [line["time"] for line in events] + [time for t in trials for time in t.times]
    ends = [*(start for start, _ in starts), float("inf")][1:]  # as many: there may be none
    return [
        (start, max((time for time in times if start <= time < end), default=start), workers)
        for (start, workers), end in zip(starts, ends, strict=True)
    ]
