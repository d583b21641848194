"""Spans, weighted means and moments, and running sums that pass over NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...errors import ParameterError, ParameterTypeError, ParameterZeroError, ShapeError
from ...expr import build
from ...expr.nodes import Stored
from ..array import Array, array_of, elementwise
from ..methods.keywords import as_axes, axis_of, put
from ..shapes import broadcast_to
from .extremes import without_nan
from .floats import floats


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Array:
    """From peak to peak: the greatest element less the least.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int or tuple of int, optional
        What is folded; all axes by default.
    out : Array, optional
        Takes the result.
    keepdims : bool
        Whether folded axes stay, with size one.

    Returns
    -------
    Array
        Of the dtype of `a`; integers wrap.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.ptp([[4, 9], [1, 6]], axis=0).compute()
    array([3, 3])
    """
    array = array_of(a)
    axis = axis_of(array, axis)
    greatest, least = (f(axis, keepdims=keepdims) for f in (array.max, array.min))
    return put(out, elementwise("subtract", greatest, least), "ptp")


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """The mean, or the weighted mean: the exact sum of the products over that of the weights.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int or tuple of int, optional
        What is folded; all axes by default.
    weights : array_like, optional
        Of the shape of `a`, or of that of its folded axes.
    returned : bool
        Whether the sum of weights is given, too.
    keepdims : bool
        Whether folded axes stay, with size one.

    Returns
    -------
    Array, or a tuple of two
        The average, and the sum of weights. It is NaN where weights that are still to be computed
        sum to 0.

    Raises
    ------
    ShapeError
        Where weights do not fit.
    ParameterZeroError
        Where weights that are in memory sum to 0; it is a ZeroDivisionError.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.average([1.0, 2.0, 4.0], weights=[1, 1, 2]).compute()
    np.float64(2.75)
    """
    array = array_of(a)
    axis = as_axes(axis)
    if weights is None:
        mean = array.mean(axis, keepdims=keepdims)
        axes = build.normalise_axes(axis, array.ndim)
        count = float(np.prod([array.shape[k] for k in axes]))
        if 0 in mean.shape:
            raise ParameterZeroError(f"average of nothing: the result has the shape {mean.shape}")
        return (mean, broadcast_to(array_of(count).astype(mean.dtype), mean.shape)) if returned \
            else mean  # fmt: skip
    weight = _weights(array, weights, axis)
    if not dtypes.is_inexact(array._expr.dtype) and not dtypes.is_inexact(weight._expr.dtype):
        weight = weight.astype("float64")
    product = elementwise("multiply", array, weight)
    scale = weight.sum(axis, product.dtype, keepdims=keepdims)
    if _in_memory(weights) and scale.size and not bool(scale.all()):
        raise ParameterZeroError("average: weights sum to 0, so that there is nothing to divide by")
    mean = elementwise("divide", product.sum(axis, keepdims=keepdims), scale)
    return (mean, scale) if returned else mean


def _in_memory(weights: Any) -> bool:
    return not isinstance(weights, Array) or isinstance(
        getattr(weights._expr, "source", None), Stored
    )


def _weights(array: Array, weights: Any, axis: Any) -> Array:
    """``weights`` in the shape of ``array``."""
    weight = array_of(weights)
    if weight.shape == array.shape:
        return weight
    if axis is None:
        raise ParameterTypeError(
            f"weights of shape {weight.shape} for an array of shape {array.shape} need axis="
        )
    listed = axis if isinstance(axis, tuple) else (axis,)
    axes = [build.check_axis(k, array.ndim) for k in listed]
    wanted = tuple(array.shape[k] for k in axes)
    if weight.shape != wanted:
        raise ShapeError(
            f"the weights have shape {weight.shape}, and the axes {tuple(axes)} have shape {wanted}"
        )
    order = sorted(range(len(axes)), key=axes.__getitem__)
    lines = weight.transpose(order).reshape(
        [n if k in axes else 1 for k, n in enumerate(array.shape)]
    )
    return broadcast_to(lines, array.shape)


def moment(
    a: Any,
    order: int,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    ddof: float = 0,
    out: Any = None,
    *,
    split_every: Any = None,
) -> Array:
    """The mean of a power of the deviations from the mean: Dask's name.

    Parameters
    ----------
    a : array_like
        Any shape.
    order : int
        The power: 2 gives the variance.
    axis : int or tuple of int, optional
        What is folded; all axes by default.
    dtype : dtype, optional
        Of the result, one of floats.
    keepdims : bool
        Whether folded axes stay, with size one.
    ddof : float
        What is taken off the count.
    out : Array, optional
        Takes the result.
    split_every : optional
        Dask's; it decides nothing.

    Returns
    -------
    Array
        Exact sums of the powers of rounded deviations; 1 and 0 for the powers 0 and 1.

    Raises
    ------
    ParameterError
        For a power below 0, or a fraction.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.moment([1.0, 2.0, 6.0], 3).compute()
    np.float64(6.0)
    """
    if not isinstance(order, (int, np.integer)) or order < 0:
        raise ParameterError(f"moment: order must be a whole number, 0 or more, not {order!r}")
    array = floats(a) if dtype is None else floats(a).astype(dtype)
    means = array.mean(axis, keepdims=True)
    powers: Array = elementwise("subtract", array, means) ** int(order)
    count = array.size // max(means.size, 1)
    return put(
        out,
        elementwise("divide", powers.sum(axis, keepdims=keepdims), float(count - ddof)),
        "moment",
    )


def nancumsum(
    a: Any,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    *,
    method: Any = None,
) -> Array:
    """Running sums with 0 for NaN; each is exact, rounded once.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int, optional
        Along which; all elements in C order by default.
    dtype : dtype, optional
        Of the result.
    out : Array, optional
        Takes the result.
    method : optional
        Dask's; it decides nothing.

    Returns
    -------
    Array
        Of the shape of `a`, or one axis of all elements.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.nancumsum([1.0, float("nan"), 3.0]).compute()
    array([1., 1., 4.])
    """
    return without_nan(array_of(a), 0.0).cumsum(axis, dtype, out)


def nancumprod(
    a: Any,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    *,
    method: Any = None,
) -> Array:
    """Running products with 1 for NaN.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int, optional
        Along which; all elements in C order by default.
    dtype : dtype, optional
        Of the result.
    out : Array, optional
        Takes the result.
    method : optional
        Dask's; it decides nothing.

    Returns
    -------
    Array
        Of the shape of `a`, or one axis of all elements.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.nancumprod([2.0, float("nan"), 3.0]).compute()
    array([2., 2., 6.])
    """
    return without_nan(array_of(a), 1.0).cumprod(axis, dtype, out)
