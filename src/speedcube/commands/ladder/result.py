"""What a climb found: a result for each rung, and whether all have the same bits."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

from ...dataclass import dataclass
from .dask_time import DaskTime


@dataclass(frozen=True)
class RungResult:
    """One rung climbed.

    ``seconds`` is the median of ``repeats``, the timed runs after the first. ``dask_scaled`` is
    the smaller shape that plain Dask ran, None where it ran the whole expression or did not run.
    ``error`` is the result minus the expected value; ``bits`` the hash of the result's bytes, or
    of every result where the runs did not agree, joined by ``+``. ``cost`` is in dollars.
    """

    rung: str
    workers: int
    seconds: float
    first_seconds: float
    repeats: tuple[float, ...]
    points_per_second: float
    bits: str
    value: float | None = None
    error: float | None = None
    over_core: float | None = None
    over_dask: float | None = None
    dask_seconds: float | None = None
    dask_scaled: tuple[int, ...] | None = None
    dask_chunks: tuple[int, ...] | None = None
    cost: float | None = None

    def with_dask(self, dask: DaskTime) -> RungResult:
        """The same rung beside plain Dask's time on it."""
        return replace(
            self,
            dask_seconds=dask.seconds,
            dask_scaled=dask.shape if dask.scaled else None,
            dask_chunks=dask.chunks,
            over_dask=dask.seconds / self.seconds,
        )


@dataclass(frozen=True)
class Climb:
    """What a climb found; ``equal_bits`` says whether every run on every rung gave the same bytes.

    ``needed`` counts the source elements that the result depends on, ``logical`` those of the
    sources as written (None where that is not known). ``expected`` is (value, one standard error).
    ``problems`` says what went wrong, a line for each rung.
    """

    expression: str
    needed: int
    logical: int | None
    rungs: tuple[RungResult, ...]
    expected: tuple[float, float] | None = None
    problems: tuple[str, ...] = ()
    machine: dict[str, Any] = field(default_factory=dict)

    @property
    def equal_bits(self) -> bool:
        bits = {r.bits for r in self.rungs}
        return len(bits) <= 1 and not any("+" in one for one in bits)
