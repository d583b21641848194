"""An element by its place in the order, found by integers that order like the elements.

Each pass counts what lies in 65,536 parts of the range that is left, and goes on with one of them:
however the data lie, four passes are enough for 64 bits, and one more where few are left to look at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from ...plan.working import COLLECTED
from .stream import Array, Stream

_PARTS: Final = 16  # bits


@dataclass(frozen=True)
class Range:
    """Keys from ``low`` to ``high``; ``below``: how many elements have smaller ones."""

    low: int
    high: int
    below: int


def full_range(dtype: np.dtype) -> Range:  # type: ignore[type-arg]
    """All keys of ``dtype``."""
    return Range(0, 2 ** (8 * dtype.itemsize) - 1, 0)


def keys_of(values: Array) -> Array:
    """Unsigned integers that order like ``values``, NaN last; -0 has the key of 0."""
    dtype = values.dtype
    word = np.dtype(f"uint{8 * dtype.itemsize}")
    if dtype.kind in "bu":
        return values.view(word)
    sign = word.type(1 << (8 * dtype.itemsize - 1))
    if dtype.kind == "i":
        return values.view(word) ^ sign
    bits = (values + dtype.type(0)).view(word)
    keys = np.where(bits & sign, ~bits, bits | sign)
    keys[np.isnan(values)] = np.iinfo(word).max
    return keys


def key_of(value: Array) -> int:
    """The key of one value."""
    return int(keys_of(np.asarray(value).reshape(1))[0])


def value_of(key: int, dtype: np.dtype) -> Array:  # type: ignore[type-arg]
    """The value that has ``key``."""
    word = np.dtype(f"uint{8 * dtype.itemsize}")
    bits = np.array([key], word)
    sign = word.type(1 << (8 * dtype.itemsize - 1))
    if dtype.kind == "i":
        bits ^= sign
    elif dtype.kind == "f":
        bits = bits ^ sign if key & int(sign) else ~bits
    return bits.view(dtype)[0]  # type: ignore[no-any-return]


def place_by_keys(stream: Stream, place: int, within: Range) -> Array:
    """The element of ``place`` in the order, whose key is ``within`` a range."""
    dtype = stream.dtype
    while within.low < within.high:
        shift = max(0, (within.high - within.low).bit_length() - _PARTS)
        counts = _counts(stream, within, shift)
        ends = np.cumsum(counts) + within.below
        part = int(np.searchsorted(ends, place, side="right"))
        low = within.low + (part << shift)
        high = min(within.high, low + (1 << shift) - 1)
        within = Range(low, high, int(ends[part] - counts[part]))
        if shift and counts[part] <= COLLECTED:
            kept = _kept(stream, within)
            return np.sort(kept, kind="stable")[place - within.below]  # type: ignore[no-any-return]
    value = value_of(within.low, dtype)
    if dtype.kind == "f" and value == 0:
        return zero_at(stream, place - within.below)
    return value


def _inside(block: Array, within: Range) -> tuple[Array, Array]:
    keys = keys_of(block)
    word = keys.dtype.type
    return keys, (keys >= word(within.low)) & (keys <= word(within.high))


def _counts(stream: Stream, within: Range, shift: int) -> Array:
    parts = ((within.high - within.low) >> shift) + 1

    def count(span: tuple[int, int]) -> Array:
        counts = np.zeros(parts, np.int64)
        for block in stream.blocks(*span):
            keys, mask = _inside(block, within)
            word = keys.dtype.type
            numbers = (keys[mask] - word(within.low)) >> word(shift)
            if len(numbers):
                counts += np.bincount(numbers.astype(np.int64), minlength=parts)
        return counts

    return np.asarray(sum(stream.each(count, stream.spans())))


def _kept(stream: Stream, within: Range) -> Array:
    def keep(span: tuple[int, int]) -> list[Array]:
        return [block[_inside(block, within)[1]] for block in stream.blocks(*span)]

    each = stream.each(keep, stream.spans())
    return np.concatenate([block for blocks in each for block in blocks])


def zero_at(stream: Stream, rank: int) -> Array:
    """The zero that comes after ``rank`` others, with its sign."""
    for block in stream.blocks(0, stream.size):
        zeros = block[block == 0]
        if rank < len(zeros):
            return zeros[rank]  # type: ignore[no-any-return]
        rank -= len(zeros)
    raise AssertionError("there are more zeros than that")
