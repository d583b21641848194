"""A plan on one worker: its stages one after the other, in the thread that asks."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Final, TypeAlias

from ... import dtypes
from ...dataclass import dataclass
from ...plan.blocks import Blocked
from ...plan.passes import Pass
from ...plan.plan import Plan
from ...plan.stages import Stage
from ..boxes import Stop
from ..results import Destination, Destinations
from ..several import from_records
from ..staging.late import gpu
from ..staging.late import launches as on_gpu
from ..staging.once import copied_once
from ..streams.reading import Buffers, buffers_kept
from ..streams.worker import StreamWorker
from ..tasks import Worker, joined, run_joined, run_pass
from .rows import make_rows


@dataclass(frozen=True, eq=False)
class PassStep:
    """A pass, on a GPU its ``launches`` where those are all of it, and what nothing reads later.

    Or the last pass of a ``chain``, which is made by blocks of rows. ``lent`` are those of its
    results that lie in memory which is used again: of some size, and nobody asked for them.
    """

    one: Pass
    launches: on_gpu.DirectLaunches | on_gpu.ResultLaunch | None
    last: tuple[int, ...]
    chain: Blocked | None = None
    lent: frozenset[int] = frozenset()


_LENT: Final = 1 << 18  # bytes from which new memory takes the system longer than to find some

PassSteps: TypeAlias = Sequence[PassStep]
# Of plans that ran, what the next run takes; by the device.
_idle: Final[weakref.WeakKeyDictionary[Plan, dict[int | None, list[PassSteps]]]] = (
    weakref.WeakKeyDictionary()
)


def run_alone(
    plan: Plan, device: int | None, leave_on_gpu: bool, stop: Stop | None = None
) -> list[Any]:
    """The results of ``plan``, whose stages have one part each and need nothing of Dask's.

    What a stage leaves is freed after its last reader. Ctrl-C takes effect between two calls of a
    kernel. A GPU is given one launch after the other on one stream, so that what is freed serves
    those that follow; what stays there may still be made when this returns, as with CuPy.
    """
    idle = _idle.setdefault(plan, {}).setdefault(device, [])
    try:
        steps = idle.pop()  # for this thread alone
    except IndexError:
        steps = _made_steps(plan, device)
    run = _run if device is None else _on_gpu
    values = run(plan, steps, device, leave_on_gpu, stop or Stop())
    idle.append(steps)
    return values


def _on_gpu(
    plan: Plan, steps: PassSteps, device: int | None, leave_on_gpu: bool, stop: Stop
) -> list[Any]:
    import cupy

    with cupy.cuda.Device(device):
        values = _run(plan, steps, device, leave_on_gpu, stop)
        if leave_on_gpu:
            return values
        return [v.get() if hasattr(type(v), "__cuda_array_interface__") else v for v in values]


def _made_steps(plan: Plan, device: int | None) -> PassSteps:
    asked = {id(result) for result in plan.results}
    if device is not None and len(plan.passes) > 1:
        on_gpu.compile_together([one.visited for one in plan.passes if _is_launched(one)], device)
    chains = {chain.end - 1: chain for chain in plan.blocks} if device is None else {}
    seen: set[int] = set()
    steps: list[PassStep] = []
    inside = len(plan.passes)  # from here on passes belong to a chain that has its step
    for k, one in reversed([*enumerate(plan.passes)]):
        chain = chains.get(k)
        if chain is not None:
            reads = {id(source) for source, _ in chain.sources}
            steps.append(PassStep(one, None, tuple(reads - seen - asked), chain))
            seen |= reads
            inside = chain.first
        if k >= inside:
            continue
        launches: on_gpu.DirectLaunches | on_gpu.ResultLaunch | None = None
        if device is not None and _is_launched(one):
            made = on_gpu.results_launch if one.visited.source is not None else on_gpu.launches_of
            launches = made(one.visited, device)
        reads = {id(source) for source in one.visited.needs}
        if launches is not None:
            reads |= {id(source) for source in launches.reads}
        lent = frozenset() if device is not None else _lent(one, asked)
        steps.append(PassStep(one, launches, tuple(reads - seen - asked), lent=lent))
        seen |= reads
    return steps[::-1]


def _lent(one: Pass, asked: set[int]) -> frozenset[int]:
    stored = [stage for stage in one.stages if stage.source is None]
    sizes = [(id(stage.result), dtypes.itemsize(stage.dtype), stage.shape) for stage in stored]
    return frozenset(
        name
        for name, itemsize, shape in sizes
        if name not in asked and itemsize * math.prod(shape) >= _LENT
    )


def _is_launched(one: Pass) -> bool:
    """Whether a GPU makes ``one`` by launches of its own."""
    return one.together is None and not one.visited.streams


def _run(
    plan: Plan, steps: PassSteps, device: int | None, leave_on_gpu: bool, stop: Stop
) -> list[Any]:
    if not any([step.lent for step in steps]):
        return _run_with(plan, steps, device, leave_on_gpu, stop, None)
    with buffers_kept() as buffers:
        return _run_with(plan, steps, device, leave_on_gpu, stop, buffers)


def _run_with(
    plan: Plan,
    steps: PassSteps,
    device: int | None,
    leave_on_gpu: bool,
    stop: Stop,
    buffers: Buffers | None,
) -> list[Any]:
    """`_run`, with ``buffers`` for what is lent."""
    kind = StreamWorker if plan.streams else Worker
    worker = kind(stop, device, alone=True, here=True)
    done = since = 0  # elements that were visited, and that a GPU was given
    asked = {id(result) for result in plan.results}
    ready: dict[int, Any] = {}
    destinations = Destinations(plan)
    memory = None if device is None else on_gpu.DeviceMemory(ready)

    def destination(stage: Stage) -> Destination:
        stays = leave_on_gpu or id(stage.result) not in asked
        place = device if stays else None
        order = plan.order(stage) if device is None else None
        made = destinations(stage, place, order)
        if buffers is not None and order is None and id(stage.result) in step.lent:
            made.lend(buffers.take(stage.shape, stage.dtype))
            lent.add(id(stage.result))
        return made

    lent: set[int] = set()
    for step in steps:
        if step.chain is not None:
            whole = destination(step.one.visited).take()
            make_rows(worker, step.chain, whole, ready)
            ready[id(step.one.visited.result)] = whole
        elif step.launches is not None and memory is not None:
            memory.make(step.launches)
        else:
            _make(worker, step.one, destination, ready)
        visited = math.prod(step.one.visited.root.shape)
        since += visited
        done += visited
        if stop.counts:  # of passes in a chain all points, of others each once
            done = stop.points if step.chain is not None else done
            stop.points = done
        if device is not None and since > gpu.LAUNCH:
            since = 0
            wait(device)
        for name in step.last:
            known = ready.pop(name, None)
            if buffers is not None and name in lent:
                buffers.give(known)
            if memory is not None:
                memory.forget(name)
    return [ready[id(result)] for result in plan.results]


def _make(
    worker: Worker,
    one: Pass,
    destination: Callable[[Stage], Destination],
    ready: dict[int, Any],
) -> None:
    """Put the results of the stages of ``one`` among those that are ``ready``."""
    out = [destination(stage) for stage in one.stages]
    arrays = [ready[id(need)] for need in one.visited.needs]
    for stage, result in zip(one.stages, _made(worker, one, out, arrays), strict=True):
        ready[id(stage.result)] = result


def _made(worker: Worker, one: Pass, out: list[Destination], arrays: list[Any]) -> list[Any]:
    """The results of the stages of ``one``."""
    visited = one.visited
    part, needs = visited.parts[0], visited.needs
    with nullcontext() if worker.device is None else copied_once():
        if one.together is None:
            return [run_joined(worker, visited, part, out[0], needs, *arrays)]
        outcome = run_pass(worker, one, part, out, needs, *arrays)
    return [
        from_records(stage, k, place, outcome) if one.gives_records(stage) else joined(place)
        for k, (stage, place) in enumerate(zip(one.stages, out, strict=True))
    ]


def wait(device: int) -> None:
    """Until the current stream of ``device`` has nothing left to do."""
    import cupy

    with cupy.cuda.Device(device):
        cupy.cuda.get_current_stream().synchronize()
