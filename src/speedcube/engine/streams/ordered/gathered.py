"""The elements of a cell of the order, found by a pass over all elements, in their order there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import numpy as np

from ....dataclass import dataclass
from ...ordering.elements import AllElements, Array
from ...ordering.fixed import SIEVED, Sieving
from ...ordering.keys import key_of, keys_of, value_of
from .cuts import OrderCell

_TOGETHER: Final = 1 << 16  # elements that are put together, as many blocks have few each

# Values, and their places where these are asked for.
Found: TypeAlias = tuple[Array, Array | None]


@dataclass(frozen=True)
class LeftAt:
    """Where the search for elements of one key was left: how many were found before ``at``."""

    key: int
    found: int
    at: int


def gathered(elements: AllElements, cell: OrderCell, places: bool) -> Found:
    """All elements of ``cell``, which holds all that have its keys, as they lie."""
    find = _places_within if places else _values_within

    def run(span: tuple[int, int]) -> tuple[list[Array], list[Array]]:
        together = _Together()
        for values, where in find(elements, cell, span):
            together.add(values, where)
        return together.given()

    each = elements.each(run, elements.spans())
    values = [one for found, _ in each for one in found]
    where = [one for _, found in each for one in found]
    del each
    return _joined(values, elements.dtype), _joined(where, np.dtype(np.int64)) if places else None


def gathered_of_one(
    elements: AllElements, cell: OrderCell, known: LeftAt | None
) -> tuple[Found, LeftAt]:
    """The elements of ``cell``, some of those that are equal: by position. And where it was left.

    ``known``: where a search for the same key was left before.
    """
    if known is None or known.key != cell.low or known.found > cell.before:
        known = LeftAt(cell.low, 0, 0)
    together, found, base = _Together(), known.found, known.at
    for block in elements.blocks(known.at, elements.size):
        where = np.flatnonzero(_equal(block, cell.low))
        stop = cell.before + cell.count - found
        taken = where[max(0, cell.before - found) : stop]
        together.add(block[taken], taken + base)
        if stop <= len(where):
            found, base = found + stop, base + int(where[stop - 1]) + 1
            break
        found, base = found + len(where), base + len(block)
    values, places = together.given()
    joined = _joined(values, elements.dtype), _joined(places, np.dtype(np.int64))
    return joined, LeftAt(cell.low, found, base)


class _Together:
    """Elements of many blocks, few of each, in few arrays."""

    def __init__(self) -> None:
        self.values: list[Array] = []
        self.places: list[Array] = []
        self.open: list[tuple[Array, Array | None]] = []
        self.size = 0

    def add(self, values: Array, places: Array | None) -> None:
        """Take a copy of these."""
        if not len(values):
            return
        self.open.append((values.copy(), places))
        self.size += len(values)
        if self.size >= _TOGETHER:
            self._close()

    def _close(self) -> None:
        if self.open:
            self.values.append(np.concatenate([one for one, _ in self.open]))
            places = [one for _, one in self.open if one is not None]
            if places:
                self.places.append(np.concatenate(places))
        self.open, self.size = [], 0

    def given(self) -> tuple[list[Array], list[Array]]:
        """All of them."""
        self._close()
        return self.values, self.places


def _values_within(
    elements: AllElements, cell: OrderCell, span: tuple[int, int]
) -> Iterator[tuple[Array, None]]:
    """The values of ``span`` in ``cell``, block after block; NaN are left out."""
    bounds = _bounds(elements.dtype, cell)
    if bounds is None:
        return
    low, high = bounds
    sieve = Sieving(elements.dtype.name, low, high) if elements.dtype.name in SIEVED else None
    for block in elements.blocks(*span):
        if sieve is not None:
            yield sieve.sieve(block)[2], None
        else:
            yield block[(block >= low) & (block <= high)], None


def _bounds(dtype: Any, cell: OrderCell) -> tuple[Any, Any] | None:
    """The least and the greatest number in ``cell``; None where none is."""
    low, high = cell.low, cell.high
    if dtype.kind != "f":
        return value_of(low, dtype), value_of(high, dtype)
    zero, least, most = (key_of(dtype.type(x)) for x in (0, -np.inf, np.inf))
    low = max(least, low + (low == zero - 1))  # the key that -0 would have
    high = min(most, high - (high == zero - 1))
    return (value_of(low, dtype), value_of(high, dtype)) if low <= high else None


def _places_within(
    elements: AllElements, cell: OrderCell, span: tuple[int, int]
) -> Iterator[tuple[Array, Array]]:
    base = span[0]
    for block in elements.blocks(*span):
        keys = keys_of(block)
        word = keys.dtype.type
        where = np.flatnonzero((keys >= word(cell.low)) & (keys <= word(cell.high)))
        yield block[where], where + base
        base += len(block)


def _equal(block: Array, key: int) -> Array:
    value = value_of(key, block.dtype)
    return np.asarray(np.isnan(block) if value != value else block == value)


def _joined(arrays: list[Array], dtype: Any) -> Array:
    """``arrays`` in one, each gone when it is copied."""
    out = np.empty(sum(map(len, arrays)), dtype)
    at = len(out)
    while arrays:
        one = arrays.pop()
        out[at - len(one) : at] = one
        at -= len(one)
    return out
