"""Where the order of a long line is cut: ranges of values, of each as many as memory holds.

Elements are counted by the leading bits of integers that order like them. What is more than an
eighth of a cell is counted again by its next bits. So the passes are bounded, whatever the data
are, and a cell is nearly full; only elements of one value can be more, and are cut by position.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ....dataclass import dataclass
from ....dtypes import itemsize
from ....plan.shares import KEY_BITS
from ...ordering.elements import AllElements, Array
from ...ordering.fixed import Counts
from ...ordering.keys import full_range, keys_of

FINE: Final = 8  # parts of a cell, where elements differ
COUNTERS: Final = 1 << 18  # of the parts that are counted in one pass
_LEAST_BITS: Final = 4  # of the keys, that a pass finds
COUNTING: Final = 64  # bytes of a counter, and of what is noted of its part


@dataclass(frozen=True, eq=False)
class Parts:
    """Ranges of keys, and how many elements have some of each."""

    lows: Array
    highs: Array
    counts: Array

    def at(self, which: Array) -> Parts:
        """Some of them."""
        return Parts(self.lows[which], self.highs[which], self.counts[which])


@dataclass(frozen=True)
class OrderCell:
    """The elements with keys from ``low`` to ``high``, which have the places from ``first`` on.

    ``before``: of a key with elements in several cells, how many of them are in those before.
    """

    low: int
    high: int
    first: int
    count: int
    before: int = 0

    @property
    def end(self) -> int:
        """The place behind its last element."""
        return self.first + self.count

    @property
    def is_one_key(self) -> bool:
        """Whether all its elements are equal."""
        return self.low == self.high


def most_passes(size: int, most: int, dtype: str, equal: bool) -> tuple[int, int]:
    """How often all elements are read at most: to be counted, and for ``size`` of them in order.

    ``equal``: those of one value are read, too.
    """
    bits = max(0, 8 * itemsize(dtype) - KEY_BITS)
    found = _bits_found(min(size, FINE * -(-size // most)))
    full = -(-2 * size // most) if equal else -(-FINE * size // ((FINE - 1) * most))
    return 1 + -(-bits // found), full + (size > most) * 2


def _bits_found(parts: int) -> int:
    """How many more bits of the keys in ``parts`` are found in one pass."""
    return max(_LEAST_BITS, min(KEY_BITS, (COUNTERS // max(1, parts)).bit_length() - 1))


def cells_of(elements: AllElements, most: int) -> list[OrderCell]:
    """The order of ``elements`` in cells of up to ``most``."""
    return list(_cells(_parts(elements, max(1, most // FINE)), most))


def _cells(parts: Parts, most: int) -> Iterator[OrderCell]:
    ends = np.cumsum(parts.counts)
    k, first = 0, 0
    while k < len(ends):
        stop = int(np.searchsorted(ends, first + most, side="right"))
        if stop > k:
            count = int(ends[stop - 1]) - first
            yield OrderCell(int(parts.lows[k]), int(parts.highs[stop - 1]), first, count)
            k, first = stop, first + count
            if stop == len(ends) or parts.counts[stop] * FINE <= most:
                continue
        low, high, count = (int(one[k]) for one in (parts.lows, parts.highs, parts.counts))
        assert low == high, "what differs is counted by more of its bits"
        for before in range(0, count, most):
            yield OrderCell(low, high, first + before, min(most, count - before), before)
        k, first = k + 1, first + count


def _parts(elements: AllElements, fine: int) -> Parts:
    """Ranges of keys in order, with up to ``fine`` elements each but where they are of one key."""
    width = full_range(elements.dtype).high.bit_length()
    shift = max(0, width - KEY_BITS)
    bits, heavy = width - shift, np.zeros(1, np.uint64)  # the bits before those that are counted
    done: list[Parts] = []
    while True:
        counts = _counted(elements, heavy, shift, bits)
        some = np.flatnonzero(counts)
        leading = (heavy[some >> bits] << np.uint64(bits)) | (some % (1 << bits)).astype(np.uint64)
        lows = leading << np.uint64(shift)
        found = Parts(lows, lows + np.uint64((1 << shift) - 1), counts[some])
        more = (found.counts > fine) & (shift > 0)
        done.append(found.at(~more))
        if not more.any():
            break
        heavy = leading[more]
        bits = min(shift, _bits_found(len(heavy)))
        shift -= bits
    each = zip(*((one.lows, one.highs, one.counts) for one in done), strict=True)
    whole = Parts(*map(np.concatenate, each))
    return whole.at(np.argsort(whole.lows))


def _counted(elements: AllElements, heavy: Array, shift: int, bits: int) -> Array:
    """How many elements have each of the ``bits`` of their keys that stand before ``shift`` others.

    Of those whose bits before are among the ``heavy``, for each of these.
    """
    length = len(heavy) << bits

    def count(span: tuple[int, int]) -> Array:
        counts = Counts("int64", length)
        for block in elements.blocks(*span):
            counts.add(_numbers(keys_of(block), heavy, shift, bits))
        return counts.total()[:length]

    return np.asarray(sum(elements.each(count, elements.spans())))


def _numbers(keys: Any, heavy: Array, shift: int, bits: int) -> Array:
    """Which of the counters counts each of ``keys``; others are left out."""
    word = keys.dtype.type
    leading = keys >> word(shift) if shift else keys
    if shift + bits == 8 * keys.dtype.itemsize:
        return np.asarray(leading.astype(np.int64))
    before, known = leading >> word(bits), heavy.astype(keys.dtype)
    rows = np.searchsorted(known, before)
    rows[rows == len(known)] = 0
    inside = known[rows] == before
    within = leading[inside] & word((1 << bits) - 1)
    return np.asarray((rows[inside] << bits) + within.astype(np.int64))
