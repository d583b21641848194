"""Bounded sums added in place by a kernel: what `Bounded.__add__` does, ten times as fast."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...expr.nodes import Expr, Leaf, Map, Shape, StageResult, const
from ...expr.space import build, tile
from ...kernel.lower.lower import lower_several
from ...plan.stages import Part
from ..boxes import boxes
from ..cpu import address_of, calling
from ..prepare import Prepared, prepared_of
from .sums import SLACK, Bounded

Array: TypeAlias = NDArray[Any]

LEAST: Final = 1 << 12  # sums that are worth a kernel
_KEPT: Final = 32  # kernels' shapes


def can_add(mine: Bounded) -> bool:
    """Whether a kernel adds to ``mine``: there are many, and their lines lie one by one."""
    return mine.high.size >= LEAST and mine.high.strides[-1] == mine.high.itemsize


def add(mine: Bounded, more: Bounded) -> None:
    """Add ``more``, which is C-contiguous, to ``mine``, where that lies."""
    held = (mine.high, mine.low, mine.bound)
    strides = tuple(n // mine.high.itemsize for n in mine.high.strides)
    prepared, sources = _kernel(mine.high.shape, strides)
    arrays = (*held, more.high, more.low, more.bound)
    inputs = {id(one): array for one, array in zip(sources, arrays, strict=True)}
    table = (ctypes.c_uint64 * len(held))(*map(address_of, held))
    with calling(prepared, inputs) as call:
        for box in boxes(prepared.loops, prepared.tiling.inner):
            call(box, ctypes.addressof(table))


@lru_cache(_KEPT)
def _kernel(shape: Shape, strides: Shape) -> tuple[Prepared, tuple[StageResult, ...]]:
    """The kernel for sums of ``shape`` that lie ``strides`` apart, and what it reads."""
    sources = tuple(StageResult(shape, "float64") for _ in range(6))
    packed = tuple(int(np.prod(shape[k + 1 :], dtype=np.int64)) for k in range(len(shape)))
    mine = (Leaf(one, shape, 0, strides) for one in sources[:3])
    more = (Leaf(one, shape, 0, packed) for one in sources[3:])
    pair = list(zip(mine, more, strict=True))
    high, a = _two_sum(*pair[0])
    low, b = _two_sum(*pair[1])
    low, c = _two_sum(low, a)
    lost = _do("add", _do("add", _do("add", *pair[2]), _do("absolute", b)), _do("absolute", c))
    args = (*_two_sum(high, low), _do("multiply", lost, const(SLACK, "float64", shape)))
    part = Part(Map("several", args, shape, "float64"), (), None, 0, 0)
    assert isinstance(part.root, Map)
    space = build(part.root, (), (), strides, everywhere=True)
    tiling = tile(space)
    lowered = lower_several(part.root, space, tiling, tuple((k, None) for k in range(3)))
    return prepared_of(space, tiling, lowered), sources


def _do(op: str, *args: Expr) -> Expr:
    return Map(op, args, args[0].shape, "float64")


def _two_sum(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    s = _do("add", a, b)
    z = _do("subtract", s, a)
    left, right = _do("subtract", a, _do("subtract", s, z)), _do("subtract", b, z)
    return s, _do("add", left, right)
