"""What is known of a computation on its way: points by what runs it, the total by its plan."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import field

import numpy as np

from ...dataclass import dataclass
from ...expr.nodes import Through
from ...numbers import bytes_text, count_text, duration_text
from ...plan.plan import Plan
from ..boxes import Stop


@dataclass(frozen=True)
class Total:
    """What a plan has to visit: points, their bytes, and whether each is visited once."""

    points: int
    bytes: int
    once: bool = True


NOTHING_KNOWN = Total(0, 0)


def total_of(plan: Plan) -> Total:
    """The points of ``plan``; what is sorted or handed to a library may be read several times."""
    visited = [one.visited for one in plan.passes]
    times = [max(2 * (one.visited.join == "carry"), len(one.within), 1) for one in plan.passes]
    points = [math.prod(v.root.shape) * n for v, n in zip(visited, times, strict=True)]
    sizes = [np.dtype(v.root.dtype).itemsize for v in visited]
    once = not any(isinstance(v.source, Through) for v in visited)
    return Total(sum(points), sum(p * s for p, s in zip(points, sizes, strict=True)), once)


@dataclass(eq=False)
class Told:
    """One computation: ``stop`` counts its points, ``tasks`` those done and all, on a cluster."""

    where: str
    stop: Stop = field(default_factory=Stop)
    total: Total = NOTHING_KNOWN
    tasks: Callable[[], tuple[int, int]] | None = None
    began: float = field(default_factory=time.monotonic)

    def text(self, now: float) -> str:
        """How far it is, in a line."""
        return f"speedcube on {self.where}: {', '.join(self._words(max(now - self.began, 1e-9)))}"

    def _words(self, seconds: float) -> list[str]:
        if self.tasks is not None:
            done, count = self.tasks()
            size = bytes_text(self.total.bytes)  # workers share it: when the next ends is not known
            return [f"{done:,} of {count:,} tasks of {size}", *_times(seconds, None)]
        done, total = self.stop.points, self.total
        if not done or not total.points:
            return _times(seconds, None)
        share = done / total.points
        rates = [
            f"{bytes_text(share * total.bytes / seconds)}/s",
            f"{count_text(done / seconds)} points/s",
        ]
        if not total.once or share > 1:
            return [*rates, *_times(seconds, None)]
        known = f"{int(share * 100)}% of {bytes_text(total.bytes)}"
        return [known, *rates, *_times(seconds, seconds / share - seconds)]


def _times(seconds: float, left: float | None) -> list[str]:
    if left is None:
        return [duration_text(seconds)]
    return [f"{duration_text(left)} left"]
