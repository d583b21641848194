"""Quantiles of what is no NaN: each line has its own number of elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...engine.rungs import resolve
from ...engine.streams.made.cells import reads_files
from ...errors import SpeedcubeError
from ...expr.through.between import MEDIAN, neighbours, of_numbers
from ..array import Array, elementwise
from ..functions.floats import either
from ..joining import stack
from .lines import along, order_statistics, sorted_lines
from .quantiles import Lazily, between, is_whole, joined, of_lines

_CORES: Final = ("core", "cores")


def numbers_of(lines: Array) -> Array:
    """How many elements of each line are no NaN; an axis of size one."""
    known = elementwise("logical_not", elementwise("isnan", lines))
    return known.sum(axis=-1, keepdims=True, dtype="int64")


def middle(low: Array, high: Array) -> Array:
    """The exact mean of two elements, rounded once."""
    return stack((low, high), -1).mean(axis=-1)


class _Found:
    """How many numbers each line has, and those before and behind quantiles of them."""

    def __init__(self, lines: Array, method: str, chances: Sequence[float]) -> None:
        self._lines, self._selected = lines, _is_selected(lines)
        if self._selected:
            leaf = of_numbers(lines._expr, method, tuple(map(float, chances)))
            self._made = Array(leaf, gpu=lines._gpu)
            self.count_of = self._made[..., :1]
        else:
            self.count_of, self._sorted = numbers_of(lines), sorted_lines(lines, lines.ndim - 1)

    def pair(self, k: int, places: tuple[Array, Array]) -> list[Array]:
        """The elements before and behind quantile ``k``, which have these ``places``."""
        if self._selected:
            first = 1 + 2 * k
            both = self._made[..., first : first + 1], self._made[..., first + 1 : first + 2]
            return [one.astype(self._lines.dtype) for one in both]
        last = self._lines.ndim - 1
        within = (place.clip(0, self._lines.shape[-1] - 1).astype("int64") for place in places)
        return [along(self._sorted, place, last) for place in within]


def _is_selected(lines: Array) -> bool:
    """Whether elements of ``lines`` are selected: of files, by cores; others are sorted first.

    A sort of all of them holds them twice and takes three times as long.
    """
    if lines._gpu or not reads_files([lines._expr]):
        return False
    try:
        return resolve(None, None, lines.size, lines._gpu, lines.dtype.name).kind in _CORES
    except SpeedcubeError:
        return False


def nan_medians(lines: Array) -> Array:
    """The median of what is no NaN in each line; NaN where nothing is."""
    if lines.ndim == 1:
        count = int(numbers_of(lines)[0])
        if not count:
            return either(True, np.nan, lines.sum())
        two = order_statistics(lines, ((count - 1) // 2, count // 2))
        return two.mean(axis=-1)
    found = _Found(lines, MEDIAN, (0.5,))
    count_of = found.count_of
    low, high = found.pair(0, ((count_of - 1) // 2, count_of // 2))
    return either(count_of[..., 0] == 0, np.nan, middle(low[..., 0], high[..., 0]))


def nan_quantiles(lines: Array, q: Any, weak: bool, method: str) -> Array:
    """The quantiles ``q`` of what is no NaN in each line; NaN where nothing is."""
    if lines.ndim == 1:
        count = int(numbers_of(lines)[0])
        if count:
            return of_lines(lines, count, q, weak, method, False)
        nothing = either(True, np.nan, lines.sum())
        return joined([nothing] * q.size, lines, q)
    chances = q.reshape(-1).tolist()
    by_place = _Found(lines, method, chances)
    count_of = by_place.count_of
    whole = is_whole(lines, q, method)
    found = []
    for k, one in enumerate(chances):
        n = count_of.astype("float64")
        previous, following, gamma = neighbours(method, n, float(one), Lazily)
        low, high = by_place.pair(k, (previous, following))
        result = low
        if not whole:
            dtype = lines.dtype if weak else np.result_type(lines.dtype, np.float64)
            step, rest = gamma.astype(dtype), (1 - gamma).astype(dtype)
            result = between(low, high, step, rest, gamma >= 0.5)
        found.append(either(count_of == 0, np.nan, result)[..., 0])
    return joined(found, lines, q)
