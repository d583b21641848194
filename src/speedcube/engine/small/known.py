"""The kernels of small computations by their structure, and one call of one of them.

Nothing here holds what users handed over: an array's address is in a kernel's arguments for as long
as it is called, and what is kept is made of marks (`templates`).
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from ...expr.nodes import Expr
from ...kernel.llvm.simd import targets
from ...kernel.program import LIGHT
from ...philox import round_keys
from ...plan.stages import WORKER_OVERHEAD
from .. import machine
from ..boxes import CALL
from ..cpu import Caller, Frame, address_of, frame_of, initial_records, scratch_address
from ..results import room, values
from .again import Met, flat_structure
from .finished import Finishing, by_worker, finishing, results_of
from .first import with_results
from .launch import FinishedLaunch, OneLaunch, on_device
from .structure import (
    SMALL,
    NotSmallError,
    Structure,
    is_long,
    is_one_sum,
    structure_of,
    word,
)
from .templates import Slots, slots_of

# What is more by rung: of elements that take no longer than their way from memory and back; others.
# On one core there is only the plan to save, and Ctrl-C should not wait for long. Threads of Dask's
# take 0.15 to 0.4 ms to begin and to end, and share the memory.
MOST_AT_ONCE: Final = {"core": (8 * SMALL, SMALL), "cores": (2 * SMALL, SMALL >> 3)}
# Of reductions whose kernel finishes its results: the elements of one call of a kernel.
FINISHED: Final = CALL
# Of one sum of float64 on cores: one kernel that finishes it is as quick as two that leave
# records, and ten times as quick where magnitudes differ much.
ONE_SUM: Final = 1 << 22
# Elements up to which a GPU is given one launch, so that Ctrl-C is answered.
ONE_LAUNCH: Final = 1 << 33
# Structures that are remembered; the oldest is forgotten.
MOST: Final = 512


def most_at_once(rung: str, light: bool, reduced: bool) -> int:
    """Elements up to which something is one call on ``rung``."""
    most = MOST_AT_ONCE[rung][not light]
    # Longer lines have kernels that finish their results, which are planned.
    return min(most, SMALL) if reduced else most


@dataclass(frozen=True, eq=False)
class Reusable:
    """A kernel that takes data, constants, keys and, where ``line``, a length."""

    slots: Slots
    frame: Frame | None  # None: for a GPU
    finishing: Finishing | None = None  # what makes several results
    idle: list[OneCall] = field(default_factory=list)  # appending and popping are atomic
    launches: list[OneLaunch] = field(default_factory=list)
    finished: list[FinishedLaunch] = field(default_factory=list)

    @cached_property
    def most(self) -> dict[str, int]:
        """Elements up to which it is one call, by rung."""
        program = self.slots.prepared.program
        if program.ragged:
            return {"core": SMALL, "cores": 0}
        reduced = self.slots.stage.source is not None
        most = {rung: most_at_once(rung, program.light, reduced) for rung in MOST_AT_ONCE}
        if not self.slots.several:
            return most
        one = self.finishing is not None and self.finishing.is_one_sum and program.light
        return {
            "core": FINISHED,
            "cores": ONE_SUM if one else most["cores"],
        }  # a worker's, by boxes


class OneCall(Caller):
    """A kernel's arguments with parameters of their own, for one thread at a time."""

    def __init__(self, ready: Reusable) -> None:
        assert ready.frame is not None
        super().__init__(ready.slots.prepared, ready.frame, {})
        words = ready.slots.prepared.params
        self.parameters: Any = (ctypes.c_uint64 * max(1, len(words)))(*words.tolist())
        kept, reduced, self.steps = self.prepared.loops
        self.geometry[:6] = (0, kept, 0, reduced, 0, self.steps)
        geometry, addresses, _, _ = self.arguments
        self.places = geometry, addresses, ctypes.addressof(self.parameters)

    def run(self, slots: Slots, found: Structure, out: int) -> None:
        """Call the kernel for ``found``; what it makes goes to the address ``out``."""
        buffers, data = self.buffers, found.data
        for k, number in slots.data:
            leaf = data[number]
            array: Any = leaf.source.buffer  # type: ignore[union-attr]
            address = address_of(array)
            buffers[k] = address + leaf.offset * array.itemsize if leaf.offset else address
        parameters = self.parameters
        if slots.constants:
            for place, constant in zip(slots.constants, found.constants, strict=True):
                parameters[place] = word(constant.value, constant.dtype)
        for place, key in slots.random:
            keys = round_keys(found.random[key].key)
            parameters[place : place + len(keys)] = keys
        if found.line:
            self.geometry[5] = found.size
        frame = self.frame
        self.kernel = kernel = frame.tiers.full or frame.tiers.kernel(found.size)
        kernel.function(*self.places, scratch_address(frame.scratch_bytes), out)


_known: dict[Hashable, Reusable | bool] = {}  # True: constants count; False: left to the planner
_met: Met[tuple[Reusable, bool]] = Met()  # and whether all axes are one line
_lock = threading.Lock()


def value(root: Expr, rung: str = "core") -> Any:
    """The value of ``root`` as one call of a kernel in this thread; None where it is no such one.

    So where a plan, or on the ``rung`` cores a second thread, would cost more than it brings. A
    kernel is looked up by the structure, the constants where they count, and the target.
    """
    if machine.free_memory() < WORKER_OVERHEAD + 8 * max(SMALL, math.prod(root.shape)):
        return None  # the planner says how much is missing
    made = _one_call(root, rung)
    if made is None:  # after those of the few reductions of few elements that it reads
        found = with_results(root, lambda one: _one_call(one, rung))
        made = None if found is None else _one_call(found, rung)
    return made


def _one_call(root: Expr, rung: str) -> Any:
    flat = flat_structure(root)
    met = None if flat is None else _met.get((targets()[0], flat.key))
    if flat is None or met is None:
        return _by_structure(root, rung, flat)
    ready, flat.line = met
    return computed(ready, flat, root) if flat.size <= ready.most[rung] else None


def _by_structure(root: Expr, rung: str, flat: Structure | None) -> Any:
    """The value of ``root`` by a walk through it; the next time it is known by its ``flat`` key."""
    try:
        found = structure_of(root)
        if found.size > _most_of(found, rung):
            return None
        ready = reusable(found)
    except NotSmallError:
        return None
    if ready is None or found.size > ready.most[rung]:
        return None
    if flat is not None and (ready.slots.constants is not None or not flat.constants):
        _met.note((targets()[0], flat.key), (ready, found.line))
    return computed(ready, found, root)


def _most_of(found: Structure, rung: str) -> int:
    """No more elements than these are one call, whatever its kernel turns out to be."""
    if is_long(found) and rung == "core":
        return FINISHED
    if is_long(found) and is_one_sum(found):
        return ONE_SUM
    return most_at_once(rung, found.operations <= LIGHT, found.source is not None)


def value_on_gpu(root: Expr, device: int, stays: bool, large: bool = False) -> Any:
    """The same as one launch on the current stream of GPU ``device``, of what is ``large``, too.

    The value is on the host, unless it ``stays`` there and may still be made.
    """
    import cupy

    try:
        found = structure_of(root, True, not large)
        if large and not all(leaf.source.on_device for leaf in found.data):  # type: ignore[union-attr]
            return None
        ready = reusable(found, device, found.root.shape if large else None)
    except NotSmallError:
        ready = None
    if ready is None:
        return None
    with on_device(device):
        if found.source is not None:
            value = _finished_value(ready, found, root, device, stays)
            if value is not None or ready.slots.several:
                return value
        elif large and not stays:
            return None  # the planner asks how much memory there is
        try:
            call = ready.launches.pop()
        except IndexError:
            call = OneLaunch(ready.slots, device)
        source = found.source
        if source is None:
            result = cupy.empty(root.shape, root.dtype)
            call.store(found, found.size, result)
            result = result if stays else result.get()[()]
        else:
            record = call.fold(found, found.size)
            result = values(source, record).reshape(root.shape)
            result = cupy.asarray(result) if stays else result[()]
        ready.launches.append(call)
    return result


def _finished_value(ready: Reusable, found: Structure, root: Expr, device: int, stays: bool) -> Any:
    """The results of ``found`` by the kernel that finishes them; None where that cannot be."""
    try:
        call = ready.finished.pop()
    except IndexError:
        call = FinishedLaunch(ready.slots, device)
    fits = call.visits == math.prod(found.root.shape)
    value = call.value(found, root, stays) if fits else None
    ready.finished.append(call)
    return value


def computed(ready: Reusable, found: Structure, root: Expr) -> Any:
    """The value of ``root``, whose structure is ``found``, by its kernel."""
    source = found.source
    if source is None:
        result = room(root.shape, root.dtype, ready.slots.order)
        _call(ready, found, address_of(result))
        return result if root.shape else result[()]
    if ready.slots.several:
        if ready.finishing is None:
            result = by_worker(ready.slots, found, root.shape)
        else:
            result = results_of(ready.finishing, found, root.shape)
        return result if root.shape else result[()]
    records = initial_records(ready.slots.prepared.program, 1)
    _call(ready, found, address_of(records))
    return values(source, records).reshape(root.shape)[()]


def _call(ready: Reusable, found: Structure, out: int) -> None:
    try:
        call = ready.idle.pop()
    except IndexError:
        call = OneCall(ready)
    call.run(ready.slots, found, out)
    ready.idle.append(call)


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
    return _remember(key, Reusable(slots, frame_of(slots.prepared), finished))


def _remember(key: Hashable, known: Reusable | bool) -> Reusable | bool:
    with _lock:
        while len(_known) >= MOST:
            del _known[next(iter(_known))]
        _known[key] = known
    return known
