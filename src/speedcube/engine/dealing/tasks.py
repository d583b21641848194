"""Tasks of workers of different speed: each takes pieces of a pass until there are none."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any, Final, TypeAlias

from ...dataclass import dataclass
from ...dtypes import itemsize
from ...expr.nodes import Stored, Through
from ...expr.piecewise.regions import leaves_within
from ...late import task_spec
from ...plan.costs import of_element
from ...plan.passes import Pass
from ...plan.stages import Part, Stage, element_places
from ..clusters.handing import Slices
from ..results import Destination
from ..several import from_records, merged
from ..staging.sent import sent
from ..tasks import Worker, joined, run_joined, run_partial, run_pass
from .deal import Dealer
from .predicted import seconds_each

# What a worker gives: where each of its pieces begins, and what that piece gave.
Given: TypeAlias = list[tuple[int, Any]]

_NANO: Final = 1e-9
_MOVING: Final = 1e-10  # seconds of a byte between the host and a GPU
_LEAST: Final = 0.03  # nanoseconds of an element


def can_be_dealt(one: Pass) -> bool:
    """Whether the pass has the same bits wherever it is cut.

    Products, running sums and what takes all elements at once go on where another part ends.
    """
    stage = one.visited
    whole = stage.is_scan or isinstance(stage.source, Through) or stage.block
    return not whole and stage.join in ("merge", "concatenate") and len(stage.parts) > 1


@dataclass(frozen=True, eq=False)
class Dealing:
    """A pass whose slices are dealt to ``workers``, and where its results go."""

    one: Pass
    workers: Sequence[Worker]
    out: Sequence[Destination]
    slices: Slices
    deal: Dealer

    def run(self, number: int, *arrays: Any) -> Given:
        """Task: what worker ``number`` makes of the pieces that it gets."""
        worker, given = self.workers[number], Given()
        needs = self.one.visited.needs
        moved = on_device(worker, arrays)
        held = held_on_device(worker, self.one.visited)
        while not worker.stop.is_set() and (piece := self.deal.take(number)):
            began = time.perf_counter()
            part = self.slices.between(*piece)
            made = self._piece(worker, part, (*needs, *held), (*moved, *held.values()))
            given.append((piece[0], made))
            self.deal.took(number, piece[1] - piece[0], time.perf_counter() - began)
        return given

    def _piece(self, worker: Worker, part: Part, needs: Sequence[Any], every: Sequence[Any]) -> Any:
        one, stage = self.one, self.one.visited
        if one.together is not None:
            return run_pass(worker, one, part, self.out, needs, *every)
        if stage.join == "merge":
            return run_partial(worker, stage, part, needs, *every)
        return run_joined(worker, stage, part, self.out[0], needs, *every)


def on_device(worker: Worker, arrays: Sequence[Any]) -> list[Any]:
    """``arrays``, of the host or of another GPU, in the memory of the worker's GPU if it has one.

    Each piece would move them again.
    """
    if worker.device is None:
        return [one.get() if is_on_gpu(one) else one for one in arrays]
    import cupy

    with cupy.cuda.Device(worker.device):
        return [sent(one) for one in arrays]


def held_on_device(worker: Worker, stage: Stage) -> dict[Any, Any]:
    """The arrays of the user's that the stage reads, once each, in the memory of a GPU."""
    if worker.device is None:
        return {}
    host = [one for one in _of_host(stage) if one.buffer.flags.c_contiguous]
    return dict(zip(host, on_device(worker, [one.buffer for one in host]), strict=True))


def _of_host(stage: Stage) -> list[Stored]:
    """The arrays in the host's memory that the stage reads, once each."""
    sources = {id(leaf.source): leaf.source for leaf in leaves_within(stage.root)}
    return [one for one in sources.values() if isinstance(one, Stored) and not one.on_device]


def is_on_gpu(array: Any) -> bool:
    """Whether the elements lie in a GPU's memory."""
    return hasattr(type(array), "__cuda_array_interface__")


def deal_tasks(
    tasks: dict[Any, Any],
    names: Sequence[str],
    one: Pass,
    workers: Sequence[Worker],
    ready: dict[int, Any],
    out: Sequence[Destination],
) -> None:
    """The tasks of a pass that `can_be_dealt`; those of ``names`` give the results of its stages.

    One for each worker: Dask's scheduler gives each a thread, where it takes pieces.
    """
    stage = one.visited
    dealing = Dealing(one, workers, out, slices_of(stage), Dealer(*_expected(one, workers)))
    arrays = [ready[id(need)] for need in stage.needs]
    shares = []
    for number in range(len(workers)):
        name = f"{names[0]}-worker-{number}"
        shares.append(task_spec.TaskRef(name))
        tasks[name] = task_spec.Task(name, partial(dealing.run, number), *arrays)
    for k, (name, made) in enumerate(zip(names, one.stages, strict=True)):
        tasks[name] = task_spec.Task(name, partial(put_together, one, k, made, out[k]), *shares)


def put_together(one: Pass, number: int, stage: Stage, out: Destination, *shares: Given) -> Any:
    """Task: the result of stage ``number`` from what each worker gave, in the order of pieces."""
    pieces = [piece for _, piece in sorted(chain(*shares), key=_start)]
    if one.together is not None:
        if one.gives_records(stage):
            return from_records(stage, number, out, *pieces)
        return joined(out)
    return merged(stage, *pieces) if stage.join == "merge" else joined(out)


def _start(piece: tuple[int, Any]) -> int:
    return piece[0]


def slices_of(stage: Stage) -> Slices:
    """All of ``stage``, to be cut anywhere along the axis that the plan cuts."""
    axis = stage.parts[0].axis
    assert axis is not None
    by_place = stage.op is not None and stage.op.startswith("arg")
    extra = (element_places(stage.root, stage.axes),) if by_place else ()
    return Slices(Part(stage.root, extra, None, 0, 0), axis, 1)


def _expected(one: Pass, workers: Sequence[Worker]) -> tuple[int, list[float]]:
    """The slices of a pass, and how many of them each worker is expected to do a second."""
    stage, extent = one.visited, slices_of(one.visited).extent
    elements, dtype = math.prod(stage.root.shape) / extent, stage.root.dtype
    core = max(_LEAST, of_element(stage.root)) * _NANO
    times = seconds_each("core", dtype) / seconds_each("gpu", dtype)
    gpu = core / times + _bytes_moved(one) * _MOVING
    return extent, [1 / elements / (core if w.device is None else gpu) for w in workers]


def _bytes_moved(one: Pass) -> Any:
    """Bytes that go between the host and a GPU for an element."""
    size = math.prod(one.visited.root.shape)
    stored = [s for s in one.stages if s.source is None]
    given = sum(
        min(source.buffer.size, size) * itemsize(source.dtype) for source in _of_host(one.visited)
    )
    return given / size + sum(itemsize(stage.dtype) for stage in stored)
