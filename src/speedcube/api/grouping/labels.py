"""Keys as whole numbers: which labels there are, and the number of each place's group."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ... import dtypes
from ...dataclass import dataclass
from ...engine.machine import free_memory
from ...errors import DTypeError, MemoryLimitError, ParameterError, ShapeError
from ..array import Array, array_of, elementwise
from ..order.lines import counts_of, taken
from ..order.lookup import searchsorted
from ..together import compute
from .intervals import intervals
from .words import distinct_strings

_CLOSE: Final = 1 << 16  # integers that lie so close together are counted, not sorted
Labels = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Coded:
    """Numbers of groups in the shape of the keys, int64; any other number is no group."""

    codes: Array
    labels: tuple[Labels, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many labels each key has."""
        return tuple(map(len, self.labels))

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return math.prod(self.shape)


def coded(keys: tuple[Any, ...], expected: Any, sort: bool, isbin: Any = False) -> Coded:
    """The groups of all ``keys`` together: one for each of their labels' combinations.

    ``isbin``: whether labels are the edges of bins, of all keys or of each.
    """
    if not keys:
        raise ParameterError("groups need keys: give an array of labels beside the elements")
    wanted = expected if isinstance(expected, tuple) else (expected,)
    if len(wanted) == 1 and expected is None:
        wanted = (None,) * len(keys)
    if len(wanted) != len(keys):
        raise ParameterError(
            f"{len(keys)} arrays of keys need a tuple of {len(keys)} expected_groups, "
            f"not of {len(wanted)}"
        )
    bins = tuple(isbin) if np.ndim(isbin) else (isbin,) * len(keys)
    if len(bins) != len(keys):
        raise ParameterError(f"isbin has {len(bins)} values for {len(keys)} arrays of keys")
    found = [_one(*one, sort) for one in zip(keys, wanted, map(bool, bins), strict=True)]
    _check_room(math.prod(len(labels) for _, labels in found))
    codes, labels = found[0]
    if len(found) == 1:
        return Coded(codes, (labels,))
    inside, number = _inside(codes, len(labels)), codes
    for more, others in found[1:]:
        inside = elementwise("logical_and", inside, _inside(more, len(others)))
        number = elementwise("add", number * len(others), more)
    return Coded(elementwise("where", inside, number, -1), tuple(one for _, one in found))


def _check_room(groups: int) -> None:
    """`MemoryLimitError` for more groups than there is memory for their numbers."""
    free = free_memory()
    if 8 * groups > free:
        raise MemoryLimitError(
            f"{groups:,} groups need {8 * groups:,} bytes for a number each, and {free:,} are free"
        )


def _inside(codes: Array, groups: int) -> Array:
    return elementwise("logical_and", codes >= 0, codes < groups)


def _one(key: Any, expected: Any, isbin: bool, sort: bool) -> tuple[Array, Labels]:
    values = key if isinstance(key, Array) else np.asarray(key)
    bins = intervals(expected, isbin)
    if bins is not None:
        return bins.codes(array_of(values)), bins.labels
    if expected is not None:
        return _known(values, _labels(expected, sort))
    if not isinstance(values, Array) and values.dtype.name not in dtypes.ALL:
        return _distinct(values, sort)
    found = array_of(values)
    if found.dtype.kind in "iub" and sort and found.size:
        codes = _close(found)
        if codes is not None:
            return codes
    return _distinct(np.asarray(found), sort)


def _close(keys: Array) -> tuple[Array, Labels] | None:
    """Integers that lie close together, counted; None if they do not."""
    dtype = keys.dtype
    whole = keys.astype("uint8") if dtype.kind == "b" else keys
    low, high = (int(one) for one in compute(whole.min(), whole.max()))
    span = high - low + 1
    if span > max(_CLOSE, 4 * keys.size):
        return None
    codes = _less(whole, low)
    there = np.asarray(counts_of(codes.reshape(-1), span)) > 0
    labels = (np.flatnonzero(there).astype("uint64") + np.array(low).astype("uint64")).astype(dtype)
    if not there.all():
        codes = taken(array_of(np.cumsum(there) - 1), codes, 0)
    return codes, labels


def _less(keys: Array, low: int) -> Array:
    """``keys - low`` as int64, which wraps: what lies below becomes no small number."""
    if keys.dtype == np.uint64:
        return elementwise("subtract", keys, np.uint64(low)).astype("int64")
    return elementwise("subtract", keys.astype("int64"), low)


def _distinct(values: Labels, sort: bool) -> tuple[Array, Labels]:
    """Labels that are found by sorting in memory; NaN is none."""
    try:
        words = distinct_strings(values)
        labels, first, codes = words or np.unique(values, return_index=True, return_inverse=True)
    except TypeError as err:
        raise DTypeError(
            f"keys of dtype {values.dtype} have no order: convert them to strings or numbers"
        ) from err
    missing = _missing(labels)
    codes = np.where(missing[codes], -1, codes).reshape(values.shape) if missing.any() else codes
    labels, first = labels[~missing], first[~missing]
    if not sort:
        order = np.argsort(first)
        number = np.append(np.argsort(order), -1)
        codes, labels = number[codes], labels[order]
    return array_of(np.ascontiguousarray(codes.reshape(values.shape), np.int64)), labels


def _missing(labels: Labels) -> np.ndarray[Any, Any]:
    if labels.dtype.kind == "f":
        return np.isnan(labels)
    if labels.dtype.kind in "Mm":
        return np.isnat(labels)
    return np.zeros(len(labels), bool)


def _labels(expected: Any, sort: bool) -> Labels:
    """The labels that are expected, checked."""
    if isinstance(expected, Array):
        expected = expected.compute()
    if isinstance(expected, range):  # NumPy would read it number by number
        _check_room(len(expected))
        labels = np.arange(expected.start, expected.stop, expected.step)
    else:
        labels = np.asarray(expected)
    if labels.ndim != 1:
        raise ShapeError(f"expected_groups are labels along one axis, not of {labels.ndim}")
    if labels.dtype == object and labels.size and not isinstance(labels[0], str):
        raise ParameterError(
            "expected_groups are labels: numbers, strings or dates of one dtype, or intervals of a "
            "pandas.IntervalIndex"
        )
    distinct = np.unique(labels)
    if len(distinct) != len(labels):
        raise ParameterError("expected_groups has a label twice: each names one group")
    if _missing(labels).any():
        raise ParameterError("expected_groups has NaN, which is equal to no key")
    return distinct if sort else labels


def _known(keys: Any, labels: Labels) -> tuple[Array, Labels]:
    """Numbers of groups whose labels are known; nothing is computed of an array's keys."""
    order = np.argsort(labels, kind="stable")
    ordered = labels[order]
    lazily = isinstance(keys, Array) or keys.dtype.name in dtypes.ALL
    if not lazily or labels.dtype.name not in dtypes.ALL:
        at = np.searchsorted(ordered, keys).clip(0, max(0, len(labels) - 1))
        found = ordered[at] == keys if len(labels) else np.zeros(keys.shape, bool)
        codes = np.where(found, order[at] if len(labels) else -1, -1)
        return array_of(np.ascontiguousarray(codes, np.int64)), labels
    keys = array_of(keys)
    if not len(labels):
        return (keys != keys).astype("int64") - 1, labels
    if keys.dtype.kind in "iu" and labels.dtype.kind in "iu" and _follow(labels):
        return _less(keys, int(labels[0])), labels
    if keys.dtype == bool:
        keys, ordered = keys.astype("uint8"), ordered.astype("int64")
    at = searchsorted(array_of(ordered), keys).clip(0, len(labels) - 1)
    same = elementwise("equal", taken(array_of(ordered), at, 0), keys)
    return elementwise("where", same, taken(array_of(order), at, 0), -1), labels


def _follow(labels: Labels) -> bool:
    """Whether each label is one more than the one before, and the first one fits."""
    first = int(labels[0])
    inside = -(2**63) <= first < 2**63
    return inside and labels.tolist() == list(range(first, first + len(labels)))
