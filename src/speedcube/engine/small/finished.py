"""Reductions whose kernel finishes its results, called at once: no plan, no records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr.nodes import Leaf
from ..boxes import Stop, result_boxes
from ..cpu import Caller, Frame, address_of, frame_of
from ..finished import cpu as finished
from ..prepare import Prepared
from ..tasks import Worker
from .parameters import ConstantWords
from .structure import Structure
from .templates import Slots, finishing_kernel

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Finishing:
    """A kernel that finishes the results of ``slots``, and the boxes that it is called for.

    ``data`` has for each of its leaves the number of its array (None: it has none).
    """

    slots: Slots
    prepared: Prepared
    frame: Frame
    data: tuple[int | None, ...]
    boxes: tuple[tuple[int, ...], ...]
    idle: list[FinishedCall] = field(default_factory=list)  # appending and popping are atomic


def finishing(slots: Slots) -> Finishing | None:
    """The kernel that finishes the results of ``slots``; None where there is none."""
    stage = slots.stage
    prepared = finishing_kernel(stage)
    if prepared is None:
        return None
    numbers = {id(source): k for k, source in enumerate(slots.sources)}
    data = tuple(numbers.get(id(leaf.source)) for leaf in prepared.space.leaves)
    sink = prepared.program.sink
    kind = sink.many or sink.folded
    assert kind is not None
    boxes = tuple(result_boxes(prepared.loops, 0 if kind.rows else prepared.tiling.rows))
    return Finishing(slots, prepared, frame_of(prepared), data, boxes)


class FinishedCall(Caller):
    """The arguments of a kernel that finishes its results, for one thread at a time."""

    def __init__(self, ready: Finishing) -> None:
        super().__init__(ready.prepared, ready.frame, {})
        self.constants = ConstantWords(ready.slots, ready.prepared)

    def run(self, ready: Finishing, found: Structure, out: int) -> int:
        """Make the results of ``found`` at the address ``out``; how many are left to others."""
        buffers, failures = self.buffers, 0
        for k, number in enumerate(ready.data):
            if number is not None:
                leaf = found.data[number]
                array: Any = leaf.source.buffer  # type: ignore[union-attr]
                buffers[k] = address_of(array) + leaf.offset * array.itemsize
        self.start()
        if ready.slots.constants:
            self.constants.put(found)
            geometry, addresses, _, scratch = self.arguments
            self.arguments = geometry, addresses, self.constants.address, scratch
        finishes_all = ready.prepared.program.sink.many is None
        for box in ready.boxes:
            self(box, out)
            failures += 0 if finishes_all else self.failures()
        return failures


def results_of(ready: Finishing, found: Structure, shape: tuple[int, ...]) -> Array:
    """The results of ``found``; those that the kernel could not finish made by records."""
    sink, stage = ready.prepared.program.sink, ready.slots.stage
    results = np.empty(shape, stage.dtype if sink.many is None else sink.dtype)
    try:
        call = ready.idle.pop()
    except IndexError:
        call = FinishedCall(ready)
    failures = call.run(ready, found, address_of(results))
    ready.idle.append(call)
    if sink.many is None:
        return results
    flat = results.reshape(-1)
    failed = finished.failed_places(flat, sink.dtype, failures)
    if not len(failed) and results.dtype == stage.dtype:
        return results
    inputs = inputs_of(ready.slots, found)
    return finished.repaired(stage, stage.parts[0], inputs, Stop(), flat, failed).reshape(shape)


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
