"""`sweep`: what was asked for is checked, then trials are run until all have ended."""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, Final

from ...errors import ParameterError
from ..driver import placement
from ..driver import run as launch
from ..driver.directory import default_name, run_directory
from ..ranks import context
from . import record, search
from . import space as spaces
from .loop import Call, Driver
from .record import Record, Settings
from .space import RANKS, Space
from .view import Sweep

PACKAGES: Final = ("optuna", "pandas", "pyarrow", "matplotlib")


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
    _check_words(method, metric, direction)
    parsed = spaces.parse(space)
    for name, value, least in (
        ("ranks", ranks, 1),
        ("seed", seed, 0),
        ("max_restarts", max_restarts, 0),
    ):
        launch.at_least(name, value, least)
    count = _count(trials, method, parsed)
    passed = _passed(function, parsed, kwargs)
    _need_packages()
    pruner = search.pruner(prune)
    settings = Settings(
        default_name(function),
        parsed,
        method,
        count,
        metric,
        direction,
        None if pruner is None else type(pruner).__name__,
        int(seed),
        search.fixed(kwargs),
        _checked_target(target),
    )
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
    call = Call(function, kwargs, passed, options, _key(parsed, ranks, site.ranks), int(ranks))
    where = run_directory(out, f"sweep-{settings.name}")
    _run(where, settings, pruner, call, site.ranks, retry_failed, progress)
    made = Sweep(where)
    made.write()
    return made


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
    _need_packages()
    return Sweep(out, target=_checked_target(target)).write()


def _run(
    where: Path,
    settings: Settings,
    pruner: Any,
    call: Call,
    workers: int,
    retry_failed: bool,
    progress: bool | None,
) -> None:
    shown = sys.stderr.isatty() if progress is None else progress

    def say(text: str) -> None:
        if shown:
            print(text, file=sys.stderr)

    with Record(where) as kept:
        if (where / record.SETTINGS).exists():
            record.check_same(where, record.load(where), settings)
        record.save(where, settings)
        asked = search.Search(settings, pruner)
        Driver(kept, settings, asked, call, workers, say, retry_failed).run()


def _check_words(method: Any, metric: Any, direction: Any) -> None:
    for name, value, words in (
        ("method", method, search.METHODS),
        ("direction", direction, search.DIRECTIONS),
    ):
        if value not in words:
            raise ParameterError(f"{name}={value!r}: give {' or '.join(map(repr, words))}")
    if not isinstance(metric, str) or not metric:
        raise ParameterError(f"metric={metric!r}: give a name that the function reports")


def _checked_target(target: Any) -> float | None:
    if target is None:
        return None
    if isinstance(target, bool) or not isinstance(target, Real) or not math.isfinite(target):
        raise ParameterError(f"target={target!r}: give a finite value of the metric, or None")
    return float(target)


def _count(trials: Any, method: str, space: Space) -> int:
    """How many trials there will be."""
    if method == "grid":
        if trials is not None:
            raise ParameterError(
                f"trials={trials!r}: a grid has as many trials as combinations; give "
                "method='random' or 'tpe' for another number"
            )
        return sum(1 for _ in spaces.grid(space))
    if trials is None:
        raise ParameterError(f"method={method!r} needs to know how many: give trials=")
    launch.at_least("trials", trials, 1)
    if trials > spaces.MOST_TRIALS:
        raise ParameterError(f"trials={trials}: a sweep has at most {spaces.MOST_TRIALS} trials")
    return int(trials)


def _passed(function: Any, space: Space, fixed: Mapping[str, Any]) -> frozenset[str]:
    """The names of the space that are arguments; `ParameterError` where they do not fit."""
    for name in space:
        if name in launch.OWN and name not in RANKS:
            raise ParameterError(
                f"{name!r} is an option of train.run, which a sweep cannot vary; rename the "
                "parameter of the function"
            )
        if name in fixed:
            raise ParameterError(f"{name!r} is in the space, and given as a fixed argument too")
    spaces.ranks_key(space)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return frozenset(space) - set(RANKS)
    _check_own(function, signature, space)
    taken = frozenset(k for k in space if k not in RANKS or k in signature.parameters)
    try:
        signature.bind(**dict.fromkeys([*taken, *fixed]))
    except TypeError as err:
        raise ParameterError(
            f"the function cannot be called with {', '.join([*taken, *fixed])}: {err}; its "
            f"parameters are {signature}"
        ) from None
    return taken


def _check_own(function: Any, signature: inspect.Signature, space: Space) -> None:
    """`ParameterError` where an argument could be meant for the function or for the sweep."""
    options = inspect.signature(sweep).parameters.values()
    own = {p.name for p in options if p.kind is p.KEYWORD_ONLY} - set(launch.OWN) - set(space)
    bound = function.keywords if isinstance(function, functools.partial) else {}
    for name in signature.parameters:
        if name in own and name not in bound:
            raise ParameterError(
                f"{name!r} is a parameter of the function and an option of train.sweep; bind it "
                f"with functools.partial(function, {name}=...), or put it into the space"
            )


def _key(space: Space, ranks: int, workers: int) -> str | None:
    """The key that says how many ranks a trial has, all of them numbers that can run."""
    key = spaces.ranks_key(space)
    if key is not None:
        spaces.check_ranks(space, key, workers)
    elif ranks > workers:
        raise ParameterError(f"ranks={ranks}, and there are {workers} workers, one for each rank")
    return key


def _need_packages() -> None:
    """`ParameterError` unless what a sweep needs at its end is there at its start."""
    for name in PACKAGES:
        try:
            importlib.import_module(name)
        except ImportError as err:
            raise ParameterError(
                f"a sweep needs {name}, which cannot be imported ({err}); "
                "pip install speedcube[sweep]"
            ) from err
