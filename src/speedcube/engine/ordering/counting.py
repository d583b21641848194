"""How often each number comes: block after block by a small kernel, each thread its own counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

import numpy as np

from ...expr.through.node import Through
from ...kernel.cache import kernel_cache
from ...kernel.llvm.compile import QUICK, NativeKernel, build, load
from ...kernel.llvm.simd import targets
from ...kernel.llvm.tally import COPIES, WORDS
from ...kernel.program import Tally
from ..cpu import address_of
from .elements import AllElements, Array

_NARROW: Final = 1 << 13  # counts that are kept four times
_CALL: Final = 1 << 22  # elements of one call, so that Ctrl-C gets a turn


def counted(source: Through, given: list[AllElements]) -> Array:
    """How many elements each number below the length is, and how many are no such number."""
    elements, (length, *_) = given[0], source.options
    kernel = _kernel(elements.dtype.name)

    def count(span: tuple[int, int]) -> Array:
        tally, counts = tally_of(kernel, length)
        for block in _blocks(elements, span):
            tally(block)
        return np.asarray(counts.sum(axis=0))

    parts = elements.each(count, elements.spans())
    return np.asarray(sum(parts[1:], start=parts[0]))[: source.shape[0]]


def _blocks(elements: AllElements, span: tuple[int, int]) -> Iterator[Array]:
    memory, (start, stop) = elements.memory, span
    if memory is None or not memory.flags.c_contiguous:
        yield from elements.blocks(start, stop)
        return
    for first in range(start, stop, _CALL):
        if elements.stop.is_set():
            return
        yield memory[first : min(stop, first + _CALL)]


def _kernel(dtype: str) -> NativeKernel:
    return _compiled(Tally("uint8" if dtype == "bool" else dtype), targets()[0])


@lru_cache(maxsize=16)
def _compiled(program: Tally, target: str) -> NativeKernel:
    key = (program, target, QUICK[target], kernel_cache())
    return load(*key) or build(*key)


def tally_of(kernel: NativeKernel, length: int) -> tuple[Callable[[Array], None], Array]:
    """What counts a block of elements, and its counts: one array, or four to be added up."""
    copies = COPIES if length < _NARROW else 1
    counts = np.zeros((copies, length + 1), np.int64)
    words = np.array([0, length, length + 1 if copies > 1 else 0], np.int64)
    assert len(words) == WORDS
    state = counts.ctypes.data

    def tally(block: Array) -> None:
        words[0] = len(block)
        kernel.function(words.ctypes.data, address_of(block), state, state, state)

    return tally, counts
