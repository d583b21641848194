"""The command ``speedcube ladder``: check every option, climb, print, write, and the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import field
from typing import Final

from rich.console import Console

from ...dataclass import dataclass
from ...engine.rungs import Rung
from ...errors import SpeedcubeError
from ...exit_codes import BAD_USE, BROKEN_PIPE, DONE, FAILED, INTERRUPTED
from .. import options, terminal
from .climb import LadderResult, finished
from .dask_time import BUDGET, time_dask
from .measure import measure, timed_runs
from .presets import Experiment, experiment
from .progress import Estimate, waiting
from .result import RungResult
from .table import UNLIMITED, show

_DASK_GUESS: Final = BUDGET + 1  # seconds; until its rate has been tried


@dataclass(frozen=True)
class LadderRequest:
    """A climb whose every option has been checked."""

    chosen: Experiment
    rungs: list[Rung]
    repeat: int | None
    dask: bool
    json: str | None
    plot: str | None
    prices: options.Prices


@dataclass
class Unfinished:
    """What is known so far: it grows while climbing, so that Ctrl-C loses nothing."""

    rungs: list[RungResult] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def checked(
    preset: str,
    shape: str | None,
    op: str | None,
    dtype: str,
    on: str | None,
    repeat: int | None,
    dask: bool,
    json: str | None,
    plot: str | None,
    price: str | None,
) -> LadderRequest:
    """The request that the options make; a `SpeedcubeError` where one of them is wrong."""
    chosen = experiment(preset, shape, op, dtype)
    chosen.ours()
    options.check_repeat(repeat, "--repeat")
    prices = options.prices(price)
    if json is not None:
        terminal.check_output("--json", json)
    if plot is not None:
        terminal.check_picture("--plot", plot)
    names = options.every_rung() if on is None else options.rung_names(on)
    return LadderRequest(chosen, options.rungs_of(names), repeat, dask, json, plot, prices)


def run(request: LadderRequest) -> int:
    """Climb; write and print what was found; the exit code."""
    so_far, interrupted = Unfinished(), False
    try:
        climb(request, so_far, Console(stderr=True))
    except KeyboardInterrupt:
        interrupted = True
    result = _result(request, so_far)
    written = _written(request.json, result.to_json)

    def say() -> None:
        report(result)
        if interrupted:
            print(f"Interrupted: {len(so_far.rungs)} of {len(request.rungs)} rungs finished.")

    read = terminal.printed(say)
    if result.rungs:
        written = _written(request.plot, result.plot) and written
    if interrupted:
        return INTERRUPTED
    if not result.equal_bits or len(so_far.rungs) < len(request.rungs):
        return FAILED
    if not written:
        return BAD_USE
    return DONE if read else BROKEN_PIPE


def _result(request: LadderRequest, so_far: Unfinished) -> LadderResult:
    chosen = request.chosen
    return finished(
        so_far.rungs,
        chosen.text,
        chosen.needed,
        chosen.logical,
        chosen.expected(),
        request.prices,
        so_far.problems,
    )


def report(result: LadderResult) -> None:
    """Print ``result``: fitted to a terminal; in lines as long as they are where it is piped."""
    piped = not sys.stdout.isatty() and not os.environ.get("COLUMNS")
    show(result, terminal.screen(width=UNLIMITED if piped else None))


def _written(path: str | None, write: Callable[[str], object]) -> bool:
    """Write ``path`` if it was asked for; whether that worked."""
    try:
        if path is not None:
            write(path)
    except Exception as err:
        terminal.complain(
            "ladder", f"{path!r} could not be written: {_words(err)}; what is printed is complete"
        )
        return False
    return True


def climb(request: LadderRequest, so_far: Unfinished, console: Console) -> None:
    """Climb every rung of ``request``; one that fails is a problem, not the end."""
    estimate = Estimate(request.chosen)
    for rung in request.rungs:
        try:
            so_far.rungs.append(_rung(request, rung, estimate.seconds(rung), console))
        except Exception as err:
            so_far.problems.append(f"{rung.name} failed: {_words(err)}")
            continue
        if request.dask:
            _beside_dask(request, rung, so_far, console)


def _words(err: Exception) -> str:
    return str(err) if isinstance(err, SpeedcubeError) else f"{type(err).__name__}: {err}"


def _rung(request: LadderRequest, rung: Rung, guess: float, console: Console) -> RungResult:
    seconds = guess * (1 + timed_runs(request.repeat, guess))
    with waiting(console, rung.name, seconds) as tell:
        return measure(request.chosen.ours(), rung, request.repeat, tell)


def _beside_dask(request: LadderRequest, rung: Rung, so_far: Unfinished, console: Console) -> None:
    """Time plain Dask on the rung just climbed."""
    with waiting(console, f"{rung.name}: plain Dask", _DASK_GUESS) as tell:
        try:
            dask = time_dask(request.chosen, rung, tell)
        except Exception as err:
            so_far.problems.append(f"{rung.name}: plain Dask failed: {_words(err)}")
            return
    so_far.rungs[-1] = so_far.rungs[-1].with_dask(dask)
