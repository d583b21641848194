"""A plan on one worker: its stages one after the other, in the thread that asks."""

from __future__ import annotations

import math
from typing import Any

from ...plan.passes import Pass
from ...plan.plan import Plan
from ...plan.stages import Stage
from ..boxes import Stop
from ..gpu import LAUNCH
from ..results import Destination
from ..tasks import Worker, from_records, joined, run_joined, run_pass


def run_alone(plan: Plan, device: int | None, leave_on_gpu: bool) -> list[Any]:
    """The results of ``plan``, whose stages have one part each and need nothing of Dask's.

    What a stage leaves is freed after its last reader. Ctrl-C takes effect between two calls of a
    kernel. A GPU is given one launch after the other on one stream, so that what is freed serves
    those that follow; what stays there may still be made when this returns, as with CuPy.
    """
    worker = Worker(Stop(), device, alone=True)
    since = 0  # elements that a GPU was given
    last = {id(need): one for one in plan.passes for need in one.visited.needs}
    asked = {id(result) for result in plan.results}
    ready: dict[int, Any] = {}

    def destination(stage: Stage) -> Destination:
        stays = leave_on_gpu if id(stage.result) in asked else not stage.is_scan
        return Destination(stage.shape, stage.dtype, device if stays else None)

    for one in plan.passes:
        needs = one.visited.needs
        out = [destination(stage) for stage in one.stages]
        arrays = [ready[id(need)] for need in needs]
        results = _made(worker, one, out, arrays)
        del arrays, out
        since += math.prod(one.visited.root.shape)
        if device is not None and since > LAUNCH:
            since = 0
            wait(device)
        for stage, result in zip(one.stages, results, strict=True):
            ready[id(stage.result)] = result
        del results
        for need in needs:
            if last[id(need)] is one and id(need) not in asked:
                del ready[id(need)]
    return [ready[id(result)] for result in plan.results]


def _made(worker: Worker, one: Pass, out: list[Destination], arrays: list[Any]) -> list[Any]:
    """The results of the stages of ``one``."""
    visited = one.visited
    part, needs = visited.parts[0], visited.needs
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
