"""Arrays of the host copied to a GPU: what is large by several threads."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .lanes import PIECE, Taken, crew, now
from .sent import sent

LEAST: Final = 16 << 20  # bytes; fewer are there before threads have begun
_PINNED: Final = 1  # cudaMemoryTypeHost


def device_copy(array: NDArray[Any]) -> Any:
    """``array``, which is C-contiguous, in the memory of the current device."""
    import cupy

    if array.nbytes < LEAST:
        return sent(array)
    there = cupy.empty(array.shape, array.dtype)
    host, address = array.reshape(-1).view(np.uint8), int(there.data.ptr)
    if _is_pinned(host):
        stream = cupy.cuda.get_current_stream()
        cupy.cuda.runtime.memcpyAsync(address, host.ctypes.data, host.size, 1, stream.ptr)
        stream.synchronize()  # the array is the user's, who may write to it then
        return there
    with crew(cupy.cuda.runtime.getDevice()) as threads:
        after = now()  # what the memory was used for before
        copies = [
            threads.submit(partial(_copy, host[at : at + PIECE], address + at), after)
            for at in range(0, host.size, PIECE)
        ]
        for one in copies:
            one.result()
    return there


def _copy(host: NDArray[np.uint8], address: int, lane: Taken) -> None:
    with lane() as taken:
        taken.copy(host, address)


def _is_pinned(host: NDArray[np.uint8]) -> bool:
    """Whether the device reads ``host`` by itself, from its first byte to its last."""
    import cupy

    asked = cupy.cuda.runtime.pointerGetAttributes
    first = host.ctypes.data
    return all(asked(at).type == _PINNED for at in (first, first + host.size - 1))
