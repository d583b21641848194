"""Arrays element by element: loops, `flat` and `ndenumerate`. Values are computed once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...engine.stepwise.nodes import is_made_of_few
from ...errors import ParameterError
from ...expr.nodes import Leaf, Stored
from ..stored import leaf_of

if TYPE_CHECKING:
    from ..array import Array

FEW: Final = 1 << 14  # elements of an array that is computed by a loop over it
LEAST: Final = 8  # of them in a loop; fewer are taken apart, as by ``x, y, z = point``
_BELOW: Final = 1 << 17  # and of whatever it is made of


def rows(self: Array) -> Iterator[Array]:
    """``x[0]``, ``x[1]`` and so on, lazily; of few elements, made of few, their values now.

    Each of them would otherwise be made of all that the array is made of, again and again.
    """
    return _rows(self, len(self))


def _rows(array: Array, count: int) -> Iterator[Array]:
    """These rows; computed by the first step, for who asks whether there is a loop takes none."""
    at_hand = type(array._expr) is Leaf and type(array._expr.source) is Stored
    yield from map(
        (array if at_hand or count < LEAST else _as_now(array)).__getitem__, range(count)
    )


def _as_now(array: Array) -> Array:
    if array._gpu or array.size > FEW or not is_made_of_few(array._expr, _BELOW):
        return array
    expr, _ = leaf_of(np.asarray(array.compute()))
    return array._view(expr, array._grid)


def _compared(name: str) -> Any:
    def method(self: Flat, other: Any) -> Any:
        return getattr(self.copy(), name)(other.copy() if isinstance(other, Flat) else other)

    method.__name__ = name
    return method


class Flat:
    """The elements of an array in C order: read by an index, assigned to, or one after the other.

    Who walks through them has the values of the first step, in memory. It is an iterator, as
    NumPy's: an index puts it back to its first element.
    """

    __hash__ = None  # type: ignore[assignment]
    __eq__ = _compared("__eq__")
    __ne__ = _compared("__ne__")
    __lt__ = _compared("__lt__")
    __le__ = _compared("__le__")
    __gt__ = _compared("__gt__")
    __ge__ = _compared("__ge__")

    def __init__(self, base: Array) -> None:
        self.base = base
        self._place = 0
        self._values: Any = None

    def __repr__(self) -> str:
        return f"<speedcube.Array.flat of {len(self)} elements>"

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        """The rest; a generator takes a third of the time that `next` takes for each."""
        for place, value in enumerate(self._held()[self._place :], self._place + 1):
            self._place = place
            yield value

    def __next__(self) -> Any:
        values = self._held()
        if self._place >= len(values):
            raise StopIteration
        self._place += 1
        return values[self._place - 1]

    def _held(self) -> np.ndarray[Any, np.dtype[Any]]:
        """All elements, in memory from the first step on."""
        if self._values is None:
            self._values = np.asarray(self.base.compute()).reshape(-1)
        held: np.ndarray[Any, np.dtype[Any]] = self._values
        return held

    @property
    def index(self) -> int:
        """The place of the next element."""
        return self._place

    @property
    def coords(self) -> tuple[int, ...]:
        """Its index along each axis."""
        place, found = self._place, []
        for k, extent in enumerate(reversed(self.base.shape), 1):
            place, along = (place, 0) if not extent else divmod(place, extent)
            found.append(place * extent + along if k == self.base.ndim else along)
        return tuple(reversed(found))

    def _line(self) -> Array:
        self._place, self._values = 0, None
        return self.base.reshape(-1)

    def __getitem__(self, key: Any) -> Any:
        return self._line()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        line = self._line()
        wanted, given = line[key].size, np.size(value)
        if given != 1:  # repeated, or cut: as NumPy's do it
            if not given:
                raise ParameterError("flat[key] = value needs a value; it got none")
            repeated = _line(self.base, value)
            value = repeated[np.arange(wanted) % given] if given != wanted else repeated
            value = value.reshape(line[key].shape)
        line[key] = value
        self.base[...] = line.reshape(self.base.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.base.reshape(-1).compute(), dtype=dtype)

    def copy(self) -> Array:
        """The elements as an array of one axis."""
        return self._line()


def _line(like: Array, value: Any) -> Any:
    array = value if isinstance(value, type(like)) else np.asarray(value)
    return array.reshape(-1)


def flat(self: Array) -> Flat:
    """The elements in C order: ``x.flat[3]``, ``x.flat[::2] = 0``, or one after the other."""
    return Flat(self)


def set_flat(self: Array, value: Any) -> None:
    """``x.flat = value``: each element in C order, the values again from the first."""
    Flat(self)[:] = value


def ndenumerate(arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """The index and the value of each element, one after the other; values are computed at once.

    Parameters
    ----------
    arr : array_like
        Of any shape.

    Returns
    -------
    iterator
        Of pairs: a tuple of integers, and a number of NumPy's.

    Examples
    --------
    >>> import speedcube as sc
    >>> [(index, int(value)) for index, value in sc.ndenumerate(sc.arange(4).reshape(2, 2))]
    [((0, 0), 0), ((0, 1), 1), ((1, 0), 2), ((1, 1), 3)]
    """
    return iter(np.ndenumerate(np.asarray(arr)))
