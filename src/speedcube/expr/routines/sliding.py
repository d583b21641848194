"""Sums of products of a short line that slides along another: one row, of sums in a stated order.

Each product and each addition is rounded, in the order of the short line, as in a kernel that adds
one term after the other: the same bits, without a node for each term.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..nodes import Shape
from .row import Routine

SLID: Final = "slid"
_BLOCK: Final = 1 << 13  # results whose sums stay in the first cache


def _slid(xp: Any, long: Any, short: Any, first: int, results: int) -> Any:
    """Results ``[first, first + results)`` of those that meet any element of ``long``."""
    sums = xp.empty(results, long.dtype)
    is_of_floats = long.dtype.kind == "f"
    sums.fill(-0.0 if is_of_floats else 0)  # a sum that begins so has the bits of its other terms
    room = xp.empty(min(results, _BLOCK), long.dtype)
    for begin in range(0, results, _BLOCK):
        end = min(begin + _BLOCK, results)
        for k in range(len(short)):
            met = len(short) - 1 - k - first  # the result that meets the first element here
            low, high = max(begin, met), min(end, met + len(long))
            if low < high:
                product = xp.multiply(
                    long[low - met : high - met], short[k], out=room[: high - low]
                )
                sums[low:high] += product
    if is_of_floats:
        sums[xp.isnan(sums)] = xp.nan  # of one sign, as kernels write it
    return sums


def _flops(shapes: Sequence[Shape], results: Sequence[Shape]) -> float:
    return 2.0 * shapes[1][0] * results[0][0]


ROWS: Final = (
    Routine(
        SLID,
        "",
        _slid,
        0.0,
        scratch=8,
        how="products are added in the shorter line's order, each rounded: the same everywhere",
        on_gpu=False,
        flops=_flops,
    ),
)
