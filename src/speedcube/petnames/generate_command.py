"""The command ``speedcube petnames generate``: check every option, load a model, print names."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.columns import Columns

from ..commands import terminal
from ..commands.terminal import complain
from ..dataclass import dataclass
from ..exit_codes import BROKEN_PIPE, DONE, FAILED
from . import card, options
from .invent import invent


@dataclass(frozen=True)
class GenerateOptions:
    """The options of one call, every one checked and the model loaded."""

    model: card.Model
    count: int
    seed: int
    temperature: float
    start: str


def checked(
    model: str | None, count: int, seed: int, temperature: float, start: str
) -> GenerateOptions:
    """The options of one call; a `SpeedcubeError` where one of them is wrong."""
    options.check_packages()
    options.check_count("--n", count, 100_000)
    options.check_seed(seed)
    options.check_positive("--temperature", temperature, 100)
    begin = options.start(start)
    loaded = card.load(card.newest() if model is None else Path(model))
    return GenerateOptions(loaded, count, seed, temperature, begin)


def run(chosen: GenerateOptions) -> int:
    """Invent and print; the exit code."""
    import torch

    torch.set_num_threads(1)  # the network is small, and its sums then have one order
    names = invent(
        chosen.model.network,
        chosen.model.known,
        chosen.count,
        chosen.seed,
        chosen.temperature,
        chosen.start,
    )
    was_read = terminal.printed(lambda: show(names))
    if len(names) < chosen.count:
        complain(
            "petnames generate",
            f"only {len(names)} of {chosen.count} new names were found; raise --temperature, "
            "shorten --start, or ask for fewer",
        )
        return FAILED
    return DONE if was_read else BROKEN_PIPE


def show(names: Sequence[str]) -> None:
    """Print ``names``: in columns on a terminal, one a line elsewhere."""
    if sys.stdout.isatty():
        terminal.screen(highlight=False).print(Columns(names, equal=True, column_first=True))
    else:
        print("\n".join(names))
