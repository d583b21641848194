"""Which settings are tried and which are given up: Optuna's samplers and pruners, by ask and tell.

Optuna's study lives in memory. It is filled again from a sweep's files when the sweep is resumed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from ...errors import ParameterError
from ..metrics.rows import Scalar
from . import space as spaces
from .packing import Trial
from .record import SweepSettings
from .space import Params, Range

PRUNERS: Final = {
    "median": "MedianPruner",
    "successive-halving": "SuccessiveHalvingPruner",
    "hyperband": "HyperbandPruner",
}


def pruner(asked: Any) -> Any:
    """The Optuna pruner that ``prune=`` means, or None."""
    import optuna

    if asked is None:
        return None
    if isinstance(asked, str) and asked in PRUNERS:
        return getattr(optuna.pruners, PRUNERS[asked])()
    if isinstance(asked, optuna.pruners.BasePruner):
        return asked
    raise ParameterError(
        f"prune={asked!r}: give {', '.join(map(repr, PRUNERS))}, a pruner of Optuna's, or None"
    )


class Search:
    """An Optuna study that proposes trials, hears of them, and says when to stop one."""

    def __init__(self, settings: SweepSettings, pruner: Any) -> None:
        import optuna

        self._settings, self._prunes = settings, pruner is not None
        self._distributions = {k: _distribution(axis) for k, axis in settings.space.items()}
        self._running: dict[int, Any] = {}  # Optuna's trials by our numbers
        self._steps: dict[int, set[int]] = {}  # of which it knows
        with _quiet():
            self._study = optuna.create_study(
                study_name="sweep",  # Hyperband's brackets depend on it
                direction=settings.direction,
                pruner=pruner or optuna.pruners.NopPruner(),
            )

    def planned(self) -> list[Params]:
        """The settings of all trials, by number; none where each depends on those before."""
        settings = self._settings
        if settings.method == "grid":
            return list(spaces.grid(settings.space))
        if settings.method == "random":
            return [self._drawn(number) for number in range(settings.trials)]
        return []

    def _drawn(self, number: int) -> Params:
        """Trial ``number`` of a random search: a function of that and the seed alone."""
        import optuna

        with _quiet():
            study = optuna.create_study(sampler=self._sampler(number))
            return dict(study.ask(self._distributions).params)

    def _sampler(self, number: int) -> Any:
        """A sampler of its own for each trial, so that a resumed sweep draws the same."""
        import optuna

        words = np.random.SeedSequence([self._settings.seed, number]).generate_state(1)
        seed = int(words[0])
        if self._settings.method == "tpe":
            return optuna.samplers.TPESampler(seed=seed, constant_liar=True)
        return optuna.samplers.RandomSampler(seed=seed)

    def propose(self, number: int) -> Params:
        """Settings for trial ``number`` that the trials so far suggest."""
        with _quiet():
            self._study.sampler = self._sampler(number)
            trial = self._study.ask(self._distributions)
        self._begun(number, trial)
        return dict(trial.params)

    def start(self, trial: Trial) -> None:
        """Trial ``trial`` begins; nothing new where it was proposed here."""
        if trial.number in self._running:
            return
        with _quiet():
            self._study.enqueue_trial(trial.params)
            self._begun(trial.number, self._study.ask(self._distributions))

    def _begun(self, number: int, trial: Any) -> None:
        self._running[number], self._steps[number] = trial, set()

    def hear(self, number: int, step: int, value: float) -> bool:
        """Trial ``number`` has reported ``value`` at ``step``; whether it should be given up."""
        trial, steps = self._running[number], self._steps[number]
        if not self._prunes:
            return False
        if step not in steps:  # a restarted trial repeats some
            steps.add(step)
            trial.report(value, step)
        return bool(trial.should_prune())

    def end(self, number: int, status: str, value: float | None) -> None:
        """Trial ``number`` is over, with its last ``value``."""
        import optuna

        states = optuna.trial.TrialState
        trial = self._running.pop(number)
        with _quiet():
            if status == "finished" and value is not None and math.isfinite(value):
                self._study.tell(trial, value)
            else:
                pruned = status == "pruned"
                self._study.tell(trial, state=states.PRUNED if pruned else states.FAIL)

    def replay(self, trial: Trial, status: str, series: Sequence[tuple[int, float]]) -> None:
        """A trial of an earlier session: its steps' values, then its end, if it has ended."""
        self.start(trial)
        for step, value in series:
            self.hear(trial.number, step, value)
        if status != "running":
            self.end(trial.number, status, series[-1][1] if series else None)


def _distribution(axis: spaces.Axis) -> Any:
    from optuna import distributions

    if not isinstance(axis, Range):
        return distributions.CategoricalDistribution(axis)
    if axis.whole:
        return distributions.IntDistribution(int(axis.low), int(axis.high), log=axis.log)
    return distributions.FloatDistribution(axis.low, axis.high, log=axis.log)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without Optuna's notes on what it does, and on what it calls experimental."""
    import optuna

    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(level)


def fixed(arguments: Mapping[str, Any]) -> Params:
    """The fixed arguments as a sweep's files keep them: scalars, or the name of a type."""
    return {name: _kept(value) for name, value in arguments.items()}


def _kept(value: Any) -> Scalar:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # no number of JSON
    if value is None or isinstance(value, bool | int | float):
        return value
    return f"<{type(value).__name__}>"
