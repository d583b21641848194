"""The page of a sweep: its figures, its trials, its settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...errors import ParameterError
from ..metrics.rows import Scalar
from ..reports.document import drawing, facts, heading, html_page, paragraph, table, text
from . import figures, space
from .record import SweepSettings
from .trials import Traced, TrialResult


def page(
    settings: SweepSettings,
    trials: Sequence[Traced],
    best: TrialResult | None,
    session: Mapping[str, Any],
) -> str:
    """The page; ``session`` has "busy" (0 to 1), "seconds" and "out"."""
    parts = [
        paragraph(_summary(settings, trials, best, session)),
        heading(f"{settings.metric} of every trial"),
        drawing(figures.curves(settings, trials), "curves"),
        *_target(settings, trials),
        heading("Trials"),
        _trials(settings, trials, best),
        heading("Settings"),
        facts(_settings(settings, session)),
    ]
    return html_page(f"Sweep of {settings.name}", parts)


def _summary(
    settings: SweepSettings,
    trials: Sequence[Traced],
    best: TrialResult | None,
    session: Mapping[str, Any],
) -> str:
    statuses = [trial.result.status for trial in trials]
    counts = ", ".join(f"{statuses.count(s)} {s}" for s in sorted(set(statuses))) or "none started"
    summary = f"{settings.trials} trial{'s' * (settings.trials != 1)} ({counts}) in "
    summary += f"{session['seconds']:.4g} s; ranks were at their steps "
    summary += f"{session['busy']:.1%} of the workers' time."
    if best is not None:
        summary += f" Best: trial {best.number}, {settings.metric} {text(best.value)}."
    return summary


def _target(settings: SweepSettings, trials: Sequence[Traced]) -> list[str]:
    if settings.target is None:
        return []
    title = heading(f"Time to {settings.metric} {settings.target:g}")
    try:
        return [title, drawing(figures.target_times(settings, trials), "target")]
    except ParameterError:
        return [title, paragraph("No trial reached it.")]


def _trials(settings: SweepSettings, trials: Sequence[Traced], best: TrialResult | None) -> str:
    names, metric = list(settings.space), settings.metric
    own = ["trial", "status", metric, f"best {metric}", "steps", "seconds", "seconds to target"]
    rows = [_trial(trial.result, names) for trial in trials]
    marked = [trial.result == best for trial in trials]
    return table([*own, "ranks", *names, "error"], rows, marked)


def _trial(result: TrialResult, names: Iterable[str]) -> list[Scalar]:
    return [
        result.number,
        result.status,
        result.value,
        result.best,
        result.steps,
        result.seconds,
        result.target_seconds,
        result.ranks,
        *(result.params[name] for name in names),
        result.error or "",
    ]


def _settings(settings: SweepSettings, session: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "space": space.to_json(settings.space),
        "fixed arguments": settings.fixed,
        "method": settings.method,
        "metric": f"{settings.metric}, {settings.direction}",
        "pruning": settings.prune or "none",
        "seed": settings.seed,
        "target": "none" if settings.target is None else f"{settings.target:g}",
        "directory": session["out"],
    }
