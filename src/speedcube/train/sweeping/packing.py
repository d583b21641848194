"""Which trial starts next: the widest that fits into the workers that are free."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .space import Params


@dataclass(frozen=True)
class Trial:
    """One setting of the function's parameters, and how many ranks it gets."""

    number: int
    params: Params  # as in the space, with its "gpus" or "ranks"
    ranks: int


def order(trials: Iterable[Trial]) -> list[Trial]:
    """The trials in the order in which they should start: the widest first.

    Wide trials need most workers at one time; narrow ones fill what is left beside and after them.
    """
    return sorted(trials, key=lambda trial: (-trial.ranks, trial.number))


def fitting(waiting: list[Trial], free: int) -> Trial | None:
    """The first of ``waiting`` that ``free`` workers can run, or None."""
    return next((trial for trial in waiting if trial.ranks <= free), None)
