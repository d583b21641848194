"""Differences along an axis, and what is made of them: gradients, areas, angles without jumps."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import AxisError, DTypeError, ParameterError, ParameterTypeError, ShapeError
from ...expr import build
from ..array import Array, array_of, elementwise
from ..joining import concatenate
from ..shapes import broadcast_to
from ..stored import few_in_memory
from .floats import floats


def along(array: Array, axis: int, item: Any) -> Array:
    """``array`` with ``item`` for the index of ``axis``."""
    return array[(slice(None),) * axis + (item,)]


def _edge(array: Array, value: Any, axis: int) -> Array:
    """What stands before or behind ``array``: a number becomes one layer."""
    edge = array_of(value)
    if edge.ndim:
        return edge
    return broadcast_to(edge, tuple(1 if k == axis else n for k, n in enumerate(array.shape)))


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Array:
    """Each element less the one before, along an axis; of bool, whether they differ.

    Parameters
    ----------
    a : array_like
        One axis or more.
    n : int
        How often; 0 gives `a`.
    axis : int
        Along which.
    prepend, append : array_like, optional
        What stands before and behind `a` along the axis.

    Returns
    -------
    Array
        Shorter by `n` along the axis.

    Raises
    ------
    ParameterError
        Where `n` is below 0 or `a` has no axis.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.diff([1, 2, 4, 7]).compute()
    array([1, 2, 3])
    """
    times = build.check_integer("n", n)
    array = array_of(a)
    if times == 0:
        return array
    if times < 0:
        raise ParameterError(f"diff: n must be 0 or more, not {n}")
    if not array.ndim:
        raise ParameterError("diff takes an array of one axis or more, not a number")
    k = build.check_axis(axis, array.ndim)
    parts = [one for one in (prepend, array, append) if one is not None]
    if len(parts) > 1:
        array = concatenate([one if one is array else _edge(array, one, k) for one in parts], k)
    op = "not_equal" if array.dtype == bool else "subtract"
    for _ in range(times):
        later, earlier = along(array, k, slice(1, None)), along(array, k, slice(None, -1))
        array = elementwise(op, later, earlier)
    return array


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Array:
    """Each element less the one before, of all elements in C order.

    Parameters
    ----------
    ary : array_like
        Any shape.
    to_end, to_begin : array_like, optional
        What is put behind and before the differences.

    Returns
    -------
    Array
        One axis.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.ediff1d([1, 2, 4], to_begin=0).compute()
    array([0, 1, 2])
    """
    line = array_of(ary).reshape(-1)
    steps = line[1:] - line[:-1]
    begin, end = (
        _end(word, one, line) for word, one in (("to_begin", to_begin), ("to_end", to_end))
    )
    parts = [one for one in (begin, steps, end) if one is not None]
    return concatenate(parts) if len(parts) > 1 else parts[0]


def _end(word: str, values: Any, line: Array) -> Array | None:
    """What `ediff1d` puts at an end of its differences, in the dtype of ``line``."""
    if values is None:
        return None
    known = array_of(values).reshape(-1)
    if not np.can_cast(known.dtype, line.dtype, "same_kind"):
        raise DTypeError(
            f"ediff1d: {word} is {known.dtype}, which the rule same_kind does not cast to "
            f"{line.dtype}"
        )
    return known.astype(line.dtype)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Array:
    """The area below `y` by the trapezoidal rule: the exact sum of the areas between points.

    Parameters
    ----------
    y : array_like
        One axis or more.
    x : array_like, optional
        Where the points are, along the axis or everywhere.
    dx : float
        How far they are apart where `x` is not given.
    axis : int
        Along which.

    Returns
    -------
    Array
        Without the axis.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.trapezoid([1.0, 2.0, 4.0]).compute()
    np.float64(4.5)
    """
    array = array_of(y)
    k = build.check_axis(axis, array.ndim)
    apart: Any = dx
    if x is not None:
        apart = diff(x, axis=-1 if array_of(x).ndim == 1 else k)
        if apart.ndim == 1:
            apart = apart.reshape([-1 if j == k else 1 for j in range(array.ndim)])
    pairs = along(array, k, slice(1, None)) + along(array, k, slice(None, -1))
    areas = elementwise("divide", elementwise("multiply", apart, pairs), 2.0)
    return areas.sum(k)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences inside, one-sided ones of first or second order at the ends.

    Parameters
    ----------
    f : array_like
        One axis or more.
    *varargs : array_like
        The spacing: one number for all axes, or for each a number or the coordinates. These are
        looked at at once: equal steps are a spacing.
    axis : int or tuple of int, optional
        Along which; all axes by default.
    edge_order : int
        1 or 2: the order at the ends.

    Returns
    -------
    Array or tuple of Array
        One for each axis; the array itself where there is one.

    Raises
    ------
    ShapeError
        Where an axis is too short or coordinates do not fit it.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.gradient([1.0, 2.0, 4.0, 7.0]).compute()
    array([1. , 1.5, 2.5, 3. ])
    """
    array = array_of(f)
    several = range(array.ndim) if axis is None else axis
    several = several if isinstance(several, (tuple, list, range)) else (several,)
    order = [build.check_axis(k, array.ndim) for k in several]
    if len(set(order)) < len(order):
        raise AxisError(f"an axis is given twice in {axis}")
    if edge_order not in (1, 2):
        raise ParameterError(f"gradient: edge_order is 1 or 2, not {edge_order!r}")
    spacings = list(varargs) or [1.0]
    if len(spacings) == 1 and not array_of(spacings[0]).ndim:
        spacings = spacings * len(order)
    most = len(order)
    if (given := len(spacings)) != most:
        raise ParameterTypeError(
            f"gradient takes no spacing, one, or one for each of {most} axes, not {given}"
        )
    slopes = tuple(
        _slope(array, k, space, edge_order) for k, space in zip(order, spacings, strict=True)
    )
    return slopes[0] if len(slopes) == 1 else slopes


def _slope(array: Array, k: int, space: Any, edge_order: int) -> Array:
    count = array.shape[k]
    if count < edge_order + 1:
        raise ShapeError(
            f"gradient with edge_order={edge_order} needs {edge_order + 1} elements or "
            f"more along an axis; axis {k} has {count}"
        )
    if array.dtype == bool:
        raise DTypeError("gradient: bool has no differences; convert it with .astype('int64')")
    array, number = floats(array), isinstance(space, (int, float))
    apart = array_of(space)
    if apart.ndim > 1 or (apart.ndim and len(apart) != count):
        raise ShapeError(
            f"gradient: the coordinates of axis {k} have shape {apart.shape}, and the "
            f"axis has {count} elements"
        )
    if not apart.ndim:
        return _even(array, k, space if number else apart, edge_order).astype(array.dtype)
    steps = floats(diff(apart))
    # Which formula it is shows: where steps are equal, a place that is no number spoils none.
    if _are_equal(apart, steps):
        return _even(array, k, steps[0], edge_order).astype(array.dtype)
    return _uneven(array, k, steps, edge_order).astype(array.dtype)


def _are_equal(apart: Array, steps: Any) -> bool:
    """Whether all ``steps`` between coordinates are the same: of few in memory NumPy tells."""
    few = few_in_memory(apart._expr)
    if few is not None and few.dtype.kind != "b":
        with np.errstate(all="ignore"):
            steps = np.diff(few).astype(steps.dtype)
    return bool((steps == steps[0]).all())


def _even(array: Array, k: int, step: Any, edge_order: int) -> Array:
    """Slopes at places that lie one ``step`` apart."""

    def at(first: int, last: int | None = None) -> Array:
        return along(array, k, slice(first, first + 1 or None) if last is None else
                     slice(first, last or None))  # fmt: skip

    inside = (at(2, 0) - at(0, -2)) / (2.0 * step)
    if edge_order == 1:
        ends = (at(1) - at(0)) / step, (at(-1) - at(-2)) / step
    else:
        ends = (
            at(0) * (-1.5 / step) + at(1) * (2.0 / step) + at(2) * (-0.5 / step),
            at(-3) * (0.5 / step) + at(-2) * (-2.0 / step) + at(-1) * (1.5 / step),
        )
    return concatenate([ends[0], inside, ends[1]], k)


def _uneven(array: Array, k: int, steps: Array, edge_order: int) -> Array:
    """Slopes at coordinates that lie ``steps`` apart."""

    def at(first: int, last: int | None) -> Array:
        return along(array, k, slice(first, last))

    shape = [-1 if j == k else 1 for j in range(array.ndim)]
    before, behind = steps[:-1].reshape(shape), steps[1:].reshape(shape)
    inside = (
        at(None or 0, -2) * (-behind / (before * (before + behind)))
        + at(1, -1) * ((behind - before) / (before * behind))
        + at(2, None) * (before / (behind * (before + behind)))
    )
    if edge_order == 1:
        first = (at(1, 2) - at(0, 1)) / steps[0]
        last = (at(-1, None) - at(-2, -1)) / steps[-1]
        return concatenate([first, inside, last], k)
    one, two = steps[0], steps[1]
    first = (
        at(0, 1) * (-(one * 2.0 + two) / (one * (one + two)))
        + at(1, 2) * ((one + two) / (one * two))
        + at(2, 3) * (-one / (two * (one + two)))
    )
    one, two = steps[-2], steps[-1]
    last = (
        at(-3, -2) * (two / (one * (one + two)))
        + at(-2, -1) * (-(two + one) / (one * two))
        + at(-1, None) * ((two * 2.0 + one) / (two * (one + two)))
    )
    return concatenate([first, inside, last], k)


def check_period(name: str, period: Any) -> None:
    """Refuse a period that is no number."""
    if not isinstance(period, (int, float, np.number)):
        raise ParameterTypeError(f"{name}: period= is a number, not {period!r}")
