"""How long a rung will take, and a bar that shows it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn

from ...engine import rungs
from ...engine.rungs import Rung
from ...numbers import seconds_text
from .presets import Experiment

LONG: Final = 20.0  # seconds; a longer wait is announced where no bar can be drawn
_SHORT: Final = 2.0  # seconds; a shorter wait needs no bar
_TRIAL: Final = 4e6  # needed elements of the trial run

Tell = Callable[[float], None]


class Estimate:
    """Predicts seconds of a run; the rate of one core is tried once, when first needed."""

    def __init__(self, chosen: Experiment) -> None:
        self.chosen = chosen
        self._core: float | None = None

    def seconds(self, rung: Rung) -> float:
        """One run on ``rung``."""
        kind = "gpu" if "gpu" in rung.kind or "cuda" in rung.kind else "core"
        guess = rungs.predicted_seconds(self.chosen.needed, kind)
        if kind == "core" and guess > 1:
            guess = self._core = self._core or self._tried()
        return guess / max(1, rung.workers)

    def _tried(self) -> float:
        # Another operation, so that the first timed run still meets a kernel it has to compile.
        small = self.chosen.smaller(_TRIAL)
        other = Experiment("trial", small.shape, "min" if small.op == "max" else "max", small.dtype)
        array = other.ours()
        times = []
        for _ in range(3):
            start = time.perf_counter()
            array.compute(on="core")
            times.append(time.perf_counter() - start)
        return min(times) * self.chosen.needed / small.needed


class _Clock(Progress):
    """A bar that fills with time: a computation gives no word of how far it is."""

    def get_renderables(self) -> Iterable[RenderableType]:
        for task in self.tasks:
            total, elapsed = task.total or 0.0, task.elapsed or 0.0
            task.completed = min(elapsed, 0.99 * total)
            task.fields["clock"] = f"{elapsed:.0f} s of about {seconds_text(total, 2)}"
        yield from super().get_renderables()


@contextmanager
def waiting(console: Console, label: str, seconds: float) -> Iterator[Tell]:
    """A bar for about ``seconds``; gives a function that corrects the total.

    Where ``console`` is no terminal nothing is drawn, but a long wait is announced in a line.
    """
    if seconds < _SHORT or not console.is_terminal:
        if seconds >= LONG:
            console.print(f"{label}: about {seconds_text(seconds, 2)}", highlight=False)
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[clock]}"))
    with _Clock(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=seconds, clock="")
        yield lambda total: bar.update(task, total=total)
