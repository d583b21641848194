"""``np.add.at(x, i, v)`` where one of them is ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...errors import UnsupportedError
from ..array import Array, array_of
from ..methods.numpy_protocol import array_ufunc, register
from ..scatter.at import AtPlaces
from ..shapes import broadcast_to
from ..sources import asarray

_METHODS: Final = {"add": "add", "subtract": "subtract", "minimum": "min", "maximum": "max"}
_OF_BOOLS: Final = {
    **{name: "max" for name in ("add", "maximum", "logical_or", "bitwise_or")},
    **{name: "min" for name in ("multiply", "minimum", "logical_and", "bitwise_and")},
}
_MOST: Final = 64  # times that one place is changed by a ufunc whose order counts


def ufunc_at(ufunc: Any, array: Any, key: Any, *values: Any) -> None:
    """``ufunc.at(array, key, values)``: an array of ours is another one from now on."""
    if len(values) != ufunc.nin - 1 or ufunc.nout != 1:
        raise UnsupportedError(
            f"numpy.{ufunc.__name__}.at takes {ufunc.nin - 1} arrays of values, not {len(values)}"
        )
    if isinstance(array, Array):
        array._rebind(_changed(ufunc, array, key, values))
        return
    if not isinstance(array, np.ndarray):
        raise UnsupportedError(f"numpy.{ufunc.__name__}.at changes arrays, not {type(array)}")
    array[...] = _changed(ufunc, asarray(array.copy()), key, values).compute()


def _changed(ufunc: Any, array: Array, key: Any, values: tuple[Any, ...]) -> Array:
    bools = array.dtype == bool and all(array_of(one).dtype == bool for one in values)
    method = (_OF_BOOLS if bools else _METHODS).get(ufunc.__name__)
    if method is not None and (bools or array.dtype != bool):
        there = AtPlaces(array, key)
        now = there.added_now(*values) if method == "add" else None
        return getattr(there, method)(*values) if now is None else now
    places = AtPlaces(array, key)._places()
    numbers = np.asarray(places).reshape(-1)  # which of them are equal counts: read at once
    given = [broadcast_to(array_of(one), places.shape).reshape(-1) for one in values]
    line = array.reshape(-1)
    for turn in _turns(ufunc.__name__, numbers):
        chosen = [one if len(turn) == len(numbers) else one[turn] for one in given]
        at = numbers[turn]
        found = array_ufunc(line, ufunc, "__call__", line[at], *chosen)
        line = AtPlaces(line, at).set(found.astype(array.dtype))
    return array._view(line.reshape(array.shape)._expr, array._grid)


def _turns(name: str, numbers: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Which values come first to their places, which second ...: in the order they are given."""
    order = np.argsort(numbers, kind="stable")
    ranked = numbers[order]
    begins = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1])) if len(ranked) else order
    lengths = np.diff(np.append(begins, len(ranked)))
    most = int(lengths.max(initial=0))
    if most > _MOST:
        raise UnsupportedError(
            f"numpy.{name}.at would change one place {most} times in a row, and at "
            f"most {_MOST} are possible: sort the values by place, then fold them"
        )
    turn = np.empty(len(numbers), np.int64)
    turn[order] = np.arange(len(ranked)) - np.repeat(begins, lengths)
    for k in range(most):
        yield np.flatnonzero(turn == k)


register({"at": ufunc_at})
