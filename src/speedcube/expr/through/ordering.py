"""Sorting, selecting and counting as they are defined, with NumPy: the right answer.

Elements are in order by value, NaN last, then by position: -0 and 0 are equal. NaN is NumPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import views
from ..nodes import Expr, Leaf, Map, Shape, Through, whole

Array: TypeAlias = NDArray[Any]


def of_lines(op: str, arg: Expr, axis: int, options: tuple[int, ...] = ()) -> Expr:
    """``op`` of the lines of ``arg`` along ``axis``, which has a result for each of ``options``.

    Without options, and parted by them, it keeps its extent.
    """
    last = len(arg.shape) - 1
    turned = views.transpose(arg, _axis_last(last, axis)) if axis != last else arg
    results = len(options) if options and op != "partition" else arg.shape[axis]
    shape = (*arg.shape[:axis], results, *arg.shape[axis + 1 :])
    dtype = "int64" if op == "argsort" else arg.dtype
    return whole(Through(op, turned, shape, dtype, options, axis - last - 1), shape)


def _axis_last(last: int, axis: int) -> tuple[int, ...]:
    return (*(k for k in range(last + 1) if k != axis), axis)


def counts(op: str, args: Sequence[Expr], length: int, dtype: str) -> Leaf:
    """``op`` of an index, and weights, of one shape: a result for each of ``length`` numbers."""
    arg = args[0] if len(args) == 1 else Map("several", tuple(args), args[0].shape, args[0].dtype)
    return whole(Through(op, arg, (length,), dtype, (length,)), (length,))


def made(node: Through, args: Sequence[Array]) -> Array:
    """What ``node`` makes of ``args``."""
    results = MEANING[node.op](*args, *([node.options] if node.options else []))
    return np.moveaxis(results, -1, node.axis)


def _sort(x: Array) -> Array:
    return one_nan(np.sort(x, axis=-1, kind="stable"))


def _argsort(x: Array) -> Array:
    return np.argsort(x, axis=-1, kind="stable")


def _order_statistics(x: Array, places: Shape) -> Array:
    return _sort(x)[..., list(places)]


def _partition(x: Array, places: Shape) -> Array:
    out, bounds = np.empty_like(x), _order_statistics(x, places)
    for line in np.ndindex(x.shape[:-1]):
        out[line] = parted_by(x[line], bounds[line])
    return out


def parted_by(line: Array, bounds: Array) -> Array:
    """``line``: what is before, at and behind each of the ``bounds``, as it comes."""
    parts = np.zeros(line.shape, np.uint8)
    for bound in bounds:
        parts += _before(bound, line)
        parts += ~_before(line, bound)
    return np.asarray(line[np.argsort(parts, kind="stable")])


def _before(x: Array, y: Array) -> Array:
    return np.asarray((x < y) | ((x == x) & (y != y)))


def _count(index: Array, options: Shape) -> Array:
    flat = index.reshape(-1)
    inside = flat[(flat >= 0) & (flat < options[0])]
    return np.bincount(inside.astype(np.int64), minlength=options[0])


def _weigh(index: Array, weights: Array, options: Shape) -> Array:
    sums = np.zeros(options[0], weights.dtype)
    for k in range(options[0]):
        sums[k] = _sum(weights[index == k].tolist())
    return sums


def _sum(values: list[float]) -> float:
    if all(map(math.isfinite, values)):
        return math.fsum(values)
    return sum(value for value in values if not math.isfinite(value))


def one_nan(values: Array) -> Array:
    """``values`` with NumPy's NaN, in place."""
    if values.dtype.kind == "f":
        values[np.isnan(values)] = np.nan
    return values


MEANING: Final[dict[str, Callable[..., Array]]] = {
    "sort": _sort,
    "argsort": _argsort,
    "order_statistics": _order_statistics,
    "partition": _partition,
    "count": _count,
    "weigh": _weigh,
}
