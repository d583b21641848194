"""The modes of `pad` that compute what they put round an array: one axis after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ...errors import ParameterError, ShapeError
from ...expr import gather
from ..array import Array, elementwise
from ..complexes.of_parts import complex_of
from ..creation import coordinate
from ..elementwise import floor, rint, where
from ..joining import concatenate
from ..shapes import broadcast_to

Pair: TypeAlias = tuple[Any, Any]
# What stands before and behind an axis: from the array, the axis, the widths and the values.
_Sides: TypeAlias = Callable[[Array, int, tuple[int, int], Pair], tuple[Array, Array]]

STATISTICS: Final = ("maximum", "mean", "median", "minimum")
_FRACTIONS: Final = ("mean", "median")  # which integers round


def by_axes(x: Array, pads: Sequence[tuple[int, int]], values: Any, sides: _Sides) -> Array:
    """``x`` with what ``sides`` makes round it; a corner is of the last axis, as in NumPy."""
    for axis, (widths, pair) in enumerate(zip(pads, values, strict=True)):
        if not any(widths):
            continue
        if not x.shape[axis]:
            raise ShapeError(
                f"pad: axis {axis} is empty, so it has no elements to repeat; "
                "mode='constant' needs none"
            )
        before, behind = sides(x, axis, widths, pair)
        x = concatenate([before, x, behind], axis, dtype=x.dtype, casting="unsafe")
    return x._view(x._expr, x._grid)  # another one, to be assigned to


def _cut(x: Array, axis: int, start: int, stop: int, step: int = 1) -> Array:
    part = x[(*(slice(None),) * axis, slice(start, stop))]
    return part if step == 1 else part[(*(slice(None),) * axis, slice(None, None, step))]


def _wide(x: Array, axis: int, width: int) -> Array:
    return broadcast_to(x, (*x.shape[:axis], width, *x.shape[axis + 1 :]))


def statistic(mode: str) -> _Sides:
    """The sides of the modes maximum, mean, median and minimum: one value for each line."""
    name = {"maximum": "max", "minimum": "min"}.get(mode, mode)

    def value(part: Array, axis: int, dtype: Any) -> Array:
        if not part.shape[axis] and mode not in _FRACTIONS:
            raise ParameterError(f"pad: stat_length of 0 yields no {mode}")
        result = getattr(np, name)(part, axis=axis, keepdims=True)  # ours, by NumPy's protocol
        whole = mode in _FRACTIONS and dtype.kind in "iu"
        values: Array = (rint(result) if whole else result).astype(dtype)
        return values

    def sides(x: Array, axis: int, widths: tuple[int, int], pair: Pair) -> tuple[Array, Array]:
        extent = x.shape[axis]
        counts = [extent if n is None else min(n, extent) for n in pair]
        first = value(_cut(x, axis, 0, counts[0]), axis, x.dtype)
        last = value(_cut(x, axis, extent - counts[1], extent), axis, x.dtype)
        return _wide(first, axis, widths[0]), _wide(last, axis, widths[1])

    return sides


def ramps(x: Array, axis: int, widths: tuple[int, int], pair: Pair) -> tuple[Array, Array]:
    """The sides of the mode linear_ramp: `linspace` from the end values to the edges."""
    extent = x.shape[axis]
    first = _ramp(_cut(x, axis, 0, 1), axis, widths[0], pair[0])
    last = _ramp(_cut(x, axis, extent - 1, extent), axis, widths[1], pair[1])
    return first, _cut(last, axis, 0, widths[1], -1)


def _ramp(edge: Array, axis: int, width: int, end: Any) -> Array:
    """``width`` numbers from ``end`` to ``edge``, which is not one of them."""
    if not width:
        return _cut(edge, axis, 0, 0)
    if edge.dtype.kind == "c":
        ends = complex(end)
        of_real = _ramp(edge.real, axis, width, ends.real)
        return complex_of(of_real, _ramp(edge.imag, axis, width, ends.imag))
    gap = elementwise("subtract", edge.astype("float64"), float(end))
    step = gap / float(width)
    shape = tuple(width if k == axis else 1 for k in range(edge.ndim))
    index = coordinate((width,), 0).astype("float64").reshape(shape)
    # NumPy divides first where any step is 0, which decides the last bit of the others.
    still = (step == 0).any()
    numbers = where(still, index / float(width) * gap, index * step) + float(end)
    return (floor(numbers) if edge.dtype.kind in "iu" else numbers).astype(edge.dtype)


def turned(x: Array, axis: int, widths: tuple[int, int], mode: str) -> Array:
    """``x`` with ``axis`` wrapped, reflected or mirrored round it, element by element."""
    n, period = x.shape[axis], x.shape[axis] - (mode == "reflect")
    extent = n + sum(widths)
    place = coordinate((extent,), 0) - widths[0]
    if mode == "wrap" or not period:
        place = elementwise("remainder", place, n)
    else:
        place = elementwise("remainder", place, 2 * period)
        back = elementwise("subtract", 2 * period - (mode == "symmetric"), place)
        place = where(elementwise("less", place, n), place, back)
    return x._view(gather.take(x._expr, place._expr, axis), None)


def mirrored(mode: str) -> _Sides:
    """The sides of reflect and symmetric with ``reflect_type="odd"``: turned round the edges."""
    edge = int(mode == "symmetric")

    def sides(x: Array, axis: int, widths: tuple[int, int], _: Pair) -> tuple[Array, Array]:
        period, (left, right) = x.shape[axis], widths
        if period == 1:
            return _wide(x, axis, left), _wide(x, axis, right)
        now, total = x, x.shape[axis]
        while left or right:
            n = now.shape[axis]
            most = n // period * period if edge else (n - 1) // (period - 1) * (period - 1)
            a, b = min(most, left), min(most, right)
            head = _cut(now, axis, 1 - edge, 1 - edge + a, -1)
            tail = _cut(now, axis, n - 1 + edge - b, n - 1 + edge, -1)
            ends = _cut(now, axis, 0, 1), _cut(now, axis, n - 1, n)
            parts = [_odd(ends[0], head), now, _odd(ends[1], tail)]
            now = concatenate(parts, axis, dtype=x.dtype, casting="unsafe")
            left, right = left - a, right - b
        before = widths[0]
        return _cut(now, axis, 0, before), _cut(now, axis, before + total, now.shape[axis])

    return sides


def _odd(edge: Array, chunk: Array) -> Array:
    doubled = edge.astype("int64") * 2 if edge.dtype.kind == "b" else edge * 2
    return elementwise("subtract", doubled, chunk).astype(edge.dtype)


def called(x: Array, pad_width: Any, function: Callable[..., Any], kwargs: Any) -> Any:
    """``x`` with what a function of users writes round it: NumPy calls it with each line."""
    return np.pad(np.asarray(x.compute()), pad_width, function, **kwargs)
