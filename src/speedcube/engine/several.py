"""A pass of several stages: one kernel with a sink for each, and a result of each from its own.

Stages that reduce the same elements the same way share a sink. A mean takes the sums that a
deviation of the same elements needs: the first of its two groups of limbs.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import dtypes
from ..dataclass import dataclass
from ..expr.nodes import Map, Reduced, c_strides
from ..expr.space import TILE, build, tile
from ..kernel.exact.integers import carry
from ..kernel.lower.lower import lower_several
from ..kernel.program import LIMBS
from ..plan.passes import Pass
from ..plan.stages import Part, Stage
from . import cpu
from .boxes import CALL, Stop, boxes
from .finished.along import Finished
from .finished.near import Partial, from_partials
from .prepare import KERNEL_REDUCTION, Prepared, prepared_of, remembered
from .results import Destination, is_exact_sum, merge, merge_pieces, values
from .scans.shared import merged_products, shared_lines
from .staging.late import gpu

Array: TypeAlias = NDArray[Any]
# What a part gives of each stage: the records of a reduction, the elements that it stored.
Outcome: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class Sinks:
    """The sinks of a pass: the argument that each takes and its reduction; which each stage has."""

    kinds: tuple[tuple[int, str | None], ...]
    of: tuple[int, ...]


def sinks_of(one: Pass) -> Sinks:
    """The sinks that ``one`` needs."""
    wanted = [_kind(stage, place) for stage, place in zip(one.stages, one.places, strict=True)]
    shared = [_shared(kind, wanted, one) for kind in wanted]
    kinds = tuple(dict.fromkeys(shared))
    return Sinks(kinds, tuple(kinds.index(kind) for kind in shared))


_Kind: TypeAlias = tuple[int, str | None]


def _kind(stage: Stage, place: int) -> _Kind:
    if stage.source is None:
        return place, None
    reduction = KERNEL_REDUCTION[stage.source.op]
    is_sum = reduction == "mean" and dtypes.is_float(stage.root.dtype)
    return place, "sum" if is_sum else reduction


def _shared(kind: _Kind, wanted: Sequence[_Kind], one: Pass) -> _Kind:
    """The moments of the same elements, where ``kind`` is their sum and they are wanted."""
    place, reduction = kind
    dtype = next(s.root.dtype for s, p in zip(one.stages, one.places, strict=True) if p == place)
    is_part = reduction == "mean" or (reduction == "sum" and dtypes.is_float(dtype))
    return (place, "moments") if is_part and (place, "moments") in wanted else kind


def run_part(
    one: Pass,
    part: Part,
    shares: Sequence[Any],
    inputs: Mapping[int, Array],
    device: int | None,
    stop: Stop,
) -> Outcome:
    """What ``part`` gives of each stage; ``shares`` are where it stores, None for reductions."""
    sinks = sinks_of(one)
    places: list[Any] = [None] * len(sinks.kinds)
    for share, number in zip(shares, sinks.of, strict=True):
        places[number] = share
    strides = _strides(part, [place for place in places if place is not None], device)
    woven, gpu = _woven(places, device), device is not None
    prepared = _prepare(one, part, sinks.kinds, strides, woven, gpu)
    if device is None:
        outputs = _on_cpu(prepared, inputs, places, stop)
    else:
        outputs = _on_gpu(prepared, inputs, places, device, stop)
    return tuple(
        _record(stage, outputs[number]) if share is None else None
        for share, stage, number in zip(shares, one.stages, sinks.of, strict=True)
    )


def _strides(part: Part, stored: Sequence[Any], device: int | None) -> tuple[int, ...]:
    """How far apart the elements of what is stored lie; all have one shape."""
    if not stored:
        return (0,) * len(part.root.shape)
    if device is not None:
        return c_strides(part.root.shape)
    return tuple(stride // stored[0].itemsize for stride in stored[0].strides)


def _woven(places: Sequence[Any], device: int | None) -> tuple[int, ...]:
    """The numbers of the sinks that store beside the next one: parts of complex numbers."""
    if device is not None:
        return ()
    found = []
    for k, (one, other) in enumerate(pairwise(places)):
        if one is None or other is None or not one.size or one.strides != other.strides:
            continue
        if cpu.address_of(other) - cpu.address_of(one) == one.itemsize == other.itemsize:
            found.append(k)
    return tuple(found)


def _prepare(
    one: Pass,
    part: Part,
    kinds: tuple[_Kind, ...],
    strides: tuple[int, ...],
    woven: tuple[int, ...],
    gpu: bool,
) -> Prepared:
    def make() -> Prepared:
        assert isinstance(part.root, Map)
        axes, folds = one.visited.axes, any(reduction is not None for _, reduction in kinds)
        space = build(part.root, axes, (), strides, reduction=folds, everywhere=True)
        tiling = tile(space, gpu)
        return prepared_of(space, tiling, lower_several(part.root, space, tiling, kinds, woven))

    return remembered(part, ("several", kinds, strides, woven, gpu), make)


def _record(stage: Stage, records: Array) -> Array:
    """What of ``records`` is that of ``stage``."""
    assert stage.source is not None
    return records[:, :LIMBS] if stage.source.op in ("sum", "mean") else records


def _on_cpu(
    prepared: Prepared, inputs: Mapping[int, Array], places: Sequence[Any], stop: Stop
) -> list[Any]:
    sinks = prepared.program.sink.parts
    out = [
        cpu.start_of(sink, 1) if place is None else place
        for sink, place in zip(sinks, places, strict=True)
    ]
    table = (ctypes.c_uint64 * len(out))(*map(cpu.address_of, out))
    exact = [array for sink, array in zip(sinks, out, strict=True) if sink.kind == "exact"]
    since = 0
    with cpu.calling(prepared, inputs) as call:
        for box in boxes(prepared.loops, prepared.tiling.inner):
            if stop.is_set():
                break
            call(box, ctypes.addressof(table))
            if stop.counts:
                stop.passed(box, prepared.tiling.inner)
            since += CALL + TILE
            if since >= cpu.CARRY_AFTER:
                for array in exact:
                    carry(array.reshape(1, -1, LIMBS))
                since = 0
    return out


def _on_gpu(
    prepared: Prepared, inputs: Mapping[int, Array], places: Sequence[Any], device: int, stop: Stop
) -> list[Any]:
    import cupy

    def room(place: Any) -> Any:
        if place is None or _is_packed(place):
            return place
        return cupy.empty(place.shape, place.dtype)

    with cupy.cuda.Device(device):
        held = [room(place) for place in places]
        if prepared.program.sink.stores:
            gpu.run_store(prepared, inputs, tuple(held), device, stop)
            out: list[Any] = held
        else:
            out = _folded(prepared, inputs, held, device, stop)
        for place, array in zip(places, held, strict=True):
            if place is not array:
                place[...] = array if hasattr(place, "__cuda_array_interface__") else array.get()
    return out


def _folded(
    prepared: Prepared, inputs: Mapping[int, Array], places: Sequence[Any], device: int, stop: Stop
) -> list[Any]:
    """The record of each sink that has no place on the device to store its elements in."""
    import cupy

    program, reduced = prepared.program, prepared.loops[1]
    launcher = gpu.Launcher(prepared, inputs, device)
    by_launch: list[list[Any]] = []
    for step in launcher.windows(1):
        for r in range(0, reduced, step):
            if stop.is_set():
                raise KeyboardInterrupt
            last = min(reduced, r + step)
            pieces = max(1, min((last - r) * launcher.row_tiles, launcher.resident))
            out = tuple(
                cupy.asarray(cpu.start_of(sink, 1).view(np.uint64)) if place is None else place
                for sink, place in zip(program.sink.parts, places, strict=True)
            )
            launcher.launch((0, 1), (r, last), pieces, out)
            cupy.cuda.get_current_stream().synchronize()
            if stop.counts:
                stop.passed((0, 1, r, last, 0, int(launcher.words[4])), prepared.tiling.inner)
            by_launch.append(
                [o.get() if p is None else p for o, p in zip(out, places, strict=True)]
            )
    merged = []
    for sink, place, *records in zip(program.sink.parts, places, *by_launch, strict=True):
        if place is not None:
            merged.append(place)
            continue
        stack = np.stack([one.view(np.int64) for one in records], axis=1)
        merged.append(merge_pieces(replace(program, sink=sink), stack))
    return merged


def _is_packed(place: Any) -> bool:
    """Whether a kernel can store there."""
    return hasattr(place, "__cuda_array_interface__") and bool(place.flags.c_contiguous)


def merged_records(stage: Stage, records: Sequence[Array]) -> Array:
    """The record of a reduction from those of its parts."""
    source = stage.source
    assert isinstance(source, Reduced)
    return merge(source.op, is_exact_sum(source), records)


class Joint(ABC):
    """What a part gives of a reduction and knows how to be put together with those of others."""

    @abstractmethod
    def joined(self, stage: Stage, parts: Sequence[Any]) -> Array:
        """The results of all ``parts``, of which this is one; others may be records."""


def from_several(stage: Stage, records: Sequence[Any]) -> Any:
    """The result of a reduction from the records of its parts; on a device, if it is made there."""
    return results_of(stage, records).reshape(stage.shape)


def results_of(stage: Stage, records: Sequence[Any]) -> Any:
    """The same, in whatever shape."""
    assert isinstance(stage.source, Reduced)
    if isinstance(records[0], Finished):
        return records[0].results
    if (joint := next((one for one in records if isinstance(one, Joint)), None)) is not None:
        return joint.joined(stage, records)
    if (known := from_partials(stage, records)) is not None:
        return known
    records = [one.again() if isinstance(one, Partial) else one for one in records]
    return values(stage.source, merged_records(stage, records))


def from_records(stage: Stage, number: int, out: Destination, *parts: Outcome) -> Any:
    """Task: the result of stage ``number`` of a pass from what each part gave."""
    result = from_several(stage, [part[number] for part in parts])
    on_device = hasattr(type(result), "__cuda_array_interface__")
    if on_device or out.device is None:
        return result.get() if out.device is None and on_device else result
    array = out.take()
    array.set(result)
    return array


def merged(stage: Stage, *parts: Array | Partial) -> Array:
    """Task: the results of a reduction from what its parts give."""
    if stage.op == "prod":
        records = [one for one in parts if not isinstance(one, Partial)]
        return merged_products(shared_lines(stage), *records)
    return from_several(stage, parts)  # type: ignore[no-any-return]
