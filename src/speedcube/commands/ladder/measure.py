"""The ladder: one expression on every rung of the machine, timed, hashed, beside plain Dask."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...__about__ import __version__
from ...api.array import Array
from ...engine import machine, rungs
from ...engine.rungs import Rung
from ...errors import ParameterError
from ...expr.nodes import Const, Expr, Position, Reduced, Scanned, leaves
from ...kernel.llvm.simd import targets as simd_targets
from .. import options
from ..terminal import write
from .dask_time import DaskTime
from .plot import bars
from .table import render

_REPEATS: Final = 3  # timed runs where the user gives no number
_ENOUGH: Final = 8.0  # seconds of timed runs after which fewer than _REPEATS will do
# The keys of a rung in the JSON, in its order; "cost" follows where prices were given.
_KEYS: Final = (
    "rung", "workers", "seconds", "first_seconds", "repeats", "points_per_second", "over_core",
    "over_dask", "dask_seconds", "dask_scaled", "error", "bits",
)  # fmt: skip


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

    def with_dask(self, found: DaskTime) -> RungResult:
        """The same rung beside plain Dask's time on it."""
        return replace(
            self,
            dask_seconds=found.seconds,
            dask_scaled=found.shape if found.scaled else None,
            dask_chunks=found.chunks,
            over_dask=found.seconds / self.seconds,
        )


@dataclass(frozen=True)
class LadderResult:
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

    def table(self, width: int | None = None) -> str:
        """The rungs as text, in lines of at most ``width`` characters if given."""
        return render(self, width)

    __str__ = table

    def to_json(self, path: str | Path | None = None) -> str:
        """The result as JSON (schema 1), written to ``path`` if given."""
        priced = any(r.cost is not None for r in self.rungs)
        keys = _KEYS + ("cost",) * priced
        document = {
            "schema": 1,
            "machine": self.machine,
            "expression": self.expression,
            "rungs": [{key: getattr(r, key) for key in keys} for r in self.rungs],
            "equal_bits": self.equal_bits,
        }
        text = json.dumps(document, indent=1)
        if path is not None:
            write(path, text + "\n")
        return text

    def plot(self, path: str | Path | None = None) -> Any:
        """A bar picture of seconds on a log scale: a matplotlib figure.

        Written to ``path`` (``.png`` or ``.svg``) if given.
        """
        return bars(self, path)


def this_machine() -> dict[str, Any]:
    """What a reader needs to know to place the numbers."""
    return {
        "processor": _processor(),
        "cores": machine.cores(),
        "simd": simd_targets()[0],
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


def timed_runs(repeat: int | None, seconds: float) -> int:
    """How many runs follow the first, where one takes ``seconds``: ``repeat``, if it is given."""
    return repeat or max(1, min(_REPEATS, int(_ENOUGH / seconds)))


def measure(
    array: Array,
    rung: Rung,
    repeat: int | None,
    tell: Callable[[float], None] = lambda seconds: None,
) -> RungResult:
    """``array`` computed once, then ``repeat`` times, on ``rung``.

    None repeats it three times, fewer (one at least) where that takes long. ``tell`` is given the
    seconds of all runs together, once they can be guessed.
    """
    started = rung
    if rung.kind == "cuda-cluster":
        started = rungs.parse(rung.name, rung.reason)
    first, value = _timed(array, started)
    times, hashes, count = [], {_bits(value): None}, timed_runs(repeat, first)
    tell((count + 1) * first)
    for _ in range(count):
        seconds, value = _timed(array, started)
        times.append(seconds)
        hashes[_bits(value)] = None
    median = statistics.median(times)
    points = source_points(array._expr) or array.plan(on=started).elements
    return RungResult(
        rung=rung.name,
        workers=started.workers,
        seconds=median,
        first_seconds=first,
        repeats=tuple(times),
        points_per_second=points / median,
        bits="+".join(hashes),
        value=float(value) if np.ndim(value) == 0 else None,
    )


def _timed(array: Array, rung: Rung) -> tuple[float, Any]:
    start = time.perf_counter()
    value = array.compute(on=rung)
    return time.perf_counter() - start, value


def _bits(value: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]


def source_points(root: Expr) -> int:
    """Elements of sources (random or stored) that ``root`` reads, repeats not counted."""
    total, sums = 0, {}
    for leaf in leaves(root):
        if isinstance(leaf.source, Reduced | Scanned):
            sums[id(leaf.source)] = leaf.source.arg
        elif not isinstance(leaf.source, Const | Position):
            total += math.prod(n for n, s in zip(leaf.shape, leaf.strides, strict=True) if s)
    return total + sum(map(source_points, sums.values()))


def finished(
    climbed: Sequence[RungResult],
    expression: str,
    needed: int,
    logical: int | None = None,
    expected: tuple[float, float] | None = None,
    prices: options.Prices | None = None,
    problems: Sequence[str] = (),
) -> LadderResult:
    """The result of ``climbed`` rungs, each compared with one core and the ``expected`` value."""
    core = next((r.seconds for r in climbed if r.rung == "core"), None)
    rows = tuple(
        replace(
            r,
            over_core=None if core is None else core / r.seconds,
            error=None if expected is None or r.value is None else r.value - expected[0],
            cost=_cost(r, prices or {}),
        )
        for r in climbed
    )
    return LadderResult(
        expression, needed, logical, rows, expected, tuple(problems), this_machine()
    )


def _cost(rung: RungResult, prices: options.Prices) -> float | None:
    """Dollars of one run: $/h of a GPU, or of a core, times workers; None where it is not known."""
    kind = rung.rung.split(":")[0]
    paid_as = {"core": "cpu", "cores": "cpu", "gpu": "gpu", "gpus": "gpu", "cuda-cluster": "gpu"}
    price = prices.get(paid_as.get(kind, ""))
    return None if price is None else price * rung.workers * rung.seconds / 3600


def ladder(
    make: Callable[[], Any], on: str | Sequence[Any] | None = None, repeat: int | None = None
) -> LadderResult:
    """Climb the rungs ``on`` with the array that ``make()`` gives, and compare their bits.

    Parameters
    ----------
    make : callable
        Gives a speedcube array: ``lambda: (x + 1).sum()``.
    on : sequence of rungs, or str, optional
        Names, Dask clients, addresses; a string is a comma list. All rungs of this process by
        default: no cluster is started.
    repeat : int, optional
        Timed runs after the first one. By default three, fewer where that takes long.

    Returns
    -------
    LadderResult
        With ``.table()``, ``.to_json()``, ``.plot()``, ``.rungs`` and ``.equal_bits``. Seconds
        are wall-clock.

    Raises
    ------
    ParameterError
        ``make`` is no such function, or ``repeat`` is below 1.
    RungError
        This machine lacks one of the rungs; nothing has run then.
    """
    options.check_repeat(repeat, "repeat =")
    names = options.rung_names(on) if isinstance(on, str) else on
    places = options.rungs_of(rungs.available() if names is None else names)
    array = make() if callable(make) else make
    if not callable(make) or not isinstance(array, Array):
        raise ParameterError(
            f"ladder takes a function that gives a speedcube array, not {type(array).__name__}; "
            "write sc.ladder(lambda: (x + 1).sum())"
        )
    climbed = [measure(array, place, repeat) for place in places]
    needed = source_points(array._expr) or array.plan(on="core").elements
    return finished(climbed, repr(array), needed)
