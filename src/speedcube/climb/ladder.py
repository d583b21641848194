"""The ladder: one expression on every rung of the machine, timed, hashed, beside plain Dask."""

from __future__ import annotations

import hashlib
import json
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ..__about__ import __version__
from ..engine import machine, rungs
from ..kernel.native import targets
from .dask_rung import time_dask
from .plot import bars
from .presets import Experiment
from .table import render


@dataclass(frozen=True)
class Rung:
    """One rung climbed. Seconds are medians of ``repeats``; the first run is apart."""

    rung: str
    workers: int
    seconds: float
    first_seconds: float
    repeats: tuple[float, ...]
    points_per_second: float
    over_core: float | None
    over_dask: float | None
    dask_seconds: float | None
    dask_scaled: float | None
    error: float | None
    error_in_standard_errors: float | None
    bits: str
    value: float
    cost: float | None = None


@dataclass(frozen=True)
class LadderResult:
    """What a climb found; ``equal_bits`` says whether every rung gave the same bytes."""

    expression: str
    needed: int
    logical: int
    rungs: tuple[Rung, ...]
    machine: dict[str, Any] = field(default_factory=dict)

    @property
    def equal_bits(self) -> bool:
        return len({r.bits for r in self.rungs}) <= 1

    def table(self) -> str:
        """The rungs as text."""
        return render(self)

    def to_json(self, path: str | Path | None = None) -> str:
        """The result as JSON (schema 1), written to ``path`` if given."""
        document = {
            "schema": 1,
            "machine": self.machine,
            "expression": self.expression,
            "points_needed": self.needed,
            "points_logical": self.logical,
            "rungs": [asdict(r) for r in self.rungs],
            "equal_bits": self.equal_bits,
        }
        text = json.dumps(document, indent=1)
        if path is not None:
            Path(path).write_text(text + "\n")
        return text

    def plot(self, path: str | Path) -> None:
        """A bar picture of seconds on a log scale, PNG or SVG by the ending."""
        bars(self, path)


def this_machine() -> dict[str, Any]:
    """What a reader needs to know to place the numbers."""
    return {
        "processor": _processor(),
        "cores": machine.cores(),
        "simd": targets()[0],
        "gpus": machine.gpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "dask": version("dask"),
        "speedcube": __version__,
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


Prices = dict[str, float]


def measure(
    make: Callable[[], Any],
    rung: str,
    repeat: int,
    expected: tuple[float, float] | None,
    prices: Prices | None = None,
) -> Rung:
    """``make()`` computed once, then ``repeat`` times, on ``rung``."""
    array = make()
    target = rungs.parse(rung, "the ladder")
    times, value = [], None
    for _ in range(repeat + 1):
        start = time.perf_counter()
        value = array.compute(on=target)
        times.append(time.perf_counter() - start)
    seconds = statistics.median(times[1:]) if repeat else times[0]
    needed = array.plan(on=target).elements
    scalar = float(np.asarray(value).reshape(-1)[0])
    error = None if expected is None else scalar - expected[0]
    return Rung(
        rung,
        target.workers,
        seconds,
        times[0],
        tuple(times[1:]),
        needed / seconds,
        None,
        None,
        None,
        None,
        error,
        None if error is None or expected is None else error / expected[1],
        hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16],
        scalar,
        _cost(rung, target.workers, seconds, prices),
    )


def _cost(rung: str, workers: int, seconds: float, prices: Prices | None) -> float | None:
    """Dollars: $/h of a GPU, or of a core, times workers."""
    price = (prices or {}).get("gpu" if rung.startswith("gpu") else "cpu")
    return None if price is None else price * workers * seconds / 3600


def beside_dask(found: Rung, experiment: Experiment) -> Rung:
    """``found`` with plain Dask's time on the same rung."""
    dask_time = time_dask(experiment, found.rung, found.workers)
    return replace(
        found,
        dask_seconds=dask_time.seconds,
        dask_scaled=dask_time.scaled,
        over_dask=dask_time.seconds / found.seconds,
    )


def finished(climbed: Sequence[Rung], expression: str, needed: int, logical: int) -> LadderResult:
    """The result of ``climbed`` rungs, each compared with the first core."""
    core = next((r.seconds for r in climbed if r.rung == "core"), None)
    rows = tuple(replace(r, over_core=None if core is None else core / r.seconds) for r in climbed)
    return LadderResult(expression, needed, logical, rows, this_machine())


def ladder(
    make: Callable[[], Any], on: Sequence[str] | None = None, repeat: int = 3
) -> LadderResult:
    """Climb ``on`` (default: every rung here) with ``make()``, a function giving an array.

    Returns a result with ``.table()``, ``.to_json()``, ``.plot()`` and ``.equal_bits``.
    """
    array = make()
    climbed = [measure(make, rung, repeat, None) for rung in on or rungs.available()]
    elements = array.plan(on="core").elements
    return finished(climbed, repr(array), elements, elements)
