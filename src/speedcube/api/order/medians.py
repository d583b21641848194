"""NumPy's functions of quantiles: exact whatever the data are, the same bits everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import AxisError
from ..array import Array, array_of, elementwise
from ..functions.floats import either, is_of_floats
from ..methods.keywords import as_axes, put
from .lines import order_statistics
from .quantiles import check_method, folded, none_of, of_lines, probabilities, real, spread
from .skipping import nan_quantiles
from .weighted import check_weights, weighted_quantiles


def medians_of(lines: Array) -> Array:
    count = lines.shape[-1]
    if not count:
        return lines.mean(axis=-1)  # NaN
    floats = is_of_floats(lines)
    places = ((count - 1) // 2, count // 2, *([count - 1] if floats else []))
    values = order_statistics(lines, places)
    result, last = values[..., :2].mean(axis=-1), values[..., -1]
    unknown = last if lines.dtype.kind == "c" else np.nan
    return either(elementwise("isnan", last), unknown, result) if floats else result


def quantiles_of(
    name: str, a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: bool, weights: Any
) -> Array:
    skips_nan, scale = name.startswith("nan"), 100 if name.endswith("percentile") else 1
    array, weak = real(array_of(a)), type(q) in (int, float)
    axis = as_axes(axis)
    chances = probabilities(q, scale)
    if weights is None:
        check_method(method)
    lines, axes = folded(array, axis)
    if skips_nan and not array.size:  # as NumPy has it: the shape of a mean, however many ``q``
        return put(out, array.mean(axis=axis, keepdims=keepdims), name)
    heavy = None
    if weights is not None:
        heavy, _ = folded(check_weights(array, axis, weights, method), axis)
    if not lines.shape[-1] and not skips_nan and (chances.size or is_of_floats(lines)):
        raise AxisError(f"{name} of no elements: axes {axes} of shape {array.shape} are empty")
    if not chances.size:
        result = none_of(lines, chances, method)
    elif heavy is not None:
        result = weighted_quantiles(lines, heavy, chances, skips_nan)
    elif skips_nan and is_of_floats(lines):
        result = nan_quantiles(lines, chances, weak, method)
    else:
        result = of_lines(lines, lines.shape[-1], chances, weak, method, True)
    return put(out, spread(result, array.ndim, axes, keepdims, chances.ndim), name)


def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    """The median: the middle element of each line, or the exact mean of the two in the middle.

    A NaN makes it NaN. Of one long line nothing is sorted or stored: two passes find it.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int or tuple of int, optional
        What is folded; all axes by default.
    out : Array, optional
        Takes the result.
    overwrite_input : bool
        Decides nothing: nothing is overwritten.
    keepdims : bool
        Whether folded axes stay, with size one.

    Returns
    -------
    Array
        Lazy; integers give float64.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.median([[10, 7, 4], [3, 2, 1]], axis=0).tolist()
    [6.5, 4.5, 2.5]
    """
    array = array_of(a)
    lines, axes = folded(array, axis)
    return put(out, spread(medians_of(lines), array.ndim, axes, keepdims), "median")


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Array:
    """The quantiles `q` of each line: exact elements, and what lies between two of them.

    A NaN makes them NaN. Of one long line nothing is sorted or stored: two passes find them all.

    Parameters
    ----------
    a : array_like
        Any shape.
    q : number or array_like of numbers
        Probabilities, 0 to 1: its axes are the first of the result.
    axis : int or tuple of int, optional
        What is folded; all axes by default.
    out : Array, optional
        Takes the result.
    overwrite_input : bool
        Decides nothing: nothing is overwritten.
    method : str
        One of NumPy's thirteen.
    keepdims : bool
        Whether folded axes stay, with size one.
    weights : array_like, optional
        Of the shape of `a`, or of its folded axes, with `method="inverted_cdf"`: sums of them are
        exact. They are looked at when this is called.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ParameterError
        For `q` out of range, another method, and weights below 0, and of nothing.

    Examples
    --------
    >>> import speedcube as sc
    >>> float(sc.quantile([[10, 7, 4], [3, 2, 1]], 0.25))
    2.25
    """
    return quantiles_of("quantile", a, q, axis, out, method, keepdims, weights)


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Array:
    """The percentiles `q` of each line: exact elements, and what lies between two of them.

    A NaN makes them NaN. Of one long line nothing is sorted or stored: two passes find them all.

    Parameters
    ----------
    a : array_like
        Any shape.
    q : number or array_like of numbers
        Percentages, 0 to 100: its axes are the first of the result.
    axis : int or tuple of int, optional
        What is folded; all axes by default.
    out : Array, optional
        Takes the result.
    overwrite_input : bool
        Decides nothing: nothing is overwritten.
    method : str
        One of NumPy's thirteen.
    keepdims : bool
        Whether folded axes stay, with size one.
    weights : array_like, optional
        Of the shape of `a`, or of its folded axes, with `method="inverted_cdf"`: sums of them are
        exact. They are looked at when this is called.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ParameterError
        For `q` out of range, another method, and weights below 0, and of nothing.

    Examples
    --------
    >>> import speedcube as sc
    >>> float(sc.percentile([[10, 7, 4], [3, 2, 1]], 25))
    2.25
    """
    return quantiles_of("percentile", a, q, axis, out, method, keepdims, weights)
