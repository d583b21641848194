"""The kernels of small computations by their structure.

Nothing here holds what users handed over: what is kept is made of marks (`templates`).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from ...expr.graph import is_short
from ...expr.nodes import Const, Expr, Leaf, Map, Piecewise, Reduced, Scanned, Stored, Through
from ...expr.pairs.node import is_pair
from ...kernel.llvm.simd import targets
from ...kernel.lower.together import is_fold
from ...kernel.program import LIGHT
from ...plan.stages import WORKER_OVERHEAD
from .. import machine
from ..cpu import frame_of
from ..pieces.carried import carrier_of
from ..pieces.lines import lines_at_once
from ..pieces.moves import put_in_place, rearranged
from ..stepwise.choice import is_new
from .again import Made, Met, few_structure, reads_apart, with_arrays
from .call import FINISHED, MOST_AT_ONCE, ONE_THREAD, Reusable, computed, most_at_once
from .finished import finishing, line_finishing
from .first import FEW, NESTS, deep, in_vain, is_few, with_numbers, with_results
from .first import MOST as LONGEST
from .running import sums_of
from .structure import (
    MOST_NODES,
    SMALL,
    NotSmallError,
    Structure,
    is_long,
    structure_of,
    word,
)
from .templates import slots_of

# Bytes that are free where what is small is not planned.
ROOM: Final = WORKER_OVERHEAD + 8 * SMALL
_FEW_FOLDS: Final = 3
# Several values, and the elements of all of them together, that are a call each: what they have in
# common is made again, which takes less long than to plan them.
FEW_VALUES, _FEW_ELEMENTS = 8, 1 << 15
# Structures that are remembered; the oldest is forgotten.
MOST: Final = 512


_known: dict[Hashable, Reusable | bool] = {}  # True: constants count; False: left to the planner
_met: Met[tuple[Reusable, bool]] = Met()  # and whether all axes are one loop
met = _met.get
_lock = threading.Lock()


def value_again(few: Structure, root: Expr, rung: str, steps: Made | None = None) -> Any:
    """The value of ``root``, with its ``few`` words, if the like of it was met; None otherwise.

    Reductions that it reads and that are new are made by ``steps``, where these give them.
    """
    if type(root) is Leaf and type(root.source) is Const and root.shape and _is_zero(root.source):
        room = machine.free_memory() >= ROOM + np.dtype(root.dtype).itemsize * few.size
        return np.zeros(root.shape, root.dtype) if room else None  # its pages are not touched
    known = _known_of(few)
    if known is None or few.on_device:
        return None
    ready, few.line = known
    many = few.reads > FEW or few.size > ready.most[rung]
    if many or machine.free_memory() < ROOM + 8 * few.size:
        return None
    if few.reads and not with_arrays(few, _made_on(rung, steps, deep(few))):
        in_vain(few)
        return None
    return ready.way(ready, few, root)


def _is_zero(constant: Const) -> bool:
    return not constant.value and not np.signbit(constant.value)


def carried(root: Expr, kind_for: Callable[[int], str | None]) -> Any:
    """``root``, if that is copies of what lies in memory; None of what is more, and elsewhere.

    ``kind_for`` tells the rung of so many elements; None: they are not made in this thread.
    """
    carry = carrier_of(root)
    kind = None if carry is None else kind_for(size := math.prod(root.shape))
    if carry is None or kind is None or size > MOST_AT_ONCE[kind][0]:
        return None
    return carry(root) if machine.free_memory() >= ROOM + 8 * size else None


def is_put_together(root: Expr) -> bool:
    """Whether ``root`` is an array of pieces, or of an operation on all elements: no one call."""
    return type(root) is Leaf and type(root.source) in (Piecewise, Through)


def value(root: Expr, rung: str = "core", steps: Made | None = None) -> Any:
    """The value of ``root`` as one call of a kernel in this thread; None where it is no such one.

    So where a plan, or on the ``rung`` cores a second thread, would cost more than it brings. A
    kernel is looked up by the structure, the constants where they count, and the target. What is
    new is made by ``steps``, where these give it.
    """
    if machine.free_memory() < ROOM + 8 * math.prod(root.shape):
        return None  # the planner says how much is missing
    if is_put_together(root):
        return put_in_place(root)
    copy = lines_at_once(root) if type(root) is Map else rearranged(root)
    if copy is not None:
        return copy
    made = sums_of(root, rung) if type(root) is Leaf and type(root.source) is Scanned else None
    if made is None and reads_apart(root):
        return None
    if made is None:
        made = _one_call(root, rung, _made_on(rung, steps, deep(few_structure(root))), steps)
    if made is None:  # after those of the few reductions of few elements that it reads
        found = with_results(root, _made_on(rung, steps, 0))
        made = None if found is None else _one_call(found, rung)
    return made


def _one_call(root: Expr, rung: str, made: Made | None = None, steps: Made | None = None) -> Any:
    few = few_structure(root)
    if few is None or few.on_device:
        return _by_structure(root, rung, None, steps)
    if few.reads and (made is None or few.reads > FEW or not with_arrays(few, made)):
        return _by_structure(root, rung, None, steps)
    known = _known_of(few)
    if known is None:
        return _by_structure(root, rung, few, steps)
    ready, few.line = known
    return computed(ready, few, root) if few.size <= ready.most[rung] else None


def _made_on(rung: str, steps: Made | None, deeper: int, left: Iterator[int] | None = None) -> Made:
    """What gives a reduction, or what is made of some, that a small program reads (`NESTS`)."""
    left = iter(range(NESTS)) if left is None else left

    def make(root: Expr) -> Any:
        few = deeper > 0 and is_few(root) and next(left, None) is not None
        nested = _made_on(rung, steps, deeper - 1, left) if few else None
        value = _one_call(root, rung, nested, steps)
        # What is made of arrays is known the next time.
        found = with_results(root, nested) if value is None and nested is not None else None
        return value if found is None else _one_call(found, rung)

    return make


def _by_structure(root: Expr, rung: str, few: Structure | None, steps: Made | None) -> Any:
    """The value of ``root`` by a walk through it; the next time its ``few`` words are known."""
    if not is_short(root, 2 * MOST_NODES):  # with what is read through views
        return None
    numbers = with_numbers(root, _made_on(rung, None, deep(few)))
    if numbers is not root:
        return _one_call(numbers, rung, _made_on(rung, steps, deep(few)), steps)
    try:
        found = structure_of(root)
        if found.size > _most_of(found, rung):
            return None
        if steps is not None and _is_new(found) and (made := steps(root)) is not None:
            return made
        ready = reusable(found)
    except NotSmallError:
        return None
    if ready is None or found.size > ready.most[rung]:
        return None
    # Numbers in its words are arrays there: what is made through them is another kernel.
    if few is not None and not few.numbers:
        note(targets()[0], few, ready, found)
    return computed(ready, found, root)


def note(target: Hashable, few: Structure, ready: Reusable, found: Structure) -> None:
    """Remember that what has these ``few`` words is ``ready``, where they say enough."""
    any_numbers = ready.slots.constants is not None or not found.constants
    if found.line or not few.line:
        key = (target, few.key)
        _met.note(key if any_numbers else _with_constants(key, few), (ready, found.line))


def _known_of(few: Structure) -> tuple[Reusable, bool] | None:
    """What was noted of ``few``, of any numbers or of its own."""
    key = targets()[0], few.key
    known = met(key)
    return met(_with_constants(key, few)) if known is None and few.constants else known


def _is_new(found: Structure) -> bool:
    """Whether there is no kernel for ``found`` yet, nor was it met often."""
    known = _known.get((targets()[0], None, found.key))
    return known is None and found.operations > 0 and is_new(found.key, found.size)


def _most_of(found: Structure, rung: str) -> int:
    """No more elements than these are one call, whatever its kernel turns out to be."""
    light = found.operations <= LIGHT
    if is_long(found) and (rung == "core" or light):
        return FINISHED if rung == "core" else ONE_THREAD
    return most_at_once(rung, light, found.source is not None)


def few_values(roots: Sequence[Expr], rung: str, steps: Made | None = None) -> list[Any] | None:
    """The values of a few roots of a few elements, a call each; None where they are others.

    Sum and maximum of 1,000 numbers take 8 us then, planned 110. What is new is made by ``steps``.
    """
    if len(roots) > FEW_VALUES or any(map(is_pair, roots)):
        return None
    left = _FEW_ELEMENTS
    for root in roots:
        few = few_structure(root)
        left -= (
            _FEW_ELEMENTS + 1 if few is None else max(few.size * (1 + len(few.random)), few.reads)
        )
        if left < 0:
            return None
    return _a_call_each(roots, rung, steps)


def _a_call_each(roots: Sequence[Expr], rung: str, steps: Made | None = None) -> list[Any] | None:
    made = []
    for root in roots:
        one = value(root, rung, steps)
        if one is None:
            return None
        made.append(one)
    return made


def folds(roots: Sequence[Expr], rung: str) -> list[Any] | None:
    """The values of a few folds of what lies in memory, a call each; None where they are others.

    To look for the least and the greatest of a million int32 takes 140 us then, planned 600.
    """
    sizes = [size for root in roots if (size := _of_stored_fold(root)) is not None]
    if not 1 < len(roots) == len(sizes) <= _FEW_FOLDS or sum(sizes) > LONGEST:
        return None
    return _a_call_each(roots, rung)


def _of_stored_fold(root: Expr) -> int | None:
    """How many elements in memory ``root`` is a fold of; None where it is none."""
    source = root.source if type(root) is Leaf else None
    if not isinstance(source, Reduced) or not is_fold(source):
        return None
    stored = type(source.arg) is Leaf and type(source.arg.source) is Stored
    return math.prod(source.arg.shape) if stored else None


def reusable(
    found: Structure, device: int | None = None, shape: tuple[int, ...] | None = None
) -> Reusable | None:
    """The kernel for ``found``, made when it is first asked for; None where there is none.

    That of a ``shape`` alone, where one is given.
    """
    target = targets()[0] if device is None else device
    first: Hashable = (target, shape, found.key)
    key, known = first, _known.get(first)
    if known is True:
        key = _with_constants(key, found)
        known = _known.get(key)
    if known is None:
        known = _made(found, key, first, device is None)
    return known if isinstance(known, Reusable) else None


def _with_constants(key: Hashable, found: Structure) -> Hashable:
    return (key, *(word(constant.value, constant.dtype) for constant in found.constants))


def _made(found: Structure, key: Hashable, first: Hashable, on_host: bool) -> Reusable | bool:
    try:
        slots = slots_of(found, on_host)
    except NotSmallError:
        return _remember(key, False)
    if slots.constants is None and key == first:
        _remember(key, True)
        key = _with_constants(key, found)
    if not on_host:
        return _remember(key, Reusable(slots, None))
    finished = finishing(slots) if slots.several else None
    line = line_finishing(found, slots) if found.source is not None and found.line else None
    return _remember(key, Reusable(slots, frame_of(slots.prepared), finished, line))


def _remember(key: Hashable, known: Reusable | bool) -> Reusable | bool:
    with _lock:
        while len(_known) >= MOST:
            del _known[next(iter(_known))]
        _known[key] = known
    return known
