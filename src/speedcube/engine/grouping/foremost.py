"""Who comes first in each group of a line, and how many there are: in one pass, nothing sorted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ...expr.through.grouping import Options, nothing
from ...expr.through.ordering import one_nan
from ...kernel.llvm.grouping.places import WORDS
from ...kernel.llvm.grouping.program import Foremost
from ...kernel.llvm.simd import targets
from ..cpu import address_of
from ..ordering.elements import AllElements, Array
from ..ordering.fixed import Counts
from .stream import compiled, kernel_dtype, pairs

_LAST: Final = ("max", "argmax", "last")


def can_pass(op: str, x: AllElements, options: Options) -> bool:
    """Whether one pass is enough: values are read again at the places that it finds."""
    return not options.rows and (op.startswith("arg") or x.memory is not None)


def foremost(op: str, codes: AllElements, x: AllElements, options: Options) -> Array:
    """The elements, or places, of each group that come first by value or by place."""
    lines, length = x.root.shape
    places = np.empty((lines, options.groups), np.int64)
    if lines == 1:
        each = x.each(lambda span: foremost_places(op, codes, x, 0, span, options), codes.spans())
        places[0] = foremost_of(op, each)[:, 1]
    else:

        def line(k: int) -> None:
            places[k] = foremost_places(op, codes, x, k * length, (0, length), options)[:, 1]

        x.each(line, range(lines))
    if op.startswith("arg"):
        return places
    assert x.memory is not None
    if not length:
        return np.full(places.shape, nothing(x.dtype), x.dtype)
    results = np.take_along_axis(x.memory.reshape(lines, length), places.clip(0), axis=1)
    results[places < 0] = nothing(x.dtype)
    return one_nan(results)


def foremost_places(
    op: str, codes: AllElements, x: AllElements, at: int, span: tuple[int, int], options: Options
) -> Array:
    """Key and place of each group's foremost element."""
    by_value = op not in ("first", "last")
    zeros = op.startswith("arg")  # the first of equals
    program = Foremost(kernel_dtype(x.dtype), by_value, op in _LAST, options.skip, zeros)
    kernel, words = compiled(program, targets()[0]), np.zeros(WORDS, np.int64)
    best = np.full((options.groups + 1, 2), -1, np.int64)
    for first, numbers, values in pairs(codes, x, at, span):
        words[:] = len(numbers), options.groups, first
        state, out = address_of(numbers), best.ctypes.data
        kernel.function(words.ctypes.data, address_of(values), state, state, out)
    return best[: options.groups]


def foremost_of(op: str, each: Sequence[Array]) -> Array:
    """Key and place of what comes first among parts that follow each other."""
    total = each[0]
    for part in each[1:]:
        there, none = part[:, 1] >= 0, total[:, 1] < 0
        before = none if op == "first" else (part[:, 0] < total[:, 0]) | none
        better = there & (True if op == "last" else before)
        total[better] = part[better]
    return total


def numbers_in_lines(codes: AllElements, x: AllElements, options: Options) -> Array:
    """How many elements of each group of each line are no NaN."""
    lines, length = x.root.shape
    results = np.empty((lines, options.groups), np.int64)

    def line(k: int) -> None:
        counts = Counts("int64", options.groups)
        for _, numbers, values in pairs(codes, x, k * length, (0, length)):
            missing = np.isnan(values)
            counts.add(np.where(missing, options.groups, numbers) if missing.any() else numbers)
        results[k] = counts.total()[: options.groups]

    x.each(line, range(lines))
    return results
