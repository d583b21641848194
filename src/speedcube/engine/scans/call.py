"""The small kernels of scans, and calls of them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...expr.nodes import Scanned
from ...kernel.cache import kernel_cache
from ...kernel.llvm.compile import QUICK, NativeKernel, build, load
from ...kernel.llvm.scans.layout import LAST, RESULTS, SCRATCH, STATE, TAKEN, WORDS
from ...kernel.llvm.simd import targets
from ...kernel.program import Scan
from ..cpu import address_of

Array: TypeAlias = NDArray[Any]


@lru_cache(maxsize=64)
def _kernel(program: Scan, target: str) -> NativeKernel:
    key = (program, target, QUICK[target], kernel_cache())
    return load(*key) or build(*key)


def scan_kernel(program: Scan) -> NativeKernel:
    """The kernel of ``program`` for this machine."""
    return _kernel(program, targets()[0])


class ScanCall:
    """A scan's kernel with its arguments in place, for one thread."""

    def __init__(self, program: Scan) -> None:
        self.kernel = scan_kernel(program)
        self.words = np.zeros(WORDS, np.int64)
        self.state = np.zeros(STATE, program.dtype)
        self.scratch = np.empty(SCRATCH + 64, np.uint8)
        self.places = address_of(self.words), address_of(self.state)
        self.aligned = (address_of(self.scratch) + 63) & ~63

    def __call__(
        self, values: Array, position: int, length: int, out: Array, last: bool
    ) -> tuple[int, int]:
        """Call; how many elements were taken, and how many results a product gave."""
        self.run(address_of(values), len(values), position, length, address_of(out), last)
        return int(self.words[TAKEN]), int(self.words[RESULTS])

    def run(
        self, values: int, count: int, position: int, length: int, out: int, last: bool
    ) -> None:
        """Call for ``count`` elements at the address ``values``."""
        self.words[: LAST + 1] = count, position, length, last
        words, state = self.places
        self.kernel.function(words, values, state, self.aligned, out)


@lru_cache(maxsize=64)
def _idle(program: Scan, target: str) -> list[ScanCall]:
    """The arguments of calls that are over; appending and popping are atomic."""
    return []


def sums_in_memory(source: Scanned, address: int, out: Array) -> None:
    """The running sums of the lines that begin at ``address``, into ``out``, by one call."""
    program = Scan(source.op, source.arg.dtype, source.dtype, source.odd)
    idle = _idle(program, targets()[0])
    try:
        call = idle.pop()
    except IndexError:
        call = ScanCall(program)
    else:
        call.state.fill(0)
    call.run(address, out.size, 0, source.count, address_of(out), False)
    idle.append(call)
