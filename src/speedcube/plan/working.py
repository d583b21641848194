"""What a worker needs to sort, select or count, besides what it reads and its result."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from .. import dtypes
from ..expr.piecewise.regions import pieced
from ..expr.through.node import Through

COLLECTED: Final = 1 << 22  # elements of a bracket that are kept of one array, for each thread
BY_DIGITS: Final = 1 << 27  # elements of a line that a thread sorts by digits
LEVEL_BYTES: Final = 1 << 26  # of sums of weights, in all units of a thread, but two units at least
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
    line = source.line
    if source.count == line:  # one line: two passes of what lies in brackets
        places = max(1, len(source.options))
        return threads * min(line, COLLECTED * places) * (each + 1) + (1 << 22) * each
    return threads * 3 * max(BLOCK_BYTES, line * each)


_PARTS: Final = 8 * 8  # bytes of a group's sum while it is added up
_SUMS: Final = ("sum", "mean", "var", "std", "numbers")
_GROUPED: Final = (*_SUMS, "min", "max", "argmin", "argmax", "first", "last", "prod", "sort")


def _grouped(source: Through, threads: int) -> int:
    """All elements, where they are taken by group, their places and a copy of some."""
    groups, rows = int(source.options[0]), bool(source.options[1])
    x = source.args[-1]
    elements: int = source.count * dtypes.itemsize(x.dtype)
    places: int = x.shape[0 if rows else -1] * (8 + 8 + 2)
    if source.op.removeprefix("group_") in _SUMS:
        sums = threads * (groups + 1) * _PARTS + (0 if rows else math.prod(source.shape) * _PARTS)
        return elements + 2 * places + sums
    return 3 * elements + 2 * places + source.count * 16


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


# On a GPU -----------------------------------------------------------------------------------------


def device_room(size: int) -> int:
    """Elements of a bracket of ``size`` elements that a GPU keeps."""
    return min(size, (1 << 20) + (size >> 7))


def device_sample(size: int, computed: bool = True) -> int:
    """Elements of a sample by which a GPU brackets one of ``size`` that are read, or ``computed``.

    One in 200 of an array in memory is looked up in the time of the rest. What is kept of computed
    elements costs a thread of its own: then a larger sample is worth its sort.
    """
    more = 3 if computed else 0
    return 1 << min(27, max(16, round(math.log2(max(size, 1)) * 2 / 3) + more))


def _select_on_gpu(source: Through) -> int:
    each, places = dtypes.itemsize(source.arg.dtype), max(1, len(source.options))
    kept = (min(places, 4) + 1) * device_room(source.count)  # of which one is sorted
    return each * (kept + 4 * device_sample(source.count))


def _weigh_on_gpu(source: Through) -> int:
    return math.prod(source.shape) * 8 * 3 * 72


# Bytes in the memory of a GPU, which are few beside what a host of it has.
_ON_GPU: Final[dict[str, Callable[[Through], int]]] = {
    "sort": lambda source: 2 * source.count * dtypes.itemsize(source.dtype),
    "argsort": lambda source: source.count * (2 * dtypes.itemsize(source.arg.dtype) + 16),
    "order_statistics": _select_on_gpu,
    "count": lambda source: math.prod(source.shape) * 16,
    "weigh": _weigh_on_gpu,
}


_WORKING: Final[dict[str, Callable[[Through, int], int]]] = {
    "sort": _sort,
    "argsort": _argsort,
    "order_statistics": _select,
    "partition": lambda source, threads: (
        _select(source, threads) + source.count * (2 * dtypes.itemsize(source.dtype) + 3)
    ),
    "count": lambda source, threads: (threads + 1) * math.prod(source.shape) * 8,
    "weigh": _weigh,
    "scatter_add": _scatter,
    "scatter_min": _scatter,
    "scatter_max": _scatter,
    "group_count": lambda source, threads: (threads + 1) * math.prod(source.shape) * 8,
    **dict.fromkeys(("rank", "mode"), lambda source, threads: source.count * 40),
    **{f"group_{op}": _grouped for op in _GROUPED},
}


def working_bytes(source: Through, threads: int, gpu: bool = False) -> int:
    """Bytes that a worker of ``threads`` threads needs on the way to what ``source`` makes.

    On a ``gpu`` what is needed there, too.
    """
    here = _WORKING[source.op](source, threads)
    return max(here, _ON_GPU[source.op](source)) if gpu and source.op in _ON_GPU else here
