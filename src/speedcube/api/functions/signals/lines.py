"""Interpolation, and angles without jumps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....errors import ParameterError
from ....expr import build, gather
from ....expr.pairs.node import check_real
from ...array import Array, array_of, elementwise
from ...complexes.of_parts import complex_of
from ...joining import concatenate
from ...sources import asarray
from ..differences import along, check_period, diff
from ..floats import either, is_of_floats


def interp(
    x: Any,
    xp: Any,
    fp: Any,
    left: float | None = None,
    right: float | None = None,
    period: float | None = None,
) -> Array:
    """The values at `x` of the line through the points (`xp`, `fp`).

    Parameters
    ----------
    x : array_like
        Any shape.
    xp, fp : array_like
        One axis: the points, `xp` increasing.
    left, right : float, optional
        The values before the first and behind the last point; by default those points'.
    period : float, optional
        Of `xp`; with it the points need no order.

    Returns
    -------
    Array
        float64, of the shape of `x`; complex128 where `fp` is complex.

    Raises
    ------
    ParameterError
        Where there is no point, or as many `fp` as `xp` there are not, or the period is 0.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.interp([0.0, 2.5, 9.0], [1.0, 2.0, 3.0], [3.0, 2.0, 0.0]).compute()
    array([3., 1., 0.])
    """
    at, places, values = array_of(x), array_of(xp), array_of(fp)
    if places.ndim != 1 or values.ndim != 1 or not places.size or places.size != values.size:
        raise ParameterError(
            f"interp takes lines of points of one length: xp has shape {places.shape}, fp "
            f"{values.shape}"
        )
    if values.dtype.kind == "c":
        return _of_parts(x, xp, values, left, right, period)
    check_real("interp", at._expr, places._expr)
    at, places, values = (one.astype("float64") for one in (at, places, values))
    if period is not None:
        check_period("interp", period)
        if period == 0:
            raise ParameterError("interp: period must not be 0")
        at, places, values = _periodic(at, xp, fp, abs(period))
        left = right = None
    return _between(at, places, values, left, right)


def _of_parts(x: Any, xp: Any, values: Array, left: Any, right: Any, period: Any) -> Array:
    """`interp` of the real and of the imaginary parts."""
    ends = [None if end is None else complex(end) for end in (left, right)]
    re = [None if end is None else end.real for end in ends]
    im = [None if end is None else end.imag for end in ends]
    return complex_of(
        interp(x, xp, values.real, re[0], re[1], period),
        interp(x, xp, values.imag, im[0], im[1], period),
    )


def _periodic(at: Array, xp: Any, fp: Any, period: float) -> tuple[Array, Array, Array]:
    """Points of one period in order, with the last before them and the first behind them."""
    places = np.asarray(xp, float) % period
    order = np.argsort(places)
    places, values = places[order], np.asarray(fp, float)[order]
    places = np.concatenate([places[-1:] - period, places, places[:1] + period])
    values = np.concatenate([values[-1:], values, values[:1]])
    return at % period, asarray(places), asarray(values)


def _between(at: Array, places: Array, values: Array, left: Any, right: Any) -> Array:
    """Where each number lies is found by halving: the last point that is not behind it."""
    count = len(places)
    before = values[0] if left is None else float(left)
    behind = values[-1] if right is None else float(right)
    if count == 1:
        return either(at < places[0], before, either(at > places[0], behind, values[0]))
    behind_it = gather.search("search_right", places._expr, at._expr)
    first = (Array(behind_it, gpu=at._gpu or places._gpu) - 1).clip(0, count - 2)
    x0, y0 = gathered(places, first), gathered(values, first)
    second = first + 1
    x1, y1 = gathered(places, second), gathered(values, second)
    slope = (y1 - y0) / (x1 - x0)
    inside = slope * (at - x0) + y0
    other = slope * (at - x1) + y1
    inside = either(elementwise("isnan", inside), other, inside)
    inside = either(elementwise("isnan", inside) & (y0 == y1), y0, inside)
    inside = either(at == x0, y0, either(at == x1, y1, inside))
    inside = either(at == places[-1], values[-1], inside)  # of equal points the last one counts
    result = either(at < places[0], before, either(at > places[-1], behind, inside))
    return either(elementwise("isnan", at), at, result)


def gathered(line: Array, index: Array) -> Array:
    """``line`` at an index that lies inside."""
    return Array(gather.take(line._expr, index._expr, 0), gpu=line._gpu)


def unwrap(
    p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi
) -> Array:
    """Angles without jumps: whole periods are added so that no step is above half of one.

    Parameters
    ----------
    p : array_like
        One axis or more.
    discont : float, optional
        The least jump that is taken out; half a period at least.
    axis : int
        Along which.
    period : float
        The size of the range that wraps.

    Returns
    -------
    Array
        Of the shape of `p`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.unwrap([0, 3, 5, 1, 3], period=6).compute()
    array([0, 3, 5, 7, 9])
    """
    array = array_of(p)
    check_period("unwrap", period)
    k = build.check_axis(axis, array.ndim)
    steps = diff(array, axis=k)
    whole = not is_of_floats(steps) and isinstance(period, int)
    high: Any = period // 2 if whole else period / 2
    ambiguous = period % 2 == 0 if whole else True
    least = period / 2 if discont is None else discont
    held = elementwise("remainder", steps + high, period) - high
    if ambiguous:
        held = either((held == -high) & (steps > 0), high, held)
    added = either(elementwise("less", elementwise("absolute", steps), least), 0, held - steps)
    rest = along(array, k, slice(1, None)) + added.cumsum(k)
    whole_line = concatenate([along(array, k, slice(0, 1)), rest], k)
    return whole_line.astype(held.dtype)
