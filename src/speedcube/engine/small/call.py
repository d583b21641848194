"""One call of a kernel that takes any data: its arguments in place, and what it gives.

Nothing here holds what users handed over: an array's address is in a kernel's arguments for as long
as it is called.
"""

from __future__ import annotations

import ctypes
from dataclasses import field
from functools import cache, cached_property
from typing import Any, Final

import numpy as np

from ...dataclass import dataclass
from ...expr.nodes import Expr, Reduced
from ...kernel.program import LIGHT, Program
from ...kernel.program import LONG as LONG_OPS
from ...philox import round_keys
from ..boxes import CALL
from ..cpu import Caller, Frame, address_of, initial_records, scratch_address
from ..results import room, values
from ..staging.late import launch
from .finished import Finishing, by_worker, results_of
from .number import number
from .parameters import ConstantWords
from .structure import SMALL, Structure
from .templates import Slots

# What is more by rung: of elements that take no longer than their way from memory and back; others.
# On one core there is only the plan to save, and Ctrl-C should not wait for long. Threads of Dask's
# take 0.15 to 0.4 ms to begin and to end, and share the memory.
MOST_AT_ONCE: Final = {"core": (8 * SMALL, SMALL), "cores": (2 * SMALL, SMALL >> 3)}
# Of reductions whose kernel finishes its results: the elements of one call of a kernel.
FINISHED: Final = CALL
# The same on cores, of elements that take no longer than their way from memory: two kernels share
# the memory, leave records of sums, and begin later. That none of four million is true takes one
# thread 170 us and two 1,000 or more; the largest of as many float64 2.0 and 2.1 ms.
ONE_THREAD: Final = 1 << 22
# Elements read at computed positions, which the caller's thread has in the time of a plan for two.
GATHERED: Final = SMALL
# Elements of a result from which to finish it costs little beside them: the spreads of a million
# numbers in rows of 3 take 10.8 ms on one core, 4.4 on two, those of one row 0.4 and 1.0.
LONG: Final = 64
_dtype: Final = cache(np.dtype)


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
    launches: list[launch.OneLaunch] = field(default_factory=list)
    finished: list[launch.FinishedLaunch] = field(default_factory=list)

    @cached_property
    def most(self) -> dict[str, int]:
        """Elements up to which it is one call, by rung."""
        program = self.slots.prepared.program
        if program.ragged:
            return {"core": SMALL, "cores": 0}
        reduced = self.slots.stage.source is not None
        most = {rung: most_at_once(rung, program.light, reduced) for rung in MOST_AT_ONCE}
        if not reduced and _gathers(program):
            most["cores"] = GATHERED
        if not self.slots.several:
            return most
        light = self.finishing is not None and self._few_words(program)
        return {
            "core": FINISHED,
            "cores": ONE_THREAD if light else most["cores"],
        }  # a worker's, by boxes

    def _few_words(self, program: Program) -> bool:
        """Whether what finishes the results takes no longer than the elements' way from memory.

        Records hold squares and products in several terms: those of a kernel that finishes long
        lines do not count.
        """
        finishing, source = self.finishing, self.slots.stage.source
        assert finishing is not None
        long = isinstance(source, Reduced) and source.count >= LONG
        return finishing.prepared.program.light if long else program.light


def _gathers(program: Program) -> bool:
    """Whether an element takes long for nothing but where it is read."""
    instrs = program.element.instrs
    return len(instrs) <= LIGHT and {one.op for one in instrs} & LONG_OPS == {"gather"}


class OneCall(Caller):
    """A kernel's arguments with parameters of their own, for one thread at a time."""

    def __init__(self, ready: Reusable) -> None:
        assert ready.frame is not None
        super().__init__(ready.slots.prepared, ready.frame, {})
        self.constants = ConstantWords(ready.slots, ready.slots.prepared)
        self.parameters = self.constants.words
        kept, reduced, self.steps = self.prepared.loops
        self.geometry[:6] = (0, kept, 0, reduced, 0, self.steps)
        geometry, addresses, _, _ = self.arguments
        self.places = geometry, addresses, self.constants.address
        self.random, self.data = ready.slots.random, ready.slots.data
        if ready.slots.stage.source is not None:
            self.start_of_record = initial_records(ready.slots.prepared.program, 1).tobytes()
            self.record: Any = ctypes.create_string_buffer(len(self.start_of_record))

    def run(self, found: Structure, out: int) -> None:
        """Call the kernel for ``found``; what it makes goes to the address ``out``."""
        buffers, data = self.buffers, found.data
        for k, which in self.data:
            leaf = data[which]
            array: Any = leaf.source.buffer  # type: ignore[union-attr]
            address = address_of(array)
            buffers[k] = address + leaf.offset * array.itemsize if leaf.offset else address
        if found.constants:
            self.constants.put(found)
        for place, k in self.random:
            keys = round_keys(found.random[k].key)
            self.parameters[place : place + len(keys)] = keys
        if found.line:
            self.geometry[5] = found.size
        frame = self.frame
        self.kernel = kernel = frame.tiers.full or frame.tiers.kernel(found.size)
        geometry, addresses, parameters = self.places
        size = frame.scratch_bytes
        scratch = scratch_address(size) if size else 0
        kernel.function(geometry, addresses, parameters, scratch, out)

    def folded(self, found: Structure) -> bytes:
        """The record of ``found``."""
        record = self.record
        record.raw = self.start_of_record
        self.run(found, ctypes.addressof(record))
        return record.raw  # type: ignore[no-any-return]


def computed(ready: Reusable, found: Structure, root: Expr) -> Any:
    """The value of ``root``, whose structure is ``found``, by its kernel."""
    source, slots = found.source, ready.slots
    if source is not None and slots.several:
        if ready.finishing is None:
            result = by_worker(slots, found, root.shape)
        else:
            result = results_of(ready.finishing, found, root.shape)
        return result if root.shape else result[()]
    try:
        call = ready.idle.pop()
    except IndexError:
        call = OneCall(ready)
    if source is None:
        result = room(root.shape, _dtype(root.dtype), slots.order)
        call.run(found, address_of(result))
        ready.idle.append(call)
        return result if root.shape else result[()]
    record = call.folded(found)
    ready.idle.append(call)
    value = number(source, record)
    if value is not None and not root.shape:
        return value
    records = np.frombuffer(record, np.int64).reshape(1, -1)
    return values(source, records).reshape(root.shape)[()]
