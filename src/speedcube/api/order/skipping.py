"""Quantiles of what is no NaN: each line has its own number of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import Array, elementwise
from ..functions.floats import either
from ..joining import stack
from .lines import along, order_statistics, sorted_lines
from .quantiles import Lazily, between, is_whole, joined, neighbours, of_lines


def numbers_of(lines: Array) -> Array:
    """How many elements of each line are no NaN; an axis of size one."""
    known = elementwise("logical_not", elementwise("isnan", lines))
    return known.sum(axis=-1, keepdims=True, dtype="int64")


def middle(low: Array, high: Array) -> Array:
    """The exact mean of two elements, rounded once."""
    return stack((low, high), -1).mean(axis=-1)


def nan_medians(lines: Array) -> Array:
    """The median of what is no NaN in each line; NaN where nothing is."""
    if lines.ndim == 1:
        count = int(numbers_of(lines)[0])
        if not count:
            return either(True, np.nan, lines.sum())
        two = order_statistics(lines, ((count - 1) // 2, count // 2))
        return two.mean(axis=-1)
    count_of = numbers_of(lines)
    values = sorted_lines(lines, lines.ndim - 1)
    low, high = (
        along(values, place.clip(0, lines.shape[-1] - 1), lines.ndim - 1)[..., 0]
        for place in ((count_of - 1) // 2, count_of // 2)
    )
    return either(count_of[..., 0] == 0, np.nan, middle(low, high))


def nan_quantiles(lines: Array, q: Any, weak: bool, method: str) -> Array:
    """The quantiles ``q`` of what is no NaN in each line; NaN where nothing is."""
    if lines.ndim == 1:
        count = int(numbers_of(lines)[0])
        if count:
            return of_lines(lines, count, q, weak, method, False)
        nothing = either(True, np.nan, lines.sum())
        return joined([nothing] * q.size, lines, q)
    values, last = sorted_lines(lines, lines.ndim - 1), lines.ndim - 1
    count_of = numbers_of(lines)
    whole = is_whole(lines, q, method)
    found = []
    for one in q.reshape(-1).tolist():
        n = count_of.astype("float64")
        previous, following, gamma = neighbours(method, n, float(one), Lazily)
        low, high = (
            along(values, place.clip(0, lines.shape[-1] - 1).astype("int64"), last)
            for place in (previous, following)
        )
        result = low
        if not whole:
            dtype = lines.dtype if weak else np.result_type(lines.dtype, np.float64)
            step, rest = gamma.astype(dtype), (1 - gamma).astype(dtype)
            result = between(low, high, step, rest, gamma >= 0.5)
        found.append(either(count_of == 0, np.nan, result)[..., 0])
    return joined(found, lines, q)
