"""Sorted elements and their places on a GPU: CuPy's radix sort of integers that order like them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....expr.through.node import Through
from .keys import keys_in_place, values_in_place
from .lines import SHORT, sorted_short
from .sweeps import DeviceWork


def values_sorted(source: Through, work: DeviceWork) -> Any:
    """The lines of the elements, sorted."""
    line, dtype = source.line, source.arg.dtype
    if 0 < line <= SHORT and work.size > line:
        return sorted_short(work, line)
    values = work.whole()
    if not values.size:
        return values
    keys, negative_zeros = keys_in_place(values, dtype, work.device)
    if negative_zeros and len(keys) > line:
        return _by_places(keys.reshape(-1, line), work)
    lines = keys if len(keys) == line else keys.reshape(-1, line)
    lines.sort()
    values_in_place(keys, dtype, work.device)
    if negative_zeros:
        again = work.whole()
        own = again[again == 0]
        first = int((values < 0).sum())
        values[first : first + len(own)] = own
    return values


def places_sorted(source: Through, work: DeviceWork) -> Any:
    """For each line, the places of its elements in their order."""
    values, line = work.whole(), source.line
    if not values.size:
        return values.astype(np.int64)
    keys, _ = keys_in_place(values, source.arg.dtype, work.device)
    return (keys if len(keys) == line else keys.reshape(-1, line)).argsort(kind="stable")


def _by_places(keys: Any, work: DeviceWork) -> Any:
    """Sorted lines where -0 and 0 meet: they are taken from where they were."""
    import cupy

    values = work.whole().reshape(keys.shape)
    values[values != values] = np.nan
    return cupy.take_along_axis(values, keys.argsort(axis=-1, kind="stable"), axis=-1)
