"""Ranges of integers that are given by arrays.

A range of n numbers from ``low`` holds low + floor(A n / 2**64) of a word A, as the source
``integers`` has it. From n = 2**32 on a second word B is taken, of the next call: low +
floor((2**64 A + B) n / 2**128). The bias is below 2**-32 and 2**-64 of a number's share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..api import functions as sc
from ..api.array import Array, asarray
from .draws import Draws
from .parameters import Parameter, drawn_shape, has_axes, integers_of, refuse, refuse_all

_HALF = 0xFFFF_FFFF


class Ranges(Draws):
    """Integers between bounds of their own."""

    def _between(self, low: Any, high: Any, size: Any, dtype: str, endpoint: bool) -> Array:
        """Integers in [low, high), or up to ``high`` with ``endpoint``; one of both is an array."""
        first, count, wide = _checked(low, high, dtype, endpoint)
        shape = drawn_shape(size, first, count)
        n: Array = count.value
        drawn: Array
        if wide:
            word, more = self._sources(["bits64", "bits64"], shape, "uint64")
            below = word * n
            carried = (below + _high(more, n) < below).astype("uint64")
            drawn = _high(word, n) + sc.where(n >= 2**32, carried, 0)
            drawn = sc.where(sc.equal(n, 0), word, drawn)  # all 2**64
        else:
            (word,) = self._sources(["bits64"], shape, "uint64")
            drawn = _high(word, n)
        drawn = first.value + drawn
        return drawn.astype(dtype)


def _high(word: Array, n: Array) -> Array:
    """The upper 64 bits of a product of 64 bits each."""
    low, high, n_low, n_high = word & _HALF, word >> 32, n & _HALF, n >> 32
    left, right = high * n_low, low * n_high
    middle = ((low * n_low) >> 32) + (left & _HALF) + (right & _HALF)
    upper: Array = high * n_high + (left >> 32) + (right >> 32) + (middle >> 32)
    return upper


def given_by_arrays(low: Any, high: Any) -> bool:
    """Whether a range of integers is given by arrays."""
    return any(has_axes(bound) or isinstance(bound, Array) for bound in (low, high))


def _checked(low: Any, high: Any, dtype: str, endpoint: bool) -> tuple[Parameter, Parameter, bool]:
    """The first numbers and the counts, modulo 2**64; whether a count may be 2**32 or more."""
    first, end = integers_of("low", low), integers_of("high", high)
    least, most = integer_limits(dtype)
    if first.known is not None:
        refuse(f"low is out of bounds for {dtype}", first.known < least, first)
    if end.known is not None:
        refuse(f"high is out of bounds for {dtype}", end.known > most + (not endpoint), end)
    words, test = ("low > high", _above) if endpoint else ("low >= high", _at_least)
    refuse_all(words, test, first, end)
    start, stop = _modulo(first), _modulo(end)
    count = stop.value - start.value + int(endpoint)
    if start.known is None or stop.known is None:
        return start, Parameter("count", count, None), True
    known = stop.known - start.known + np.uint64(endpoint)
    return start, Parameter("count", count, known), bool((known - np.uint64(1) >= 2**32 - 1).any())


def _above(low: Any, high: Any) -> Any:
    return low > high


def _at_least(low: Any, high: Any) -> Any:
    return low >= high


def _modulo(bound: Parameter) -> Parameter:
    """Integers modulo 2**64 as uint64; those that NumPy holds as objects may be beyond it."""
    if bound.known is None:
        return Parameter(bound.name, bound.value.astype("uint64"), None)
    known = np.asarray(bound.known % 2**64) if bound.known.dtype == object else bound.known
    known = known.astype("uint64")
    return Parameter(bound.name, asarray(known), known)


def integer_limits(dtype: str) -> tuple[int, int]:
    """The smallest and the largest number of an integer dtype, or of bool."""
    return (0, 1) if dtype == "bool" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
