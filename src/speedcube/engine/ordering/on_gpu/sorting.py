"""Sorted elements and their places on a GPU: CuPy's radix sort of integers that order like them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ....dtypes import INTEGERS
from ....expr.through.node import Through
from ....kernel.cuda.ordering.keys import DeviceKeys
from ....kernel.cuda.prelude import THREADS
from ... import gpu
from .sweeps import DeviceWork

_AS_THEY_ARE: Final = ("bool", *INTEGERS)  # which are their own keys


def values_sorted(source: Through, work: DeviceWork) -> Any:
    """The lines of the elements, sorted."""
    values, line = work.whole(), source.line
    if not values.size:
        return values
    dtype = source.arg.dtype
    keys, negative_zeros = _keys(values, dtype, work.device)
    if negative_zeros and len(keys) > line:
        return _by_places(keys.reshape(-1, line), work)
    lines = keys if len(keys) == line else keys.reshape(-1, line)
    lines.sort()
    _convert(keys, DeviceKeys(dtype, back=True), work.device)
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
    keys, _ = _keys(values, source.arg.dtype, work.device)
    return (keys if len(keys) == line else keys.reshape(-1, line)).argsort(kind="stable")


def _by_places(keys: Any, work: DeviceWork) -> Any:
    """Sorted lines where -0 and 0 meet: they are taken from where they were."""
    import cupy

    values = work.whole().reshape(keys.shape)
    values[values != values] = np.nan
    return cupy.take_along_axis(values, keys.argsort(axis=-1, kind="stable"), axis=-1)


def _keys(values: Any, dtype: str, device: int) -> tuple[Any, int]:
    """Integers that order like ``values``, in their place; and how many of those are -0."""
    if dtype in _AS_THEY_ARE:
        return (values.view(np.uint8) if dtype == "bool" else values), 0
    keys = values.view(np.dtype(f"uint{8 * values.dtype.itemsize}"))
    return keys, _convert(keys, DeviceKeys(dtype, back=False), device)


def _convert(keys: Any, program: DeviceKeys, device: int) -> int:
    import cupy

    if program.dtype in _AS_THEY_ARE:
        return 0
    kernel, resident = gpu.gpu_kernel(program, device)
    blocks = min(resident, -(-keys.size // THREADS))
    words, place = cupy.zeros(1, np.uint64), int(keys.data.ptr)
    arguments = np.array([keys.size, place, place, int(words.data.ptr)], np.uint64)
    kernel.function((blocks,), (THREADS,), (*arguments,))
    return 0 if program.back else int(words.get()[0])
