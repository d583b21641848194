"""The small kernels of fixed text that count and sieve elements in memory, for this machine."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import numpy as np

from ...kernel.cache import kernel_cache
from ...kernel.llvm.compile import QUICK, NativeKernel, build, load
from ...kernel.llvm.ordering.sieve import INSIDE, REACH, UNDER
from ...kernel.llvm.ordering.sieve import WORDS as SIEVE_WORDS
from ...kernel.llvm.ordering.tally import COPIES
from ...kernel.llvm.ordering.tally import WORDS as TALLY_WORDS
from ...kernel.llvm.ordering.weigh import LANES, LEFT, PIECES
from ...kernel.llvm.ordering.weigh import WORDS as WEIGH_WORDS
from ...kernel.llvm.simd import targets
from ...kernel.orders import Deal, Radix
from ...kernel.program import Sieve, Tally, Weigh
from ..cpu import address_of
from .elements import Array

_NARROW = 1 << 13  # counts that are kept four times
Fixed: TypeAlias = Tally | Sieve | Weigh | Radix | Deal
SIEVED = frozenset(("float32", "float64", "int32", "int64", "uint32", "uint64"))


def compiled(program: Fixed) -> NativeKernel:
    """The kernel of ``program`` for this machine."""
    return _compiled(program, targets()[0])


@lru_cache(maxsize=64)
def _compiled(program: Fixed, target: str) -> NativeKernel:
    key = (program, target, QUICK[target], kernel_cache())
    return load(*key) or build(*key)


class Counts:
    """How often each number below ``length`` comes among blocks of elements; ``length``: others."""

    def __init__(self, dtype: str, length: int) -> None:
        self.kernel = compiled(Tally("uint8" if dtype == "bool" else dtype))
        copies = COPIES if length < _NARROW else 1
        self.arrays = np.zeros((copies, length + 1), np.int64)
        self.words = np.zeros(TALLY_WORDS, np.int64)
        self.words[1:] = length, length + 1 if copies > 1 else 0

    def add(self, block: Array) -> None:
        """Count ``block``."""
        self.words[0], state = len(block), self.arrays.ctypes.data
        self.kernel.function(self.words.ctypes.data, address_of(block), state, state, state)

    def total(self) -> Array:
        return np.asarray(self.arrays.sum(axis=0))


class Sieving:
    """Two values that elements are held against, with room for those between."""

    def __init__(self, dtype: str, low: Array, high: Array) -> None:
        self.kernel = compiled(Sieve(dtype))
        self.words = np.zeros(SIEVE_WORDS, np.int64)
        self.bounds = np.array([low, high], dtype)
        self.kept = np.empty(0, dtype)

    def sieve(self, block: Array) -> tuple[int, int, Array]:
        """How many are not below, not above; and those between, which the next call overwrites."""
        if len(self.kept) < len(block):
            self.kept = np.empty(len(block), block.dtype)
        self.words[0], out = len(block), self.kept.ctypes.data
        bounds = self.bounds.ctypes.data
        self.kernel.function(self.words.ctypes.data, address_of(block), bounds, bounds, out)
        _, reach, under, inside = self.words.tolist()
        return reach, under, self.kept[:inside]


class Weighing:
    """Sums of weights by number, in pieces that are multiples of three units."""

    BITS = 28  # of a piece; 2**24 of them are added without rounding
    MOST = 1 << 24

    def __init__(self, length: int, top: int) -> None:
        self.kernel = compiled(Weigh())
        self.words = np.zeros(WEIGH_WORDS, np.int64)
        self.units = [top - self.BITS * (k + 1) for k in range(PIECES)]
        self.fits = self.units[0] + 53 < 1023 and self.units[-1] > -1022
        self.anchors = np.array([1.5 * 2.0 ** (u + 52) if self.fits else 0 for u in self.units])
        self.sums = np.zeros((length + 1, LANES))
        self.totals = np.zeros((PIECES, length + 1), np.int64)

    def add(self, index: Array, weights: Array) -> bool:
        """Add weights; False, and nothing is added, where they have more pieces."""
        if not self.fits:
            return False
        self.words[0], sums = len(index), self.sums.ctypes.data
        self.sums[:] = 0
        addresses = address_of(index), self.anchors.ctypes.data, address_of(weights)
        self.kernel.function(self.words.ctypes.data, *addresses, sums)
        if self.words[LEFT]:
            return False
        for k, unit in enumerate(self.units):
            self.totals[k] += np.ldexp(self.sums[:, k], -unit).astype(np.int64)
        return True


assert (REACH, UNDER, INSIDE) == (1, 2, 3)
