"""Histograms of points: how many lie in each box of a grid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import ParameterError, ParameterTypeError, ShapeError
from ...expr import build
from ..array import Array, array_of
from ..functions.floats import either, together
from ..sources import asarray
from .bins import Binning, check_room, ends_of, numbers, values
from .counting import counted, density_of, real_weights


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
    >>> counts, edges = sc.histogramdd(sc.asarray([[0, 0], [1, 1], [1, 1]]), bins=2)
    >>> counts.tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    lines = _axes_of(sample)
    if not lines:
        raise ParameterError("histogramdd takes points of one axis or more, not of none")
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
        counts = density_of(counts, [np.diff(one.edges).astype(float) for one in known])
    return counts, tuple(asarray(one.edges) for one in known)


def _axes_of(sample: Any) -> list[Array]:
    """The points of ``sample``, a line for each axis."""
    if isinstance(sample, (Array, np.ndarray)) and sample.ndim == 2:
        points = numbers(sample)
        return [points[:, k] for k in builtin_range(points.shape[1])]
    if isinstance(sample, (Array, np.ndarray)) and sample.ndim == 1:
        return [numbers(sample)]
    if isinstance(sample, (Array, np.ndarray)) and sample.ndim > 2:
        raise ParameterError(f"histogramdd takes a table of points, not {sample.ndim} axes")
    if isinstance(sample, (Array, np.ndarray, np.generic)):
        return [numbers(sample).reshape(1)]
    if not np.iterable(sample):
        raise ParameterTypeError(f"histogramdd takes points, not {sample!r}")
    lines = [array_of(one) for one in sample]
    if all(line.ndim == 0 for line in lines):  # the points of one axis
        return [numbers(array_of(sample))]
    if any(line.ndim != 1 for line in lines):
        raise ParameterError("histogramdd takes a line for each axis, or a table of points")
    if len({line.size for line in lines}) > 1:
        raise ShapeError(f"histogramdd: lines of {[line.size for line in lines]} points")
    return [numbers(line) for line in lines]


builtin_range = range


def _length(bins: Any) -> int | None:
    """How many ``bins`` are listed; None for a number."""
    try:
        return len(bins)
    except TypeError:
        return None


def _of_axis(line: Array, bins: Any, range: Any, axis: int) -> Binning:
    if np.ndim(bins):
        edges = np.asarray(array_of(bins))
        if edges.ndim != 1:
            raise ParameterError(f"`bins[{axis}]` must be a scalar or 1d array")
        if np.any(edges[:-1] > edges[1:]):
            raise ParameterError(f"`bins[{axis}]` must be monotonically increasing, when an array")
        return Binning(edges, None)
    if isinstance(bins, str):
        raise ParameterTypeError(f"`bins[{axis}]` must be a number or edges, not {bins!r}")
    if bins < 1:
        raise ParameterError(f"`bins[{axis}]` must be positive, when an integer")
    first, last = ends_of(line, range)
    count = build.check_integer(f"bins[{axis}]", bins)
    check_room(count)
    with np.errstate(over="ignore"):
        if not np.isfinite(np.float64(last) - np.float64(first)):
            raise ParameterError(f"the range of [{first}, {last}] is wider than a float64")
    return Binning(np.linspace(first, last, count + 1), (first, last))


def _on_grid(lines: list[Array], known: list[Binning], weights: Any) -> Array:
    """Counts in the boxes that ``known`` makes together."""
    sizes = [one.count for one in known]
    total = math.prod(sizes)
    place: Any = None
    inside: Any = True
    for line, one in zip(lines, known, strict=True):
        index = one.index(line)
        here = index < one.count
        place = index if place is None else place * one.count + index
        inside = here if inside is True else inside & here
    heavy = None if weights is None else real_weights(weights)
    if heavy is not None and heavy.shape != lines[0].shape:
        raise ShapeError("The weights and list don't have the same length.")
    counts = counted(either(inside, place, total), heavy, total)
    return counts.reshape(tuple(sizes)).astype("float64")


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
    first, second = together(first, second)
    if isinstance(bins, str):
        raise ParameterTypeError(f"bins are numbers or edges, not {bins!r}")
    bins = values(bins)
    count = _length(bins)
    if count == 1:
        bins = [bins[0], bins[0]]
    elif count not in (None, 2):
        edges = np.asarray(bins)
        bins = [edges, edges]
    counts, edges_of = histogramdd([first, second], bins, range, density, weights)
    return counts, edges_of[0], edges_of[1]
