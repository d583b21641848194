"""The command ``speedcube petnames report``: the page and the figures of a sweep or a training."""

from __future__ import annotations

import math
from pathlib import Path

from ..commands import terminal
from ..commands.terminal import complain
from ..errors import ParameterError, SpeedcubeError
from ..exit_codes import BAD_USE, BROKEN_PIPE, DONE
from ..train import Sweep
from . import card, options, sweep_command
from .training_report import PLAN, Training


def run(out: str | None, target: float | None, curves: str | None, times: str | None) -> int:
    """Write the page anew, and the figures that are asked for; the exit code."""
    try:
        summary = written(newest() if out is None else Path(out), target, curves, times)
    except SpeedcubeError as err:
        complain("petnames report", err)
        return BAD_USE
    except OSError as err:
        complain("petnames report", f"nothing can be written: {err}")
        return BAD_USE
    return DONE if terminal.printed(lambda: terminal.say(summary)) else BROKEN_PIPE


def written(where: Path, target: float | None, curves: str | None, times: str | None) -> str:
    """Write everything; what came of the sweep or the training, and where its page is."""
    _check(target, curves, times)
    if (where / card.SWEEP).is_file():
        options.check_packages(options.SWEEP_PACKAGES, "sweep")
        sweep = Sweep(where, target=target)
        sweep.write()
        if curves is not None:
            sweep.curves(curves)
        if times is not None:
            sweep.target_times(times)
        return sweep_command.verdict(sweep)
    if times is not None:
        raise ParameterError(f"--target-times draws sweeps, and {str(where)!r} holds none")
    training = Training.read(where, target)
    if curves is not None:
        training.curves(curves)
    page = training.write()
    return f"{training.summary()} The page is {page}"


def _check(target: float | None, curves: str | None, times: str | None) -> None:
    if target is not None and not math.isfinite(target):
        raise ParameterError(f"--target {target}: give a finite validation loss")
    terminal.check_matplotlib("the report")
    for option, path in (("--curves", curves), ("--target-times", times)):
        if path is not None:
            terminal.check_picture(option, path)


def newest(runs: Path = card.RUNS) -> Path:
    """The directory below ``runs`` whose sweep or training was the last to start."""
    marks = [
        path for kind in (card.SWEEP, PLAN) for path in runs.glob(f"*/{kind}") if path.is_file()
    ]
    if not marks:
        raise ParameterError(
            f"there is no training and no sweep below ./{runs}; run speedcube petnames train or "
            "sweep first, or name a directory with --out"
        )
    return max(marks, key=lambda path: (path.stat().st_mtime_ns, path)).parent
