"""Quantiles of what is no NaN, and of elements that have weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ParameterError, ParameterTypeError, ShapeError
from ...expr import build
from ..array import Array, array_of, elementwise
from ..functions.floats import either, is_of_floats
from ..joining import stack
from ..shapes import broadcast_to
from .lines import along, order_statistics, places_of, sorted_lines
from .quantiles import WHOLE, Lazily, between, joined, neighbours, of_lines


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
    whole = method in WHOLE or (method == "linear" and q.dtype.kind in "biu")
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
            parts = (part.astype(dtype) for part in (gamma, 1 - gamma))
            result = between(low, high, *parts, gamma >= 0.5)
        found.append(either(count_of == 0, np.nan, result)[..., 0])
    return joined(found, lines, q)


def check_weights(array: Array, axis: Any, weights: Any, method: str) -> Array:
    """``weights`` in the shape of ``array``."""
    if method != "inverted_cdf":
        raise ParameterError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    heavy = array_of(weights).astype("float64")
    if heavy.shape != array.shape:
        if axis is None:
            raise ParameterTypeError("Axis must be specified when shapes of a and weights differ.")
        axes = axis if isinstance(axis, (tuple, list)) else (axis,)
        axes = tuple(build.check_axis(k, array.ndim) for k in axes)
        if heavy.shape != tuple(array.shape[k] for k in axes):
            raise ShapeError(
                "Shape of weights must be consistent with shape of a along specified axis."
            )
        turned = heavy.transpose(tuple(int(k) for k in np.argsort(axes)))
        shape = tuple(n if k in axes else 1 for k, n in enumerate(array.shape))
        heavy = broadcast_to(turned.reshape(shape), array.shape)
    if heavy.size and bool((heavy < 0).any()):
        raise ParameterError("Weights must be non-negative.")
    return heavy


def weighted_quantiles(lines: Array, weights: Array, q: Any, skips_nan: bool) -> Array:
    """The least element of each line where the exact sums of weights reach ``q`` of all.

    ``skips_nan``: NaN has no weight; else a NaN in a line makes NaN.
    """
    last = lines.ndim - 1
    if skips_nan and is_of_floats(lines):
        weights = either(elementwise("isnan", lines), 0.0, weights)
    order = places_of(lines, last)
    values, heavy = along(lines, order, last), along(weights, order, last)
    sums = heavy.cumsum(axis=-1)
    total = sums[..., -1:]
    if not bool(((total > 0) & elementwise("isfinite", total)).all()):
        if not skips_nan:
            raise ParameterError("Weights included NaN, inf or were all zero.")
    shares = sums / total
    shares = either(shares == 0, -1.0, shares)
    if q.dtype.kind == "f":
        shares = shares.astype(q.dtype)
    found = []
    for one in q.reshape(-1):
        before = (shares < one).sum(axis=-1, keepdims=True, dtype="int64")
        result = along(values, before.clip(0, lines.shape[-1] - 1), last)[..., 0]
        if is_of_floats(lines):
            invalid = total[..., 0] == 0 if skips_nan else elementwise("isnan", values[..., -1])
            result = either(invalid, np.nan, result)
        found.append(result)
    return joined(found, lines, q)
