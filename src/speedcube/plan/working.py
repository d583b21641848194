"""What a worker needs to sort, select or count, besides what it reads and its result."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from .. import dtypes
from ..expr.through.node import Through

COLLECTED: Final = 1 << 22  # elements of a bracket that are kept of one array, for each thread
BY_DIGITS: Final = 1 << 27  # elements of a line that a thread sorts by digits
BLOCK_BYTES: Final = 1 << 21  # of lines that a thread holds at a time, but one line at least


def _argsort(source: Through, threads: int) -> int:
    each = dtypes.itemsize(source.arg.dtype)
    entries = min(source.count, threads * BY_DIGITS) * 4 * each  # keys with places, twice
    # The elements, those of a thread, and their places.
    return source.count * (2 * each + 8) + entries


def _sort(source: Through, threads: int) -> int:
    each = dtypes.itemsize(source.dtype)
    keys = min(source.count, threads * BY_DIGITS) * each
    return source.count * (each + 1) + keys


def _select(source: Through, threads: int) -> int:
    each = dtypes.itemsize(source.arg.dtype)
    line = source.arg.shape[-1]
    if source.count == line:  # one line: two passes of what lies in brackets
        places = max(1, len(source.options))
        return threads * min(line, COLLECTED * places) * (each + 1) + (1 << 22) * each
    return threads * 3 * max(BLOCK_BYTES, line * each)


_WORKING: Final[dict[str, Callable[[Through, int], int]]] = {
    "sort": _sort,
    "argsort": _argsort,
    "order_statistics": _select,
    "partition": lambda source, threads: (
        _select(source, threads) + source.count * (2 * dtypes.itemsize(source.dtype) + 3)
    ),
    "count": lambda source, threads: (threads + 1) * math.prod(source.shape) * 8,
    "weigh": lambda source, threads: (threads + 1) * math.prod(source.shape) * 8 * 80,
}


def working_bytes(source: Through, threads: int) -> int:
    """Bytes that a worker of ``threads`` threads needs on the way to what ``source`` makes."""
    return _WORKING[source.op](source, threads)
