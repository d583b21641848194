"""Numbers at even or growing distances: `arange`, `linspace`, `logspace`, `geomspace`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...errors import DTypeError, ParameterError, ParameterZeroError
from ...expr import build
from ..array import Array, array_of, elementwise
from ..complexes.of_parts import by_parts
from ..creation import (
    check_finite,
    check_limits,
    coordinate,
    full,
    made,
    number_of,
    with_limits_by_name,
    wrapped,
)
from ..elementwise import floor, where
from .axes import moveaxis
from .broadcasting import broadcast_arrays
from .parts import iscomplexobj


@with_limits_by_name
def arange(
    start_or_stop: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    like: Any = None,
    chunks: Any = None,
) -> Array:
    """Make the numbers ``start + step * k`` below ``stop``: one rounding each for floats.

    Parameters
    ----------
    start_or_stop : number
        Where they begin; alone, where they end, and 0 is where they begin.
    stop : number, optional
        Where they end; it is not one of them.
    step : number
        The distance; less than zero goes down.
    dtype : dtype, optional
        NumPy's for these numbers where it is left out: int64 or float64.
    device, like, chunks : optional
        As in `full`.

    Returns
    -------
    Array
        An array of one axis. It needs no memory.

    Raises
    ------
    ValueError
        If a number is not finite, the step is 0, or the dtype cannot hold the numbers.

    Examples
    --------
    >>> sc.arange(1, 2, 0.25).compute()
    array([1.  , 1.25, 1.5 , 1.75])
    """
    gpu = made("arange", "C", device, like)
    step = 1 if step is None else step
    given = (0, start_or_stop, step) if stop is None else (start_or_stop, stop, step)
    start, stop, step = map(number_of, given)
    if step == 0:
        raise ParameterZeroError("step must not be 0")
    check_finite("arange", start, stop, step)
    if dtype is None and not all(type(v) is int and v < 2**63 for v in (start, stop, step)):
        dtype = np.result_type(np.int64, *(np.asarray(v).dtype for v in (start, stop, step)))
    whole = all(isinstance(v, (int, np.integer)) for v in (start, stop, step))
    start, stop, step = map(int, (start, stop, step)) if whole else (start, stop, step)
    count = max(0, -((start - stop) // step) if whole else math.ceil((stop - start) / step))
    index = coordinate(build.check_shape(count), 0)
    name = dtypes.check(dtype or "int64")
    if name == "bool" and count > 2:
        raise DTypeError(f"arange of bool has two numbers at most, not {count}")
    if dtypes.is_integer(name) and not whole:  # NumPy's distance is that of the first two as such
        start, step, whole = int(start), int(start + step) - int(start), True
    if count and dtypes.is_integer(name):
        check_limits(name, start, start + step * (count - 1))
    if whole and dtypes.is_integer(name):  # on the way it may wrap, which the end undoes
        numbers = index * wrapped(step) + wrapped(start)
    else:
        numbers = index.astype("float64") * float(step) + float(start)
    return Array(numbers.astype(name)._expr, gpu=gpu, hint=chunks)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
    chunks: Any = None,
) -> Any:
    """Make evenly spaced numbers from one to another; the last is exactly ``stop``.

    Parameters
    ----------
    start, stop : number or array
        Where they begin and end.
    num : int
        How many.
    endpoint : bool
        Whether ``stop`` is one of them.
    retstep : bool
        Whether to give the distance, too.
    dtype : dtype, optional
        Where it is left out float64, or NumPy's; of an integer dtype the floor of each.
    axis : int
        Of arrays: where the new axis stands.
    device, chunks : optional
        As in `full`.

    Returns
    -------
    Array, or a pair of it and the distance
        The numbers.

    Raises
    ------
    ValueError
        If there are fewer than none, or a number is not finite.

    Examples
    --------
    >>> sc.linspace(0, 1, 5).compute()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    gpu = made("linspace", "C", device)
    (count,) = build.check_shape(num)
    if any(map(iscomplexobj, (start, stop))):
        grid = by_parts(lambda a, b: linspace(a, b, num, endpoint, axis=axis), start, stop)
        grid = grid.astype(dtype or grid.dtype)
        return (grid, (array_of(stop) - start) / max(count - endpoint, 0)) if retstep else grid
    start, stop = number_of(start), number_of(stop)
    if np.ndim(start) or np.ndim(stop):
        values, step = _between(array_of(start), array_of(stop), count, endpoint)
    else:
        values, step = _of_numbers(start, stop, count, endpoint)
    # Python's numbers take the dtype of what is beside them.
    weak = (0.0 if type(v) in (bool, int, float) else array_of(v).dtype for v in (start, stop))
    name = dtypes.check(np.result_type(*weak, 0.0) if dtype is None else dtype)
    values = floor(values) if dtypes.is_integer(name) else values
    grid = Array(values.astype(name)._expr, gpu=gpu or values._gpu, hint=chunks)
    grid = moveaxis(grid, 0, place) if (place := build.check_axis(axis, grid.ndim)) else grid
    return (grid, step) if retstep else grid


def _of_numbers(start: Any, stop: Any, count: int, endpoint: bool) -> tuple[Array, Any]:
    """`linspace` of two numbers, and the distance."""
    check_finite("linspace", start, stop)
    start, stop = np.float64(start), np.float64(stop)
    spaces = count - 1 if endpoint else count
    step = (stop - start) / spaces if spaces > 0 else np.float64(math.nan)
    index = coordinate((count,), 0)
    values = index.astype("float64") * float(step) + float(start)
    if endpoint and count > 1:
        values = where(index == count - 1, float(stop), values)
    elif count == 1:
        values = full((1,), float(start))
    return values, step


def _between(start: Array, stop: Array, count: int, endpoint: bool) -> tuple[Array, Any]:
    """`linspace` of arrays, and the distances."""
    spaces = count - 1 if endpoint else count
    begin, end = (one if one.dtype.kind in "fc" else one.astype("float64") for one in (start, stop))
    gap = elementwise("subtract", end, begin)
    step = elementwise("divide", gap, float(spaces) if spaces > 0 else math.nan)
    index = coordinate((count,), 0).reshape(count, *(1,) * gap.ndim)
    if spaces <= 0:
        return elementwise("add", begin, index.astype(gap.dtype) * 0 + gap * 0), step
    values = elementwise("add", index.astype(gap.dtype) * step, begin)
    return (where(index == count - 1, end, values) if endpoint else values), step


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Array:
    """Make powers of a base, with evenly spaced exponents.

    Parameters
    ----------
    start, stop : number or array
        The first and the last exponent.
    num : int
        How many.
    endpoint : bool
        Whether ``stop`` is one of the exponents.
    base : number or array
        What is raised to them.
    dtype : dtype, optional
        That of the powers where it is left out.
    axis : int
        Of arrays: where the new axis stands.

    Returns
    -------
    Array
        The powers, each within one ulp of that of the rounded exponent.

    Raises
    ------
    ValueError
        As `linspace` does.

    Examples
    --------
    >>> sc.logspace(0, 3, 4, base=2).compute()
    array([1., 2., 4., 8.])
    """
    bases = base
    if np.ndim(base):
        bases = moveaxis(array_of(base)[None], 0, axis)
        start, stop = (broadcast_arrays(limit, base)[0] for limit in (start, stop))
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    powers = elementwise("power", bases, exponents)
    return powers if dtype is None else powers.astype(dtype)


def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Array:
    """Make numbers that grow by one factor; the first and the last are exactly as given.

    Parameters
    ----------
    start, stop : number or array
        Where they begin and end: both above zero, or both below.
    num : int
        How many.
    endpoint : bool
        Whether ``stop`` is one of them.
    dtype : dtype, optional
        float64 where it is left out.
    axis : int
        Of arrays: where the new axis stands.

    Returns
    -------
    Array
        The numbers.

    Raises
    ------
    ValueError
        If a limit is zero.

    Examples
    --------
    >>> sc.geomspace(1, 1000, num=4).compute()
    array([   1.,   10.,  100., 1000.])
    """
    first, last = (array_of(limit) * np.float64(1) for limit in (start, stop))  # refuses text
    for limit in (start, stop):
        if not isinstance(limit, Array) and np.any(np.equal(limit, 0)):
            raise ParameterError(f"geomspace cannot begin or end at 0: {start} to {stop}")
    sign = elementwise("sign", first)
    ends = (elementwise("divide", first, sign), elementwise("divide", last, sign))
    (count,) = build.check_shape(num)
    logs = [elementwise("log10", one) for one in ends]
    powers = elementwise("power", 10.0, _between(logs[0], logs[1], count, endpoint)[0])
    index = coordinate((count,), 0).reshape(count, *(1,) * (powers.ndim - 1))
    if count:
        powers = where(index == 0, ends[0], powers)
    if count > 1 and endpoint:
        powers = where(index == count - 1, ends[1], powers)
    numbers = elementwise("multiply", powers, sign)
    return moveaxis(numbers if dtype is None else numbers.astype(dtype), 0, axis)
