"""What blocks of rows have of each group, put together: counts, extremes, who comes first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ....expr.through.grouping import nothing
from ....expr.through.ordering import one_nan

Array: TypeAlias = NDArray[Any]
Join: TypeAlias = Callable[[Array, Array, bool], Array]


class Combined:
    """Results of groups of rows so far; ``join`` puts those of a later block to earlier ones."""

    def __init__(self, join: Join, empty: Any, shape: Any, dtype: Any, skip: bool) -> None:
        self._join, self._skip = join, skip
        self.found = np.full(shape, nothing(dtype) if empty is None else empty, dtype)
        self._seen = np.zeros(shape[0], bool)

    def add(self, groups: Array, made: Array) -> None:
        """The results ``made`` of a block for ``groups``, each of which has some of its rows."""
        again = self._seen[groups]
        old, new = groups[again], made[again]
        self.found[groups[~again]] = made[~again]
        if len(old):
            self.found[old] = self._join(self.found[old], new, self._skip)
        self._seen[groups] = True


def _extreme(first: bool) -> Join:
    def join(one: Array, other: Array, skip: bool) -> Array:
        if one.dtype.kind != "f":
            return np.asarray((np.minimum if first else np.maximum)(one, other))
        with np.errstate(invalid="ignore"):
            later = other < one if first else other > one
            signs = (one == other) & (np.signbit(other) == first)
        missing = np.isnan(one) if skip else np.isnan(other)
        keeps = np.isnan(other) if skip else np.isnan(one)
        return one_nan(np.where((later | signs | missing) & ~keeps, other, one))

    return join


def _first(one: Array, other: Array, skip: bool) -> Array:
    return np.where(np.isnan(one), other, one) if skip and one.dtype.kind == "f" else one


def _last(one: Array, other: Array, skip: bool) -> Array:
    return np.where(np.isnan(other), one, other) if skip and one.dtype.kind == "f" else other


def _added(one: Array, other: Array, skip: bool) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(one + other)


def _of(join: Join, empty: Any = None) -> Callable[[Any, Any, bool], Combined]:
    return lambda shape, dtype, skip: Combined(join, empty, shape, dtype, skip)


# Of what no group has rows of, sums are 0; extremes are what stands for nothing.
COMBINED: Final[dict[str, Callable[[Any, Any, bool], Combined]]] = {
    "min": _of(_extreme(True)),
    "max": _of(_extreme(False)),
    "first": _of(_first),
    "last": _of(_last),
    "numbers": _of(_added, 0),
    "sum": _of(_added, 0),
}
