"""Sums, least and greatest values of segments: JAX's and PyTorch's names for values by number."""

from __future__ import annotations

import math
from typing import Any

from ... import dtypes
from ...errors import AxisError, DTypeError, MemoryLimitError, ParameterError, ShapeError
from ...expr import build
from ..array import Array, array_of
from ..indexing.places import ends
from ..namespace.ranges import arange
from ..shapes import broadcast_to
from .bins import scattered

_MOST = 2**48  # segments


def segment_sum(data: Any, segment_ids: Any, num_segments: int | None = None) -> Array:
    """The exact sum of the values of each segment, rounded once.

    Parameters
    ----------
    data : array_like
        Shape ``(n, ...)``.
    segment_ids : array_like of int
        Shape ``(n,)``: which segment each is in, in any order. They are checked before anything
        is read; lazy ones are computed once for it.
    num_segments : int, optional
        How many there are; by default one more than the greatest number.

    Returns
    -------
    Array
        Lazy, shape ``(num_segments, ...)`` and the dtype of `data` (int64 of bool): 0 for a segment
        without values. Integers wrap.

    Raises
    ------
    AxisError
        For a number that is negative or too large: an IndexError.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.segment_sum([0.5, 1.0, 2.0], [1, 0, 1]).tolist()
    [1.0, 2.5]
    """
    return _segments("add", data, segment_ids, num_segments)


def segment_min(data: Any, segment_ids: Any, num_segments: int | None = None) -> Array:
    """The least value of each segment; NaN where one is.

    Parameters
    ----------
    data, segment_ids, num_segments
        As of `segment_sum`.

    Returns
    -------
    Array
        Of a segment without values: infinity, or the greatest integer.

    Raises
    ------
    AxisError
        As by `segment_sum`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.segment_min([5, 3, 4], [1, 1, 0]).tolist()
    [4, 3]
    """
    return _segments("min", data, segment_ids, num_segments)


def segment_max(data: Any, segment_ids: Any, num_segments: int | None = None) -> Array:
    """The greatest value of each segment; NaN where one is.

    Parameters
    ----------
    data, segment_ids, num_segments
        As of `segment_sum`.

    Returns
    -------
    Array
        Of a segment without values: minus infinity, or the least integer.

    Raises
    ------
    AxisError
        As by `segment_sum`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.segment_max([5, 3, 4], [1, 1, 0]).tolist()
    [4, 5]
    """
    return _segments("max", data, segment_ids, num_segments)


def _segments(op: str, data: Any, segment_ids: Any, num_segments: int | None) -> Array:
    values, ids = array_of(data), array_of(segment_ids)
    if ids.ndim != 1 or not values.ndim or values.shape[0] != ids.shape[0]:
        raise ShapeError(
            f"segment_ids of shape {ids.shape} must have one axis, as long as the first of data, "
            f"whose shape is {values.shape}"
        )
    if not ids.size and not isinstance(segment_ids, Array):
        ids = ids.astype("int64")  # a list of nothing
    if not dtypes.is_integer(str(ids.dtype)):
        raise DTypeError(f"segment_ids must be integers, not {ids.dtype}")
    return segmented(op, values, ids, checked_ids(ids, num_segments))


def segmented(op: str, values: Array, ids: Array, count: int) -> Array:
    """``op`` of the values of each of ``count`` segments, whose numbers ``ids`` are known to be."""
    values = values.astype("int64") if values.dtype == bool else values
    across = math.prod(values.shape[1:])
    place, rest = ids.astype("int64"), values.shape[1:]
    if values.ndim > 1:
        wide = place.reshape(-1, 1) * across + arange(across, dtype="int64")
        place = broadcast_to(wide, (ids.shape[0], across)).reshape(-1)
    found = scattered(op, place, values.reshape(-1), count * across, str(values.dtype))
    return found.reshape(count, *rest)


def checked_ids(ids: Array, count: int | None) -> int:
    """How many segments there are; `AxisError` for a number that is none of them."""
    if count is not None:
        count = build.check_integer("num_segments", count)
        if count < 0:
            raise ParameterError(f"num_segments must not be negative: {count}")
    if not ids.size:
        return count or 0
    low, high = ends(ids, 0, _MOST if count is None else count)
    if low < 0 or (count is not None and high >= count):
        wrong = low if low < 0 else high
        most = "" if count is None else f" and below {count}"
        raise AxisError(f"segment_ids must be at least 0{most}, and one is {wrong}")
    if high >= _MOST:
        raise MemoryLimitError(f"segment {high:,} needs a sum for each one below")
    return high + 1 if count is None else count
