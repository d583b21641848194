"""The small kernels of fixed text that count and sieve elements in memory, for this machine."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from ...kernel.cache import kernel_cache
from ...kernel.llvm.compile import QUICK, NativeKernel, build, load
from ...kernel.llvm.ordering.sieve import INSIDE, REACH, UNDER
from ...kernel.llvm.ordering.sieve import WORDS as SIEVE_WORDS
from ...kernel.llvm.ordering.tally import COPIES
from ...kernel.llvm.ordering.tally import WORDS as TALLY_WORDS
from ...kernel.llvm.ordering.weigh import COPIES as WEIGH_COPIES
from ...kernel.llvm.ordering.weigh import LEFT, LENGTH, PIECES, ROOM
from ...kernel.llvm.ordering.weigh import MOST as GREATEST
from ...kernel.llvm.ordering.weigh import STRIDE as WEIGH_STRIDE
from ...kernel.llvm.ordering.weigh import WORDS as WEIGH_WORDS
from ...kernel.llvm.simd import targets
from ...kernel.orders import EvenTally, Order
from ...kernel.program import Sieve, Tally, Weigh
from ..cpu import address_of
from .elements import Array

_NARROW = 1 << 13  # counts that are kept four times
_CARRIED = 1 << 13  # numbers whose sums are carried at a time: they stay cached
_FEW = 1 << 9  # and sums of weights
Fixed: TypeAlias = Order | Tally | Sieve | Weigh
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

    MOST = 2**32 - 1  # elements between two totals

    def __init__(self, dtype: str, length: int) -> None:
        self.kernel = self._kernel(dtype)
        copies = COPIES if length < _NARROW else 1
        self.arrays = np.zeros((copies, length + 1), np.uint32)
        self.whole = np.zeros(length + 1, np.int64)
        self.added = 0
        self.words = np.zeros(TALLY_WORDS, np.int64)
        self.words[1:] = length, length + 1 if copies > 1 else 0

    def add(self, block: Array) -> None:
        """Count ``block``."""
        if self.added + len(block) > self.MOST:
            self.total()
        self.added += len(block)
        self.words[0] = len(block)
        self._run(address_of(block), self.arrays.ctypes.data)

    def _kernel(self, dtype: str) -> NativeKernel:
        return compiled(Tally("uint8" if dtype == "bool" else dtype))

    def _run(self, values: int, counts: int) -> None:
        self.kernel.function(self.words.ctypes.data, values, counts, counts, counts)

    @property
    def others(self) -> int:
        """How many elements of those since the last total are no numbers below the length."""
        return int(self.arrays[:, -1].sum())

    def total(self) -> Array:
        """All counts so far."""
        for counts in self.arrays:
            self.whole += counts
            counts[:] = 0
        self.added = 0
        return self.whole


class EvenCounts(Counts):
    """How many doubles are in each of bins of one width between two ``ends``."""

    def __init__(self, ends: tuple[float, float], edges: Array) -> None:
        length, (first, last) = len(edges) - 1, ends
        super().__init__("float64", length)
        scale = length / (last - first)  # as the index of an element is computed
        margin = np.abs((edges - first) * scale - np.arange(length + 1)).max()
        self.edges, self.numbers = edges, np.array([first, last, scale, margin])

    def _kernel(self, dtype: str) -> NativeKernel:
        return compiled(EvenTally())

    def _run(self, values: int, counts: int) -> None:
        numbers, edges = self.numbers.ctypes.data, self.edges.ctypes.data
        self.kernel.function(self.words.ctypes.data, values, numbers, edges, counts)


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
    """Sums of weights by number, as integers: limbs of 38 bits of units below ``2**top``."""

    BITS = 38
    REACH = PIECES * BITS - 53  # binades below the top whose weights have no finer bits
    MOST = 1 << 24  # weights between two carries
    LOWEST, HIGHEST = -1074 + PIECES * BITS, 1000  # tops

    def __init__(self, length: int, top: int) -> None:
        self.kernel = compiled(Weigh())
        self.unit = top - PIECES * self.BITS
        self.words = np.zeros(WEIGH_WORDS, np.int64)
        self.words[LENGTH] = length
        anchors = [1.5 * 2.0 ** (top - self.BITS * (k + 1) + 52) for k in range(PIECES)]
        self.state = np.array([*anchors, 2.0**top])
        copies = WEIGH_COPIES if length < _FEW else 1
        self.words[WEIGH_STRIDE] = (length + 1) * PIECES if copies > 1 else 0
        self.copies = np.zeros((copies, length + 1, PIECES), np.int64)
        self.carried = np.zeros(length + 1, np.int64)
        self.added = 0
        self.greatest = 0  # of all numbers; of negative ones beyond 2**63

    @property
    def sums(self) -> Array:
        """Two limbs of each number, once they have been carried."""
        return np.asarray(self.copies[0])

    def add(self, index: Array, weights: Array) -> Array:
        """Add weights; the places of those that it does not hold, which are left out."""
        if len(self.state) <= ROOM + len(index):
            room = np.empty(ROOM + len(index) + 1)
            room[:ROOM] = self.state[:ROOM]
            self.state = room  # whose pages are touched only by what is left out
        if self.added + len(index) > self.MOST:
            self.carry()
        self.added += len(index)
        self.words[0], state = len(index), self.state.ctypes.data
        addresses = address_of(index), state, address_of(weights), self.copies.ctypes.data
        self.kernel.function(self.words.ctypes.data, *addresses)
        self.greatest = max(self.greatest, int(self.words.view(np.uint64)[GREATEST]))
        return self.state[ROOM : ROOM + int(self.words[LEFT])].view(np.int64)

    def carry(self) -> None:
        """Make each limb but the first a number from 0 to ``2**BITS``, in one copy."""
        sums = self.sums
        for copy in self.copies[1:]:
            sums += copy
            copy[:] = 0
        for first in range(0, len(sums), _CARRIED):
            some = sums[first : first + _CARRIED]
            over = some[:, 1] >> self.BITS
            some[:, 1] -= over << self.BITS
            some[:, 0] += over
            np.right_shift(some[:, 0], self.BITS, out=over)
            some[:, 0] -= over << self.BITS
            self.carried[first : first + _CARRIED] += over
        self.added = 0

    def __getstate__(self) -> dict[str, Any]:
        """What travels to who joins it: all but the kernel."""
        return {name: value for name, value in self.__dict__.items() if name != "kernel"}

    def join(self, other: Weighing) -> None:
        """Add the sums of another one of this unit; both have been carried."""
        self.copies[0] += other.sums
        self.carried += other.carried
        self.greatest = max(self.greatest, other.greatest)
        self.carry()


assert (REACH, UNDER, INSIDE) == (1, 2, 3)
