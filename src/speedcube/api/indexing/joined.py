"""`r_` and `c_`: arrays, numbers and ranges, joined by an index."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...errors import ParameterError
from ..array import Array, array_of
from ..joining import concatenate
from ..namespace.ranges import arange, linspace


class Placing(NamedTuple):
    """Along which axis; of how many axes at least; which of these a line becomes (-1: the last)."""

    axis: int = 0
    ndmin: int = 1
    place: int = -1


class Joiner:
    """What `r_` and `c_` are: indexed by what is joined."""

    def __init__(self, name: str, how: Placing, doc: str) -> None:
        self._name, self._how, self.__doc__ = name, how, doc

    def __repr__(self) -> str:
        return f"speedcube.{self._name}"

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Array:
        items = key if isinstance(key, tuple) else (key,)
        how = self._how
        if items and isinstance(items[0], str):
            how, items = _told(how, items[0]), items[1:]
        if not items:
            raise ParameterError(f"{self._name}[...] takes at least one array, number or range")
        kinds = [_number(one) for one in items]
        dtype = np.result_type(*[
            one if kind is None else kind for one, kind in zip(_arrays(items), kinds, strict=True)
        ])  # fmt: skip
        parts = [_placed(one, how) for one in _arrays(items)]
        return concatenate([one.astype(dtype) for one in parts], axis=how.axis)


def _arrays(items: tuple[Any, ...]) -> list[Any]:
    return [_range(one) if isinstance(one, slice) else array_of(one) for one in items]


def _number(item: Any) -> Any:
    """A number of Python's, which has no dtype of its own; None of others."""
    return item if type(item) in (bool, int, float, complex) else None


def _range(item: slice) -> Array:
    """``start:stop:step`` as numbers; a step of ``5j`` gives five, the last one too."""
    start, step = 0 if item.start is None else item.start, 1 if item.step is None else item.step
    if isinstance(step, (complex, np.complexfloating)):
        line: Array = linspace(start, item.stop, int(abs(complex(step))))
        return line
    return arange(start, item.stop, step)


def _placed(array: Array, how: Placing) -> Array:
    """``array`` with axes of size one, so that it has enough; its own begin at ``how.place``."""
    missing = how.ndmin - array.ndim
    if missing <= 0:
        return array
    first = how.place if how.place >= 0 else how.place + missing + 1
    shape = (*(1,) * first, *array.shape, *(1,) * (missing - first))
    return array.reshape(shape)


def _told(how: Placing, text: str) -> Placing:
    """What a text in front says: "axis", "axis,ndmin" or "axis,ndmin,place"."""
    if text in ("r", "c"):
        raise ParameterError("matrices are arrays of two axes here: leave the 'r' or 'c' out")
    try:
        numbers = [int(one) for one in text.split(",")]
        return Placing(*numbers, *how[len(numbers) :])
    except (ValueError, TypeError):
        raise ParameterError(
            f"{text!r} is no axis: give 'axis', 'axis,ndmin' or 'axis,ndmin,place'"
        ) from None


r_ = Joiner("r_", Placing(), "Arrays, numbers and ranges, along the first axis: ``r_[0, x, 1:4]``.")
c_ = Joiner(
    "c_", Placing(-1, 2, 0), "The same as columns: along the last axis, of two axes at least."
)
