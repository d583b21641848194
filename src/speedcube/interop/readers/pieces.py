"""Pieces of a file that lie evenly apart, read by one call: Python would take longer than to read.

The GIL is released meanwhile.
"""

from __future__ import annotations

import ctypes
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from ...engine.cpu import address_of
from ...kernel.cache import kernel_cache
from ...kernel.llvm.compile import QUICK, NativeKernel, build, load
from ...kernel.llvm.files.pieces import DONE, PiecesOfFile
from ...kernel.llvm.simd import targets


def read_pieces(handle: int, start: int, step: int, size: int, out: NDArray[np.uint8]) -> int:
    """Fill ``out`` with pieces of ``size`` bytes, the first at ``start``, ``step`` apart.

    How many were read whole; those behind the first that was not are left to who asks.
    """
    words = np.array([handle, start, step, size, out.size // size, 0], np.int64)
    kernel = _kernel(targets()[0])  # named, so that its code lives as long as it runs
    kernel.function(address_of(words), _pread(), address_of(out), 0, 0)
    return int(words[DONE])


@lru_cache(maxsize=4)
def _kernel(target: str) -> NativeKernel:
    key = (PiecesOfFile(), target, QUICK[target], kernel_cache())
    return load(*key) or build(*key)


@cache
def _pread() -> int:
    """Where the system's function lies in this process."""
    return ctypes.cast(ctypes.CDLL(None).pread, ctypes.c_void_p).value or 0
