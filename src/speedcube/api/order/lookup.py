"""Where numbers belong in a sorted line, and whether they are in a set: binary search, lazily."""

from __future__ import annotations

from functools import partial, reduce
from typing import Any, Final

import numpy as np

from ...errors import DTypeError, ParameterError, ShapeError
from ...expr import gather
from ..array import Array, array_of, elementwise
from ..creation import full
from ..functions.floats import either, together
from .lines import before, sorted_lines, taken

_FEW_TESTS: Final = 16  # that are compared one by one, which takes less than a search


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Array:
    """Where each element of `v` goes in the sorted line `a`: how many elements come before it.

    NaN is after every number, as `sort` puts it.

    Parameters
    ----------
    a : array_like
        One axis, in order.
    v : array_like
        Any shape.
    side : {'left', 'right'}
        Before or behind equal elements.
    sorter : array_like of int, optional
        Places that sort `a`, as of `argsort`.

    Returns
    -------
    Array
        int64, lazy, in the shape of `v`.

    Raises
    ------
    ParameterError
        For another side.
    ShapeError
        Where `a` has not one axis.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.searchsorted([1, 2, 2, 5], [2, 6]).tolist()
    [1, 4]
    """
    if side not in ("left", "right"):
        raise ParameterError(f"side must be one of 'left' or 'right', not {side!r}")
    line = array_of(a)
    if line.ndim != 1:
        raise ShapeError(f"searchsorted looks in a line of one axis, not of {line.ndim}")
    if sorter is not None:
        line = _ordered(line, sorter)
    known, wanted = together(line, array_of(v))
    return found(known, wanted, side)


def _ordered(line: Array, sorter: Any) -> Array:
    places = array_of(sorter)
    if places.dtype.kind not in "iu":
        raise DTypeError("sorter must only contain integers")
    if places.shape != line.shape:
        raise ShapeError(f"sorter.size must equal that of a, {line.size}, not {places.size}")
    return taken(line, places.astype("int64"), 0)


def found(line: Array, wanted: Array, side: str) -> Array:
    """How many elements of ``line``, which is sorted, come before each of ``wanted``."""
    if line.dtype.kind == "c":
        return _found_of_pairs(line, wanted, side)
    if line.dtype.kind == "b":
        line, wanted = line.astype("uint8"), wanted.astype("uint8")
    expr = gather.search(f"search_{side}", line._expr, wanted._expr)
    return Array(expr, gpu=line._gpu or wanted._gpu)


def _found_of_pairs(line: Array, wanted: Array, side: str) -> Array:
    """The same of complex numbers: the steps one after the other."""
    count = line.shape[0]
    place: Array = elementwise("multiply", wanted != wanted, 0).astype("int64")
    step = 1 << max(count.bit_length() - 1, 0)
    while step and count:
        last = place + (step - 1)
        there = taken(line, last.clip(0, count - 1), 0)
        if side == "left":
            passed = before(there, wanted)
        else:
            passed = elementwise("logical_not", before(wanted, there))
        if count & (count + 1):  # else every place that is looked at is there
            passed = elementwise("logical_and", passed, last < count)
        place = either(passed, last + 1, place)
        step >>= 1
    return place


def digitize(x: Any, bins: Any, right: bool = False) -> Array:
    """The bin that each element is in: 0 below the first edge, their number behind the last.

    Parameters
    ----------
    x : array_like
        Any shape.
    bins : array_like
        One axis of edges that rise or fall. They are looked at when this is called.
    right : bool
        Whether bins hold their upper edge, not their lower one.

    Returns
    -------
    Array
        int64, lazy, in the shape of `x`.

    Raises
    ------
    ParameterError
        For edges that neither rise nor fall.
    DTypeError
        For complex elements.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.digitize([0.2, 6.4, 3.0], [0.0, 1.0, 2.5, 4.0]).tolist()
    [1, 4, 3]
    """
    elements = array_of(x)
    edges = np.asarray(array_of(bins))
    if "c" in (elements.dtype.kind, edges.dtype.kind):
        raise DTypeError("digitize: x may not be complex, nor may bins")
    if edges.ndim != 1:
        raise ShapeError("bins must have one axis")
    rises = _rise(edges)
    side = "left" if right else "right"
    if rises:
        return searchsorted(edges, elements, side)
    fallen: Array = len(edges) - searchsorted(edges[::-1], elements, side)
    return fallen


def _rise(edges: Any) -> bool:
    """Whether the bins of `digitize` rise: their first step says so, and no other may go back."""
    fewer, more = edges[:-1], edges[1:]
    steps = np.flatnonzero(fewer != more)
    if not len(steps):
        return True
    rises = bool(fewer[steps[0]] < more[steps[0]])
    back = fewer > more if rises else fewer < more  # never of NaN, which may stand at the end
    if back.any():
        raise ParameterError("bins must be monotonically increasing or decreasing")
    return rises


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Any = None,
) -> Array:
    """Whether each element is one of `test_elements`.

    Parameters
    ----------
    element : array_like
        Any shape.
    test_elements : array_like
        Any shape; more than a few are sorted in memory.
    assume_unique : bool
        Decides nothing.
    invert : bool
        Whether it is none of them.
    kind : {None, 'sort', 'table'}
        Decides nothing.

    Returns
    -------
    Array
        bool, lazy, in the shape of `element`.

    Raises
    ------
    ParameterError
        For another kind.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.isin([[0, 2], [4, 6]], [2, 4, 5]).tolist()
    [[False, True], [True, False]]
    """
    if kind not in (None, "sort", "table"):
        raise ParameterError(f"Invalid kind: {kind!r}. Please use None, 'sort' or 'table'.")
    wanted, tests = array_of(element), array_of(test_elements).reshape(-1)
    if {wanted.dtype.kind, tests.dtype.kind} == {"i", "u"} and np.uint64 in (
        wanted.dtype,
        tests.dtype,
    ):
        return _across_signs(wanted, tests, invert)
    wanted, tests = together(wanted, tests)
    if not tests.size:
        return full(wanted.shape, bool(invert))
    if tests.size <= _FEW_TESTS:
        one_by_one = (elementwise("equal", wanted, tests[k]) for k in range(tests.size))
        same = reduce(partial(elementwise, "logical_or"), one_by_one)
        return elementwise("logical_not", same) if invert else same
    line = sorted_lines(tests, 0)
    place = found(line, wanted, "left").clip(0, line.shape[0] - 1)
    return elementwise("not_equal" if invert else "equal", taken(line, place, 0), wanted)


def _across_signs(wanted: Array, tests: Array, invert: bool) -> Array:
    """The same of int64 and uint64, which have no dtype in common that has them all."""
    if wanted.dtype.kind == "i":
        fits, same = wanted >= 0, isin(wanted.astype(np.uint64), tests)
    else:
        fits = wanted <= np.iinfo(np.int64).max
        same = isin(wanted.astype(np.int64), tests.astype(np.int64))
    here = elementwise("logical_and", fits, same)
    return elementwise("logical_not", here) if invert else here
