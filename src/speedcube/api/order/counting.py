"""How often: `bincount` and the histograms. Counts and sums of weights are exact, in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ...engine.ordering.at_once import counts_at_once, sums_at_once
from ...errors import DTypeError, MemoryLimitError, ParameterError, ShapeError
from ...expr import build
from ...expr.through import even, ordering
from ..array import Array, array_of
from ..complexes.of_parts import by_parts
from ..indexing.places import least_and_most
from ..sources import asarray
from .bins import Binning, Edges, binning, check_weights, numbers
from .lines import counts_of, sums_of


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Array:
    """How often each number from 0 on comes, or the exact sum of the weights of each.

    The least and the greatest element are found when this is called: they decide the length. So are
    the results themselves, if all lies in memory and one reading of it gives both.

    Parameters
    ----------
    x : array_like
        One axis of integers that are not negative.
    weights : array_like, optional
        As many as `x`: their sums are exact, rounded once.
    minlength : int
        How long the result is at least.

    Returns
    -------
    Array
        Lazy: int64; float64 of weights, if there is an element.

    Raises
    ------
    ParameterError
        For a negative element.
    DTypeError
        For elements that are no integers.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.bincount([0, 2, 2, 1, 2]).tolist()
    [1, 1, 3]
    """
    index = array_of(x)
    if index.ndim != 1:
        raise ShapeError(f"bincount takes one axis, not {index.ndim}: .ravel() makes one")
    if not index.size and not isinstance(x, (Array, np.ndarray)):
        index = index.astype("int64")  # a list of nothing
    if dtypes.is_inexact(index._expr.dtype):
        raise DTypeError(f"bincount counts integers, not {index.dtype}")
    least = build.check_integer("minlength", minlength)
    if least < 0:
        raise ParameterError("'minlength' must not be negative")
    length = least
    heavy = None if weights is None else real_weights(weights)
    if not index.size:
        heavy = None  # of nothing NumPy looks at no weights: its result is of integers
    if heavy is not None and heavy.shape != index.shape:
        raise ShapeError("The weights and list don't have the same length.")
    known = _at_once(index, heavy, least)
    if known is not None:
        return asarray(known)
    if index.size:
        low, high = least_and_most(index)
        if low < 0:
            raise ParameterError(f"'list' argument must have no negative elements: there is {low}")
        if high >= 2**60:
            raise ParameterError(f"'list' argument must have elements below 2**60: there is {high}")
        if high >= 2**48:
            raise MemoryLimitError(
                f"bincount up to {high:,} would need a count for each number below it"
            )
        length = max(least, high + 1)
    if heavy is None:
        return counts_of(index.astype("uint8") if index.dtype == bool else index, length)
    return sums_of(index.astype("int64"), heavy, length)


def _at_once(index: Array, weights: Array | None, least: int) -> NDArray[Any] | None:
    """Counts or sums by the one reading that finds the length, where all lies in memory here."""
    if index._gpu or not index.size:
        return None
    if weights is None:
        return counts_at_once(index._expr, least)
    return sums_at_once(index._expr, weights._expr, least) if index.dtype == np.int64 else None


def counted(index: Array, weights: Array | None, length: int) -> Array:
    """Counts, or sums of weights in their dtype."""
    if weights is None:
        return counts_of(index, length)
    if weights.dtype.kind == "c":
        sums = by_parts(lambda part: counted(index, part, length), weights)
    else:
        sums = sums_of(index, weights.reshape(index.shape).astype("float64"), length)
    return sums.astype(weights.dtype)


def real_weights(weights: Any) -> Array:
    """``weights`` as float64; `DTypeError` where those lose their imaginary parts."""
    heavy = array_of(weights)
    if heavy.dtype.kind == "c":
        raise DTypeError(
            f"Cannot cast array data from dtype('{heavy.dtype}') to dtype('float64') according to "
            "the rule 'safe': give the parts of the weights one after the other, .real and .imag"
        )
    return heavy.astype("float64")


def _binned(x: Array, known: Binning) -> Array | None:
    """Counts of numbers in bins of one width, of doubles where no edges were given; or None."""
    ends, edges = known.even, known.edges
    if ends is None and x.dtype.kind in "iuf":
        ends = even.ends_of(edges)
        x, edges = x.astype(np.float64), edges.astype(np.float64)
    if ends is None or not x.dtype == edges.dtype == np.float64:
        return None
    options = even.options_of(float(ends[0]), float(ends[1]), edges)
    if not options:
        return None
    counts = ordering.counts("count", [x._expr], known.count, "int64", *options)
    return Array(counts, gpu=x._gpu)


def density_of(counts: Array, widths: list[Edges]) -> Array:
    """``counts`` as a density over bins of these ``widths`` along each axis."""
    total: Any = counts.sum()
    result: Any = counts
    for k, width in enumerate(widths):
        shape = tuple(-1 if j == k else 1 for j in range(len(widths)))
        result = result / array_of(width.reshape(shape))
    dense: Array = result / total
    return dense


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Array:
    """The edges that `histogram` takes, computed as NumPy computes them, when this is called.

    Parameters
    ----------
    a : array_like
        Any shape.
    bins : int, str or array_like
        How many, NumPy's rule for that, or the edges themselves.
    range : (number, number), optional
        The first and the last edge; by default the least and the greatest element.
    weights : array_like, optional
        Of the shape of `a`; they decide nothing.

    Returns
    -------
    Array
        In memory.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.histogram_bin_edges([0, 1, 4], 2).tolist()
    [0.0, 2.0, 4.0]
    """
    array = numbers(a)
    heavy = check_weights(array, weights)
    return asarray(binning(array, bins, range, heavy is not None).edges)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Array, Array]:
    """How many elements lie in each bin, or the exact sums of their weights, and the edges.

    The counts are lazy. Without `range` one pass finds the ends when this is called. A bin holds
    its lower edge, the last one both.

    Parameters
    ----------
    a : array_like
        Any shape.
    bins : int, str or array_like
        How many, NumPy's rule for that, or edges that rise.
    range : (number, number), optional
        The first and the last edge; by default the least and the greatest element.
    density : bool, optional
        Whether the counts are divided by the widths and by all of them.
    weights : array_like, optional
        Of the shape of `a`.

    Returns
    -------
    tuple of Array
        The counts (int64, or the dtype of the weights; float64 of densities) and the edges.

    Raises
    ------
    ParameterError
        For edges that fall, an infinite range, and less than one bin.

    Examples
    --------
    >>> import speedcube as sc
    >>> counts, edges = sc.histogram([1, 2, 1, 4], bins=[0, 1, 2, 3])
    >>> counts.tolist(), edges.tolist()
    ([0, 2, 1], [0, 1, 2, 3])
    """
    array = numbers(a)
    heavy = check_weights(array, weights)
    known = binning(array, bins, range, heavy is not None)
    line = array if array.ndim else array.reshape(1)
    counts = _binned(line, known) if heavy is None else None
    if counts is None:
        counts = counted(known.index(line), heavy, known.count)
    if density:
        return density_of(counts, [np.diff(known.edges).astype(float)]), asarray(known.edges)
    return counts, asarray(known.edges)
