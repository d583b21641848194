"""How values rank, which is the most common one, and how often each comes."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from ...errors import ParameterError, ShapeError
from ...expr import build
from ...expr.nodes import Through, whole
from ...expr.through.ranks import METHODS
from ..array import Array, array_of, elementwise
from ..functions.floats import is_of_floats
from ..order.distinct import unique_counts
from ..order.quantiles import folded, spread

# The most common elements, and how often each comes.
ModeResult = namedtuple("ModeResult", ["mode", "count"])


def _of_lines(op: str, lines: Array, length: int, dtype: str, option: int) -> Array:
    shape = (*lines.shape[:-1], length)
    expr = whole(Through(op, lines._expr, shape, dtype, (option,)), shape)
    return Array(expr, gpu=lines._gpu)


def rank(a: Any, method: str = "average", *, axis: int | None = None) -> Array:
    """The rank of each element among those of its line: 1 for the least.

    Parameters
    ----------
    a : array_like
        Any shape.
    method : str
        What equals get: "average", "min" or "max" of the places that they have together, "dense"
        (the number of the value), or "ordinal" (their places, by position).
    axis : int, optional
        Along which lines lie; by default all elements are one line.

    Returns
    -------
    Array
        Lazy, float64, in the shape of `a`; the rank of NaN is NaN.

    Raises
    ------
    ParameterError
        For another method.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.rank([3, 1, 3, 2]).tolist()
    [3.5, 1.0, 3.5, 2.0]
    """
    if method not in METHODS:
        raise ParameterError(f"rank has the methods {', '.join(METHODS)}, not {method!r}")
    array = array_of(a)
    if axis is None:
        lines = array.reshape(-1)
    else:
        k = build.check_axis(axis, array.ndim)
        order = (*(j for j in range(array.ndim) if j != k), k)
        lines = array.transpose(order)
    if not lines.size:
        return array.astype("float64")
    ranks = _of_lines("rank", lines, lines.shape[-1], "float64", METHODS.index(method))
    if axis is None:
        return ranks.reshape(array.shape)
    return ranks.transpose(tuple(order.index(j) for j in range(array.ndim)))


def mode(a: Any, axis: Any = 0, keepdims: bool = False) -> ModeResult:
    """The most common element of each line, and how often it comes; of several the least.

    Parameters
    ----------
    a : array_like
        Any shape; NaN is a value like others, and the greatest.
    axis : int or tuple of int, optional
        What is folded; None: all axes.
    keepdims : bool
        Whether folded axes stay, with size one.

    Returns
    -------
    ModeResult
        `mode` and `count`, both lazy.

    Raises
    ------
    ShapeError
        For lines of nothing.

    Examples
    --------
    >>> import speedcube as sc
    >>> found = sc.mode([4, 2, 2, 4, 7])
    >>> int(found.mode), int(found.count)
    (2, 2)
    """
    array = array_of(a)
    lines, axes = folded(array, axis)
    if not lines.size:
        raise ShapeError("mode of no elements: there is nothing to choose from")
    chosen = _of_lines("mode", lines, 1, lines._expr.dtype, 0)
    same = lines == chosen
    if is_of_floats(lines):
        missing = elementwise(
            "logical_and", elementwise("isnan", lines), elementwise("isnan", chosen)
        )
        same = elementwise("logical_or", same, missing)
    count = same.sum(axis=-1, dtype="int64")
    values = chosen[..., 0]
    return ModeResult(*(spread(one, array.ndim, axes, keepdims) for one in (values, count)))


def value_counts(
    x: Any, sort: bool = True, ascending: bool = False, normalize: bool = False, dropna: bool = True
) -> tuple[Any, Array]:
    """The distinct values, and how often each comes: the most common ones first.

    They are found when this is called.

    Parameters
    ----------
    x : array_like
        Any shape; strings and dates, too.
    sort : bool
        Whether they are in the order of their counts, equals by value; else by value.
    ascending : bool
        Whether the rarest ones are first.
    normalize : bool
        Whether counts are divided by their sum.
    dropna : bool
        Whether NaN is left out.

    Returns
    -------
    tuple
        The values (Array; numpy.ndarray of what is no number) and the counts (Array).

    Examples
    --------
    >>> import speedcube as sc
    >>> values, counts = sc.value_counts([3, 1, 3, 2, 3, 1])
    >>> values.tolist(), counts.tolist()
    ([3, 1, 2], [3, 2, 1])
    """
    given = x if isinstance(x, Array) else np.asarray(x)
    numeric = isinstance(given, Array) or given.dtype.kind in "biuf"
    if numeric:
        found = unique_counts(array_of(given).reshape(-1))
        values, counts = np.asarray(found.values), np.asarray(found.counts)
        if values.dtype.kind == "f":
            missing = np.isnan(values)
            values = np.append(values[~missing], values[missing][:1])
            holes = [counts[missing].sum()] if missing.any() else []
            counts = np.append(counts[~missing], np.array(holes, np.int64))
    else:
        values, counts = np.unique(given, return_counts=True)
    if dropna and values.dtype.kind in "fMm" and len(values):
        known = ~(np.isnan(values) if values.dtype.kind == "f" else np.isnat(values))
        values, counts = values[known], counts[known]
    if sort:
        order = np.argsort(counts if ascending else -counts, kind="stable")
        values, counts = values[order], counts[order]
    result = array_of(counts.astype(np.int64))
    if normalize:
        result = elementwise("divide", result, max(1, int(counts.sum())))
    return (array_of(values) if numeric else values), result
