"""An element by its place in the order, found by integers that order like the elements.

Each pass counts what lies in 65,536 parts of the range that is left, and goes on with one of them:
however the data lie, four passes are enough for 64 bits, fewer where little is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dataclass import dataclass
from ...plan.shares import KEY_BITS
from ...plan.working import COLLECTED
from .elements import AllElements, Array


@dataclass(frozen=True)
class KeyRange:
    """Keys from ``low`` to ``high``; ``below``: how many elements have smaller ones."""

    low: int
    high: int
    below: int

    @property
    def shift(self) -> int:
        """How many bits of the keys its parts do not tell apart."""
        return max(0, (self.high - self.low).bit_length() - KEY_BITS)

    def part_with(self, place: int, counts: Array) -> KeyRange:
        """The part that has the element of ``place``; ``counts``: of the elements in each."""
        ends = np.cumsum(counts) + self.below
        part = int(np.searchsorted(ends, place, side="right"))
        low = self.low + (part << self.shift)
        high = min(self.high, low + (1 << self.shift) - 1)
        return KeyRange(low, high, int(ends[part] - counts[part]))


def full_range(dtype: Any) -> KeyRange:
    """All keys of ``dtype``."""
    return KeyRange(0, 2 ** (8 * dtype.itemsize) - 1, 0)


def keys_of(values: Array) -> Array:
    """Unsigned integers that order like ``values``, NaN last; -0 has the key of 0."""
    dtype = values.dtype
    word = np.dtype(f"uint{8 * dtype.itemsize}")
    bits: Array = values.view(word)
    if dtype.kind in "bu":
        return bits
    sign = word.type(1 << (8 * dtype.itemsize - 1))
    if dtype.kind == "i":
        return np.asarray(bits ^ sign)
    bits = (values + dtype.type(0)).view(word)
    keys = np.where(bits & sign, ~bits, bits | sign)
    keys[np.isnan(values)] = np.iinfo(word).max
    return keys


def key_of(value: Array) -> int:
    """The key of one value."""
    return int(keys_of(np.asarray(value).reshape(1))[0])


def value_of(key: int, dtype: Any) -> Any:
    """The value that has ``key``."""
    word = np.dtype(f"uint{8 * dtype.itemsize}")
    bits = np.array([key], word)
    sign = word.type(1 << (8 * dtype.itemsize - 1))
    if dtype.kind == "i":
        bits ^= sign
    elif dtype.kind == "f":
        bits = bits ^ sign if key & int(sign) else ~bits
    return bits.view(dtype)[0]


def place_by_keys(
    elements: AllElements, place: int, within: KeyRange, known: dict[KeyRange, Array]
) -> Any:
    """The element of ``place`` in the order, whose key is ``within`` a range.

    ``known``: counts of ranges; what is counted here is added.
    """
    dtype = elements.dtype
    while within.low < within.high:
        if within not in known:
            known[within] = counts_within(elements, within)
        whole, counts = within, known[within]
        within = whole.part_with(place, counts)
        inside = counts[(within.low - whole.low) >> whole.shift]
        if whole.shift and inside <= COLLECTED:
            kept = _kept(elements, within)
            return np.sort(kept, kind="stable")[place - within.below]
    value = value_of(within.low, dtype)
    if dtype.kind == "f" and value == 0:
        return zero_at(elements, place - within.below)
    return value


def _inside(block: Array, within: KeyRange) -> tuple[Array, Array]:
    keys = keys_of(block)
    word = keys.dtype.type
    return keys, (keys >= word(within.low)) & (keys <= word(within.high))


def counts_within(elements: AllElements, within: KeyRange) -> Array:
    """How many elements there are in each part of ``within``."""
    shift = within.shift
    parts = ((within.high - within.low) >> shift) + 1

    def count(span: tuple[int, int]) -> Array:
        counts = np.zeros(parts, np.int64)
        for block in elements.blocks(*span):
            keys, mask = _inside(block, within)
            word = keys.dtype.type
            numbers = (keys[mask] - word(within.low)) >> word(shift)
            if len(numbers):
                counts += np.bincount(numbers.astype(np.int64), minlength=parts)
        return counts

    return np.asarray(sum(elements.each(count, elements.spans())))


def _kept(elements: AllElements, within: KeyRange) -> Array:
    def keep(span: tuple[int, int]) -> list[Array]:
        return [block[_inside(block, within)[1]] for block in elements.blocks(*span)]

    each = elements.each(keep, elements.spans())
    return np.concatenate([block for blocks in each for block in blocks])


def zero_at(elements: AllElements, rank: int) -> Any:
    """The zero that comes after ``rank`` others, with its sign."""
    for block in elements.blocks(0, elements.size):
        zeros = block[block == 0]
        if rank < len(zeros):
            return zeros[rank]
        rank -= len(zeros)
    raise AssertionError("there are more zeros than that")
