"""The command ``speedcube petnames sweep``: many trainings, and their page."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from .. import train
from ..commands import terminal
from ..commands.terminal import complain
from ..dataclass import dataclass
from ..errors import ParameterError, SpeedcubeError
from ..exit_codes import BAD_USE, BROKEN_PIPE, DONE, FAILED, INTERRUPTED
from . import options
from .names import data, source
from .train_command import new_directory
from .train_function import Hyperparameters, fit

METRIC = "validation_loss"


@dataclass(frozen=True)
class SweepOptions:
    """The options of one call: the space, the data, and the other arguments of `train.sweep`."""

    space: dict[str, list[float] | list[int]]
    names: source.CleanNames
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
) -> SweepOptions:
    """The options of one call; a `SpeedcubeError` where one of them is wrong."""
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
    rest = {"on": on, "method": method, "trials": trials, "prune": prune, "target": target}
    rest["retry_failed"] = retry_failed
    return SweepOptions(space, names, epochs, seed, where, rest)


def run(chosen: SweepOptions) -> int:
    """Run the sweep, and say what came of it; the exit code."""
    training, held_out = data.split(chosen.names.names)
    try:
        done = train.sweep(
            partial(trial, seed=chosen.seed),
            chosen.space,
            metric=METRIC,
            seed=chosen.seed,
            out=chosen.out,
            progress=True,
            stop_on_nan=True,
            **chosen.options,
            epochs=chosen.epochs,
            sha256=chosen.names.sha256,
            training=training,
            held_out=held_out,
        )
    except KeyboardInterrupt:
        terminal.tell(f"Interrupted; the same command with --out {chosen.out} continues.")
        return INTERRUPTED
    except ParameterError as err:
        complain("petnames sweep", err)
        return BAD_USE
    except SpeedcubeError as err:
        complain("petnames sweep", err)
        return FAILED
    was_read = terminal.printed(lambda: terminal.say(verdict(done)))
    return _code(done) if was_read else BROKEN_PIPE


def verdict(sweep: train.Sweep) -> str:
    """What came of a sweep, and where its page is."""
    best = sweep.best
    text = "No trial has finished"
    if best is not None:
        settings = ", ".join(f"{name} {value}" for name, value in best.params.items())
        text = f"Best: validation loss {best.value:.4f} a character with {settings}"
    return f"{text}. {len(sweep.results())} trials in {sweep.out / 'report.html'}"


def _code(sweep: train.Sweep) -> int:
    return FAILED if sweep.best is None else DONE
