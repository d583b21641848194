"""Functions of lines of samples: convolution, interpolation, angles without jumps."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ...errors import ParameterError, ParameterTypeError, ShapeError
from ...expr import build, gather
from ...expr.nodes import Leaf
from ...expr.pairs.node import check_real
from ..array import Array, array_of, elementwise
from ..complexes.of_parts import complex_of
from ..dot import inner_products
from ..joining import concatenate
from ..namespace.ranges import arange
from ..sources import asarray
from .differences import along, check_period, diff
from .floats import either, is_of_floats, together

_NUMBERED: Final = {0: "valid", 1: "same", 2: "full"}  # as NumPy has them from long ago
_AT_HAND: Final = 1 << 12  # numbers that NumPy makes in less time than a node is made
_UNROLLED: Final = 64  # terms that are added one after the other, in one kernel


def convolve(a: Any, v: Any, mode: str = "full") -> Array:
    """The convolution of two lines.

    Up to 64 elements in the shorter: products are added in the order of its elements, each rounded.
    Beyond that, and where they overlap in part, each result is the exact sum of exact products.

    Parameters
    ----------
    a, v : array_like
        One axis of at least one element.
    mode : str
        "full": wherever they overlap; "same": as long as the longer; "valid": where all do.

    Returns
    -------
    Array
        One axis.

    Raises
    ------
    ParameterError
        For another mode, or nothing to convolve.
    ShapeError
        For more axes than one.

    Examples
    --------
    >>> sc.convolve([1, 2, 3], [0, 1, 1]).compute()
    array([0, 1, 3, 5, 3])
    """
    long, short = _lines("convolve", a, v)
    if len(short) > len(long):
        long, short = short, long
    return _slid(long, short[::-1], mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Array:
    """The cross-correlation of two lines; rounded as `convolve` is.

    Parameters
    ----------
    a, v : array_like
        One axis of at least one element.
    mode : str
        "valid": where all overlap; "same": as long as the longer; "full": wherever any do.

    Returns
    -------
    Array
        One axis.

    Examples
    --------
    >>> sc.correlate([1, 2, 3], [0, 1, 2]).compute()
    array([8])
    """
    if not array_of(a).ndim or not array_of(v).ndim:
        raise ShapeError("correlate takes lines of one axis, not numbers")
    x, y = _lines("correlate", a, v)
    y = y.conj()
    return _slid(x, y, mode) if len(x) >= len(y) else _slid(y, x, mode)[::-1]


def _lines(name: str, a: Any, v: Any) -> tuple[Array, Array]:
    x, y = together(array_of(a), array_of(v))
    x, y = (one.reshape(1) if not one.ndim else one for one in (x, y))
    if x.ndim > 1 or y.ndim > 1:
        raise ShapeError(f"{name} takes lines of one axis, not {x.ndim} and {y.ndim}")
    if not x.size or not y.size:
        raise ParameterError(f"{name} takes lines of at least one element")
    return x, y


def _slid(long: Array, short: Array, mode: str) -> Array:
    """The sums of products of ``short`` and as many elements of ``long`` as it slides along it."""
    mode = _NUMBERED.get(mode, mode) if isinstance(mode, int) else mode
    if mode not in _NUMBERED.values():
        kind = ParameterError if isinstance(mode, (str, int)) else ParameterTypeError
        raise kind(f"mode is 'full', 'same' or 'valid', not {mode!r}")
    count = len(short)
    over = {"valid": (0, 0), "full": (count - 1, count - 1), "same": (count // 2, (count - 1) // 2)}
    before, behind = over[mode]
    results = len(long) - count + 1
    whole = _whole(long, short, count, results)
    if not before and not behind:
        return whole
    first = _partly(long, short, -before, before)
    return concatenate([first, whole, _partly(long, short, results, behind)])


def _whole(long: Array, short: Array, count: int, results: int) -> Array:
    """The results for which all of ``short`` lies within ``long``."""
    if count > _UNROLLED and is_of_floats(long):
        return inner_products(view(long, results, count), short)
    total: Array = long[:results] * short[0]
    for k in range(1, count):
        total = elementwise("add", total, long[k : k + results] * short[k])
    return total


def _partly(long: Array, short: Array, first: int, results: int) -> Array:
    """Those whose ``short`` begins at ``first`` or behind, in part beyond ``long``: 0 there."""
    made: Any = np.arange if results * len(short) <= _AT_HAND else arange
    place = made(first, first + results)[:, None] + made(len(short))
    inside = (place >= 0) & (place < len(long))
    held = array_of(place.clip(0, len(long) - 1))  # a file is read where it says
    met = long._view(gather.take(long._expr, held._expr, 0), None)
    none = long.dtype.type(0).item()
    return inner_products(either(inside, met, none), either(inside, short, none))


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


def view(line: Array, rows: int, columns: int) -> Array:
    """Each run of ``columns`` elements of ``line`` as a row, nothing copied."""
    if line.dtype.kind == "c":
        return complex_of(*(view(part, rows, columns) for part in (line.real, line.imag)))
    expr = line._expr
    if isinstance(expr, Leaf):
        step = expr.strides[0]
        return Array(Leaf(expr.source, (rows, columns), expr.offset, (step, step)), gpu=line._gpu)
    return Array(Leaf(expr, (rows, columns), 0, (1, 1)), gpu=line._gpu)


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
