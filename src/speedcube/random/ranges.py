"""Ranges of integers: a source of the stream where numbers give one, else formulas over its words.

Of bounds in arrays, a range of n numbers from ``low`` holds `low + floor(A n / 2**64)` of a word A,
as the source ``integers`` has it. From `n = 2**32` on a second word B is taken, of the next call:
`low + floor((2**64 A + B) n / 2**128)`. The bias is below `2**-32` and `2**-64` of a
number's share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..api import elementwise as sc
from ..api.array import Array
from ..api.sources import asarray
from ..errors import DTypeError, ParameterError
from .draws import Draws, shown, sources
from .parameters import (
    Parameter,
    drawn_shape,
    has_axes,
    integers_of,
    refuse,
    refuse_all,
    whole_number,
)
from .sources import with_parameters

_HALF = 0xFFFF_FFFF


def integers(
    self: Draws,
    low: Any,
    high: Any = None,
    size: Any = None,
    dtype: Any = "int64",
    endpoint: bool = False,
    chunks: Any = None,
) -> Array:
    """Integers in `[low, high)` (`[0, low)` without ``high``), or up to ``high`` with ``endpoint``.

    A range below `2**32` has a bias below `2**-32`, a wider one below `2**-64` (stream v1). Arrays
    of bounds that are lazy, or where a range is wider, take a second call number.
    """
    start, end = (0, low) if high is None else (low, high)
    name = dtypes.check(dtype)
    if not dtypes.is_integer(name) and name != "bool":
        raise DTypeError(f"integers gives integer dtypes, not {name}")
    if any(has_axes(bound) or isinstance(bound, Array) for bound in (start, end)):
        return shown(_between(self, start, end, size, name, endpoint), chunks)
    first, last = whole_number("low", start), whole_number("high", end) - (not endpoint)
    least, most = _limits(name)
    if first < least or last > most:
        raise ParameterError(f"[{first}, {last}] is out of bounds for {name}")
    count = last - first + 1
    if count <= 0:
        raise ParameterError(f"low >= high: low is {first}, high is {last + 1}")
    kind = "integers" if count < 2**32 else "integers_wide" if count < 2**64 else "bits64"
    shape = drawn_shape(size)
    if name == "bool":
        bits = with_parameters(self, kind, (first, count), shape, "uint8", None)
        return shown(bits.astype("bool"), chunks)
    return with_parameters(self, kind, (first, count % 2**64), shape, name, chunks)


def _limits(dtype: str) -> tuple[int, int]:
    """The smallest and the largest number of an integer dtype, or of bool."""
    return (0, 1) if dtype == "bool" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


def _between(draws: Draws, low: Any, high: Any, size: Any, dtype: str, endpoint: bool) -> Array:
    """Integers in [low, high), or up to ``high`` with ``endpoint``; one of both is an array."""
    first, count, wide = _checked(low, high, dtype, endpoint)
    shape = drawn_shape(size, first, count)
    n: Array = count.value
    above: Array
    if wide:
        word, more = sources(draws, ["bits64", "bits64"], shape, "uint64")
        below = word * n
        carried = (below + _high(more, n) < below).astype("uint64")
        above = _high(word, n) + sc.where(n >= 2**32, carried, 0)
        above = sc.where(sc.equal(n, 0), word, above)  # all 2**64
    else:
        (word,) = sources(draws, ["bits64"], shape, "uint64")
        above = _high(word, n)
    numbers: Array = first.value + above
    return numbers.astype(dtype)


def _high(word: Array, n: Array) -> Array:
    """The upper 64 bits of a product of 64 bits each."""
    low, high, n_low, n_high = word & _HALF, word >> 32, n & _HALF, n >> 32
    left, right = high * n_low, low * n_high
    middle = ((low * n_low) >> 32) + (left & _HALF) + (right & _HALF)
    upper: Array = high * n_high + (left >> 32) + (right >> 32) + (middle >> 32)
    return upper


def _checked(low: Any, high: Any, dtype: str, endpoint: bool) -> tuple[Parameter, Parameter, bool]:
    """The first numbers and the counts, modulo `2**64`; whether a count may be `2**32` or more."""
    first, end = integers_of("low", low), integers_of("high", high)
    least, most = _limits(dtype)
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
    """Integers modulo `2**64` as uint64; those that NumPy holds as objects may be beyond it."""
    if bound.known is None:
        return Parameter(bound.name, bound.value.astype("uint64"), None)
    known = np.asarray(bound.known % 2**64) if bound.known.dtype == object else bound.known
    known = known.astype("uint64")
    return Parameter(bound.name, asarray(known), known)
