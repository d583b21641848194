"""Sorting, selecting and counting as they are defined, with NumPy: the right answer.

Elements are in order by value, NaN last, then by position: -0 and 0 are equal. NaN is NumPy's.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import cache
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import views
from ..nodes import Expr, Leaf, Map, Shape, Through, is_whole, whole
from .windows import of_a_part

Array: TypeAlias = NDArray[Any]

EVEN: Final = "even"  # of the options of a "count" of doubles by their bins
_BY_DIGITS: Final = 1 << 9  # elements of a line of one or two bytes each that are sorted by digits
_AS_WORDS: Final = 10  # elements of a line of bytes that are sooner sorted as words
_SAMPLE: Final = 1 << 12  # words by which that is found
_COUNTED: Final = 1 << 6  # bytes of a line that NumPy sorts in less time by counting


def of_lines(op: str, arg: Expr, axis: int, options: tuple[int, ...] = ()) -> Expr:
    """``op`` of the lines of ``arg`` along ``axis``, which has a result for each of ``options``.

    Without options, and parted by them, it keeps its extent.
    """
    if op == "sort" and (few := of_a_part(arg)) is not None:
        return few
    arg, shape = _in_its_order(arg), arg.shape
    if shape != arg.shape:
        results = len(options) if options and op != "partition" else shape[0]
        dtype = "int64" if op == "argsort" else arg.dtype
        return whole(Through(op, arg, (results,), dtype, options), (results,))
    last = len(arg.shape) - 1
    turned = views.transpose(arg, _axis_last(last, axis)) if axis != last else arg
    results = len(options) if options and op != "partition" else arg.shape[axis]
    shape = (*arg.shape[:axis], results, *arg.shape[axis + 1 :])
    dtype = "int64" if op == "argsort" else arg.dtype
    return whole(Through(op, turned, shape, dtype, options, axis - last - 1), shape)


def _in_its_order(arg: Expr) -> Expr:
    """What ``arg`` has all elements of, in C order, along its one axis: nothing is to be moved."""
    if isinstance(arg, Leaf) and len(arg.shape) == 1 and isinstance(arg.source, (Map, Leaf)):
        inner = arg.source
        if inner.shape and is_whole(arg) and math.prod(inner.shape) == arg.shape[0]:
            return inner
    return arg


def _axis_last(last: int, axis: int) -> tuple[int, ...]:
    return (*(k for k in range(last + 1) if k != axis), axis)


def counts(op: str, args: Sequence[Expr], length: int, dtype: str, *options: Any) -> Leaf:
    """``op`` of an index, and weights, of one shape: a result for each of ``length`` numbers.

    What is counted is an index, or doubles by bins of one width, which ``options`` tell then.
    """
    arg = args[0] if len(args) == 1 else Map("several", tuple(args), args[0].shape, args[0].dtype)
    return whole(Through(op, arg, (length,), dtype, (length, *options)), (length,))


def put_in_order(lines: Array) -> None:
    """Sort each of ``lines`` in place, as quickly as NumPy does; what is equal comes in any order.

    It has vectors for four bytes and more, on some processors for two, and a sort by digits, which
    is its stable one, for one or two bytes: of 1.6e6 bytes in lines of 200 the first takes 1.0 ms,
    the second 3.0 and the quick sort 35; in one line 20, 2.7 and 42.

    NumPy 2.4 leaves many float16 (15,840, or more) unsorted on processors with AVX512_ICL, so
    theirs are sorted as integers that order like them.
    """
    if lines.dtype != np.float16:
        by_digits = lines.dtype.itemsize <= 2 and lines.shape[-1] >= _BY_DIGITS
        if by_digits and lines.dtype.itemsize == 2:
            by_digits = not _words_in_vectors()
        if lines.dtype.itemsize == 1 and not by_digits and lines.shape[-1] >= _AS_WORDS:
            wide = lines.astype(np.int16)
            wide.sort(axis=-1)
            lines[...] = wide
        else:
            lines.sort(axis=-1, kind="stable" if by_digits else None)
        return
    words = one_nan(lines).view(np.int16)
    words ^= (words >> 15) & 0x7FFF
    words.sort(axis=-1)
    words ^= (words >> 15) & 0x7FFF


@cache
def _words_in_vectors() -> bool:
    """Whether NumPy sorts two bytes sooner by vectors than by digits: 1.5 ns and 2.2 of 3e6."""
    line = (np.arange(_SAMPLE, dtype=np.uint32) * np.uint32(0x9E3779B1) >> 16).astype(np.int16)

    def seconds(kind: Literal["stable"] | None) -> float:
        own, start = line.copy(), time.perf_counter()
        own.sort(kind=kind)
        return time.perf_counter() - start

    return min(seconds(None) for _ in range(3)) < min(seconds("stable") for _ in range(3))


def line_in_order(values: Array) -> Array:
    """All of ``values``, along one axis, in order: `put_in_order` of a copy."""
    line = values.reshape(-1).copy()
    put_in_order(line)
    return line


def sorted_lines(x: Array) -> Array:
    """The lines of ``x``, sorted."""
    return one_nan(np.sort(x, axis=-1, kind="stable"))


def places(x: Array) -> Array:
    """The places of the elements of each line in their order."""
    return np.argsort(x, axis=-1, kind="stable")


def order_statistics(x: Array, at: Shape) -> Array:
    """What has these places in each line when it is sorted."""
    return sorted_lines(x)[..., list(at)]


def partition(x: Array, at: Shape) -> Array:
    """The lines of ``x``, with what has these places when they are sorted there."""
    return lines_parted_by(x, order_statistics(x, at))


def parted_by(line: Array, bounds: Array) -> Array:
    """``line``: what is before, at and behind each of the ``bounds``, as it comes."""
    return np.asarray(line[np.argsort(_part_of(line, bounds), kind="stable")])


def lines_parted_by(lines: Array, bounds: Array) -> Array:
    """Each of ``lines`` as `parted_by` has it, by its own row of ``bounds``."""
    parts = _part_of(lines, np.moveaxis(bounds, -1, 0)[..., np.newaxis])
    # NumPy sorts bytes by counting, which short lines do not repay.
    keys = parts.astype(np.int32) if lines.shape[-1] < _COUNTED else parts
    order = np.argsort(keys, axis=-1, kind="stable")
    return np.take_along_axis(lines, order, axis=-1)


def parts_by(line: Array, bounds: Array) -> list[Array]:
    """The parts of ``line`` that the ``bounds`` make: before the first, at it, behind it ..."""
    part = _part_of(line, bounds)
    return [line[part == k] for k in range(2 * len(bounds) + 1)]


def _part_of(line: Array, bounds: Array) -> Array:
    parts = np.zeros(line.shape, np.uint8)
    for bound in bounds:
        parts += _before(bound, line)
        parts += ~_before(line, bound)
    return parts


def _before(x: Array, y: Array) -> Array:
    return np.asarray((x < y) | ((x == x) & (y != y)))


def count(index: Array, options: tuple[Any, ...]) -> Array:
    """How often each number below the length comes, or numbers in each bin of one width."""
    flat = index.reshape(-1)
    if options[1:2] == (EVEN,):
        return np.histogram(flat, np.frombuffer(options[4]))[0]  # whose edges decide
    inside = flat[(flat >= 0) & (flat < options[0])]
    return np.bincount(inside.astype(np.int64), minlength=options[0])


def weigh(index: Array, weights: Array, options: Shape) -> Array:
    """The exact sum of the weights of each number."""
    sums = np.zeros(options[0], weights.dtype)
    for k in range(options[0]):
        sums[k] = _sum(weights[index == k].tolist())
    return sums


def _sum(values: list[float]) -> float:
    if all(map(math.isfinite, values)):
        return math.fsum(values)
    return sum(value for value in values if not math.isfinite(value))


def scatter_add(index: Array, values: Array, options: Shape) -> Array:
    """The sum of the values of each number."""
    return _at(np.add, "scatter_add", index, values, options[0])


def scatter_min(index: Array, values: Array, options: Shape) -> Array:
    """The least of the values of each number."""
    return _at(np.minimum, "scatter_min", index, values, options[0])


def scatter_max(index: Array, values: Array, options: Shape) -> Array:
    """The greatest of the values of each number."""
    return _at(np.maximum, "scatter_max", index, values, options[0])


def _at(ufunc: Any, op: str, index: Array, values: Array, length: int) -> Array:
    found = np.full(length, neutral(op, values.dtype), values.dtype)
    with np.errstate(invalid="ignore"):  # NaN, which some processors are told of
        ufunc.at(found, index, one_zero(values))
    return one_nan(found)


def neutral(op: str, dtype: Any) -> Any:
    """What a number without values has: 0, or what no value is above, or below."""
    if op == "scatter_add":
        return 0
    if dtype.kind == "f":
        return np.inf if op == "scatter_min" else -np.inf
    known = np.iinfo(dtype)
    return known.max if op == "scatter_min" else known.min


def one_zero(values: Array) -> Array:
    """``values`` without zeros of a sign."""
    return np.asarray(values + 0.0) if values.dtype.kind == "f" else values


def one_nan(values: Array) -> Array:
    """``values`` with NumPy's NaN, in place."""
    if values.dtype.kind == "f":
        values[np.isnan(values)] = np.nan
    return values
