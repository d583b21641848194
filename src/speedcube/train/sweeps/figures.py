"""The article's two figures: loss of every trial over epochs and seconds; time to a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import ParameterError
from ..reports import plots
from .record import SweepSettings
from .space import RANKS, Range, ranks_key
from .trials import Traced, TrialResult


def curves(settings: SweepSettings, trials: Sequence[Traced]) -> Any:
    """The metric of every trial against epoch (step where none is reported) and seconds."""
    named = [(label(settings, trial.result), trial.curve) for trial in trials if trial.curve]
    return plots.curves_figure(named, settings.metric, settings.target)


def fastest(trials: Sequence[Traced]) -> dict[int, tuple[TrialResult, float]]:
    """For each number of ranks the trial that reached the target first, and after which seconds.

    The fewest ranks come first.
    """
    by_ranks: dict[int, tuple[TrialResult, float]] = {}
    for result in (trial.result for trial in trials):
        seconds = result.target_seconds
        if seconds is None:
            continue
        if result.ranks not in by_ranks or seconds < by_ranks[result.ranks][1]:
            by_ranks[result.ranks] = result, seconds
    return dict(sorted(by_ranks.items()))


def ideal(seconds: dict[int, float]) -> list[float]:
    """The time of the fewest ranks, divided by how many times more there are."""
    least = next(iter(seconds))
    return [seconds[least] * least / ranks for ranks in seconds]


def target_times(settings: SweepSettings, trials: Sequence[Traced]) -> Any:
    """Bars: seconds to the target by number of ranks, with the ideal line."""
    if settings.target is None:
        raise ParameterError(f"the sweep has no target: give target=, a value of {settings.metric}")
    by_ranks = fastest(trials)
    if not by_ranks:
        raise ParameterError(
            f"no trial reached {settings.metric} {settings.target:g}: give a target that is "
            "easier to reach"
        )
    return plots.times_figure(
        [
            (str(ranks), label(settings, result, RANKS), seconds)
            for ranks, (result, seconds) in by_ranks.items()
        ],
        ideal({ranks: seconds for ranks, (_, seconds) in by_ranks.items()}),
        kind="fastest trial",
        across="GPUs" if ranks_key(settings.space) == "gpus" else "ranks",
        title=f"time to {settings.metric} {settings.target:g}",
    )


def label(settings: SweepSettings, result: TrialResult, known: Sequence[str] = ()) -> str:
    """What is special about a trial: the parameters that vary, but for those that are known."""
    varied = [
        f"{name}={_short(result.params[name])}"
        for name, axis in settings.space.items()
        if name not in known and (isinstance(axis, Range) or len(axis) > 1)
    ]
    return ", ".join(varied) or f"trial {result.number}"


def _short(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 24 else text[:23] + "…"
