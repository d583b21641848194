"""Quantiles of elements that have weights, whose sums are exact."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ParameterError, ParameterTypeError, ShapeError
from ...expr import build
from ..array import Array, array_of, elementwise
from ..functions.floats import either, is_of_floats
from ..shapes import broadcast_to
from .lines import along, places_of
from .quantiles import joined


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
    valid: Any = elementwise("logical_and", total > 0, elementwise("isfinite", total))
    if not skips_nan and not bool(valid.all()):
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
