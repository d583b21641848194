"""Reductions and running sums that leave masked elements out, one kernel each: values and mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..api.array import Array, elementwise
from .pairs import Pair, cast, either, isnt_finite


def filled(data: Array, mask: Any, value: Any) -> Array:
    """The values, and ``value`` where they are masked."""
    if mask is None:
        return data
    return elementwise("where", mask, cast(np.asarray(value), data.dtype), data)


def count(mask: Any, axis: Any, keepdims: bool) -> Array:
    """How many elements are not masked."""
    return elementwise("logical_not", mask).sum(axis=axis, keepdims=keepdims)


def _of_all(mask: Any, axis: Any, keepdims: bool) -> Any:
    """Which results have no element."""
    return None if mask is None else mask.all(axis=axis, keepdims=keepdims)


def of_sum(
    data: Array, mask: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False
) -> Pair:
    """The sum of what is not masked."""
    total = filled(data, mask, 0).sum(axis=axis, dtype=dtype, keepdims=keepdims)
    return total, _of_all(mask, axis, keepdims)


def of_prod(
    data: Array, mask: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False
) -> Pair:
    """The product of what is not masked."""
    total = filled(data, mask, 1).prod(axis=axis, dtype=dtype, keepdims=keepdims)
    return total, _of_all(mask, axis, keepdims)


def of_mean(
    data: Array, mask: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False
) -> Pair:
    """The mean of what is not masked."""
    if mask is None:
        return data.mean(axis=axis, dtype=dtype, keepdims=keepdims), None
    narrow = dtype is None and data.dtype == np.float16
    kind = dtype
    if kind is None:
        kind = np.float64 if data.dtype.kind in "biu" else np.float32 if narrow else None
    total, none = of_sum(data, mask, axis, kind, keepdims=keepdims)
    wide = total.astype(np.result_type(total.dtype, np.float64))
    mean = elementwise("divide", wide, count(mask, axis, keepdims))
    if mean.ndim:  # a quotient of arrays; that of two numbers is none of numpy.ma's
        none = either(none, isnt_finite(mean))
    return (mean.astype(np.float16) if narrow else mean), none


def of_var(
    data: Array,
    mask: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
) -> Pair:
    """The variance of what is not masked; masked where a NaN is in it, of which numpy.ma says 0."""
    if mask is None:
        return data.var(axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims), None
    wide = data.astype(np.result_type(data.dtype, np.float64))
    there = elementwise("logical_not", mask)
    value = wide.var(axis=axis, ddof=ddof, keepdims=keepdims, where=there)
    few = elementwise("less_equal", count(mask, axis, keepdims), ddof)
    return value, either(either(_of_all(mask, axis, keepdims), few), isnt_finite(value))


def of_std(
    data: Array,
    mask: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
) -> Pair:
    """The standard deviation of what is not masked."""
    value, none = of_var(data, mask, axis, dtype, ddof=ddof, keepdims=keepdims)
    return elementwise("sqrt", value), none


def of_min(data: Array, mask: Any, axis: Any = None, *, keepdims: bool = False) -> Pair:
    """The least of what is not masked."""
    return _extreme("min", data, mask, axis, keepdims)


def of_max(data: Array, mask: Any, axis: Any = None, *, keepdims: bool = False) -> Pair:
    """The largest of what is not masked."""
    return _extreme("max", data, mask, axis, keepdims)


def of_ptp(data: Array, mask: Any, axis: Any = None, *, keepdims: bool = False) -> Pair:
    """The largest less the least of what is not masked."""
    largest, none = of_max(data, mask, axis, keepdims=keepdims)
    return elementwise("subtract", largest, of_min(data, mask, axis, keepdims=keepdims)[0]), none


def _extreme(name: str, data: Array, mask: Any, axis: Any, keepdims: bool) -> Pair:
    elements = filled(data, mask, _neutral(name, data))
    return getattr(elements, name)(axis=axis, keepdims=keepdims), _of_all(mask, axis, keepdims)


def _neutral(name: str, data: Array) -> Any:
    known = np.ma.minimum_fill_value if name == "min" else np.ma.maximum_fill_value
    return known(np.zeros(0, data.dtype))


def of_argmin(data: Array, mask: Any, axis: Any = None, *, keepdims: bool = False) -> Array:
    """Where the least is of what is not masked."""
    return filled(data, mask, _neutral("min", data)).argmin(axis=axis, keepdims=keepdims)


def of_argmax(data: Array, mask: Any, axis: Any = None, *, keepdims: bool = False) -> Array:
    """Where the largest is of what is not masked."""
    return filled(data, mask, _neutral("max", data)).argmax(axis=axis, keepdims=keepdims)


def of_all(data: Array, mask: Any, axis: Any = None, *, keepdims: bool = False) -> Pair:
    """Whether all hold of what is not masked."""
    found = filled(data, mask, 1).all(axis=axis, keepdims=keepdims)
    return found, _of_all(mask, axis, keepdims)


def of_any(data: Array, mask: Any, axis: Any = None, *, keepdims: bool = False) -> Pair:
    """Whether one holds of what is not masked."""
    found = filled(data, mask, 0).any(axis=axis, keepdims=keepdims)
    return found, _of_all(mask, axis, keepdims)


def of_cumsum(data: Array, mask: Any, axis: Any = None, dtype: Any = None) -> Pair:
    """The running sums of what is not masked."""
    return filled(data, mask, 0).cumsum(axis=axis, dtype=dtype), _in_line(mask, axis)


def of_cumprod(data: Array, mask: Any, axis: Any = None, dtype: Any = None) -> Pair:
    """The running products of what is not masked."""
    return filled(data, mask, 1).cumprod(axis=axis, dtype=dtype), _in_line(mask, axis)


def _in_line(mask: Any, axis: Any) -> Any:
    return mask.ravel() if mask is not None and axis is None else mask
