"""``x.at[key].add(values)``: JAX's notation for an array with other elements at some places."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dataclass import dataclass
from ...errors import DTypeError
from ..array import Array, array_of
from ..indexing import items
from ..indexing.places import checked
from ..namespace.ranges import arange
from ..shapes import broadcast_to
from .bins import added_now, onto


@dataclass(frozen=True, eq=False)
class AtPlaces:
    """The places of ``array`` that ``x.at[key]`` names; a place may be named several times.

    Methods give a new array. What is added at one place several times is added each time, exactly,
    and rounded once; of several values that are set the last one stays.
    """

    _array: Array
    _key: Any

    def set(self, values: Any) -> Array:
        """The array with ``values`` there."""
        new = self._array._view(self._array._expr, self._array._grid)
        new[self._key] = values
        return new

    def add(self, values: Any) -> Array:
        """The array with ``values`` added there."""
        return self._changed("add", values)

    def subtract(self, values: Any) -> Array:
        """The array with ``values`` taken away there."""
        return self._changed("add", -self._cast(values))

    def min(self, values: Any) -> Array:
        """The array with the lesser of what is there and ``values``; NaN where one is."""
        return self._changed("min", values)

    def max(self, values: Any) -> Array:
        """The array with the greater of what is there and ``values``; NaN where one is."""
        return self._changed("max", values)

    def get(self) -> Array:
        """What is there."""
        found: Array = self._array[self._key]
        return found

    def _cast(self, values: Any) -> Array:
        own = self._array.dtype
        plain = isinstance(values, (bool, int, float)) and not isinstance(values, np.generic)
        given = array_of(values)
        if plain and not (isinstance(values, float) and own.kind != "f"):
            return given.astype(own)
        if not np.can_cast(given.dtype, own, "same_kind"):
            raise DTypeError(
                f"x.at[...] keeps the dtype {own}, and values of {given.dtype} do not become that: "
                f"x.astype('{np.result_type(own, given.dtype)}').at[...] does"
            )
        return given.astype(own)

    def _places(self) -> Array:
        """The numbers, in C order, of the elements that the key names."""
        array, key = self._array, self._key
        kind = getattr(key, "dtype", None)
        if array.ndim == 1 and kind is not None and kind.kind in "iu" and key.ndim:
            return checked(key, array.shape[0], 0)
        return arange(array.size, dtype="int64").reshape(array.shape)[key]

    def added_now(self, values: Any) -> Array | None:
        """As `add`, made at once where all lies in memory and one reading of it is enough."""
        array, key = self._array, self._key
        if not isinstance(key, (Array, np.ndarray)) or array.ndim != 1 or key.ndim != 1:
            return None
        places, given = array_of(key), self._cast(values)
        if places.dtype.kind not in "iu" or given.shape != places.shape:
            return None
        return added_now(array, places, given)

    def _changed(self, op: str, values: Any) -> Array:
        array, given = self._array, self._cast(values)
        if array.dtype == bool:  # whose sum is whether one is true
            op = "max" if op == "add" else op
            bits = AtPlaces(array.astype("uint8"), self._key)._changed(op, given.astype("uint8"))
            return array._view(bits.astype("bool")._expr, array._grid)
        places = self._places()
        spread = broadcast_to(given, places.shape)
        if not places.size:
            return array._view(array._expr, array._grid)
        new = onto(op, array.reshape(-1), places.reshape(-1), spread.reshape(-1))
        return array._view(new.reshape(array.shape)._expr, array._grid)


@dataclass(frozen=True, eq=False)
class AtArray:
    """``x.at``: waits for a key."""

    _array: Array

    def __getitem__(self, key: Any) -> AtPlaces:
        return AtPlaces(self._array, key)


items.register_at(AtArray)
