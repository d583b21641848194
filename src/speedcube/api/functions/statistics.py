"""Spans, weighted means, covariances and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...errors import DTypeError, ParameterError, ParameterTypeError, ShapeError
from ...expr import build
from ..array import Array, array_of, elementwise
from ..dot import vecdot
from ..joining import concatenate
from ..methods.keywords import axis_of, put
from ..shapes import broadcast_to
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
        The average, and the sum of weights. Weights that sum to 0 give NaN, where NumPy refuses.

    Raises
    ------
    ShapeError
        Where weights do not fit.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.average([1.0, 2.0, 4.0], weights=[1, 1, 2]).compute()
    np.float64(2.75)
    """
    array = array_of(a)
    if weights is None:
        mean = array.mean(axis, keepdims=keepdims)
        axes = build.normalise_axes(axis, array.ndim)
        count = float(np.prod([array.shape[k] for k in axes]))
        return (mean, broadcast_to(array_of(count).astype(mean.dtype), mean.shape)) if returned \
            else mean  # fmt: skip
    weight = _weights(array, weights, axis)
    if not dtypes.is_float(array._expr.dtype) and not dtypes.is_float(weight._expr.dtype):
        weight = weight.astype("float64")
    product = elementwise("multiply", array, weight)
    scale = weight.sum(axis, product.dtype, keepdims=keepdims)
    mean = elementwise("divide", product.sum(axis, keepdims=keepdims), scale)
    return (mean, scale) if returned else mean


def _weights(array: Array, weights: Any, axis: Any) -> Array:
    """``weights`` in the shape of ``array``."""
    weight = array_of(weights)
    if weight.shape == array.shape:
        return weight
    if axis is None:
        raise ShapeError(
            f"weights of shape {weight.shape} for an array of shape {array.shape} need axis="
        )
    listed = axis if isinstance(axis, tuple) else (axis,)
    axes = [build.check_axis(k, array.ndim) for k in listed]
    wanted = tuple(array.shape[k] for k in axes)
    if weight.shape != wanted:
        raise ShapeError(
            f"weights of shape {weight.shape} along axes {tuple(axes)}, which have {wanted}"
        )
    order = sorted(range(len(axes)), key=axes.__getitem__)
    lines = weight.transpose(order).reshape(
        [n if k in axes else 1 for k, n in enumerate(array.shape)]
    )
    return broadcast_to(lines, array.shape)


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Array:
    """The covariances of variables: exact sums of the rounded products of deviations from means.

    Parameters
    ----------
    m : array_like
        Observations of one variable, or variables times observations.
    y : array_like, optional
        More variables.
    rowvar : bool
        Whether a row is a variable; else a column.
    bias : bool
        Whether the divisor is the count, else one less.
    ddof : int, optional
        What is taken off the count, instead of `bias`.
    fweights, aweights : array_like, optional
        How often an observation counts, and its weight.
    dtype : dtype, optional
        Of the result.

    Returns
    -------
    Array
        A matrix; a number for one variable.

    Raises
    ------
    ParameterError
        Where an argument has more axes than it may, or a weight does not fit.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.cov([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]).compute()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    x = _variables("cov", m, y, rowvar, dtype)
    taken = (0 if bias else 1) if ddof is None else ddof
    if not isinstance(taken, (int, float, np.number)) or not np.rint(taken) == taken:
        raise ParameterTypeError(f"cov: ddof must be an integer, not {ddof!r}")
    weight = _observed(x.shape[1], fweights, aweights)
    if weight is None:
        means, divisor = x.mean(1, keepdims=True), array_of(float(x.shape[1] - taken))
    else:
        total = weight.sum()
        means = elementwise("divide", vecdot(x, weight), total)[:, None]
        divisor = total - taken if aweights is None or not taken else (
            total - taken * (weight * floats(aweights)).sum() / total
        )  # fmt: skip
    apart = x - means
    weighted = apart if weight is None else apart * weight
    products = elementwise("multiply", apart[:, None], weighted[None, :]).sum(-1)
    held = elementwise("maximum", divisor.astype(products.dtype), 0.0)
    result = elementwise("divide", products, held)
    return result.reshape(()) if result.size == 1 else result


def _variables(name: str, m: Any, y: Any, rowvar: bool, dtype: Any) -> Array:
    """Variables times observations, as floats."""
    given = [array_of(m), *(() if y is None else (array_of(y),))]
    if any(one.ndim > 2 for one in given):
        raise ParameterError(f"{name} takes arrays of at most two axes")
    name_of = "float64" if dtype is None else dtypes.check(dtype)
    if not dtypes.is_float(name_of):
        raise DTypeError(f"{name} has no dtype {name_of}: covariances are fractions")
    rows = []
    for k, one in enumerate(given):
        turned = one.T if one.ndim == 2 and not rowvar and (k or one.shape[0] != 1) else one
        rows.append((turned if turned.ndim == 2 else turned.reshape(1, -1)).astype(name_of))
    return concatenate(rows) if len(rows) > 1 else rows[0]


def _observed(count: int, fweights: Any, aweights: Any) -> Array | None:
    """What each observation counts; None where that is 1."""
    weight: Array | None = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        one = array_of(given)
        if one.ndim > 1 or one.size != count:
            kind = ParameterError if one.ndim > 1 else ShapeError
            raise kind(f"cov: {name} of shape {one.shape} for {count} observations")
        known = np.empty(0) if isinstance(given, Array) else np.asarray(given)
        if name == "fweights" and (known != np.rint(known)).any():
            raise DTypeError("cov: fweights are how often an observation counts: integers")
        if (known < 0).any():
            raise ParameterError(f"cov: {name} must not be negative")
        weight = floats(one) if weight is None else weight * floats(one)
    return weight


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Array:
    """The correlations of variables: `cov` over the roots of its diagonal, held in -1 .. 1.

    Parameters
    ----------
    x : array_like
        Observations of one variable, or variables times observations.
    y : array_like, optional
        More variables.
    rowvar : bool
        Whether a row is a variable; else a column.
    dtype : dtype, optional
        Of the result.

    Returns
    -------
    Array
        A matrix; a number for one variable.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.corrcoef([0.0, 1.0, 2.0], [2.0, 1.0, 0.0]).compute()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    matrix = cov(x, y, rowvar, dtype=dtype)
    if not matrix.ndim:
        return elementwise("divide", matrix, matrix)
    count = len(matrix)
    spread = elementwise("sqrt", matrix.reshape(-1)[:: count + 1])
    scaled = elementwise("divide", elementwise("divide", matrix, spread[:, None]), spread[None])
    return scaled.clip(-1, 1)
