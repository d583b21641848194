"""`sweep`: what was asked for is checked, then trials are run until all have ended."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import ParameterError
from ...shown import lines
from ..driver import placement
from ..driver import run as launch
from ..driver.directory import default_name, run_directory
from ..ranks import context
from . import checks, record, search
from . import space as spaces
from .loop import Call, TrialLoop
from .record import Record, SweepSettings
from .view import Sweep


def sweep(
    function: Callable[..., Any],
    space: Mapping[str, Any],
    *,
    on: Any = None,
    trials: int | None = None,
    method: str = "grid",
    metric: str = "loss",
    direction: str = "minimize",
    prune: Any = None,
    seed: int = 0,
    ranks: int = 1,
    out: str | os.PathLike[str] | None = None,
    target: float | None = None,
    max_restarts: int = 0,
    step_timeout: float | None = None,
    stop_on_nan: bool = False,
    keep: int = 2,
    backend: str | None = None,
    trackers: Sequence[Any] = (),
    retry_failed: bool = False,
    progress: bool | None = None,
    **kwargs: Any,
) -> Sweep:
    """Train ``function`` with many settings, side by side on one cluster; returns at the end.

    Each trial is a job of `speedcube.train.run`, with a directory of its own. Trials start as soon
    as enough workers are free: those that take all of them first, then those with the fewest
    ranks. A trial that fails is recorded with its error; the others go on. A sweep that was killed
    goes on where it was when the same call is made with its ``out``: trials that have ended are not
    run again (failed ones only with ``retry_failed``), those that ran continue from their
    checkpoints.

    Parameters
    ----------
    function, kwargs
        What runs in every rank, and its arguments that stay the same.
    space
        What varies, by argument of ``function``: a list of choices (numbers, strings, bools,
        None), or a range as ``(low, high)``, ``(low, high, "log")`` or a `Range`. "gpus" (or
        "ranks") says how many ranks a trial has; "gpus" is passed on if ``function`` takes it.
    on
        As `speedcube.train.run`.
    trials
        How many; a grid has its own number.
    method
        "grid": every combination. "random". "tpe": Optuna's tree-structured Parzen estimator,
        which looks where earlier trials were good.
    metric, direction
        What rank 0 reports and is sought, and whether to "minimize" or "maximize" it. The value
        of a trial is the last one.
    prune
        Give up trials that do badly: "median", "successive-halving", "hyperband" or a pruner of
        Optuna's; ``function``'s ranks all stop at one report.
    seed
        Of the method: the same seed draws the same settings (with "tpe": as long as trials end in
        the same order).
    ranks
        Ranks of each trial where ``space`` does not say.
    out
        The sweep's directory; default: a new one below ./speedcube-runs.
    target
        A value of the metric; results tell when each trial reached it.
    max_restarts, step_timeout, stop_on_nan, keep, backend, trackers
        Of each trial, as `speedcube.train.run`.
    retry_failed
        Run the trials again that failed when this sweep ran before, each from its checkpoint
        where it has one: for when the cause is mended.
    progress
        A line on standard error when a trial starts or ends; None: where that is a terminal.

    Returns
    -------
    Sweep
        Results, figures, the part of the time that workers were busy. ``trials.parquet`` and
        ``report.html`` are in ``out``.

    Raises
    ------
    ParameterError
        An argument outside its domain, or an ``out`` that holds another sweep; nothing has
        started.
    RungError, SchedulerError, WorkerError
        As `speedcube.train.run`.
    """
    launch.check_function(function)
    if context.inside():
        raise ParameterError("train.sweep() inside a rank: start it from the program that drives")
    checks.words(method, metric, direction)
    parsed = spaces.parse(space)
    for name, value, least in (
        ("ranks", ranks, 1),
        ("seed", seed, 0),
        ("max_restarts", max_restarts, 0),
    ):
        launch.at_least(name, value, least)
    count = checks.count(trials, method, parsed)
    passed = checks.passed(function, parsed, kwargs, _options())
    checks.need_packages()
    pruner = search.pruner(prune)
    settings = SweepSettings(
        default_name(function),
        parsed,
        method,
        count,
        metric,
        direction,
        None if pruner is None else type(pruner).__name__,
        int(seed),
        search.fixed(kwargs),
        checks.target_value(target),
    )
    there = placement.named_workers(on)
    if there is not None:
        checks.ranks_key(parsed, ranks, there)  # before a worker is started
    site = placement.site(on, None, backend)
    options = {
        "on": on if on is None or isinstance(on, str) else site.client,
        "max_restarts": max_restarts,
        "step_timeout": step_timeout,
        "stop_on_nan": stop_on_nan,
        "keep": keep,
        "backend": backend,
        "trackers": trackers,
    }
    key = checks.ranks_key(parsed, ranks, site.ranks)
    call = Call(function, kwargs, passed, options, key, int(ranks))
    where = run_directory(out, f"sweep-{settings.name}")
    _run(where, settings, pruner, call, site.ranks, retry_failed, progress)
    swept = Sweep(where)
    swept.write()
    return swept


def report(out: str | os.PathLike[str], *, target: float | None = None) -> Path:
    """Write ``report.html`` and ``trials.parquet`` of the sweep in ``out``; the page's path.

    The sweep may still be running, or have been killed.

    Parameters
    ----------
    out
        The sweep's directory.
    target
        The value of the metric whose time is looked for; None: as the sweep was asked.

    Raises
    ------
    ParameterError
        There is no sweep in ``out``; a target that is no number.
    DataFileError
        A file of it cannot be read.
    """
    checks.need_packages()
    return Sweep(out, target=checks.target_value(target)).write()


def _run(
    where: Path,
    settings: SweepSettings,
    pruner: Any,
    call: Call,
    workers: int,
    retry_failed: bool,
    progress: bool | None,
) -> None:
    shown = sys.stderr.isatty() if progress is None else progress

    def say(text: str) -> None:
        if shown:
            print(lines(text), file=sys.stderr)

    with Record(where) as files:
        if (where / record.SETTINGS).exists():
            record.check_same(where, record.load(where), settings)
        record.save(where, settings)
        asked = search.Search(settings, pruner)
        TrialLoop(files, settings, asked, call, workers, say, retry_failed).run()


def _options() -> frozenset[str]:
    """The names of a sweep's own options."""
    parameters = inspect.signature(sweep).parameters.values()
    return frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
