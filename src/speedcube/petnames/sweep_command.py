"""The command ``speedcube petnames sweep``: many trainings, and their page."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from .. import train
from ..commands import terminal
from ..commands.terminal import complain
from ..errors import ParameterError, SpeedcubeError
from ..exit_codes import BAD_USE, BROKEN_PIPE, DONE, FAILED, INTERRUPTED
from . import options
from .names import data, source
from .train_command import new_directory
from .train_function import Hyperparameters, fit

METRIC = "validation_loss"


@dataclass(frozen=True)
class Request:
    """What was asked for: the space, the data, and the other arguments of `train.sweep`."""

    space: dict[str, list[float] | list[int]]
    names: source.Source
    epochs: int
    seed: int
    out: Path
    options: dict[str, Any]


def trial(
    *,
    lr: float,
    batch: int,
    epochs: int,
    seed: int,
    sha256: str,  # of the data: an interrupted sweep goes on with the same
    training: list[str],
    held_out: list[str],
) -> None:
    """One training of a sweep; its weights stay in its checkpoints."""
    fit(Hyperparameters(epochs, batch, False, lr, seed), training, held_out)


def checked(
    on: str | None,
    asked: str | None,
    epochs: int,
    batch: str,
    lr: str,
    ranks: str,
    method: str,
    trials: int | None,
    prune: str | None,
    target: float | None,
    seed: int,
    out: str | None,
    retry_failed: bool,
) -> Request:
    """The request that the options make; a `SpeedcubeError` where one of them is wrong."""
    options.check_packages()
    options.check_on(on)
    options.check_count("--epochs", epochs, 100_000)
    options.check_seed(seed)
    rates = options.numbers("--lr", lr, float)
    for rate in rates:
        options.check_positive("--lr", rate, 1)
    sizes = {"--batch": options.numbers("--batch", batch, int)}
    sizes["--ranks"] = options.numbers("--ranks", ranks, int)
    for option, values in sizes.items():
        for value in values:
            options.check_count(option, value, 1 << 24)
    where = new_directory("sweep-") if out is None else Path(out)
    options.check_directory("--out", where)
    names = source.load(asked, lambda line: complain("petnames sweep", line))
    space: dict[str, Any] = {"lr": rates, "batch": sizes["--batch"], "ranks": sizes["--ranks"]}
    told = {"on": on, "method": method, "trials": trials, "prune": prune, "target": target}
    told["retry_failed"] = retry_failed
    return Request(space, names, epochs, seed, where, told)


def run(request: Request) -> int:
    """Run the sweep, and say what came of it; the exit code."""
    training, held_out = data.split(request.names.names)
    try:
        found = train.sweep(
            partial(trial, seed=request.seed),
            request.space,
            metric=METRIC,
            seed=request.seed,
            out=request.out,
            progress=True,
            stop_on_nan=True,
            **request.options,
            epochs=request.epochs,
            sha256=request.names.sha256,
            training=training,
            held_out=held_out,
        )
    except KeyboardInterrupt:
        print(f"The same command with --out {request.out} continues.", file=sys.stderr)
        return INTERRUPTED
    except ParameterError as err:
        complain("petnames sweep", err)
        return BAD_USE
    except SpeedcubeError as err:
        complain("petnames sweep", err)
        return FAILED
    told = terminal.printed(lambda: print(verdict(found)))
    return _code(found) if told else BROKEN_PIPE


def verdict(found: train.Sweep) -> str:
    """What came of a sweep, and where its page is."""
    best = found.best
    told = "No trial has finished"
    if best is not None:
        settings = ", ".join(f"{name} {value}" for name, value in best.params.items())
        told = f"Best: validation loss {best.value:.4f} a character with {settings}"
    return f"{told}. {len(found.results())} trials in {found.out / 'report.html'}"


def _code(found: train.Sweep) -> int:
    return FAILED if found.best is None else DONE
