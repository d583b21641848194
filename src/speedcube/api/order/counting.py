"""How often: `bincount` and the histograms. Counts and sums of weights are exact, in any order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import DTypeError, ParameterError, ShapeError
from ...expr import build
from ..array import Array, array_of
from ..functions.floats import either
from ..sources import asarray
from ..together import compute
from .bins import Binning, Edges, binning, check_weights, ends_of, numbers, values
from .lines import counts_of, sums_of


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Array:
    """How often each number from 0 on comes, or the exact sum of the weights of each.

    The least and the greatest element are found when this is called: they decide the length.

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
        Lazy: int64; float64 of weights.

    Raises
    ------
    ParameterError
        For a negative element.
    DTypeError
        For elements that are no integers, and uint64.

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
    if not np.can_cast(index.dtype, np.int64, "safe"):
        raise DTypeError(f"bincount counts integers; {index.dtype} does not cast to int64 safely")
    least = build.check_integer("minlength", minlength)
    if least < 0:
        raise ParameterError("'minlength' must not be negative")
    length = least
    if index.size:
        low, high = (int(one) for one in compute(index.min(), index.max()))
        if low < 0:
            raise ParameterError(f"'list' argument must have no negative elements: there is {low}")
        length = max(least, high + 1)
    places = index.astype("int64")
    if weights is None:
        return counts_of(places, length)
    heavy = array_of(weights)
    if heavy.shape != index.shape:
        raise ShapeError("The weights and list don't have the same length.")
    return sums_of(places, heavy.astype("float64"), length)


def _counted(index: Array, weights: Array | None, length: int) -> Array:
    """Counts, or sums of weights in their dtype."""
    if weights is None:
        return counts_of(index, length)
    sums = sums_of(index, weights.reshape(-1).astype("float64"), length)
    return sums.astype(weights.dtype)


def _dense(counts: Array, widths: list[Edges]) -> Array:
    """``counts`` as a density over bins of these ``widths`` along each axis."""
    total, result = counts.sum(), counts
    for k, width in enumerate(widths):
        shape = tuple(-1 if j == k else 1 for j in range(len(widths)))
        result = result / array_of(width.reshape(shape))
    return result / total


def histogram_bin_edges(
    a: Any, bins: Any = 10, range: Any = None, weights: Any = None
) -> Array:
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
    counts = _counted(known.index(array.reshape(-1)), heavy, known.count)
    if density:
        return _dense(counts, [np.diff(known.edges).astype(float)]), asarray(known.edges)
    return counts, asarray(known.edges)


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Array, tuple[Array, ...]]:
    """How many points lie in each box of a grid, or the exact sums of their weights, and the edges.

    Parameters
    ----------
    sample : array_like
        A point a row; or a sequence of lines, one for each axis of the grid.
    bins : int or sequence
        How many, for all axes or for each; or the edges along each.
    range : sequence, optional
        The first and the last edge along each axis; None: the least and the greatest.
    density : bool, optional
        Whether the counts are divided by the volumes and by all of them.
    weights : array_like, optional
        One for each point.

    Returns
    -------
    tuple
        The counts, float64, and a tuple of the edges along each axis.

    Examples
    --------
    >>> import speedcube as sc
    >>> counts, edges = sc.histogramdd([[0, 0], [1, 1], [1, 1]], bins=2)
    >>> counts.tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    lines = _axes_of(sample)
    bins, range = values(bins), values(range)
    each = [bins] * len(lines) if _length(bins) is None else list(bins)
    if len(each) != len(lines):
        raise ParameterError(
            "The dimension of bins must be equal to the dimension of the sample x."
        )
    ranges = [None] * len(lines) if range is None else list(range)
    if len(ranges) != len(lines):
        raise ParameterError("range argument must have one entry per dimension")
    known = [
        _of_axis(line, values(one), ends, k)
        for k, (line, one, ends) in enumerate(zip(lines, each, ranges, strict=True))
    ]
    counts = _on_grid(lines, known, weights)
    if density:
        counts = _dense(counts, [np.diff(one.edges).astype(float) for one in known])
    return counts, tuple(asarray(one.edges) for one in known)


def _axes_of(sample: Any) -> list[Array]:
    """The points of ``sample``, a line for each axis."""
    if isinstance(sample, (Array, np.ndarray)) and sample.ndim == 2:
        points = numbers(sample)
        return [points[:, k] for k in builtin_range(points.shape[1])]
    if isinstance(sample, (Array, np.ndarray)) and sample.ndim == 1:
        return [numbers(sample)]
    first = list(sample)
    if first and np.ndim(first[0]) and not any(isinstance(one, (Array, np.ndarray)) for one in first):
        points = numbers(np.asarray(sample))
        return [points[:, k] for k in builtin_range(points.shape[1])]
    return [numbers(one) for one in first]


builtin_range = range


def _length(bins: Any) -> int | None:
    """How many ``bins`` are listed; None for a number."""
    try:
        return len(bins)
    except TypeError:
        return None


def _of_axis(line: Array, bins: Any, range: Any, axis: int) -> Binning:
    if np.ndim(bins):
        edges = np.asarray(bins)
        if edges.ndim != 1:
            raise ParameterError(f"`bins[{axis}]` must be a scalar or 1d array")
        if np.any(edges[:-1] > edges[1:]):
            raise ParameterError(f"`bins[{axis}]` must be monotonically increasing, when an array")
        return Binning(edges, None)
    if bins < 1:
        raise ParameterError(f"`bins[{axis}]` must be positive, when an integer")
    first, last = ends_of(line, range)
    count = build.check_integer(f"bins[{axis}]", bins)
    return Binning(np.linspace(first, last, count + 1), (first, last))


def _on_grid(lines: list[Array], known: list[Binning], weights: Any) -> Array:
    """Counts in the boxes that ``known`` makes together."""
    sizes = [one.count for one in known]
    total = int(np.prod(sizes, dtype=np.int64))
    place: Any = None
    inside: Any = True
    for line, one in zip(lines, known, strict=True):
        index = one.index(line)
        here = index < one.count
        place = index if place is None else place * one.count + index
        inside = here if inside is True else inside & here
    heavy = None if weights is None else array_of(weights).astype("float64")
    if heavy is not None and heavy.shape != lines[0].shape:
        raise ShapeError("The weights and list don't have the same length.")
    return _counted(either(inside, place, total), heavy, total).reshape(sizes).astype("float64")


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Array, Array, Array]:
    """How many points lie in each box of a plane's grid, or the exact sums of their weights.

    Parameters
    ----------
    x, y : array_like
        One axis, of one length.
    bins : int, sequence or array_like
        How many, for both axes or for each; or the edges along both, or along each.
    range : sequence, optional
        The first and the last edge along each axis.
    density : bool, optional
        Whether the counts are divided by the areas and by all of them.
    weights : array_like, optional
        One for each point.

    Returns
    -------
    tuple of Array
        The counts, float64, and the edges along `x` and along `y`.

    Raises
    ------
    ShapeError
        For lines of two lengths.

    Examples
    --------
    >>> import speedcube as sc
    >>> counts, _, _ = sc.histogram2d([0, 1, 1], [0, 1, 1], bins=2)
    >>> counts.tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    first, second = numbers(x), numbers(y)
    if first.shape != second.shape or first.ndim != 1:
        raise ShapeError("x and y must have the same length.")
    bins = values(bins)
    count = _length(bins)
    if count == 1:
        bins = [bins[0], bins[0]]
    elif count not in (None, 2):
        edges = np.asarray(bins)
        bins = [edges, edges]
    counts, edges_of = histogramdd([first, second], bins, range, density, weights)
    return counts, edges_of[0], edges_of[1]
