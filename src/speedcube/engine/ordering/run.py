"""What a worker does to sort, select or count: a function for each operation of `Through`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ...expr.through.node import Through
from ...plan.stages import Stage
from ..boxes import Stop
from ..grouping.run import GROUPED
from ..results import Destination
from .counting import counted
from .elements import AllElements, Array, Inputs, Store, elements_of
from .on_gpu.run import run_on_gpu
from .on_gpu.sweeps import DeviceWork
from .parting import parted
from .scattering import scattered
from .selecting import selected
from .sorting import places_sorted, values_sorted
from .weighing import weighed

_RUN: Final[dict[str, Callable[[Through, list[AllElements]], Array]]] = {
    "sort": values_sorted,
    "argsort": places_sorted,
    "order_statistics": selected,
    "partition": parted,
    "count": counted,
    "weigh": weighed,
    **GROUPED,
    "scatter_add": scattered,
    "scatter_min": scattered,
    "scatter_max": scattered,
}


def run_through(stage: Stage, inputs: Inputs, device: int | None, stop: Stop, store: Store) -> Any:
    """The result of ``stage``: by threads in host memory, or by a GPU, and then there or here."""
    source = stage.source
    assert isinstance(source, Through)
    source = replace(source, arg=stage.root)
    if device is not None:
        work = DeviceWork(stage.parts[0], inputs, device, stop, store)
        made = run_on_gpu(source, work)
        if made is not None:
            return _axis_back(made, source)
    args = source.args[: 1 if source.op == "count" else None]
    given = elements_of(args, inputs, device, stop, store, stage.threads)
    results = _RUN[source.op](source, given).reshape(source.lines_last)
    return np.ascontiguousarray(np.moveaxis(results, -1, source.axis))


def _axis_back(made: Any, source: Through) -> Any:
    """``made``, on a GPU or the host, with its lines along their axis, in C order."""
    last = made.ndim - 1
    axis = source.axis % made.ndim
    if axis == last:
        return made
    return made.transpose((*range(axis), last, *range(axis, last))).copy()


def placed(result: Any, out: Destination) -> Any:
    """``result`` where ``out`` says that it is to lie."""
    on_device = hasattr(type(result), "__cuda_array_interface__")
    if out.device is None:
        return result.get() if on_device else result
    if on_device and result.device.id == out.device:
        return result
    array = out.take()
    array.set(result.get() if on_device else result)
    return array
