"""The command ``speedcube petnames train``: check every option, train, write model and card."""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

from .. import strict_json, train
from ..commands import terminal
from ..commands.terminal import complain
from ..dataclass import dataclass
from ..errors import ParameterError, SpeedcubeError
from ..exit_codes import BAD_USE, BROKEN_PIPE, DONE, FAILED, INTERRUPTED
from ..files import OWN_FILE, read_regular, write_whole
from ..numbers import seconds_text
from ..shown import line
from . import card, options
from .names import data, source
from .names.known import Known
from .train_function import Hyperparameters, fit
from .training_report import PLAN

BATCH: Final = 1024
_MOST_PLAN: Final = 1 << 20  # bytes of the file
_LEAST_STEPS: Final = 64  # an epoch of the sample would be four steps of the usual batch


@dataclass(frozen=True)
class TrainOptions:
    """The options of one call, every one checked."""

    on: str | None
    names: source.CleanNames
    hyperparameters: Hyperparameters
    out: Path

    def plan(self) -> dict[str, Any]:
        """What decides the weights, apart from how many ranks there are."""
        return {"data": self.names.sha256, "settings": asdict(self.hyperparameters)}


def checked(
    on: str | None,
    asked: str | None,
    epochs: int,
    batch: int | None,
    batch_per_rank: bool,
    lr: float,
    seed: int,
    out: str | None,
) -> TrainOptions:
    """The options of one call; a `SpeedcubeError` where one of them is wrong."""
    options.check_packages()
    options.check_on(on)
    options.check_count("--epochs", epochs, 100_000)
    if batch is not None:
        options.check_count("--batch", batch, 1 << 24)
    options.check_positive("--lr", lr, 1)
    options.check_seed(seed)
    where = new_directory() if out is None else Path(out)
    options.check_directory("--out", where)
    _check_vacant(where)
    names = source.load(asked, lambda line: complain("petnames train", line))
    rows = batch or _batch(names.names)
    chosen = TrainOptions(on, names, Hyperparameters(epochs, rows, batch_per_rank, lr, seed), where)
    _check_plan(chosen)
    return chosen


def new_directory(kind: str = "") -> Path:
    """A directory for a run that was given none."""
    return card.RUNS / f"{kind}{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"


def _batch(names: Sequence[str]) -> int:
    """The usual batch, or a smaller one where that would make only a few steps of an epoch."""
    rows = sum(len(name) + 1 for name in data.split(names)[0])
    return max(1, min(BATCH, rows // _LEAST_STEPS))


def _check_vacant(where: Path) -> None:
    """`ParameterError` unless ``where`` is empty or may hold a training to go on with."""
    holds = "a trained model" if (where / card.CARD).exists() else "no training to go on with"
    vacant = not where.exists() or not any(where.iterdir())
    if not vacant and ((where / card.CARD).exists() or not (where / PLAN).exists()):
        raise ParameterError(
            f"--out {str(where)!r} is not empty and holds {holds}; name another directory"
        )


def _check_plan(chosen: TrainOptions) -> None:
    """`ParameterError` where ``out`` holds another training than this one."""
    path = chosen.out / PLAN
    try:
        known = os.path.lexists(path)
        plan = strict_json.parse(read_regular(path, _MOST_PLAN)) if known else chosen.plan()
    except (OSError, ValueError):
        plan = None
    if plan != chosen.plan():
        raise ParameterError(
            f"--out {str(chosen.out)!r} holds an unfinished training with other settings or data; "
            "go on with the same ones, or name another directory"
        )


def run(chosen: TrainOptions) -> int:
    """Train, write, and say so; the exit code."""
    began = time.time()
    training, held_out = data.split(chosen.names.names)
    try:
        job = train.run(
            fit,
            chosen.hyperparameters,
            training,
            held_out,
            on=chosen.on,
            name="petnames",
            out=chosen.out,
            stop_on_nan=True,
            progress=sys.stderr.isatty(),  # a live table there; elsewhere the lines printed below
        )
    except SpeedcubeError as err:
        complain("petnames train", err)
        return BAD_USE
    try:
        write_whole(chosen.out / PLAN, json.dumps(chosen.plan()).encode(), mode=OWN_FILE)
        was_read = terminal.printed(lambda: terminal.say(_title(chosen, training, held_out)))
        for row in job:
            if not sys.stderr.isatty():
                show = partial(print, _line(row, chosen.hyperparameters.epochs))
                was_read = terminal.printed(show) and was_read
        results = job.results()
        facts = _facts(chosen, job.rows(), results, time.time() - began)
        card.save(chosen.out, results[0]["weights"], Known.of(chosen.names.names), facts)
    except KeyboardInterrupt:
        terminal.tell(f"Interrupted; the same command with --out {chosen.out} continues.")
        return INTERRUPTED
    except SpeedcubeError as err:
        complain("petnames train", err)
        return FAILED
    was_read = terminal.printed(lambda: terminal.say(_verdict(chosen, facts))) and was_read
    return DONE if was_read else BROKEN_PIPE


def _title(chosen: TrainOptions, training: Sequence[str], held_out: Sequence[str]) -> str:
    how = chosen.hyperparameters
    each = " a rank" if how.batch_per_rank else ""
    return (
        f"{len(training):,} names to train on, {len(held_out):,} held out, "
        f"from {line(chosen.names.origin)}; "
        f"{how.epochs} epochs, batches of {how.batch:,} rows{each}"
    )


def _line(row: Mapping[str, Any], epochs: int) -> str:
    metrics = row["metrics"]
    text = f"epoch {metrics['epoch']:.4g} of {epochs}   loss {metrics['loss']:.4f}"
    if "validation_loss" in metrics:
        text += f"   validation {metrics['validation_loss']:.4f}"
    return f"{text}   {seconds_text(row['seconds'])}"


def _facts(
    chosen: TrainOptions, rows: Sequence[Mapping[str, Any]], results: Sequence[Any], seconds: float
) -> dict[str, Any]:
    """What the card says of data, settings and losses."""
    names = chosen.names
    sides = data.split(names.names)
    ends = [
        row["metrics"] for row in rows if row["rank"] == 0 and "validation_loss" in row["metrics"]
    ]
    best = min(ends, key=lambda end: float(end["validation_loss"]))
    return {
        "data": {
            "origin": names.origin,
            "sha256": names.sha256,
            "names": len(names.names),
            "distinct": len(set(names.names)),
            "training_rows": sum(len(name) + 1 for name in sides[0]),
            "validation_rows": sum(len(name) + 1 for name in sides[1]),
        },
        "settings": {
            **asdict(chosen.hyperparameters),
            "ranks": len(results),
            "arithmetic": results[0]["arithmetic"],
        },
        "losses": {
            "training": ends[-1]["loss"],
            "validation": ends[-1]["validation_loss"],
            "best_validation": best["validation_loss"],
            "best_epoch": best["epoch"],
        },
        "seconds": round(seconds, 3),
    }


def _verdict(chosen: TrainOptions, facts: Mapping[str, Any]) -> str:
    return (
        f"Validation loss {facts['losses']['validation']:.4f} a character. Weights and card are in "
        f"{chosen.out}; names: speedcube petnames generate --model {chosen.out}"
    )
