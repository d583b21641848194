"""Elements in memory where a mask in memory is true, put together by a kernel for each thread."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...kernel.orders import Choose
from ...late import futures
from ..cpu import address_of
from ..ordering.fixed import compiled

Array: TypeAlias = NDArray[Any]

_SIZES: Final = (1, 2, 4, 8)  # bytes of the elements that a kernel moves
_SHARE: Final = 1 << 17  # elements that are worth a thread
_LOOKED: Final = 1 << 12  # elements of a mask among which the last true one is looked for


def is_choosable(values: Array) -> bool:
    """Whether `chosen` takes ``values``."""
    return values.flags.c_contiguous and values.dtype.itemsize in _SIZES


def _after_last(mask: Array) -> int:
    """How many of ``mask``, of which some are true, there are up to the last one that is."""
    end = len(mask)
    while not (some := mask[max(0, end - _LOOKED) : end]).any():
        end -= _LOOKED
    return max(0, end - _LOOKED) + int(np.flatnonzero(some)[-1]) + 1


def chosen(values: Array, mask: Array, workers: int) -> Array:
    """The elements of ``values``, in C order, where ``mask``, bools in C order, is true."""
    elements, bools = values.reshape(-1), mask.reshape(-1)
    threads = max(1, min(workers, len(bools) // _SHARE))
    ends = [len(bools) * k // threads for k in range(threads + 1)]
    spans = [slice(*ends[k : k + 2]) for k in range(threads)]
    counts = [int(np.count_nonzero(bools[span])) for span in spans]
    out = np.empty(sum(counts), elements.dtype)
    kernel = compiled(Choose(elements.itemsize))
    starts = [0, *accumulate(counts)]

    def choose(k: int) -> None:
        if not counts[k]:
            return
        own = bools[spans[k]]
        words = np.array([_after_last(own)])
        addresses = words.ctypes.data, address_of(elements[spans[k]]), own.ctypes.data
        kernel.function(*addresses, words.ctypes.data, out[starts[k] :].ctypes.data)

    if threads == 1:
        choose(0)
        return out
    with futures.ThreadPoolExecutor(threads) as pool:
        list(pool.map(choose, range(threads)))
    return out
