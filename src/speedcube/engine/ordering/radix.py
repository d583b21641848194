"""Long lines sorted by digits, the last one first: stable, and of the same cost whatever they hold.

Places take four to six times less than by NumPy's sort. Values are left to that where it is quick,
which depends on the processor: the results are the same numbers.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Final

import numpy as np

from ...kernel.llvm.ordering.radix import BITS, COUNT, SHIFT, VALUES, WORDS
from ...kernel.orders import Radix
from ...plan.working import BY_DIGITS
from ..cpu import address_of
from . import packed
from .elements import Array
from .fixed import SIEVED as DTYPES
from .fixed import compiled

_LEAST: Final = 1 << 13  # elements: fewer are sorted at least as fast by NumPy
_LEAST_PLACES: Final = 5000  # the same of words with places
_QUICK: Final = 15e-9  # seconds an element, in which NumPy sorts as fast
_SAMPLE: Final = 1 << 14


def has_digits(line: Array) -> bool:
    """Whether `sort` may be the way to order ``line``."""
    return line.dtype.name in DTYPES and _LEAST <= len(line) <= BY_DIGITS


def finds_places(line: Array) -> bool:
    """Whether `places` is the way to find them."""
    return line.dtype.name in DTYPES and _LEAST_PLACES <= len(line) <= BY_DIGITS


def places(line: Array) -> Array:
    """The places of the elements of ``line`` in their order: by value, NaN last, then by place."""
    line = np.ascontiguousarray(line)
    wide = line.dtype.itemsize == 8  # else keys with places are no wider than such entries
    found = packed.places(line) if wide and len(line) <= packed.MOST else None
    if found is not None:
        return found
    word = np.dtype(f"uint{8 * line.dtype.itemsize}")
    entries = np.empty((2, len(line), 2), word)
    last = _dealt(line, entries[0], entries[1], places=True)
    return last[:, 1].astype(np.int64)


def sort(line: Array) -> None:
    """Sort ``line``, which lies one by one, in place; -0 comes before 0."""
    word = np.dtype(f"uint{8 * line.dtype.itemsize}")
    keys = line.view(word)
    last = _dealt(line, keys, np.empty(len(line), word), places=False)
    _run(Radix(line.dtype.name, "restore"), len(line), 0, last, keys, keys)


@cache
def sorts_values() -> bool:
    """Whether `sort` is faster here than NumPy's sort, which has vectors on some processors."""
    line = np.arange(_SAMPLE, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    values = (line >> np.uint64(11)).astype(np.float64)
    seconds = []
    for _ in range(3):
        own = values.copy()
        start = time.perf_counter()
        own.sort()
        seconds.append(time.perf_counter() - start)
    return min(seconds) > _QUICK * _SAMPLE


def _dealt(line: Array, first: Array, second: Array, places: bool) -> Array:
    """The entries of ``line`` in order: in ``first`` or ``second``, whichever comes last."""
    name, size = line.dtype.name, len(line)
    counts = np.zeros((line.dtype.itemsize, VALUES), np.int64)
    _run(Radix(name, "count", places), size, 0, line, counts, first)
    deal = Radix(f"uint{8 * line.dtype.itemsize}", "deal", places)
    for digit, row in enumerate(counts):
        if row.max() == size:  # all have this digit
            continue
        starts = np.concatenate([[0], np.cumsum(row[:-1])])
        _run(deal, size, BITS * digit, first, starts, second)
        first, second = second, first
    return first


def _run(step: Radix, size: int, shift: int, values: Array, counts: Array, out: Array) -> None:
    words = np.zeros(WORDS, np.int64)
    words[COUNT], words[SHIFT] = size, shift
    state, to = counts.ctypes.data, out.ctypes.data
    kernel = compiled(step)  # its code lives as long as this does
    kernel.function(words.ctypes.data, address_of(values), state, state, to)
