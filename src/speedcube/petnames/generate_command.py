"""The command ``speedcube petnames generate``: check every option, load a model, print names."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.columns import Columns

from ..commands import terminal
from ..commands.terminal import complain
from ..exit_codes import BROKEN_PIPE, DONE, FAILED, INTERRUPTED
from . import card, options
from .sample import invent


@dataclass(frozen=True)
class Request:
    """What was asked for, every option checked and the model loaded."""

    model: card.Model
    count: int
    seed: int
    temperature: float
    start: str


def checked(model: str | None, count: int, seed: int, temperature: float, start: str) -> Request:
    """The request that the options make; a `SpeedcubeError` where one of them is wrong."""
    options.check_packages()
    options.check_count("--n", count, 100_000)
    options.check_seed(seed)
    options.check_positive("--temperature", temperature, 100)
    begin = options.start(start)
    found = card.load(card.newest() if model is None else Path(model))
    return Request(found, count, seed, temperature, begin)


def run(request: Request) -> int:
    """Invent and print; the exit code."""
    import torch

    torch.set_num_threads(1)  # the network is small, and its sums then have one order
    try:
        names = invent(
            request.model.network,
            request.model.known,
            request.count,
            request.seed,
            request.temperature,
            request.start,
        )
    except KeyboardInterrupt:
        return INTERRUPTED
    told = terminal.printed(lambda: show(names))
    if len(names) < request.count:
        complain(
            "petnames generate",
            f"only {len(names)} of {request.count} new names were found; raise --temperature, "
            "shorten --start, or ask for fewer",
        )
        return FAILED
    return DONE if told else BROKEN_PIPE


def show(names: Sequence[str]) -> None:
    """Print ``names``: in columns on a terminal, one a line elsewhere."""
    if sys.stdout.isatty():
        terminal.Screen(highlight=False).print(Columns(names, equal=True, column_first=True))
    else:
        print("\n".join(names))
