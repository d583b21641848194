"""What a worker does to sort, select or count: a function for each way to make a `Through`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np

from ...expr.nodes import Expr, Leaf, Stored
from ...expr.routines.table import ROUTINES
from ...expr.through.node import Through
from ...expr.through.table import OPERATIONS
from ...plan.stages import Stage
from ..boxes import Stop
from ..grouping.run import GROUPED
from ..results import Destination
from ..routines.run import run_routine
from ..staging.late import ordering, sweeps
from .by_line.numbers import numbers_selected
from .counting import counted
from .elements import AllElements, Array, Inputs, Store, elements_of
from .parting import parted
from .scattering import scattered
from .selecting import selected
from .sorting import places_sorted, values_sorted
from .weighing import weighed

# Elements that are read block after block; None where they lie in memory.
Walked: TypeAlias = Callable[[Sequence[Expr], Inputs, int], list[AllElements] | None]


def lines_made(source: Through, given: list[AllElements]) -> Array:
    """What ``source`` makes of its arguments as they are defined: NumPy's, of lines in memory."""
    held = [one.held().reshape(one.root.shape) for one in given]
    return np.asarray(OPERATIONS[source.op].meaning(*held, source.options))


# By the way that an operation is made.
_RUN: Final[dict[str, Callable[[Through, list[AllElements]], Array]]] = {
    "values in order": values_sorted,
    "places in order": places_sorted,
    "selection": selected,
    "selection of numbers": numbers_selected,
    "partition": parted,
    "lines": lines_made,
    "counts": counted,
    "sums of weights": weighed,
    "scatter": scattered,
    **GROUPED,
}


def run_through(
    stage: Stage,
    inputs: Inputs,
    device: int | None,
    stop: Stop,
    store: Store,
    walked: Walked | None = None,
) -> Any:
    """The result of ``stage``: by threads in host memory, or by a GPU, and then there or here.

    ``walked`` gives elements that are read block after block, by threads.
    """
    source = stage.source
    assert isinstance(source, Through)
    if source.op in ROUTINES:
        return run_routine(stage, inputs, device, stop, store)
    source = replace(source, arg=stage.root)
    given = None if walked is None else walked(source.args, inputs, stage.threads)
    if given is None and device is not None:
        work = sweeps.DeviceWork(stage.parts[0], inputs, device, stop, store)
        made = ordering.run_on_gpu(source, work)
        if made is not None:
            return _axis_back(made, source)
    if given is None:
        how = inputs, device, stop, store, stage.threads
        given = elements_of(source.args, *how, stage.parts[0])
    return _along_axis(_made(source, given), source)


def in_memory_made(source: Through) -> Array:
    """What ``source`` makes of lines that lie in memory, along its last axis, by the caller."""
    return _made(source, elements_of(source.args, {}, None, Stop(), _nowhere, 1))


def few_made(source: Through) -> Array | None:
    """What ``source`` makes of arrays in memory, by the caller; None where others make it."""
    if source.op in ROUTINES or not all(map(_is_array, source.args)) or 0 in source.arg.shape:
        return None
    return _along_axis(in_memory_made(source), source)


def _is_array(arg: Expr) -> bool:
    return type(arg) is Leaf and type(arg.source) is Stored


def _made(source: Through, given: list[AllElements]) -> Array:
    return _RUN[OPERATIONS[source.op].way](source, given).reshape(source.lines_last)


def _along_axis(made: Array, source: Through) -> Array:
    """``made``, with its lines along their axis, in C order."""
    if source.axis == -1:
        return np.ascontiguousarray(made)
    return np.ascontiguousarray(np.moveaxis(made, -1, source.axis))


def _nowhere(*_: object) -> None:
    raise AssertionError("all of it is there")


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
