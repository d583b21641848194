"""One call of a kernel that takes any data: its arguments in place, and what it gives.

Nothing here holds what users handed over: an array's address is in a kernel's arguments for as long
as it is called.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from typing import Any, Final

import numpy as np

from ...dataclass import dataclass
from ...expr.nodes import Expr, Reduced
from ...kernel.program import LIGHT, Program
from ...kernel.program import LONG as LONG_OPS
from ...late import watched
from ...plan import costs
from ..boxes import CALL
from ..cpu import Frame, address_of, initial_records
from ..results import room, values
from ..staging.late import launch
from .finished import Finishing, by_worker, line_sum, results_of
from .number import number
from .parameters import Arguments
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
# Nanoseconds by the plan's costs that one thread takes before a second one would have saved any:
# 300,000 logarithms take 0.27 ms on one core and 0.92 with Dask's threads on two.
ALONE: Final = 600_000.0
# Elements read at computed positions, which the caller's thread has in the time of a plan for two.
GATHERED: Final = SMALL
# Elements of a result from which to finish it costs little beside them: the spreads of a million
# numbers in rows of 3 take 10.8 ms on one core, 4.4 on two, those of one row 0.4 and 1.0.
LONG: Final = 64


def most_at_once(rung: str, light: bool, reduced: bool) -> int:
    """Elements up to which something is one call on ``rung``."""
    most = MOST_AT_ONCE[rung][not light]
    # Longer lines have kernels that finish their results, which are planned.
    return min(most, SMALL) if reduced else most


def is_here(rung: str) -> bool:
    """Whether what is small on ``rung`` may be made in the caller's thread."""
    return rung == "core" or (rung == "cores" and not watched())


def at_once(rung: str, small: int, reduces: bool) -> int:
    """Elements up to which a computation may be one call in that thread; none if not ``small``."""
    if small <= 0 or not is_here(rung):
        return -1
    if reduces:
        return FINISHED if rung == "core" else max(MOST_AT_ONCE[rung][0], ONE_THREAD)
    return MOST_AT_ONCE[rung][0]


@dataclass(frozen=True, eq=False)
class Reusable:
    """A kernel that takes data, constants, keys and, where ``line``, a length."""

    slots: Slots
    frame: Frame | None  # None: for a GPU
    finishing: Finishing | None = None  # what makes several results
    line: Finishing | None = None  # what makes one sum over one loop, of any length
    idle: list[OneCall] = field(default_factory=list)  # appending and popping are atomic
    launches: list[launch.OneLaunch] = field(default_factory=list)
    finished: list[launch.FinishedLaunch] = field(default_factory=list)

    @cached_property
    def way(self) -> Callable[[Reusable, Structure, Expr], Any]:
        """How a value is made."""
        slots = self.slots
        if slots.stage.source is None:
            return _stored
        return _several if slots.several else _of_record

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """That of what is stored."""
        return np.dtype(self.slots.stage.dtype)

    @cached_property
    def most(self) -> dict[str, int]:
        """Elements up to which it is one call, by rung."""
        program = self.slots.prepared.program
        if program.ragged:
            return {"core": SMALL, "cores": 0}
        reduced = self.slots.stage.source is not None
        most = {rung: most_at_once(rung, program.light, reduced) for rung in MOST_AT_ONCE}
        alone = int(ALONE / max(costs.of_element(self.slots.stage.root), costs.ARITHMETIC))
        most["cores"] = max(most["cores"], min(alone, SMALL))
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


class OneCall(Arguments):
    """The arguments of a kernel that stores what it makes, or that has a record of it."""

    def __init__(self, ready: Reusable) -> None:
        slots = ready.slots
        assert ready.frame is not None
        super().__init__(slots, slots.prepared, ready.frame, slots.data, slots.constants or ())
        if slots.stage.source is not None:
            self.start_of_record = initial_records(slots.prepared.program, 1).tobytes()
            self.record: Any = ctypes.create_string_buffer(len(self.start_of_record))
            self.record_at = ctypes.addressof(self.record)

    def store(self, found: Structure, out: int) -> None:
        """Store what ``found`` is at the address ``out``."""
        self.take(found)
        self.call(out)

    def folded(self, found: Structure) -> bytes:
        """The record of ``found``."""
        record = self.record
        record.raw = self.start_of_record
        self.take(found)
        self.call(self.record_at)
        return record.raw  # type: ignore[no-any-return]


def computed(ready: Reusable, found: Structure, root: Expr) -> Any:
    """The value of ``root``, whose structure is ``found``, by its kernel."""
    return ready.way(ready, found, root)


def _stored(ready: Reusable, found: Structure, root: Expr) -> Any:
    try:
        call = ready.idle.pop()
    except IndexError:
        call = OneCall(ready)
    shape, order = root.shape, ready.slots.order
    result = np.empty(shape, ready.dtype) if order is None else room(shape, ready.dtype, order)
    call.store(found, address_of(result))
    ready.idle.append(call)
    return result if shape else result[()]


def _of_record(ready: Reusable, found: Structure, root: Expr) -> Any:
    source, line = found.source, ready.line
    assert source is not None
    if line is not None and found.line:
        sum = line_sum(line, found)
        if sum is not None:
            return np.full(root.shape, sum) if root.shape else sum
    try:
        call = ready.idle.pop()
    except IndexError:
        call = OneCall(ready)
    record = call.folded(found)
    ready.idle.append(call)
    value = number(source, record)
    if value is not None and not root.shape:
        return value
    records = np.frombuffer(record, np.int64).reshape(1, -1)
    return values(source, records).reshape(root.shape)[()]


def _several(ready: Reusable, found: Structure, root: Expr) -> Any:
    if ready.finishing is None:
        result = by_worker(ready.slots, found, root.shape)
    else:
        result = results_of(ready.finishing, found, root.shape)
    return result if root.shape else result[()]
