"""NumPy's functions of quantiles of what is no NaN."""

from __future__ import annotations

from typing import Any

from ..array import Array, array_of
from ..functions.floats import is_of_floats
from ..methods.keywords import put
from .medians import medians_of, quantiles_of
from .quantiles import folded, spread
from .skipping import nan_medians


def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    """The median of what is no NaN; of nothing, NaN.

    Of all elements together those that are no NaN are counted when this is called, in one pass.

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
    >>> sc.nanmedian([[1.0, float("nan")], [3.0, 4.0]], axis=1).tolist()
    [1.0, 3.5]
    """
    array = array_of(a)
    lines, axes = folded(array, axis)
    result = nan_medians(lines) if is_of_floats(lines) and lines.shape[-1] else medians_of(lines)
    return put(out, spread(result, array.ndim, axes, keepdims), "nanmedian")


def nanquantile(
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
    """The quantiles `q` of each line, of what is no NaN in it.

    Of all elements together those that are no NaN are counted when this is called, in one pass.

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
        For `q` out of range, another method, and weights below 0.

    Examples
    --------
    >>> import speedcube as sc
    >>> float(sc.nanquantile([1.0, float("nan"), 2.0, 3.0], 0.25))
    1.5
    """
    return quantiles_of("nanquantile", a, q, axis, out, method, keepdims, weights)


def nanpercentile(
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
    """The percentiles `q` of each line, of what is no NaN in it.

    Of all elements together those that are no NaN are counted when this is called, in one pass.

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
        For `q` out of range, another method, and weights below 0.

    Examples
    --------
    >>> import speedcube as sc
    >>> float(sc.nanpercentile([1.0, float("nan"), 2.0, 3.0], 25))
    1.5
    """
    return quantiles_of("nanpercentile", a, q, axis, out, method, keepdims, weights)
