"""A plan on one worker: its stages one after the other, in the thread that asks."""

from __future__ import annotations

import math
from typing import Any

from ...plan.plan import Plan
from ..boxes import Stop
from ..gpu import LAUNCH
from ..tasks import Destination, Worker, run_joined


def run_alone(plan: Plan, device: int | None, leave_on_gpu: bool) -> Any:
    """The result of ``plan``, whose stages have one part each and need nothing of Dask's.

    What a stage leaves is freed after its last reader. Ctrl-C takes effect between two calls of a
    kernel. A GPU is given one launch after the other on one stream, so that what is freed serves
    those that follow; what stays there may still be made when this returns, as with CuPy.
    """
    worker = Worker(Stop(), device, alone=True)
    since = 0  # elements that a GPU was given
    last = {id(need): stage for stage in plan.stages for need in stage.needs}
    ready: dict[int, Any] = {}
    result = None
    for stage in plan.stages:
        final = stage is plan.stages[-1]
        stays = device is not None and (leave_on_gpu if final else stage.source is None)
        out = Destination(stage.shape, stage.dtype, device if stays else None)
        arrays = [ready[id(need)] for need in stage.needs]
        result = run_joined(worker, stage, stage.parts[0], out, stage.needs, *arrays)
        del arrays, out
        since += math.prod(stage.root.shape)
        if device is not None and since > LAUNCH:
            since = 0
            wait(device)
        ready[id(stage.result)] = result
        for need in stage.needs:
            if last[id(need)] is stage:
                del ready[id(need)]
    return result


def wait(device: int) -> None:
    """Until the current stream of ``device`` has nothing left to do."""
    import cupy

    with cupy.cuda.Device(device):
        cupy.cuda.get_current_stream().synchronize()
