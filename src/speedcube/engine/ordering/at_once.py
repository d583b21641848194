"""Counts and sums of weights by one reading, not one for the ends of the numbers and one for them.

Where all lies in memory of this machine, the length that is known, or that the first elements
suggest, is tried. Most often it is enough; if not that is seen soon, and the ends are found first.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ...expr.nodes import Expr
from ..boxes import Stop
from ..rungs import resolve
from .counting import streamed
from .elements import AllElements, Array, in_step
from .fixed import Counts
from .weighing import WeighedSums, first_top, rounded, streams

_LEAST: Final = 1 << 16  # elements: two readings of fewer cost little
_FIRST: Final = 1 << 12  # elements that suggest a length
_MOST: Final = 1 << 14  # numbers that are tried: their counts are cached


def counts_at_once(index: Expr, least: int) -> Array | None:
    """How often each number from 0 to the greatest comes; ``least``: how long that is at least.

    None where the ends are to be found first: the greatest is large, or one is negative.
    """
    given = _in_memory(index)
    length = _suggested(given, least)
    if not length:
        return None
    elements = given[0]

    def count(span: tuple[int, int]) -> Array | None:
        counts = Counts(elements.dtype.name, length)
        for block in streamed(elements, span):
            counts.add(block)
            if counts.others:
                return None
        return counts.total()

    parts = elements.each(count, elements.spans())
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    total = np.asarray(sum(known[1:], start=known[0]))
    there = np.flatnonzero(total)
    return total[: max(least, int(there[-1]) + 1)]


def sums_at_once(index: Expr, weights: Expr, least: int) -> Array | None:
    """The exact sums of the weights of each number, as `counts_at_once` counts."""
    given = _in_memory(index, weights)
    length = _suggested(given, least)
    if not length:
        return None
    whole = _added(given, length)
    return None if whole is None else rounded(whole)[: max(least, whole.greatest + 1)]


def _added(given: list[AllElements], length: int) -> WeighedSums | None:
    """The exact sums of each number; None where one is not below ``length``, or negative."""
    top = first_top(given)

    def add(span: tuple[int, int]) -> WeighedSums | None:
        sums = WeighedSums(length, top)
        for numbers, values in streams(given[0], given[1], span):
            sums.add(numbers, values)
            if sums.greatest >= length:
                return None
        return sums.finish()

    parts = given[0].each(add, given[0].spans())
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    whole, *others = known
    for other in others:
        whole.join(other)
    return whole


def added_at_once(index: Expr, values: Expr, length: int) -> Array | None:
    """The sums of the values of each number below ``length``: of floats exact, in float64.

    None where a number is none of these, or all is not in memory. Negative int64 are added from the
    end, as NumPy does; of floats they are none.
    """
    given = _in_memory(index, values)
    if not given or 4 * length > given[0].size:
        return None
    if values.dtype == "int64":
        return _integers_added(given, length)
    whole = _added(given, length)
    return None if whole is None else rounded(whole)


def _integers_added(given: list[AllElements], length: int) -> Array | None:
    index, values = given

    def add(span: tuple[int, int]) -> Array:
        sums = np.zeros(length, np.int64)
        for numbers, some in in_step(index, values, span, _LEAST):
            np.add.at(sums, numbers, some)
        return sums

    try:
        parts = index.each(add, index.spans())
    except IndexError:  # none of these places
        return None
    return np.asarray(sum(parts[1:], start=parts[0]))


def _in_memory(*roots: Expr) -> list[AllElements]:
    """The elements of ``roots`` where all of them lie in memory here; else nothing."""
    size, dtype = math.prod(roots[0].shape), roots[0].dtype
    if size < _LEAST or dtype == "bool":
        return []
    rung = resolve(None, None, size, False, dtype)
    if rung.kind not in ("core", "cores"):
        return []
    given = [AllElements(root, {}, None, Stop(), _stored_nowhere, rung.workers) for root in roots]
    return given if all(one.memory is not None for one in given) else []


def _stored_nowhere(*_: Any) -> None:
    raise AssertionError("elements in memory are read where they lie")


def _suggested(given: list[AllElements], least: int) -> int:
    """A length that is likely to be enough, or 0."""
    if not given or given[0].memory is None:
        return 0
    first = given[0].memory[:_FIRST]
    low, high = int(first.min()), int(first.max())
    length = max(least, 2 * (high + 1))
    return length if low >= 0 and length <= _MOST else 0
