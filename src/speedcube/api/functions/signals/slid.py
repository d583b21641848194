"""Sums of products of a short line that slides along a long one, however each of them is made.

Result r is the sum over k of ``long[r - (count - 1) + k] * short[k]``, of those that there are;
``count`` is the length of ``short``. Result ``count - 1`` is the first that meets all of it, and
result ``len(long)`` the first that does no more.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import numpy as np

from ....errors import ParameterError, ParameterTypeError
from ....expr import gather
from ....expr.nodes import Leaf
from ....expr.routines.row import called
from ....expr.routines.sliding import SLID
from ....expr.routines.table import ROUTINES
from ...array import Array, array_of, elementwise
from ...complexes.of_parts import complex_of
from ...dot import inner_products
from ...joining import concatenate
from ...namespace.ranges import arange
from ..floats import either, is_of_floats

_NUMBERED: Final = {0: "valid", 1: "same", 2: "full"}  # as NumPy has them from long ago
_AT_HAND: Final = 1 << 16  # places that NumPy makes in less time than a node is made
_UNROLLED: Final = 64  # terms that are added one after the other, in one kernel,
_OF_INTEGERS: Final = 8  # and of integers, whose products have a kernel of their own
_FEW: Final = 1 << 15  # results that are made term by term before a node for each were
_SMALL: Final = 1 << 19  # products up to which ends are not made apart,
_LARGE: Final = 1 << 23  # and from which ends are cut: half of each meets nothing
_CUT: Final = 4


def slid(long: Array, short: Array, mode: str) -> Array:
    """The sums of products of ``short`` and as many elements of ``long`` as it slides along it."""
    mode = _NUMBERED.get(mode, mode) if isinstance(mode, int) else mode
    if mode not in _NUMBERED.values():
        kind = ParameterError if isinstance(mode, (str, int)) else ParameterTypeError
        raise kind(f"mode is 'full', 'same' or 'valid', not {mode!r}")
    count = len(short)
    over = {"valid": (0, 0), "full": (count - 1, count - 1), "same": (count // 2, (count - 1) // 2)}
    before, behind = over[mode]
    first, end = count - 1 - before, len(long) + behind
    if _adds_in_order(long, count) and end - first <= _FEW and not (long._gpu or short._gpu):
        return _in_order(long, short, first, end)
    if not before and not behind:
        return _whole(long, short)
    if long.dtype.kind != "c" and count > _UNROLLED and (end - first) * count <= _SMALL:
        return _met(long, short, first, end)
    pieces = [
        _end(long, short, first, first + before),
        _whole(long, short),
        _end(long, short, end - behind, end),
    ]
    return concatenate([one for one in pieces if one.size])


def _adds_in_order(long: Array, count: int) -> bool:
    """Whether a routine may make what is few; integers have the same bits in any way."""
    return long.dtype.kind != "c" and count <= _UNROLLED


def _in_order(long: Array, short: Array, first: int, end: int) -> Array:
    """Results ``[first, end)``, without a node for each term, of what of ``long`` they meet."""
    begin = max(0, first - (len(short) - 1))
    met = long[begin:end] if begin or end < len(long) else long
    given = first - begin, end - first
    (made,) = called(
        ROUTINES[SLID], [met._expr, short._expr], [(end - first,)], str(long.dtype), given
    )
    return Array(made, gpu=long._gpu or short._gpu)


def _whole(long: Array, short: Array) -> Array:
    """The results for which all of ``short`` lies within ``long``."""
    count = len(short)
    results = len(long) - count + 1
    if count > (_UNROLLED if is_of_floats(long) else _OF_INTEGERS):
        return inner_products(view(long, results, count), short)
    total: Array = long[:results] * short[0]
    for k in range(1, count):
        total = elementwise("add", total, long[k : k + results] * short[k])
    return total


def _end(long: Array, short: Array, first: int, end: int) -> Array:
    """Results of one end, which ``short`` meets in part."""
    if first == end:
        return long[:0]
    if long.dtype.kind == "c":
        return _gathered(long, short, first, end)
    if _adds_in_order(long, len(short)):
        return _in_order(long, short, first, end)
    pieces = _CUT if (end - first) * len(short) > _LARGE else 1
    bounds = [first + (end - first) * k // pieces for k in range(pieces + 1)]
    made = [_met(long, short, *bound) for bound in pairwise(bounds)]
    return made[0] if pieces == 1 else concatenate(made)


def _met(long: Array, short: Array, first: int, end: int) -> Array:
    """Exact sums of what is met, by rows of a line that goes on with zeros.

    A zero times what is no number would be none: there the terms are left out.
    """
    count = len(short)
    low, high = max(0, count - end), min(count, len(long) - first + count - 1)
    terms, begin, rows = short[low:high], first - (count - 1) + low, end - first
    line = _with_zeros(long, begin, begin + rows + high - low - 1)
    met = view(line, rows, high - low)
    if not is_of_floats(long):
        return inner_products(met, terms)
    inside = np.zeros(len(line), bool)
    inside[max(0, -begin) : len(long) - begin] = True
    there = view(array_of(inside), rows, high - low)
    return inner_products(met, either(there, terms, terms.dtype.type(0).item()))


def _with_zeros(long: Array, begin: int, end: int) -> Array:
    """Elements ``[begin, end)`` of ``long``, with zeros before it and behind it."""
    zeros = [np.zeros(n, long.dtype) for n in (max(0, -begin), max(0, end - len(long)))]
    there = long[max(0, begin) : end]
    pieces = [array_of(zeros[0]), there, array_of(zeros[1])]
    return concatenate([one for one in pieces if one.size])


def _gathered(long: Array, short: Array, first: int, end: int) -> Array:
    """Results ``[first, end)`` of complex numbers, by places of which some lie outside."""
    begin = first - (len(short) - 1)
    made: Any = np.arange if (end - first) * len(short) <= _AT_HAND else arange
    place = made(begin, begin + end - first)[:, None] + made(len(short))
    inside = (place >= 0) & (place < len(long))
    held = array_of(place.clip(0, len(long) - 1))  # a file is read where it says
    met = long._view(gather.take(long._expr, held._expr, 0), None)
    none = long.dtype.type(0).item()
    return inner_products(either(inside, met, none), either(inside, short, none))


def view(line: Array, rows: int, columns: int) -> Array:
    """Each run of ``columns`` elements of ``line`` as a row, nothing copied."""
    if line.dtype.kind == "c":
        return complex_of(*(view(part, rows, columns) for part in (line.real, line.imag)))
    expr = line._expr
    if isinstance(expr, Leaf):
        step = expr.strides[0]
        return Array(Leaf(expr.source, (rows, columns), expr.offset, (step, step)), gpu=line._gpu)
    return Array(Leaf(expr, (rows, columns), 0, (1, 1)), gpu=line._gpu)
