"""Elements of a line beside the numbers of their groups, some at a time, for a small kernel."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import numpy as np

from ...kernel.cache import kernel_cache
from ...kernel.llvm.compile import QUICK, NativeKernel, build, load
from ...kernel.llvm.grouping.program import (
    DealtToGroups,
    Foremost,
    Grouped,
    TreesOfGroups,
)
from ..ordering.elements import BLOCK, AllElements, Array

_CALL: Final = 1 << 20  # elements of one call of a kernel, so that Ctrl-C gets a turn


@lru_cache(maxsize=64)
def compiled(
    program: Grouped | Foremost | DealtToGroups | TreesOfGroups, target: str
) -> NativeKernel:
    """The kernel of ``program`` for ``target``."""
    key = (program, target, QUICK[target], kernel_cache())
    return load(*key) or build(*key)


def kernel_dtype(dtype: np.dtype[np.generic]) -> str:
    """What kernels read elements of ``dtype`` as; float16 is made float32 before."""
    return {"bool": "uint8", "float16": "float32"}.get(dtype.name, dtype.name)


def pairs(
    codes: AllElements, x: AllElements, at: int, span: tuple[int, int]
) -> Iterator[tuple[int, Array, Array]]:
    """A place, numbers of groups and elements from there on; gone with the next.

    ``span``: of the line of ``x`` that begins at ``at``.
    """
    step = _CALL if codes.memory is not None and x.memory is not None else BLOCK
    numbers, values = np.empty(step, np.int64), np.empty(step, x.dtype)
    for first in range(*span, step):
        if x.stop.is_set():
            return
        count = min(step, span[1] - first)
        some, given = numbers[:count], values[:count]
        if codes.memory is not None:
            some = codes.memory[first : first + count]
        else:
            codes.fill(some, first)
        if x.memory is not None:
            given = x.memory[at + first : at + first + count]
        else:
            x.fill(given, at + first)
        yield first, some, given.astype(np.float32) if given.dtype == np.float16 else given


def line_of(x: AllElements, k: int, length: int) -> Array:
    """Line ``k`` of ``x``, whose lines have that length."""
    if x.memory is not None:
        return x.memory[k * length : (k + 1) * length]
    values = np.empty(length, x.dtype)
    x.fill(values, k * length)
    return values
