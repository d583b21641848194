"""What a row is: a text that NumPy, Dask, CuPy and speedcube all run, its data, and its floor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

Shape = tuple[int, ...]

# Where a row runs, and beside what: ours on the rung, and the library of the same text.
COLUMNS: Final[dict[str, tuple[str, str]]] = {
    "core": ("core", "numpy"),
    "cores": ("cores:2", "dask"),
    "gpu": ("gpu", "cupy"),
}
ON_CPU: Final = ("core", "cores")

# The shapes by name: on CPUs, where NumPy takes 0.1 to 50 ms, and on a GPU.
SHAPES: Final[dict[str, tuple[Shape, Shape]]] = {
    "square": ((2000, 2000), (20_000, 20_000)),
    "million": ((1000, 1000), (10_000, 10_000)),
    "odd": ((1999, 1501), (19_999, 15_001)),
    "line": ((10_000_000,), (1_000_000_000,)),
    "tall": ((1_000_000, 8), (10_000_000, 8)),
    "points": ((1_000_000, 3), (10_000_000, 3)),
    "flat": ((8, 1_000_000), (8, 10_000_000)),
    "few": ((5, 400_000), (5, 40_000_000)),
    "steps": ((100, 100_000), (1000, 1_000_000)),
    "short": ((100_000, 50), (10_000_000, 50)),
    "cached": ((300, 1024), (300, 1024)),
    "grid": ((24, 65_160), (3650, 65_160)),
    "climate": ((240, 100, 200), (2400, 180, 360)),
    "weeks": ((20, 300, 600), (200, 721, 1440)),
    "image": ((2160, 3840, 3), (8640, 15_360, 3)),
    "thousand": ((1000,), (1000,)),
    "sheet": ((10, 100), (10, 100)),
}

# How stored data lie in memory.
LAYOUTS: Final = ("plain", "transposed", "strided", "reversed")

FLOOR: Final = 0.8
EXACT: Final = 0.7  # an exact sum of floats on a CPU
EXACT_SMALL: Final = 0.5  # of float32 in cache, where NumPy adds in float32, or of few terms
FEW_TERMS: Final = 16
IN_CACHE: Final = 16 << 20  # bytes
NOISE: Final = 0.9  # what two runs of the same thing on a shared machine may differ by


@dataclass(frozen=True)
class Row:
    """``text`` is Python: ``np`` is the library, ``x`` and ``y`` are arrays of ``shape``.

    ``i`` are places along the first axis, ``j`` along the last, ``n`` is the first length.
    """

    group: str
    text: str
    shape: str
    dtype: str = "float64"
    layout: str = "plain"
    values: str = "normal"
    stored: bool = True
    terms: int = 0  # of each exact sum of floats; 0: there is none
    as_today: bool = False  # an elementary function whose bits would have to change

    @property
    def name(self) -> str:
        """Unique in the table, and kept: the baseline is looked up by it."""
        extra = [self.layout] * (self.layout != "plain") + [self.values] * (self.values != "normal")
        return f"{self.text} | {' '.join([self.shape, self.dtype, *extra])}"

    @property
    def nbytes(self) -> int:
        """What a CPU reads of ``x``."""
        return math.prod(SHAPES[self.shape][0]) * np.dtype(self.dtype).itemsize


def floor(row: Row, column: str, today: float | None) -> float:
    """The least ratio that ``row`` may have in ``column``; ``today``: what it had at first."""
    least = FLOOR
    if row.terms and column in ON_CPU:
        small = row.dtype == "float32" and row.nbytes <= IN_CACHE
        least = EXACT_SMALL if small or row.terms < FEW_TERMS else EXACT
    if row.as_today and today is not None:
        least = min(least, NOISE * today)
    return least


def terms(shape: str, axis: int | Shape | None) -> int:
    """How many elements go into one result of a reduction on a CPU."""
    lengths = SHAPES[shape][0]
    axes = range(len(lengths)) if axis is None else (axis,) if isinstance(axis, int) else axis
    return math.prod(lengths[k] for k in axes)
