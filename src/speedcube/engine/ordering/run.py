"""What a worker does to sort, select or count: a function for each operation of `Through`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...expr.through.node import Through
from ...plan.stages import Stage
from ..boxes import Stop
from ..results import Destination
from .counting import counted
from .elements import AllElements, Array, Inputs, Store, elements_of
from .scattering import scattered
from .selecting import selected
from .sorting import places_sorted, values_sorted
from .weighing import weighed

_RUN: Final[dict[str, Callable[[Through, list[AllElements]], Array]]] = {
    "sort": values_sorted,
    "argsort": places_sorted,
    "order_statistics": selected,
    "count": counted,
    "weigh": weighed,
    "scatter_add": scattered,
    "scatter_min": scattered,
    "scatter_max": scattered,
}


def run_through(
    stage: Stage, inputs: Inputs, device: int | None, stop: Stop, store: Store
) -> Array:
    """The result of ``stage``, in host memory, by its threads; a GPU computes the elements."""
    source = stage.source
    assert isinstance(source, Through)
    root = stage.root
    args = Through(source.op, root, source.shape, source.dtype).args
    given = elements_of(args, inputs, device, stop, store, stage.threads)
    results = _RUN[source.op](source, given).reshape(source.lines_last)
    return np.ascontiguousarray(np.moveaxis(results, -1, source.axis))


def placed(result: Array, out: Destination) -> Any:
    """``result`` where ``out`` says that it is to lie."""
    if out.device is None:
        return result
    array = out.take()
    array.set(result)
    return array
