"""From the rows of a trial's run to its curve, and to the time its ranks were at work."""

from __future__ import annotations

import itertools
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..metrics.rows import Row, Scalar

NEW: Final = ("start", "restart")  # events after which ranks begin anew, or from a checkpoint


@dataclass(frozen=True)
class Point:
    """A row of rank 0 that counts: work that was lost in a kill is not in it."""

    step: int
    seconds: float  # of training up to here, restarts and what they repeat left out
    metrics: dict[str, Scalar]


def points(rows: Iterable[Row]) -> list[Point]:
    """The points of a run, restarts joined where their checkpoints were."""
    found: list[Point] = []
    before, fresh = 0.0, True  # seconds of earlier attempts; whether a new one begins
    for row in rows:
        if row.get("event") in NEW:
            fresh = True
        if "event" in row or row["rank"] != 0:
            continue
        point = Point(row["step"], row["seconds"], row["metrics"])
        if fresh:
            while found and found[-1].step >= point.step:
                found.pop()
            before, fresh = found[-1].seconds if found else 0.0, False
        found.append(replace(point, seconds=point.seconds + before))
    return found


def number(value: Scalar) -> float | None:
    """``value`` as a number, or None where it is none."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def series(found: Sequence[Point], metric: str) -> list[tuple[Point, float]]:
    """The points that have ``metric``, with its value."""
    values = ((point, number(point.metrics.get(metric))) for point in found)
    return [(point, value) for point, value in values if value is not None]


def busy_seconds(rows: Iterable[Row]) -> float:
    """Seconds from each rank's first step to its last, summed over ranks and attempts.

    The first step begins before its report: by the median of the later steps, though not before
    the function's first line. What a rank does before that (importing, reading data) is not busy.
    """
    attempts: defaultdict[tuple[int, int], list[Row]] = defaultdict(list)
    begun = 0
    for row in rows:
        if "event" in row:
            begun += row["event"] in NEW
        else:
            attempts[begun, row["rank"]].append(row)
    return sum(_span(steps) for steps in attempts.values())


def _span(steps: Sequence[Row]) -> float:
    times = [row["time"] for row in steps]
    later = [after - before for before, after in itertools.pairwise(times)]
    first: float = steps[0]["seconds"]
    return float(times[-1] - times[0] + (min(first, statistics.median(later)) if later else first))
