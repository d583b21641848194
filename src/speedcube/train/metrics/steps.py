"""Rows of several ranks, put together by step."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeAlias

from .rows import Row

Ranks: TypeAlias = dict[int, Row]  # what each rank reported at one step, in rank order

_MOST: Final = 64  # steps that wait


class StepCollector:
    """Gives each step once, in rising order, when the ranks that report have reported it.

    Which ranks report is learned: all are waited for at first; those that missed a step are not
    waited for again until they report. After a restart all that starts over.

    Parameters
    ----------
    ranks
        How many there are.
    wait
        Seconds that a step waits for ranks that may not report at all.
    clock
        Seconds.
    """

    def __init__(
        self, ranks: int, wait: float = 10.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ranks = range(ranks)
        self._expected = set(self._ranks)
        self._wait, self._clock = wait, clock
        self._attempt = 0
        self._closed = 0  # the last step that was given
        self._open: dict[int, tuple[float, Ranks]] = {}  # step: when it was first reported, by whom

    def add(self, row: Row) -> list[Ranks]:
        """Take a row; return the steps that it completes."""
        if row["attempt"] != self._attempt:  # it reports again what still waits
            self._open.clear()
            self._attempt, self._closed, self._expected = row["attempt"], 0, set(self._ranks)
        if row["step"] <= self._closed:  # too late for its step, but this rank reports
            self._expected.add(row["rank"])
            return []
        _, ranks = self._open.setdefault(row["step"], (self._clock(), {}))
        ranks[row["rank"]] = row
        done = []
        while self._open and self._due(min(self._open)):
            done.append(self._close(min(self._open)))
        return done

    def rest(self) -> list[Ranks]:
        """Return the steps that still wait."""
        return [self._close(step) for step in sorted(self._open)]

    def _due(self, step: int) -> bool:
        since, ranks = self._open[step]
        return (
            self._expected <= ranks.keys()
            or len(self._open) > _MOST
            or self._clock() - since > self._wait
        )

    def _close(self, step: int) -> Ranks:
        _, ranks = self._open.pop(step)
        self._expected, self._closed = set(ranks), step
        return dict(sorted(ranks.items()))


def merged(ranks: Ranks) -> Row:
    """Return the lowest rank's row with what other ranks have otherwise, as ``name/rank3``."""
    first, *others = ranks.values()
    metrics = dict(first["metrics"])
    for row in others:
        for name, value in row["metrics"].items():
            if name not in first["metrics"] or not _same(value, first["metrics"][name]):
                metrics[f"{name}/rank{row['rank']}"] = value
    return {**first, "metrics": metrics}


def _same(left: object, right: object) -> bool:
    return left == right or (left != left and right != right)  # two NaN are the same
