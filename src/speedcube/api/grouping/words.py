"""Which strings there are and where: each is a number whose digits are its characters.

A digit counts the characters that come at its place, so that numbers are small and in the order of
the strings. Numbers that lie close together are counted, others sorted.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_CLOSE: Final = 1 << 16  # numbers that are counted, however few strings there are
_MOST: Final = 1 << 62
_PLANE: Final = 1 << 16  # characters at one place, which have a table

Strings = NDArray[Any]


def distinct_strings(values: Strings) -> tuple[Strings, NDArray[Any], NDArray[Any]] | None:
    """The distinct strings in order, where each is first, and which one each of ``values`` is.

    None of what are no strings of the machine's bytes, and of too many characters.
    """
    if values.dtype.kind not in "US" or not values.dtype.isnative or not values.dtype.itemsize:
        return None
    word = np.uint32 if values.dtype.kind == "U" else np.uint8
    flat = np.ascontiguousarray(values).reshape(-1)
    if not flat.size:
        return None
    table = flat.view(word).reshape(len(flat), -1)
    found = _numbers(table)
    if found is None:
        return None
    numbers, digits, total = found
    if total <= max(_CLOSE, 4 * len(flat)):
        there = np.zeros(total, bool)
        there[numbers] = True
        labels, codes = np.flatnonzero(there), (np.cumsum(there) - 1)[numbers]
    else:
        labels, codes = np.unique(numbers, return_inverse=True)
    first = np.empty(len(labels), np.int64)
    first[codes[::-1]] = np.arange(len(flat) - 1, -1, -1)  # the last one that is written stays
    return _spelt(labels, digits, values.dtype, word), first, codes.reshape(values.shape)


def _numbers(table: NDArray[Any]) -> tuple[NDArray[np.int64], list[NDArray[Any]], int] | None:
    """The number of each row; at each place the characters; how many numbers there may be."""
    numbers: Any = np.zeros(len(table), np.int64)
    digits: list[NDArray[Any]] = []
    total = 1
    for column in table.T:
        low, high = int(column.min()), int(column.max())
        if high >= _PLANE:
            return None
        if low == high:
            digits.append(np.array([low]))
            continue
        there = np.zeros(high + 1, bool)
        there[column] = True
        characters, ranks = np.flatnonzero(there), np.cumsum(there) - 1
        total *= len(characters)
        if total > _MOST:
            return None
        numbers *= len(characters)
        numbers += ranks[column]
        digits.append(characters)
    return numbers, digits, total


def _spelt(labels: NDArray[Any], digits: list[NDArray[Any]], dtype: Any, word: Any) -> Strings:
    """The strings that have these numbers."""
    rows = np.empty((len(labels), len(digits)), word)
    left = labels
    for k in range(len(digits) - 1, -1, -1):
        left, digit = np.divmod(left, len(digits[k]))
        rows[:, k] = digits[k][digit]
    return np.asarray(rows.view(dtype).reshape(-1))
