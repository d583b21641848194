"""Exact sums of weights by number, added up by a GPU: 16-bit digits in 64-bit words.

One pass finds between which powers of two the weights lie, and so how many digits a sum needs.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ....expr.nodes import Map
from ....expr.through.node import Through
from ....kernel.cuda.ordering.weigh import (
    BITS,
    BOTTOM,
    FIRST,
    LENGTH,
    PLACES,
    SHARED,
    SPECIAL,
    SPREAD,
    SUMS,
    TOP,
)
from ....kernel.cuda.ordering.weigh import DIGITS as DIGITS_WORD
from ....kernel.exact.digits import many
from ....kernel.exact.integers import carry
from ....kernel.program import LIMBS, NAN_WORD
from ..elements import Array
from .sweeps import DeviceWork

MOST: Final = 1 << 20  # numbers
_LAUNCH: Final = 1 << 37  # weights between two carries: 63 bits hold the sums of their digits
_BLOCK: Final = 1 << 14  # sums that are rounded at a time


def weighed(source: Through, work: DeviceWork) -> Array | None:
    """The exact sum of the weights of each number, rounded once; None where the host is to add."""
    import cupy

    root, length = work.root, source.options[0]
    assert isinstance(root, Map)
    weights = work.of(root.args[1])
    if not work.is_one_kernel or not weights.is_one_kernel or length > MOST:
        return None
    first, digits = _reach(weights)
    specials = cupy.zeros((3, length + 1), np.uint64)
    out = cupy.zeros(SUMS + digits * (length + 1), np.uint64)
    head = np.zeros(SUMS, np.uint64)
    head[LENGTH], head[FIRST], head[DIGITS_WORD] = length, first, digits
    head[SPECIAL] = int(specials.data.ptr)
    out[:SUMS] = cupy.asarray(head)
    total = np.zeros((length, digits + 1), np.int64)
    kind = "weigh" if digits * (length + 1) <= SHARED else "wide weigh"
    with work.sweeping(kind) as sweep:
        for _ in sweep.launches(out, _LAUNCH):
            total[:, :digits] += out[SUMS:].get().view(np.int64).reshape(digits, -1).T[:length]
            _carry(total)
            out[SUMS:] = 0
    counts = specials.get().view(np.int64)[:, :length]
    return _rounded(total, first, counts)


def _reach(weights: DeviceWork) -> tuple[int, int]:
    """The first digit that a weight has a bit in, and how many there are up to the last."""
    import cupy

    out = cupy.zeros(2, np.uint64)
    with weights.sweeping("reach") as sweep:
        sweep.run(out)
    ends = out.get().tolist()
    if not ends[TOP]:
        return 0, SPREAD
    low, high = (PLACES - ends[BOTTOM]) // BITS, (ends[TOP] - 1) // BITS
    return low, high - low + SPREAD


def _carry(total: Array) -> None:
    """What a digit has above its bits goes to the next."""
    for k in range(total.shape[1] - 1):
        over = total[:, k] >> BITS
        total[:, k] -= over << BITS
        total[:, k + 1] += over


def _rounded(total: Array, first: int, specials: Array) -> Array:
    sums = np.empty(len(total), np.float64)
    for start in range(0, len(total), _BLOCK):
        some = slice(start, start + _BLOCK)
        sums[some] = _rounded_block(total[some], first, specials[:, some])
    return sums


def _rounded_block(total: Array, first: int, specials: Array) -> Any:
    groups = np.zeros((len(total), 1, LIMBS), np.int64)
    for k, digit in enumerate(total.T, first):  # of 16 bits: two make a limb's
        groups[:, 0, min(k // 2, NAN_WORD - 1)] += digit << (
            BITS * (k - 2 * min(k // 2, NAN_WORD - 1))
        )
    groups[:, 0, NAN_WORD : NAN_WORD + 3] = specials.T
    carry(groups)
    bits = many("sum", groups, "float64", 1, 0)
    return bits.view(np.float64)  # type: ignore[union-attr]
