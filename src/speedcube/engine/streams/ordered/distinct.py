"""Distinct values of what is seen a piece at a time, where each was first and how often it came."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ....errors import MemoryLimitError
from ... import machine

Array: TypeAlias = NDArray[Any]

_COPIES: Final = 4  # of what was found, while more is added
_BLOCK: Final = 1 << 15  # sorted elements that are compared with those before them at a time


class DistinctSoFar:
    """What is known of the pieces so far; of -0 and 0 the first. ``equal_nan``: all NaN are one."""

    def __init__(self, dtype: Any, equal_nan: bool) -> None:
        self.values = np.empty(0, dtype)
        self.firsts, self.counts = np.empty(0, np.int64), np.empty(0, np.int64)
        self.equal_nan = equal_nan

    def add(self, values: Array, firsts: Array, counts: Array) -> None:
        """Add those of the next piece, in order."""
        both = np.concatenate([self.values, values])
        order = np.argsort(both, kind="stable")
        both = both[order]
        at = np.flatnonzero(starts_of(both, self.equal_nan))
        self.firsts = np.concatenate([self.firsts, firsts])[order][at]
        self.counts = np.add.reduceat(np.concatenate([self.counts, counts])[order], at)
        self.values = both[at]
        size = _COPIES * len(at) * (self.values.itemsize + 16)
        if size > (free := machine.free_memory()):
            raise MemoryLimitError(
                f"more than {len(at):,} elements are distinct, which takes {size:,} bytes, and "
                f"{free:,} are free: sc.sort(x).to_zarr(...) writes all of them in order"
            )


def starts_of(values: Array, equal_nan: bool) -> NDArray[np.bool_]:
    """Which elements of sorted ``values`` differ from the one before."""
    starts = np.empty(len(values), bool)
    starts[:1] = True
    np.not_equal(values[1:], values[:-1], out=starts[1:])
    if equal_nan:
        starts[_first_nan(values) + 1 :] = False
    return starts


def _first_nan(values: Array) -> int:
    """Where NaN begin in sorted ``values``, complex ones with a part that is NaN; else the end."""
    if not len(values) or values.dtype.kind not in "fc" or not np.isnan(values[-1]):
        return len(values)
    if values.dtype.kind == "f":
        return int(np.searchsorted(values, np.nan))
    return int(np.searchsorted(np.isnan(values), True))


def first_of_each(values: Array, equal_nan: bool) -> Array:
    """The first of equal ones of sorted ``values``; those themselves where all differ."""
    if equal_nan:
        values = values[: _first_nan(values) + 1]
    found, size = values, min(1, len(values))
    for first in range(1, len(values), _BLOCK):  # a block stays cached
        block = values[first : first + _BLOCK]
        starts = block != values[first - 1 : first - 1 + len(block)]
        count = int(np.count_nonzero(starts))
        if found is values and count < len(block):
            found = np.empty_like(values)
            found[:size] = values[:size]
        if found is not values:
            found[size : size + count] = block[starts]
        size += count
    return found[:size]
