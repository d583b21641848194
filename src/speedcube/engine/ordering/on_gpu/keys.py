"""Numbers in a GPU's memory and the integers that order like them, each in the other's place."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ....dtypes import INTEGERS
from ....kernel.cuda.ordering.keys import DeviceKeys
from ....kernel.cuda.prelude import THREADS
from ... import gpu

_AS_THEY_ARE: Final = ("bool", *INTEGERS)  # which are their own keys


def keys_in_place(values: Any, dtype: str, device: int) -> tuple[Any, int]:
    """Integers that order like ``values``, in their place; and how many of those are -0."""
    if dtype in _AS_THEY_ARE:
        return (values.view(np.uint8) if dtype == "bool" else values), 0
    keys = values.view(np.dtype(f"uint{8 * values.dtype.itemsize}"))
    return keys, _convert(keys, DeviceKeys(dtype, back=False), device)


def values_in_place(keys: Any, dtype: str, device: int) -> Any:
    """What has the ``keys``, in their place."""
    _convert(keys, DeviceKeys(dtype, back=True), device)
    return keys.view(dtype)


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
