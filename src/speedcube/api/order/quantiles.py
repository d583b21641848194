"""Quantiles: elements by their place in the order, and what lies between two of them."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ...errors import DTypeError, ParameterError
from ...expr import build
from ...expr.through.between import METHODS, neighbours
from ..array import Array, array_of, elementwise
from ..functions.floats import either, is_of_floats
from ..joining import stack
from ..methods.keywords import as_axes
from .lines import order_statistics

WHOLE: Final = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")


class Lazily:
    """The functions of `METHODS` for arrays that are lazy."""

    @staticmethod
    def floor(x: Any) -> Array:
        return elementwise("floor", x)

    @staticmethod
    def ceil(x: Any) -> Array:
        return elementwise("ceil", x)

    @staticmethod
    def rint(x: Any) -> Array:
        return elementwise("rint", x)

    @staticmethod
    def where(condition: Any, x: Any, y: Any) -> Array:
        return elementwise("where", condition, x, y)


def between(low: Array, high: Array, gamma: Any, rest: Any, is_far: Any) -> Array:
    """What lies ``gamma`` of the way from ``low`` to ``high``, with NumPy's operations.

    ``rest`` is 1 less ``gamma``; ``is_far`` whether it is nearer to ``high``.
    """
    step = elementwise("subtract", high, low)
    if is_far is not True:
        near = elementwise("add", low, elementwise("multiply", step, gamma))
        if is_far is False:
            return near
    far = elementwise("subtract", high, elementwise("multiply", step, rest))
    return far if is_far is True else either(is_far, far, near)


def folded(array: Array, axis: Any) -> tuple[Array, tuple[int, ...]]:
    """``array`` with the axes of ``axis`` as one line, which is last; and which they are."""
    axes = build.normalise_axes(as_axes(axis), array.ndim)
    kept = [k for k in range(array.ndim) if k not in axes]
    turned = array.transpose((*kept, *axes)) if array.ndim else array
    line = math.prod(array.shape[k] for k in axes)
    return turned.reshape((*(array.shape[k] for k in kept), line)), axes


def spread(result: Array, ndim: int, axes: tuple[int, ...], keepdims: bool, lead: int = 0) -> Array:
    """``result`` with the axes that were folded, of size one, after ``lead`` axes of quantiles."""
    if not keepdims:
        return result
    kept = iter(result.shape[lead:])
    shape = (1 if k in axes else next(kept) for k in range(ndim))
    return result.reshape((*result.shape[:lead], *shape))


def probabilities(q: Any, scale: int) -> np.ndarray[Any, Any]:
    """``q`` as probabilities; of percentages (``scale`` 100), too."""
    if isinstance(q, Array):
        q = q.compute()
    if not isinstance(q, (float, int)):
        array_of(q)  # says what is wrong with what is no array of numbers
    values = np.asanyarray(q) if scale == 1 else np.true_divide(q, scale, out=...)
    if not values.size and values.ndim > 1:
        raise ParameterError("no quantiles in several axes: q must be a scalar or 1d")
    if values.dtype.kind not in "biuf":
        raise DTypeError(f"quantiles are numbers, not {values.dtype}")
    if values.size and not (np.min(values) >= 0 and np.max(values) <= 1):
        name = "Quantiles" if scale == 1 else "Percentiles"
        raise ParameterError(f"{name} must be in the range [0, {scale}]")
    if values.ndim > 2:
        raise ParameterError("q must be a scalar or 1d")
    found: np.ndarray[Any, Any] = values
    return found


def real(a: Array) -> Array:
    """``a``; `DTypeError` for complex numbers, which have no order."""
    if a.dtype.kind == "c":
        raise DTypeError(f"quantiles take real numbers, not {a.dtype}")
    return a


def check_method(method: Any) -> None:
    """Raise `ParameterError` for a method that is none."""
    if method not in METHODS:
        raise ParameterError(f"{method!r} is not a valid method. Use one of: {', '.join(METHODS)}")


def of_lines(lines: Array, count: int, q: Any, weak: bool, method: str, checked: bool) -> Array:
    """The quantiles ``q`` of the first ``count`` elements of each sorted line, an axis in front.

    ``weak``: a Python number, which decides no dtype. ``checked``: a NaN in a line makes NaN.
    """
    floats = is_of_floats(lines)
    whole = is_whole(lines, q, method)
    flat = q.reshape(-1)
    previous, following, gamma = neighbours(method, count, flat, np)
    wanted = np.concatenate([previous, following, [count - 1] if floats else []]).astype(np.int64)
    distinct, number = np.unique(wanted, return_inverse=True)
    values = order_statistics(lines, tuple(distinct.tolist()))
    spoils = elementwise("isnan", values[..., -1:]) if floats and checked else None
    if len(flat) > 1 and not whole and _alternate(number, len(flat)):
        result = _side_by_side(values, gamma, spoils)
        result = result.transpose((result.ndim - 1, *range(result.ndim - 1)))
        return result.reshape((*q.shape, *lines.shape[:-1]))
    found = []
    for k in range(len(flat)):
        low = values[..., int(number[k])]
        if whole:
            one = low
        else:
            weight = float(gamma[k]) if weak else gamma[k]
            high = values[..., int(number[len(flat) + k])]
            one = between(low, high, weight, 1 - weight, bool(weight >= 0.5))
        if spoils is not None:
            one = either(spoils[..., 0], np.nan, one)
        found.append(one)
    return joined(found, lines, q)


def _alternate(number: np.ndarray[Any, Any], count: int) -> bool:
    """Whether places before and behind ``count`` quantiles take turns: as nearly always."""
    turns = number[: 2 * count].reshape(2, count).T.reshape(-1)
    return bool((turns == np.arange(2 * count)).all())


def _side_by_side(values: Array, gamma: np.ndarray[Any, Any], spoils: Array | None) -> Array:
    """Several quantiles along the last axis, of the elements before and behind each in turns."""
    end, far = 2 * len(gamma), gamma >= 0.5
    is_far = bool(far[0]) if far.all() or not far.any() else array_of(far)
    rest = array_of(1 - gamma)
    result = between(values[..., 0:end:2], values[..., 1:end:2], array_of(gamma), rest, is_far)
    return result if spoils is None else either(spoils, np.nan, result)


def is_whole(lines: Array, q: Any, method: str) -> bool:
    """Whether quantiles are elements, not what lies between two."""
    whole = method in WHOLE or (method == "linear" and q.dtype.kind in "biu")
    if lines.dtype == bool and not whole:
        raise DTypeError("bool has no differences to interpolate with: .astype('uint8') first")
    return whole


def none_of(lines: Array, q: Any, method: str) -> Array:
    """The quantiles of no probability: a dtype, and lines that count nothing."""
    dtype = lines.dtype
    if not is_whole(lines, q, method):
        dtype = np.result_type(dtype, q.dtype if q.dtype.kind == "f" else np.float64)
    return array_of(np.empty((*q.shape, *lines.shape[:-1]), dtype))


def joined(found: list[Array], lines: Array, q: Any) -> Array:
    """A result for each of ``q``, which has its axes in front."""
    if not q.ndim:
        return found[0]
    return stack(found).reshape((*q.shape, *lines.shape[:-1]))
