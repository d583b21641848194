"""Which function sorts, selects, counts or weighs on a GPU, and when the host does it instead."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from ....expr.through.node import Through
from ...grouping.on_gpu import GROUPED_ON_GPU
from .counting import counted
from .scattering import scattered
from .selecting import selected
from .sorting import places_sorted, values_sorted
from .sweeps import DeviceWork
from .weighing import weighed

_RUN: Final[dict[str, Callable[[Through, DeviceWork], Any]]] = {
    "sort": values_sorted,
    "argsort": places_sorted,
    "order_statistics": selected,
    "count": counted,
    "weigh": weighed,
    **dict.fromkeys(("scatter_add", "scatter_min", "scatter_max"), scattered),
    "group_count": counted,
    **GROUPED_ON_GPU,
}


def run_on_gpu(source: Through, work: DeviceWork) -> Any:
    """What ``source`` makes of the elements, on the GPU or the host; None where it is not for it.

    Its lines are along the last axis.
    """
    import cupy

    if source.op not in _RUN or not source.count or not math.prod(source.shape):
        return None
    try:
        with cupy.cuda.Device(work.device):
            made = _RUN[source.op](source, work)
            return None if made is None else made.reshape(source.lines_last)
    except MemoryError:  # the host holds less at a time
        return None
