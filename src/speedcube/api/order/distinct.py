"""The distinct elements of an array, in order: `unique` and its kin, and sets made of them.

How many there are is not known before: they are found when the function is called.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...engine import compute as engine
from ...engine import machine
from ...engine.ordering.sorting import places_of as places_of_line
from ...engine.staging.late import distinct
from ...engine.streams.ordered.distinct import DistinctSoFar, first_of_each, starts_of
from ...expr import build
from ..array import Array, array_of
from ..sources import asarray
from ..together import compute
from .lines import counts_of, places_of, sorted_lines
from .lookup import searchsorted

Values = NDArray[Any]

_PIECE: Final = 1 << 24  # elements that are sorted at a time where not all of them fit in memory
_LEAST: Final = 1 << 16  # the same
_ALL: Final = 56  # bytes of an element, its places and those of what is equal to it
_NARROW: Final = 1 << 22  # integers between whose least and greatest there are so many are counted


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Array
    inverse_indices: Array


def values_of(array: Array, equal_nan: bool = True) -> Values:
    """The distinct elements of ``array``, sorted, in host memory; of -0 and 0 the first."""
    found = _values_held(array, equal_nan)
    return found if type(found) is np.ndarray else found.get()


def _values_held(array: Array, equal_nan: bool = True) -> Any:
    """The distinct elements of ``array``, sorted, in memory; of -0 and 0 the first.

    Of an array that lies on a GPU they lie there, too.
    """
    line = array.reshape(-1)
    if not line.size:
        return np.empty(0, array.dtype)
    if line.dtype.kind in "iu" and line.size > 64:
        low, high = (int(one) for one in compute(line.min(), line.max()))
        if high - low < min(_NARROW, 4 * line.size):
            return _counted(line, low, high - low + 1)
    if _fits(line, 4 * line.itemsize):
        values = _line_held(line)
        if type(values) is np.ndarray:
            return first_of_each(values, equal_nan)
        there = distinct.first_of_each(values, equal_nan)
        return there if array._gpu else there.get()
    return _by_pieces(line, equal_nan).values


def _by_pieces(line: Array, equal_nan: bool) -> DistinctSoFar:
    """What is distinct of ``line``, some of whose elements are in memory at a time."""
    found = DistinctSoFar(line.dtype, equal_nan)
    step = max(_LEAST, min(_PIECE, machine.free_memory() // (16 * line.itemsize)))
    for first in range(0, line.size, step):
        values = np.asarray(line[first : first + step].compute())
        real = values.dtype.kind != "c"
        order = places_of_line(values) if real else np.argsort(values, kind="stable")
        values = values[order]
        at = np.flatnonzero(starts_of(values, equal_nan))
        counts = np.diff(at, append=len(values))
        found.add(values[at], order[at] + first, counts)
    return found


def _fits(line: Array, each: int) -> bool:
    """Whether there is memory for ``each`` bytes for each element of ``line``."""
    return line.size * each < machine.free_memory()


def _line_held(line: Array) -> Any:
    """All elements of ``line`` in order: on a GPU where that sorts them and can go on."""
    if line.dtype == np.float16:
        return line_sorted(line)
    to = engine.ResultMemory.OF_RUNG
    return engine.compute(sorted_lines(line, 0)._expr, None, None, line._gpu, to)


def line_sorted(line: Array) -> Values:
    """All elements of ``line`` in order, in memory."""
    return np.asarray(sorted_lines(line, 0).compute())


def _counted(line: Array, low: int, length: int) -> Values:
    """Distinct integers from ``low`` on, of which there are ``length`` at most."""
    index = line - low if line.dtype == np.uint64 else line.astype("int64") - low
    present = np.flatnonzero(counts_of(index.astype("int64"), length).compute())
    return np.asarray(present.astype(line.dtype) + line.dtype.type(low))


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The distinct elements, in order. They are found when this is called.

    Of -0 and 0, which are equal, it is the one that comes first.

    Parameters
    ----------
    ar : array_like
        Any shape.
    return_index : bool
        Whether the position of the first of each is given, too.
    return_inverse : bool
        Whether each element's place among the distinct ones is given, too.
    return_counts : bool
        Whether it is given how often each comes.
    axis : int, optional
        Distinct are the slices along it; by default elements.
    equal_nan : bool
        Whether all NaN are one.
    sorted : bool
        They are in order in any case.

    Returns
    -------
    Array, or a tuple of several
        In memory; of the dtype of `ar`, and int64. Where memory does not hold all elements with
        their places, a piece is read after the other, and the inverse is lazy.

    Examples
    --------
    >>> import speedcube as sc
    >>> values, counts = sc.unique([3, 1, 3, 2], return_counts=True)
    >>> values.tolist(), counts.tolist()
    ([1, 2, 3], [1, 1, 2])
    """
    array = array_of(ar)
    if axis is not None:
        axis = build.check_axis(axis, array.ndim)
        options: Any = (return_index, return_inverse, return_counts, axis)
        found: Any = np.unique(array.compute(), *options, equal_nan=equal_nan)
        return tuple(map(asarray, found)) if isinstance(found, tuple) else asarray(found)
    if not (return_index or return_inverse or return_counts):
        return asarray(_values_held(array, equal_nan))
    values, index, inverse, counts = _all_of(array, equal_nan)
    wanted = ((True, values), (return_index, index), (return_inverse, inverse))
    return tuple(asarray(one) for asked, one in (*wanted, (return_counts, counts)) if asked)


def _all_of(array: Array, equal_nan: bool) -> tuple[Values, Values, Any, Values]:
    """Distinct elements, where each comes first, where each element is, how often each comes.

    Where each is can be looked up later: then it takes no memory here.
    """
    line = array.reshape(-1)
    if not line.size:
        none = np.empty(0, np.int64)
        return np.empty(0, array.dtype), none, none.reshape(array.shape), none
    if not _fits(line, _ALL):
        found = _by_pieces(line, equal_nan)
        return found.values, found.firsts, searchsorted(found.values, array), found.counts
    values, order = (np.asarray(one) for one in compute(line, places_of(line, 0)))
    values = values[order]
    starts = starts_of(values, equal_nan)
    inverse = np.empty(line.size, np.int64)
    inverse[order] = np.cumsum(starts) - 1
    firsts = np.flatnonzero(starts)
    counts = np.diff(firsts, append=line.size)
    return values[starts], order[starts], inverse.reshape(array.shape), counts


def unique_all(x: Any) -> UniqueAll:
    """The distinct elements, where each comes first, where each element is, and how often each is.

    NaN are distinct. They are found when this is called.

    Parameters
    ----------
    x : array_like
        Any shape.

    Returns
    -------
    UniqueAll
        `values`, `indices`, `inverse_indices`, `counts`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.unique_all([3, 1, 3]).indices.tolist()
    [1, 0]
    """
    return UniqueAll(*map(asarray, _all_of(array_of(x), False)))


def unique_counts(x: Any) -> UniqueCounts:
    """The distinct elements and how often each comes; NaN are distinct.

    Parameters
    ----------
    x : array_like
        Any shape.

    Returns
    -------
    UniqueCounts
        `values`, `counts`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.unique_counts([3, 1, 3]).counts.tolist()
    [1, 2]
    """
    array = array_of(x).reshape(-1)
    if not array.size:
        return UniqueCounts(asarray(np.empty(0, array.dtype)), asarray(np.empty(0, np.int64)))
    if not _fits(array, 4 * array.itemsize):
        found = _by_pieces(array, False)
        return UniqueCounts(asarray(found.values), asarray(found.counts))
    values = line_sorted(array)
    firsts = np.flatnonzero(starts_of(values, False))
    return UniqueCounts(asarray(values[firsts]), asarray(np.diff(firsts, append=array.size)))


def unique_inverse(x: Any) -> UniqueInverse:
    """The distinct elements and each element's place among them; NaN are distinct.

    Parameters
    ----------
    x : array_like
        Any shape.

    Returns
    -------
    UniqueInverse
        `values`, `inverse_indices`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.unique_inverse([3, 1, 3]).inverse_indices.tolist()
    [1, 0, 1]
    """
    values, _, inverse, _ = _all_of(array_of(x), False)
    return UniqueInverse(asarray(values), asarray(inverse))


def unique_values(x: Any) -> Array:
    """The distinct elements, in order; NaN are distinct.

    Parameters
    ----------
    x : array_like
        Any shape.

    Returns
    -------
    Array
        In memory.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.unique_values([3, 1, 3]).tolist()
    [1, 3]
    """
    return asarray(_values_held(array_of(x), False))
