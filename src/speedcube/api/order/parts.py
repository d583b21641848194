"""Elements before and behind a place in the order, and the first of them, without sorting."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...errors import ParameterError, ParameterTypeError
from ...expr import build
from ..array import Array, array_of, elementwise
from .lines import (
    before,
    check_kind,
    line_of,
    order_statistics,
    parted_lines,
    places_of,
    sorted_lines,
    taken,
)

_MOST_PLACES: Final = 100  # of a partition; with more it is a sort


def _places(kth: Any, extent: int) -> list[int]:
    """``kth`` of `partition` as places from 0 on."""
    wanted = np.asarray(array_of(kth))
    if wanted.dtype.kind not in "iu" or wanted.ndim > 1:
        raise ParameterTypeError(f"kth must be an integer or a sequence of them, not {kth!r}")
    found = set()
    for place in wanted.reshape(-1).tolist():
        if not extent:
            continue  # as NumPy has it: of nothing there is nothing to part
        if not -extent <= place < extent:
            raise ParameterError(f"kth(={place}) out of bounds ({extent})")
        found.add(place % extent)
    return sorted(found)


def argpartition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Array:
    """The places that bring the elements at `kth` to where a sort brings them.

    Before each of them is what is not after it, behind it what is not before it; within such a part
    elements stay in the order of their positions.

    Parameters
    ----------
    a : array_like
        One axis or more.
    kth : int or sequence of int
        Places in the sorted line; negative ones count from the end.
    axis : int or None
        None: all elements as one line.
    kind : str
        "introselect", which decides nothing.
    order : None
        There are no fields.

    Returns
    -------
    Array
        int64, lazy, in the shape of `a`.

    Raises
    ------
    ParameterError
        For a place out of bounds.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.argpartition([5, 1, 4, 2], 1).tolist()
    [1, 3, 0, 2]
    """
    check_kind("argpartition", kind, order, (None, "introselect"))
    array, k = line_of("argpartition", a, axis)
    places = _places(kth, array.shape[k])
    if len(places) > _MOST_PLACES:
        return places_of(array, k)
    turned = _axis_last(array, k)
    bounds = order_statistics(turned, tuple(places))
    part: Any = None
    for number in range(len(places)):
        bound = bounds[..., number : number + 1]
        one = before(bound, turned).astype("uint8")
        one = one + elementwise("logical_not", before(turned, bound)).astype("uint8")
        part = one if part is None else part + one
    if part is None:  # of no places all is one part
        part = elementwise("not_equal", turned, turned).astype("uint8") * 0
    return _axis_back(places_of(part, turned.ndim - 1), k)


def partition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Array:
    """The elements with those at `kth` where a sort brings them, lesser before, greater behind.

    Within the parts between them elements stay in the order of their positions.

    Parameters
    ----------
    a : array_like
        One axis or more.
    kth : int or sequence of int
        Places in the sorted line; negative ones count from the end.
    axis : int or None
        None: all elements as one line.
    kind : str
        "introselect", which decides nothing.
    order : None
        There are no fields.

    Returns
    -------
    Array
        Lazy, in the shape of `a`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.partition([5, 1, 4, 2], 1).tolist()
    [1, 2, 5, 4]
    """
    check_kind("partition", kind, order, (None, "introselect"))
    array, k = line_of("partition", a, axis)
    places = _places(kth, array.shape[k])
    if not places:
        return array
    if len(places) > _MOST_PLACES:
        return sorted_lines(array, k)
    return parted_lines(array, k, tuple(places))


def topk(a: Any, k: int, axis: int = -1, split_every: Any = None) -> Array:
    """The `k` greatest elements along an axis, the greatest first; NaN counts as the greatest.

    Parameters
    ----------
    a : array_like
        One axis or more.
    k : int
        How many; of `-k` the least ones, the least first.
    axis : int
    split_every : optional
        Dask's; it decides nothing.

    Returns
    -------
    Array
        At most ``abs(k)`` along `axis`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.topk([5, 1, 3, 6], 2).tolist(), sc.topk([5, 1, 3, 6], -2).tolist()
    ([6, 5], [1, 3])
    """
    array, j = line_of("topk", a, axis)
    return _axis_back(order_statistics(_axis_last(array, j), _top_places(k, array.shape[j])), j)


def argtopk(a: Any, k: int, axis: int = -1, split_every: Any = None) -> Array:
    """The places of the `k` greatest elements along an axis, that of the greatest first.

    Parameters
    ----------
    a : array_like
        One axis or more.
    k : int
        How many; of `-k` the least ones, the least first.
    axis : int
    split_every : optional
        Dask's; it decides nothing.

    Returns
    -------
    Array
        int64, at most ``abs(k)`` along `axis`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.argtopk([5, 1, 3, 6], 2).tolist()
    [3, 0]
    """
    array, j = line_of("argtopk", a, axis)
    places = _top_places(k, array.shape[j])
    return taken(places_of(array, j), array_of(np.array(places, np.int64)), j)


def _top_places(k: Any, extent: int) -> tuple[int, ...]:
    count = min(abs(build.check_integer("k", k)), extent)
    return tuple(range(extent - 1, extent - 1 - count, -1)) if k > 0 else tuple(range(count))


def _axis_last(array: Array, axis: int) -> Array:
    order = [k for k in range(array.ndim) if k != axis]
    return array.transpose((*order, axis))


def _axis_back(array: Array, axis: int) -> Array:
    order = list(range(array.ndim - 1))
    return array.transpose((*order[:axis], array.ndim - 1, *order[axis:]))
