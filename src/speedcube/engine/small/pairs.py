"""Complex numbers that are small: a call that stores both parts, or one for each part."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import field
from typing import Any, Final

import numpy as np

from ... import dtypes
from ...dataclass import dataclass
from ...expr.nodes import STAGED, Expr, Leaf, Map, Staged
from ...expr.pairs.laid import laid
from ...expr.pairs.node import is_pair, parts
from ...expr.pairs.numbers import folded
from ...kernel.llvm.simd import targets
from .. import machine
from ..cpu import address_of, frame_of
from ..results import combined
from .again import Made, Met, few_structure
from .call import most_at_once
from .known import ROOM, value, value_again
from .parameters import Arguments
from .structure import SMALL, NotSmallError, Structure
from .templates import Slots, slots_of

# Elements up to which two calls take less than one of both parts. Those of more fill new pages each
# time, where the system has taken those of the last ones: of 60,000 in 0.25 ms or in one.
_PART: Final = 1 << 14


# Elements of products that are summed in this thread where there are cores: others take longer than
# to begin and to end threads.
_PRODUCTS: Final = 1 << 18


def _is_a_call(root: Expr, source: Staged | None, kind: str) -> bool:
    """Whether a part, ``root`` stored or reduced by ``source``, is a call of its own.

    Otherwise a plan makes both parts of what they share, or deals them out to cores.
    """
    size = math.prod(root.shape)
    if source is None or (type(root) is not Leaf and source.op != "dot"):
        return size <= _PART
    return kind == "core" or source.op != "dot" or size <= _PRODUCTS


def pair_again(root: Expr, kind_for: Callable[[int], str | None]) -> Any:
    """The complex numbers that ``root`` is, if the like of it was met; None otherwise.

    ``kind_for`` tells the rung of so many elements; None: they are not made in this thread.
    """
    re, im = map(folded, parts(root))
    if root.shape and (type(re) is Map or type(im) is Map):
        found = _both_again(root, re, im, kind_for)
        if found is not None:
            return found
    each = []
    for part in (re, im):
        few = few_structure(part)
        if few is None or few.random or few.reads:
            return None
        each.append((few, part))
    kind = kind_for(each[0][0].size)
    if kind is None or not all(_is_a_call(few.root, few.source, kind) for few, _ in each):
        return None
    values = []
    for few, part in each:
        one = value_again(few, part, kind)
        if one is None:
            return None
        values.append(one)
    return combined(*values)


@dataclass(frozen=True, eq=False)
class Both:
    """A kernel that stores both parts of complex numbers, one beside the other."""

    slots: Slots
    dtype: np.dtype[Any]
    idle: list[BothCall] = field(default_factory=list)  # appending and popping are atomic


class BothCall(Arguments):
    """Its arguments, for one thread at a time."""

    def __init__(self, slots: Slots) -> None:
        frame = frame_of(slots.prepared)
        super().__init__(slots, slots.prepared, frame, slots.data, slots.constants or ())
        self.outs: Any = (ctypes.c_uint64 * 2)()
        self.outs_at = ctypes.addressof(self.outs)

    def store(self, found: Structure, result: Any) -> None:
        """Store what ``found`` is in ``result``."""
        address = address_of(result)
        self.outs[0], self.outs[1] = address, address + result.itemsize // 2
        self.take(found)
        self.call(self.outs_at)


_met: Final = Met[Both | bool]()  # True: once; False: left to the planner


def _both_again(root: Expr, re: Expr, im: Expr, kind_for: Callable[[int], str | None]) -> Any:
    """The complex numbers ``root`` of both parts by one call, from the second time on; else None.

    Not of those that are one operation on twice as many reals.
    """
    few = few_structure(Map("several", (re, im), root.shape, re.dtype))
    if few is None or few.random or few.reads or few.on_device or not few.data:
        return None
    key = targets()[0], few.key
    known = _met.get(key)
    if known is None:
        _met.note(key, laid(root) is None)
    if known is None or known is False:
        return None
    kind = kind_for(few.size)
    if kind is None or machine.free_memory() < ROOM + 16 * few.size:
        return None
    if known is True:
        known = _made(key, few)
    if not known or few.size > most_at_once(kind, known.slots.prepared.program.light, False):
        return None
    try:
        call = known.idle.pop()
    except IndexError:
        call = BothCall(known.slots)
    result = np.empty(root.shape, known.dtype)  # in C order, as the plan stores it
    call.store(few, result)
    known.idle.append(call)
    return result


def _made(key: Hashable, few: Structure) -> Both | None:
    """The kernel for the like of ``few``; None where its constants would be in it."""
    try:
        slots = slots_of(few)
    except NotSmallError:
        slots = None
    if slots is None or slots.constants is None:
        _met.note(key, False)
        return None
    made = Both(slots, np.dtype(dtypes.OF_PARTS[few.root.dtype]))
    _met.note(key, made)
    return made


def small_pair(roots: Sequence[Expr], kind: str, steps: Made | None = None) -> Any:
    """The complex numbers that ``roots`` are, if that is all; None where it is more than calls."""
    if len(roots) != 1 or not is_pair(roots[0]) or SMALL <= 0:
        return None
    found = []
    for part in parts(roots[0]):
        staged = part.source if isinstance(part, Leaf) else None
        source = staged if isinstance(staged, STAGED) else None
        root = part if source is None else source.arg
        one = value(folded(part), kind, steps) if _is_a_call(root, source, kind) else None
        if one is None:
            return None
        found.append(one)
    return combined(*found)
