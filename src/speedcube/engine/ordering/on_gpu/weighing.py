"""Exact sums by number, added up by a GPU: in digits or in words that are added in any order.

One pass finds between which powers of two the weights lie, and so how many bits a sum needs. Few
sums are digits in shared memory, and finished on the host; many are words in the GPU's memory
(`kernel/cuda/ordering/words.py`), and rounded there.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ....dataclass import dataclass
from ....expr.nodes import Map
from ....expr.through.node import Through
from ....kernel.cuda.ordering import words
from ....kernel.cuda.ordering.rounding import DeviceRounding
from ....kernel.cuda.ordering.weigh import (
    BITS,
    BOTTOM,
    FIRST,
    LENGTH,
    PLACES,
    SHARED,
    SPECIAL,
    SPREAD,
    STRANGE,
    SUMS,
    TOP,
)
from ....kernel.cuda.ordering.weigh import DIGITS as DIGITS_WORD
from ....kernel.exact.digits import each
from ....kernel.exact.integers import carry
from ....kernel.program import LIMBS, NAN_WORD
from ....plan.working import words_of
from ..elements import Array
from .sweeps import SCATTERED, DeviceWork, run_fixed

_LAUNCH: Final = 1 << 37  # weights between two carries: 63 bits hold the sums of their digits
_BLOCK: Final = 1 << 14  # sums that are rounded at a time
_MANTISSA: Final = 53
_LOWEST, _HIGHEST = 537, 1532  # places of weights whose squares are two doubles


@dataclass(frozen=True)
class WeightReach:
    """The lowest and the highest place of the last bit of a weight; any that is not finite."""

    low: int
    high: int
    strange: bool

    def squared(self) -> WeightReach | None:
        """That of the two doubles that squares are; None where these are not exact."""
        if not _LOWEST <= self.low <= self.high <= _HIGHEST and self.high:
            return None
        if not self.high:
            return self
        return WeightReach(2 * self.low - 1074, 2 * self.high - 1021, self.strange)


def reach_of(weights: DeviceWork) -> WeightReach:
    """Between which places the bits of ``weights``, float64, lie."""
    import cupy

    out = cupy.zeros(3, np.uint64)
    with weights.sweeping("reach") as sweep:
        sweep.run(out)
    ends = out.get().tolist()
    if not ends[TOP]:
        return WeightReach(0, 0, bool(ends[STRANGE]))
    return WeightReach(PLACES - ends[BOTTOM], ends[TOP] - 1, bool(ends[STRANGE]))


@dataclass(frozen=True, eq=False)
class FewSums:
    """Digits of 16 bits of ``sum * 2**1074``, from number ``first`` on; counts of what is odd."""

    digits: Array
    first: int
    specials: Array

    def records(self, some: slice) -> Array:
        """The sums as limbs (`kernel/exact`)."""
        digits = self.digits[some]
        limbs = np.zeros((len(digits), LIMBS), np.int64)
        for k, digit in enumerate(digits.T, self.first):  # two make a limb's
            limb = min(k // 2, NAN_WORD - 1)
            limbs[:, limb] += digit << (BITS * (k - 2 * limb))
        limbs[:, NAN_WORD : NAN_WORD + 3] = self.specials[:, some].T
        carry(limbs)
        return limbs

    def rounded(self, dtype: str, counts: Any = None) -> Any:
        """The sums, or means by their ``counts``, rounded once: on the host."""
        size = len(self.digits)
        numbers = np.ones(size, np.int64) if counts is None else counts.get()
        found = np.empty(size, dtype)
        for start in range(0, size, _BLOCK):
            some = slice(start, start + _BLOCK)
            op, limbs = "sum" if counts is None else "mean", self.records(some)[:, None]
            found[some] = each(op, limbs, dtype, numbers[some], numbers[some])
        return found


@dataclass(frozen=True, eq=False)
class ManySums:
    """Integers of ``width`` words, in units of the ``unit``-th place, in the GPU's memory."""

    words: Any
    width: int
    unit: int
    specials: Any  # a byte of each, or None
    device: int

    @property
    def size(self) -> int:
        return (len(self.words) - words.SUMS) // self.width

    def records(self, some: slice) -> Array:
        """The sums as limbs (`kernel/exact`)."""
        first, last, _ = some.indices(self.size)
        held = self.words[words.SUMS + first * self.width : words.SUMS + last * self.width].get()
        digits = np.asarray(held).view(np.uint32).reshape(last - first, -1).astype(np.int64)
        digits[:, -1] = digits[:, -1].astype(np.int32)  # which has the sign
        limbs = np.zeros((len(digits), LIMBS), np.int64)
        whole, shift = divmod(self.unit, 32)
        for k, digit in enumerate(digits.T, whole):
            beyond = max(0, k - NAN_WORD + 1)  # nothing but signs, in the end
            if beyond < 2:
                limbs[:, k - beyond] += digit << (shift + 32 * beyond)
        if self.specials is not None:
            kinds = np.asarray(self.specials[first:last].get())
            for k, kind in enumerate((words.NAN, words.ABOVE, words.UNDER)):
                limbs[:, NAN_WORD + k] = (kinds & kind) != 0
        carry(limbs)
        return limbs

    def rounded(self, dtype: str, counts: Any = None) -> Any:
        """The sums, or means by their ``counts``, rounded once: in the GPU's memory."""
        import cupy

        out = cupy.empty(self.size, dtype)
        places = (self.words[words.SUMS :], self.specials, counts, out)
        sums, specials, numbers, to = (0 if one is None else int(one.data.ptr) for one in places)
        program = DeviceRounding(dtype, counts is not None)
        given = (self.size, self.width, self.unit, sums, specials, numbers, to)
        run_fixed(program, self.device, self.size, given)
        return out


def weighed(source: Through, work: DeviceWork) -> Any:
    """The exact sum of the weights of each number, rounded once; None where the host is to add."""
    work = work.in_one_kernel()
    root = work.root
    assert isinstance(root, Map)
    reach = reach_of(work.of(root.args[1]))
    sums = exact_sums(work, source.options[0], reach)
    return None if sums is None else sums.rounded("float64")


def exact_sums(
    work: DeviceWork, length: int, reach: WeightReach, squares: bool = False
) -> FewSums | ManySums | None:
    """The sums of the weights, or their ``squares``, of each number; None: they need more memory.

    ``work``: numbers and weights; ``reach``: that of what is added.
    """
    first = reach.low // BITS
    digits = reach.high // BITS - first + SPREAD
    if digits * (length + 1) <= SHARED:
        return _few(work, length, (first, digits), squares)
    terms = work.size * (2 if squares else 1)
    bits = reach.high + _MANTISSA - reach.low + terms.bit_length() + 1
    width = -(-bits // 64)
    return None if width > words_of(length) else _many(work, length, reach, width, squares)


def _few(work: DeviceWork, length: int, digits: tuple[int, int], squares: bool) -> FewSums:
    import cupy

    first, count = digits
    specials = cupy.zeros((3, length + 1), np.uint64)
    out = cupy.zeros(SUMS + count * (length + 1), np.uint64)
    head = np.zeros(SUMS, np.uint64)
    head[LENGTH], head[FIRST], head[DIGITS_WORD] = length, first, count
    head[SPECIAL] = int(specials.data.ptr)
    out[:SUMS] = cupy.asarray(head)
    total = np.zeros((length, count + 1), np.int64)
    with work.sweeping("square weigh" if squares else "weigh") as sweep:
        for _ in sweep.launches(out, _LAUNCH):
            total[:, :count] += out[SUMS:].get().view(np.int64).reshape(count, -1).T[:length]
            _carry(total)
            out[SUMS:] = 0
    return FewSums(total, first, specials.get().view(np.int64)[:, :length])


def _carry(total: Array) -> None:
    """What a digit has above its bits goes to the next."""
    for k in range(total.shape[1] - 1):
        over = total[:, k] >> BITS
        total[:, k] -= over << BITS
        total[:, k + 1] += over


def _many(work: DeviceWork, length: int, reach: WeightReach, width: int, squares: bool) -> ManySums:
    import cupy

    out = cupy.zeros(words.SUMS + width * length, np.uint64)
    specials = cupy.zeros(-(-length // 4) * 4, np.uint8) if reach.strange else None
    head = np.zeros(words.SUMS, np.uint64)
    head[words.LENGTH], head[words.UNIT], head[words.WORDS] = length, reach.low, width
    head[words.SPECIAL] = 0 if specials is None else int(specials.data.ptr)
    out[: words.SUMS] = cupy.asarray(head)
    with work.sweeping("square words" if squares else "words") as sweep:
        sweep.run(out, SCATTERED)
    return ManySums(out, width, reach.low, specials, work.device)
