"""Sums of products of a short line that slides along a long one, by a kernel where that pays.

A kernel takes some time to compile, which NumPy's functions do not: they make what comes first.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...expr.routines.sliding import SLID
from ...expr.routines.table import ROUTINES
from ...kernel.llvm.compile import NativeKernel
from ...kernel.llvm.ordering.slide import WORDS
from ...kernel.llvm.simd import targets
from ...kernel.orders import Slide
from ..cpu import address_of
from ..ordering.fixed import compiled

Array: TypeAlias = NDArray[Any]
_KINDS: Final = {"f": (4, 8), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8)}  # bytes of an element
_COMPILES: Final = 1 << 20  # products that NumPy makes in less time than a kernel is compiled
_Words: Final = ctypes.c_int64 * WORDS


class Slides:
    """Kernels by dtype and target, and how many products of each were made without one."""

    def __init__(self, most: int = _COMPILES) -> None:
        self.most = most
        self.made: dict[tuple[str, str], int] = {}
        self.kernels: dict[tuple[str, str], NativeKernel] = {}

    def __call__(self, xp: Any, long: Any, short: Any, first: int, results: int) -> Any:
        """Results ``[first, first + results)`` of those that meet any element of ``long``."""
        kernel = self.kernels.get((long.dtype.char, targets()[0]))
        if kernel is None:
            kernel = self._kernel(long.dtype, results * len(short))
        if kernel is None:
            return ROUTINES[SLID].run(xp, long, short, first, results)
        long, short, sums = _in_order(long), _in_order(short), np.empty(results, long.dtype)
        words, out = _Words(), address_of(sums)
        words[:] = [len(long), len(short), first, results]
        at = ctypes.addressof(words)
        kernel.function(at, _address(long), _address(short), out, out)
        return sums

    def _kernel(self, dtype: Any, products: int) -> NativeKernel | None:
        """The kernel for ``dtype``; None where there is none, or few ``products`` were made."""
        if dtype.itemsize not in _KINDS.get(dtype.kind, ()):
            return None
        key = dtype.char, targets()[0]
        self.made[key] = made = self.made.get(key, 0) + products
        if made <= self.most:
            return None
        self.kernels[key] = found = compiled(Slide(dtype.name))
        return found


def _in_order(line: Array) -> Array:
    return line if line.strides[0] == line.itemsize else np.ascontiguousarray(line)


def _address(line: Array) -> int:
    """Where it lies, whether it may be written to or not."""
    return int(line.__array_interface__["data"][0])


slides: Final = Slides()
