"""The ladder from Python: climb rungs with one array, and show what was found."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ...api.array import Array
from ...dataclass import dataclass
from ...engine import rungs
from ...engine.clusters.rung_names import processes
from ...errors import ParameterError
from .. import options
from ..terminal import write
from ..this_machine import this_machine
from .measure import measure, source_points
from .plot import dots
from .result import Climb, RungResult
from .table import render

# The keys of a rung in the JSON, in its order; "cost" follows where prices were given.
_KEYS: Final = (
    "rung", "workers", "seconds", "first_seconds", "repeats", "points_per_second", "over_core",
    "over_dask", "dask_seconds", "dask_scaled", "error", "bits",
)  # fmt: skip


@dataclass(frozen=True)
class LadderResult(Climb):
    """A `Climb` with the ways to show it."""

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
        return dots(self, path)


def finished(
    results: Sequence[RungResult],
    expression: str,
    needed: int,
    logical: int | None = None,
    expected: tuple[float, float] | None = None,
    prices: options.Prices | None = None,
    problems: Sequence[str] = (),
) -> LadderResult:
    """The rungs' results together, each compared with one core and the ``expected`` value."""
    core = next((r.seconds for r in results if r.rung == "core"), None)
    rows = tuple(
        replace(
            r,
            over_core=None if core is None else core / r.seconds,
            error=None if expected is None or r.value is None else r.value - expected[0],
            cost=_cost(r, prices or {}),
        )
        for r in results
    )
    return LadderResult(
        expression, needed, logical, rows, expected, tuple(problems), this_machine()
    )


def _cost(rung: RungResult, prices: options.Prices) -> float | None:
    """Dollars of one run: $/h of a GPU, or of a core, times workers; None where it is not known."""
    kind = rung.rung.split(":")[0]
    paid_as = {"core": "cpu", "cores": "cpu", "gpu": "gpu", "gpus": "gpu", "cuda-cluster": "gpu"}
    price = prices.get(paid_as.get(kind, ""))
    several = processes(rung.rung)
    cores = rung.workers if several is None else several.count * several.threads
    return None if price is None else price * cores * rung.seconds / 3600


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

    Examples
    --------
    >>> sc.ladder(lambda: sc.ones(10).sum(), on="core", repeat=1).equal_bits
    True
    """
    options.check_repeat(repeat, "repeat =")
    names = options.rung_names(on) if isinstance(on, str) else on
    chosen = options.rungs_of(rungs.available() if names is None else names)
    array = make() if callable(make) else make
    if not callable(make) or not isinstance(array, Array):
        raise ParameterError(
            f"ladder takes a function that gives a speedcube array, not {type(array).__name__}; "
            "write sc.ladder(lambda: (x + 1).sum())"
        )
    results = [measure(array, rung, repeat) for rung in chosen]
    needed = source_points(array._expr) or array.plan(on="core").elements
    return finished(results, repr(array), needed)
