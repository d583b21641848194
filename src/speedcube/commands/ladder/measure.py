"""One rung climbed: an array computed there several times, timed and hashed."""

from __future__ import annotations

import hashlib
import math
import statistics
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...api.array import Array
from ...engine import rungs
from ...engine.known.drawn import drawing_again
from ...engine.rungs import Rung
from ...expr.nodes import Const, Expr, Position, StageResult, leaves
from ...plan.cuts import cut
from .result import RungResult

_REPEATS: Final = 3  # timed runs where the user gives no number
_ENOUGH: Final = 8.0  # seconds of timed runs after which fewer than _REPEATS will do


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
    started = rungs.started(rung)
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
    with drawing_again():
        start = time.perf_counter()
        value = array.compute(on=rung)
        return time.perf_counter() - start, value


def _bits(value: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]


def source_points(root: Expr) -> int:
    """Elements of sources (random or stored) that ``root`` reads, repeats not counted."""
    reading = [leaf for one in cut([root]).requests for leaf in leaves(one.root)]
    return sum(
        math.prod(n for n, s in zip(leaf.shape, leaf.strides, strict=True) if s)
        for leaf in reading
        if not isinstance(leaf.source, Const | Position | StageResult)
    )
