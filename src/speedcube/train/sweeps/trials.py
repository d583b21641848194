"""The results of a sweep: what each trial reached, read from the sweep's directory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ...dataclass import dataclass
from ..metrics.rows import Row
from ..reports.curves import Series, busy_seconds, points, read_run, series
from .packing import Trial
from .record import State, SweepSettings, directory
from .space import Params


@dataclass(frozen=True)
class TrialResult:
    """One trial of a sweep.

    ``status`` is "finished", "pruned", "failed" or "running" (which a killed sweep leaves behind,
    and a resumed one goes on with). Values are those of the sweep's metric.
    """

    number: int
    params: Params
    ranks: int
    status: str
    value: float | None  # the last one
    best: float | None
    steps: int
    seconds: float  # of training: from the function's first line to the last report
    target_seconds: float | None  # of training until the target was reached
    error: str | None
    out: Path  # the run's directory: logs, checkpoints, metrics.jsonl


@dataclass(frozen=True)
class Traced:
    """A trial's result with its curve, and the times its ranks were at work."""

    result: TrialResult
    curve: Series  # the points that have the metric, with its value
    busy: float  # seconds, summed over ranks
    times: tuple[float, ...]  # unix seconds of all rows


def rows_of(out: Path, number: int) -> list[Row]:
    """What a trial's run has written so far."""
    return read_run(directory(out, number))


def traced(out: Path, settings: SweepSettings, state: State) -> Traced:
    """The result of a trial, from what the sweep and the trial's run have written."""
    trial: Trial = state.trial
    rows = rows_of(out, trial.number)
    steps = points(rows)
    curve = series(steps, settings.metric)
    result = TrialResult(
        trial.number,
        trial.params,
        trial.ranks,
        state.status,
        curve[-1][1] if curve else None,
        _best(settings, (value for _, value in curve)),
        steps[-1].step if steps else 0,
        steps[-1].seconds if steps else 0.0,
        next((point.seconds for point, value in curve if settings.reached(value)), None),
        state.error,
        directory(out, trial.number),
    )
    return Traced(result, curve, busy_seconds(rows), tuple(row["time"] for row in rows))


def _best(settings: SweepSettings, values: Iterable[float]) -> float | None:
    best = None
    for value in values:
        if best is None or settings.better(value, best):
            best = value
    return best
