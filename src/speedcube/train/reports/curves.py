"""From the rows of a run to its curves, and to the time its ranks were at work."""

from __future__ import annotations

import itertools
import os
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from ...dataclass import dataclass
from ..metrics.checked import check_row
from ..metrics.rows import Row, Scalar, read_rows

NEW: Final = ("start", "restart")  # events after which ranks begin anew, or from a checkpoint


@dataclass(frozen=True)
class Point:
    """A row of rank 0 that counts: work that was lost in a kill is not in it."""

    step: int
    seconds: float  # of training up to here, restarts and what they repeat left out
    metrics: dict[str, Scalar]


# The points that have a metric, with its value.
Series: TypeAlias = Sequence[tuple[Point, float]]


def read_run(out: str | os.PathLike[str]) -> list[Row]:
    """What the run in the directory ``out`` has written so far; nothing where there is no run.

    Raises
    ------
    DataFileError
        A line of its metrics.jsonl that is no row, or another thing of that name.
    """
    path = Path(out) / "metrics.jsonl"
    return read_rows(path, check_row) if os.path.lexists(path) else []


def points(rows: Iterable[Row]) -> list[Point]:
    """The points of a run, restarts joined where their checkpoints were."""
    joined: list[Point] = []
    before, fresh = 0.0, True  # seconds of earlier attempts; whether a new one begins
    for row in rows:
        if row.get("event") in NEW:
            fresh = True
        if "event" in row or row["rank"] != 0:
            continue
        point = Point(row["step"], row["seconds"], row["metrics"])
        if fresh:
            while joined and joined[-1].step >= point.step:
                joined.pop()
            before, fresh = joined[-1].seconds if joined else 0.0, False
        joined.append(replace(point, seconds=point.seconds + before))
    return joined


def number(value: Scalar) -> float | None:
    """``value`` as a number, or None where it is none."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def series(points: Iterable[Point], metric: str) -> list[tuple[Point, float]]:
    """The points that have ``metric``, with its value."""
    values = ((point, number(point.metrics.get(metric))) for point in points)
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
