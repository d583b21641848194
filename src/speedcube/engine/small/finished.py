"""Reductions whose kernel finishes its results, called at once: no plan, no records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr.analysis import constants_count
from ...expr.nodes import Leaf
from ...kernel.lower.counts import NUMBERS, numbers_of
from ..boxes import Stop, result_boxes
from ..cpu import Frame, address_of, frame_of
from ..finished import cpu as finished
from ..finished.pairs import are_pairs
from ..prepare import Prepared, prepare_line
from ..tasks import Worker
from .parameters import Arguments
from .structure import Structure
from .templates import Slots, finishing_kernel, prepared_for

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Finishing:
    """A kernel that finishes the results of ``slots``, and the boxes that it is called for.

    ``data`` has its leaves that are data, each with the number of its array, ``constants`` the
    parameter of each constant.
    """

    slots: Slots
    prepared: Prepared
    frame: Frame
    data: tuple[tuple[int, int], ...]
    constants: tuple[int, ...]
    boxes: tuple[tuple[int, ...], ...]
    idle: list[Any] = field(default_factory=list)  # appending and popping are atomic

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """That of the results as the kernel gives them."""
        sink = self.prepared.program.sink
        return np.dtype(self.slots.stage.dtype if sink.many is None else sink.dtype)

    @cached_property
    def rounds(self) -> bool:
        """Whether NumPy rounds them, to float16."""
        return self.dtype != self.slots.stage.dtype


def finishing(slots: Slots) -> Finishing | None:
    """The kernel that finishes the results of ``slots``; None where there is none, or a better way.

    Products of pairs of rows are a worker's, by blocks.
    """
    stage = slots.stage
    prepared = None if are_pairs(stage, stage.parts[0]) else finishing_kernel(stage)
    if prepared is None:
        return None
    numbers = {id(source): k for k, source in enumerate(slots.sources)}
    sink = prepared.program.sink
    kind = sink.many or sink.folded
    assert kind is not None
    boxes = tuple(result_boxes(prepared.loops, 0 if kind.rows else prepared.tiling.rows))
    data = _places(prepared, numbers)
    return Finishing(slots, prepared, frame_of(prepared), data, slots.constants or (), boxes)


def _places(prepared: Prepared, numbers: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    """The leaves whose sources have ``numbers``, and those."""
    each = ((k, numbers.get(id(leaf.source))) for k, leaf in enumerate(prepared.space.leaves))
    return tuple((k, number) for k, number in each if number is not None)


class FinishedCall(Arguments):
    """The arguments of a kernel that finishes its results, for one thread at a time."""

    def __init__(self, ready: Finishing) -> None:
        super().__init__(ready.slots, ready.prepared, ready.frame, ready.data, ready.constants)
        self.boxes, self.finishes_all = ready.boxes, ready.prepared.program.sink.many is None

    def run(self, found: Structure, out: int) -> int:
        """Make the results of ``found`` at the address ``out``; how many are left to others."""
        self.take(found)
        failures, several = 0, len(self.boxes) > 1
        for box in self.boxes:
            if several:
                self.geometry[:6] = box
            else:  # that of all
                self.geometry[0] = 0
            self.call(out)
            failures += 0 if self.finishes_all else self.failures()
        return failures


def results_of(ready: Finishing, found: Structure, shape: tuple[int, ...]) -> Array:
    """The results of ``found``; those that the kernel could not finish made by records."""
    results = np.empty(shape, ready.dtype)
    try:
        call = ready.idle.pop()
    except IndexError:
        call = FinishedCall(ready)
    failures = call.run(found, address_of(results))
    ready.idle.append(call)
    if not failures and not ready.rounds:
        return results
    stage, flat = ready.slots.stage, results.reshape(-1)
    failed = finished.failed_places(flat, ready.prepared.program.sink.dtype, failures)
    inputs = inputs_of(ready.slots, found)
    return finished.repaired(stage, stage.parts[0], inputs, Stop(), flat, failed).reshape(shape)


def line_finishing(found: Structure, slots: Slots) -> Finishing | None:
    """The kernel that finishes one sum over a loop of any length; None where there is none."""
    if slots.constants is None or constants_count(slots.stage.root):
        return None
    own = [replace(number) for number in slots.numbers]
    stage, data = prepared_for(found, own)
    prepared = prepare_line(stage, stage.parts[0])
    if prepared is None:
        return None
    places = {id(uniform.source): uniform.place for uniform in prepared.uniforms}
    if places.keys() != set(map(id, own)):
        return None
    constants = tuple([places[id(number)] for number in own])
    arrays = _places(prepared, {id(leaf.source): k for k, leaf in enumerate(data)})
    return Finishing(slots, prepared, frame_of(prepared), arrays, constants, ())


def line_sum(ready: Finishing, found: Structure) -> Any:
    """The sum of ``found`` as NumPy's scalar; None where it is left to records."""
    try:
        call = ready.idle.pop()
    except IndexError:
        call = LineCall(ready)
    value = call.value(found)
    ready.idle.append(call)
    return value


def _half(value: float) -> Any:
    """The float16 of ``value``: beyond it, an infinity."""
    with np.errstate(over="ignore"):
        return np.float16(value)


class LineCall(Arguments):
    """The arguments of such a kernel, the length and what follows from it among them."""

    def __init__(self, ready: Finishing) -> None:
        super().__init__(ready.slots, ready.prepared, ready.frame, ready.data, ready.constants)
        sink, source = ready.prepared.program.sink, ready.slots.stage.source
        assert sink.many is not None
        assert source is not None
        self.ddof: float = source.ddof  # type: ignore[union-attr]
        self.numbers, self.size = 8 * sink.many.parameter, 0
        self.is_half = source.dtype == "float16"  # of a float64 that is rounded to odd
        self.result = np.zeros((), sink.dtype)
        self.out = self.result.ctypes.data

    def value(self, found: Structure) -> Any:
        """The sum of ``found``; None where it is not certain."""
        size = found.size
        if size != self.size:
            if size <= self.ddof:
                return None
            NUMBERS.pack_into(self.parameters, self.numbers, *numbers_of(size, self.ddof))
            self.size = size
        self.geometry[0] = 0
        self.take(found)
        self.call(self.out)
        if self.geometry[0]:
            return None
        result: Any = self.result[()]  # its bits, of a subnormal number too
        return _half(result) if self.is_half else result


def by_worker(slots: Slots, found: Structure, shape: tuple[int, ...]) -> Array:
    """The results of a reduction to several, as a worker of the long way makes them."""
    stage = slots.stage
    return Worker(Stop()).reduced(stage, stage.parts[0], inputs_of(slots, found), shape)


def inputs_of(slots: Slots, found: Structure) -> Mapping[int, Array]:
    """The arrays of ``found`` by what stands for them in the stage of ``slots``."""
    each = zip(slots.sources, found.data, strict=True)
    return {id(source): _array(leaf) for source, leaf in each}


def array_at(leaf: Leaf, shape: tuple[int, ...]) -> Array:
    """The elements of ``shape`` that lie one after the other from the offset of ``leaf`` on."""
    array = _array(leaf)
    return as_strided(array, shape, (array.itemsize,) * len(shape))


def _array(leaf: Leaf) -> Array:
    """An array whose first element is that at the offset of ``leaf``."""
    array: Any = leaf.source.buffer  # type: ignore[union-attr]
    if leaf.offset:  # a view of the element there, before the first one or behind it
        step = array.itemsize if leaf.offset > 0 else -array.itemsize
        array = as_strided(array, (abs(leaf.offset) + 1,), (step,))[-1:]
    return array  # type: ignore[no-any-return]
