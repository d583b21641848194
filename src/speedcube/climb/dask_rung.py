"""Plain Dask on the rung just climbed: NumPy chunks on cores, CuPy chunks on GPUs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Final

from ..engine import machine
from .presets import PUBLISHED_CHUNK, Experiment

BUDGET: Final = 8.0  # seconds; a longer run is replaced by a smaller shape and scaled
_CALIBRATION: Final = 2e6  # needed elements of the run that predicts


@dataclass(frozen=True)
class DaskTime:
    """Seconds for the whole experiment; ``scaled`` is the fraction that was really run (1: all)."""

    seconds: float
    scaled: float
    shape: tuple[int, ...]
    chunk: int


def chunk_for(experiment: Experiment, threads: int) -> int:
    """The published chunk where a quarter of free memory per thread holds one, else smaller."""
    room = machine.free_memory() / 4 / threads
    chunk = PUBLISHED_CHUNK
    while chunk > 500 and 8.0 * chunk ** len(experiment.shape) > room:
        chunk //= 2
    return chunk


def time_dask(experiment: Experiment, rung: str, workers: int) -> DaskTime:
    """Plain Dask's seconds for ``experiment`` on ``rung``, scaled up where that takes minutes."""
    chunk = chunk_for(experiment, workers)
    small = experiment.smaller(min(_CALIBRATION * workers, experiment.needed))
    rate = _run(small, rung, workers, min(chunk, 1000)) / small.needed
    fits = BUDGET / max(rate, 1e-12)
    chosen = experiment if fits >= experiment.needed else experiment.smaller(fits)
    # A shape of less than two chunks a worker would leave workers idle.
    while chunk > 500 and min(chosen.shape) < 2 * chunk:
        chunk //= 2
    seconds = _run(chosen, rung, workers, chunk)
    fraction = chosen.needed / experiment.needed
    return DaskTime(seconds / fraction, fraction, chosen.shape, chunk)


def _run(experiment: Experiment, rung: str, workers: int, chunk: int) -> float:
    collection = experiment.with_dask(_random_state(rung), chunk)
    options: dict[str, Any] = {"scheduler": "threads", "num_workers": workers}
    if workers == 1:
        options = {"scheduler": "single-threaded"}
    start = time.perf_counter()
    collection.compute(**options)
    return time.perf_counter() - start


def _random_state(rung: str) -> Any:
    import dask.array

    if not rung.startswith("gpu"):
        return dask.array.random.RandomState(0)
    import cupy

    return dask.array.random.RandomState(0, RandomState=cupy.random.RandomState)
