"""The bytes that an array lies in, so that it can be moved and its strides still hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def spanned(array: NDArray[Any]) -> tuple[NDArray[np.uint8], int]:
    """The bytes between the first and the last of ``array``, and where its element 0 begins."""
    low, high = np.lib.array_utils.byte_bounds(array)
    if low == high:
        return np.empty(0, np.uint8), 0
    return np.asarray(_Span(low, high - low, array)), array.ctypes.data - low


class _Span:
    """Bytes ``[address, address + size)`` of memory that ``owner`` keeps alive."""

    def __init__(self, address: int, size: int, owner: Any) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (size,),
            "data": (address, True),
        }


def laid_out(
    span: NDArray[np.uint8], start: int, dtype: str, shape: tuple[int, ...], strides: Any
) -> NDArray[Any]:
    """The array of which `spanned` gave ``span`` and ``start``."""
    return np.ndarray(shape, dtype, span, start, strides)
