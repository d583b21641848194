"""Sums of parts put together and rounded by a kernel: what `sums.py` does, ten times as fast.

The kernel is what its functions do to expressions instead of arrays.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache, partialmethod
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr.nodes import Expr, Leaf, Map, StageResult, const
from ...expr.space import build, tile
from ...kernel.lower.lower import lower_several
from ..boxes import boxes
from ..cpu import address_of, calling
from ..prepare import Prepared, prepared_of
from .own import PIECE
from .sums import Bounded, finished

Array: TypeAlias = NDArray[Any]

_MOST: Final = 8  # parts
_KEPT: Final = 8  # kernels
_TESTS: Final = ("equal", "less_equal", "greater_equal", "isnan", "logical_and", "logical_or")


def rounded(
    op: str, parts: Sequence[Bounded], count: int, result: Array, certain: NDArray[np.bool_]
) -> bool:
    """Whether a kernel gives the `finished` sums or means of a piece, and where they are certain.

    Into ``result``, of float64, and ``certain``, which are a piece.
    """
    arrays = [x for one in parts for x in (one.high, one.low, one.bound)]
    whole = len(result) == PIECE and result.dtype == np.float64
    if op not in ("sum", "mean") or not whole or len(parts) > _MOST:
        return False
    if not all(x.flags.c_contiguous for x in arrays):
        return False
    prepared, sources = _kernel(op, len(parts), count)
    inputs = {id(one): array for one, array in zip(sources, arrays, strict=True)}
    table = (ctypes.c_uint64 * 2)(address_of(result), address_of(certain))
    with calling(prepared, inputs) as call:
        for box in boxes(prepared.loops, prepared.tiling.inner):
            call(box, ctypes.addressof(table))
    return True


@lru_cache(_KEPT)
def _kernel(op: str, parts: int, count: int) -> tuple[Prepared, tuple[StageResult, ...]]:
    """The kernel for a piece of so many ``parts``, and what it reads."""
    sources = tuple(StageResult((PIECE,), "float64") for _ in range(3 * parts))
    words: list[Any] = [_Told(Leaf(one, (PIECE,), 0, (1,))) for one in sources]
    first, *others = (Bounded(*words[k : k + 3]) for k in range(0, len(words), 3))
    found: Sequence[Any] = finished(op, [sum(others, first)], count, 0.0, "float64")
    args = tuple(one.expr for one in found)
    root = Map("several", args, (PIECE,), "float64")
    space = build(root, (), (), (1,), everywhere=True)
    tiling = tile(space)
    return prepared_of(
        space, tiling, lower_several(root, space, tiling, ((0, None), (1, None)))
    ), sources


@dataclass(frozen=True, eq=False)
class _Told:
    """An array that is only told what to become: each operation on it is one of ``expr``."""

    expr: Expr

    def _by(self, function: Any, *others: Any) -> _Told:
        return _told(function, self, *others)

    def _behind(self, function: Any, other: Any) -> _Told:
        return _told(function, other, self)

    def __array_ufunc__(self, function: Any, method: str, *args: Any) -> _Told:
        return _told(function, *args)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> _Told:
        return _told(function, *args)

    __add__, __radd__ = partialmethod(_by, np.add), partialmethod(_behind, np.add)
    __sub__, __truediv__ = partialmethod(_by, np.subtract), partialmethod(_by, np.divide)
    __mul__, __rmul__ = partialmethod(_by, np.multiply), partialmethod(_behind, np.multiply)
    __and__, __or__ = partialmethod(_by, np.logical_and), partialmethod(_by, np.logical_or)
    __le__, __ge__ = partialmethod(_by, np.less_equal), partialmethod(_by, np.greater_equal)
    __eq__ = partialmethod(_by, np.equal)
    __hash__ = None  # type: ignore[assignment]


def _told(function: Any, *args: Any) -> _Told:
    name = function.__name__
    exprs = [
        one.expr if isinstance(one, _Told) else const(float(one), "float64", (PIECE,))
        for one in args
    ]
    dtype = "bool" if name in _TESTS else "float64"
    return _Told(Map(name, tuple(exprs), (PIECE,), dtype))
