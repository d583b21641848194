"""What a worker needs to sort, select or count, besides what it reads and its result."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from .. import dtypes
from ..expr.piecewise.regions import pieced
from ..expr.through.node import Through

COLLECTED: Final = 1 << 22  # elements of a bracket that are kept of one array, for each thread
LEVEL_BYTES: Final = 1 << 26  # of sums of weights, in all units of a thread, but two units at least
BLOCK_BYTES: Final = 1 << 21  # of lines that a thread holds at a time, but one line at least


def _argsort(source: Through, threads: int) -> int:
    each = dtypes.itemsize(source.arg.dtype)
    return source.count * (2 * each + 8)  # the elements, those of a thread, and their places


def _select(source: Through, threads: int) -> int:
    each = dtypes.itemsize(source.arg.dtype)
    line = source.arg.shape[-1]
    if source.count == line:  # one line: two passes of what lies in brackets
        places = max(1, len(source.options))
        return threads * min(line, COLLECTED * places) * (each + 1) + (1 << 22) * each
    return threads * 3 * max(BLOCK_BYTES, line * each)


def levels_of(length: int) -> int:
    """How many units a thread keeps sums of ``length`` numbers in."""
    return max(2, min(92, LEVEL_BYTES // (24 * (length + 1))))


def _weigh(source: Through, threads: int) -> int:
    length = math.prod(source.shape)
    held = 1 if 4 * length > source.count else threads
    kept = 16 * source.count if any(map(pieced, source.args)) else 0
    return held * (24 * levels_of(length) * (length + 1) + (1 << 25)) + 64 * length + kept


def _scatter(source: Through, threads: int) -> int:
    length = math.prod(source.shape)
    held = 1 if 4 * length > source.count else threads
    return held * (length * dtypes.itemsize(source.dtype) + (1 << 21))


_WORKING: Final[dict[str, Callable[[Through, int], int]]] = {
    "sort": lambda source, threads: source.count * (dtypes.itemsize(source.dtype) + 1),
    "argsort": _argsort,
    "order_statistics": _select,
    "count": lambda source, threads: (threads + 1) * math.prod(source.shape) * 8,
    "weigh": _weigh,
    "scatter_add": _scatter,
    "scatter_min": _scatter,
    "scatter_max": _scatter,
}


def working_bytes(source: Through, threads: int) -> int:
    """Bytes that a worker of ``threads`` threads needs on the way to what ``source`` makes."""
    return _WORKING[source.op](source, threads)
