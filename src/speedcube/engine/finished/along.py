"""Several results that one kernel finishes: of the same sums, or, on a GPU, any reductions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr.nodes import Reduced
from ...plan.passes import Pass
from ...plan.stages import Part, Stage
from ..boxes import Stop
from ..prepare import Prepared, prepare, prepare_along, prepare_together
from ..results import values
from ..staging.late import finished as of_gpu
from ..staging.late import gpu_records
from .cpu import repaired, run_together
from .ends import PIECE
from .near import Partial, numbers_of

Array: TypeAlias = NDArray[Any]


def own_parts(one: Pass, part: Part) -> list[tuple[Stage, Part]]:
    """The stages of ``one``, each with its own part of the same elements as ``part``."""
    number = one.visited.parts.index(part)
    return [(stage, stage.parts[number]) for stage in one.stages]


@dataclass(frozen=True, eq=False)
class Finished:
    """What a part gives of a reduction that needs nothing of other parts: its results.

    They are on its device, or on the host.
    """

    results: Any


class Runs(Protocol):
    """What runs parts (`engine/tasks.py`)."""

    @property
    def stop(self) -> Stop: ...
    @property
    def device(self) -> int | None: ...
    @property
    def alone(self) -> bool: ...
    def partial(self, stage: Stage, part: Part, inputs: Mapping[int, Array]) -> Array:
        """The part's records."""


def numbers(
    worker: Runs, one: Pass, part: Part, inputs: Mapping[int, Array]
) -> tuple[Finished | Partial, ...]:
    """What a part gives of reductions to one number each, by one kernel; none: there is none."""
    device, size = worker.device, math.prod(part.root.shape)
    if device is None and (size >= PIECE or not worker.alone):
        known = numbers_of(one, part, inputs, worker.stop, own_parts(one, part), worker.partial)
        if known:
            return known
    reduced = all(isinstance(stage.source, Reduced) for stage in one.stages)
    if not worker.alone or not reduced or one.visited.join != "one":
        return ()
    if device is None:
        outs = [np.empty(stage.shape, stage.dtype) for stage in one.stages]
        return tuple(map(Finished, outs)) if run(one, part, outs, inputs, None, worker.stop) else ()
    made = _on_gpu(one, part, [None] * len(one.stages), inputs, device, worker.stop)
    return tuple(Finished(one) for one in made or () if one is not None)


def run(
    one: Pass,
    part: Part,
    shares: Sequence[Any],
    inputs: Mapping[int, Array],
    device: int | None,
    stop: Stop,
) -> bool:
    """The results of ``part`` into ``shares``; whether one kernel can make them."""
    if device is not None:
        return _on_gpu(one, part, shares, inputs, device, stop) is not None
    same = len({id(stage.root) for stage in one.stages}) == 1 and one.is_along
    many = prepare_along(one, part) if same else None
    many = many or prepare_together(one, part, False)
    if many is None:
        return False
    prepared, order = many
    own = own_parts(one, part)
    found = run_together(prepared, inputs, stop, [shares[k] for k in order])
    for k, (results, failed) in zip(order, found, strict=True):
        whole = repaired(*own[k], inputs, stop, results, failed).reshape(shares[k].shape)
        if not np.may_share_memory(whole, shares[k]):
            shares[k][...] = whole
    return True


def _on_gpu(
    one: Pass,
    part: Part,
    shares: Sequence[Any],
    inputs: Mapping[int, Array],
    device: int,
    stop: Stop,
) -> list[Any] | None:
    """The results of each stage that has no share, those of others into ``shares``.

    None where one kernel cannot make them.
    """
    import cupy

    together = prepare_together(one, part, True)
    if together is None:
        return None
    prepared, order = together
    own, dtypes = own_parts(one, part), _dtypes(prepared)
    with cupy.cuda.Device(device):
        places = list(zip((shares[k] for k in order), dtypes, strict=True))
        there = [of_gpu.fits(share, dtype, device) for share, dtype in places]
        size = of_gpu.results_of(prepared)
        memory = [
            share.reshape(-1) if fit else cupy.empty(size, dtype)
            for fit, (share, dtype) in zip(there, places, strict=True)
        ]
        with of_gpu.FinishedPart(prepared, inputs, device).launches() as launches:
            launches.run(tuple(memory), stop)
            failed = launches.failed()
        if failed is None:
            return None
        made: list[Any] = [None] * len(order)
        for output, (k, results) in enumerate(zip(order, memory, strict=True)):
            mine = failed[failed % len(order) == output] // len(order)
            _repair(*own[k], results, inputs, device, stop, mine)
            if not there[output]:
                made[k] = _placed(results, own[k][0], shares[k])
    return made


def _repair(
    stage: Stage,
    part: Part,
    results: Any,
    inputs: Mapping[int, Array],
    device: int,
    stop: Stop,
    failed: Array,
) -> None:
    """The results at the places ``failed``, made by records; of float16 they are longer yet."""
    assert isinstance(stage.source, Reduced)
    if len(failed):
        for places, some in gpu_records.run_some(
            prepare(stage, part, None, gpu=True), inputs, device, stop, failed
        ):
            exact = values(stage.source, some).astype(results.dtype, copy=False)
            results[places[0] : places[-1] + 1].set(exact)


def _dtypes(prepared: Prepared) -> list[str]:
    """The dtype of each result that the kernel gives."""
    parts = prepared.program.sink.parts
    return [sink.dtype for sink in parts if sink.many for _ in sink.many.ops]


def _placed(results: Any, stage: Stage, share: Any) -> Any:
    """``results`` of the device, or None where they have been put into ``share``."""
    if share is None and results.dtype == stage.dtype:
        return results
    with np.errstate(over="ignore"):
        here = results.get().astype(stage.dtype, copy=False)
    if share is None:
        return here
    if hasattr(share, "__cuda_array_interface__"):
        share.set(here.reshape(share.shape))
    else:
        share[...] = here.reshape(share.shape)
    return None
