"""What one Dask task does: run a part, or put the parts of a stage together."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import dtypes
from ..expr.nodes import Deferred, Reduced, Scanned, StageResult
from ..plan.stages import Part, Stage
from . import cpu, finished, gpu
from .boxes import Stop
from .prepare import Prepared, prepare, prepare_dots, prepare_folded, prepare_many
from .results import merge, values
from .scans.parts import ScanPart, carried_share
from .scans.shared import merged_products, shared_lines

Array: TypeAlias = NDArray[Any]
Inputs: TypeAlias = Mapping[int, Array]


@dataclass(eq=False)
class Destination:
    """The result array that the workers of one process write into; made when first needed."""

    shape: tuple[int, ...]
    dtype: str
    device: int | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _array: Any = None

    def array(self) -> Any:
        with self._lock:
            if self._array is None:
                self._array = self._make()
            return self._array

    def take(self) -> Any:
        """The array, of which this keeps nothing: it goes when nobody needs it any more."""
        array = self.array()
        with self._lock:
            self._array = None
        return array

    def _make(self) -> Any:
        if self.device is None:
            return np.empty(self.shape, self.dtype)
        import cupy

        with cupy.cuda.Device(self.device):
            return cupy.empty(self.shape, self.dtype)


@dataclass(frozen=True, eq=False)
class Worker:
    """Runs parts on the thread that calls it: on a CPU core, or on GPU ``device``."""

    stop: Stop
    device: int | None = None

    def ordered(self, stage: Stage, part: Part, inputs: Inputs) -> ScanPart:
        """A part whose elements are taken in their order."""
        return ScanPart(stage, part, inputs, self.device, self.stop)

    def store(self, stage: Stage, part: Part, out: Destination, inputs: Inputs) -> None:
        """The part's elements into its slice of ``out``."""
        share = _share(stage, part, out.array())
        if not share.size:
            return
        if self.device is None:
            strides = tuple(s // share.itemsize for s in share.strides)
            prepared = prepare(stage, part, strides if part.axis is not None else None)
            cpu.run_store(prepared, inputs, share, self.stop)
        else:
            self._gpu_store(stage, part, share, inputs)

    def _gpu_store(self, stage: Stage, part: Part, share: Any, inputs: Inputs) -> None:
        import cupy

        prepared = prepare(stage, part, None)
        assert self.device is not None
        with cupy.cuda.Device(self.device):
            whole = part.axis is None and hasattr(share, "__cuda_array_interface__")
            buffer = share if whole else cupy.empty(share.shape, stage.dtype)
            gpu.run_store(prepared, inputs, buffer, self.device, self.stop)
            if not whole:
                share[...] = buffer if hasattr(share, "__cuda_array_interface__") else buffer.get()

    def records(
        self, prepared: Prepared, inputs: Inputs, consume: cpu.Consume, block: int = cpu.RECORDS
    ) -> None:
        """Hand the part's records to ``consume``."""
        if self.device is None:
            cpu.run_records(prepared, inputs, self.stop, consume, block)
            return
        import cupy

        with cupy.cuda.Device(self.device):
            gpu.run_records(prepared, inputs, self.device, self.stop, consume, block)

    def reduce(self, stage: Stage, part: Part, out: Destination, inputs: Inputs) -> None:
        """The part's finished results into its slice of ``out``."""
        share = _share(stage, part, out.array())
        if stage.op == "prod" and isinstance(share, np.ndarray) and share.flags.c_contiguous:
            self.ordered(stage, part, inputs).products(share.reshape(-1))
            return
        results = self.reduced(stage, part, inputs, share.shape, share)
        if hasattr(share, "__cuda_array_interface__"):
            share.set(results)
        elif not np.may_share_memory(results, share):
            share[...] = results

    def reduced(
        self, stage: Stage, part: Part, inputs: Inputs, shape: tuple[int, ...], out: Any = None
    ) -> Array:
        """The part's finished results, in ``out`` if that is where they can be made."""
        assert isinstance(stage.source, Reduced)
        many = None
        if self.device is None:
            many = prepare_many(stage, part) or prepare_dots(stage, part)
        if many is not None:
            return self.finished(stage, part, many, inputs, out).reshape(shape)
        if self.device is None and (folded := prepare_folded(stage, part)) is not None:
            return finished.run_folded(folded, inputs, self.stop, stage.dtype, out).reshape(shape)
        flat = np.empty(math.prod(shape), stage.dtype)
        if stage.op == "prod":
            self.ordered(stage, part, inputs).products(flat)
            return flat.reshape(shape)
        source, prepared = stage.source, prepare(stage, part, None)

        def finish(first: int, records: Array) -> None:
            flat[first : first + len(records)] = values(source, records)

        if flat.size and 0 in part.root.shape:
            finish(0, cpu.initial_records(prepared.program, flat.size))
        elif flat.size:
            self.records(prepared, inputs, finish)
        return flat.reshape(shape)

    def finished(self, stage: Stage, part: Part, many: Prepared, inputs: Inputs, out: Any) -> Array:
        """The part's results, by a kernel that finishes them; by records where it could not."""
        assert isinstance(stage.source, Reduced)
        results, failed = finished.run_finished(many, inputs, self.stop, out)
        if len(failed):
            rest = cpu.run_some(prepare(stage, part, None), inputs, self.stop, failed)
            for places, records in rest:
                results[places] = values(stage.source, records)
        with np.errstate(over="ignore"):
            return results.astype(stage.dtype, copy=False)

    def partial(self, stage: Stage, part: Part, inputs: Inputs) -> Array:
        """The part's records, to be merged with those of the other parts."""
        if stage.is_scan:
            return self.ordered(stage, part, inputs).record()
        prepared: Prepared = prepare(stage, part, None)
        collected: list[Array] = []

        def keep(_: int, records: Array) -> None:
            collected.append(records)

        self.records(prepared, inputs, keep, prepared.loops[0])
        return collected[0] if collected else cpu.initial_records(prepared.program, 0)

    def scan(
        self,
        stage: Stage,
        part: Part,
        out: Destination,
        inputs: Inputs,
        before: Mapping[int, Array],
    ) -> None:
        """The results of a scan's part into its slice of ``out``."""
        if isinstance(stage.source, Scanned):
            share = _share(stage, part, out.array())
            self.ordered(stage, part, inputs).running(share, before.get(part.start))
        else:
            self.reduce(stage, part, out, inputs)


def _share(stage: Stage, part: Part, whole: Any) -> Any:
    """The elements of a stage's result that ``part`` produces."""
    if stage.join == "carry":
        return carried_share(stage, part, whole)
    if part.axis is None:
        return whole
    kept = [k for k in range(len(stage.root.shape)) if k not in stage.axes]
    item = [slice(None)] * whole.ndim
    item[kept.index(part.axis)] = slice(part.start, part.stop)
    return whole[tuple(item)]


Needs: TypeAlias = Sequence[StageResult | Deferred]


def inputs_of(needs: Needs, arrays: Sequence[Any]) -> dict[int, Array]:
    """``arrays`` by the ids of the sources they stand for, laid out as kernels read them."""
    return {
        id(need): array
        if hasattr(array, "__cuda_array_interface__")
        else np.ascontiguousarray(array, dtype=need.dtype)
        for need, array in zip(needs, arrays, strict=True)
    }


def run_joined(
    worker: Worker, stage: Stage, part: Part, out: Destination, needs: Needs, *arrays: Any
) -> Any:
    """Task: a part whose results are its own; gives the destination if there is no other part."""
    inputs = inputs_of(needs, arrays)
    if stage.source is None:
        worker.store(stage, part, out, inputs)
    elif isinstance(stage.source, Scanned):
        worker.scan(stage, part, out, inputs, {})
    elif stage.join == "one" and out.device is None:
        return worker.reduced(stage, part, inputs, stage.shape)
    else:
        worker.reduce(stage, part, out, inputs)
    return out.take() if stage.join == "one" else None


def run_partial(worker: Worker, stage: Stage, part: Part, needs: Needs, *arrays: Any) -> Array:
    """Task: a part of a reduction that others share."""
    return worker.partial(stage, part, inputs_of(needs, arrays))


def run_carried(
    worker: Worker,
    stage: Stage,
    part: Part,
    out: Destination,
    needs: Needs,
    before: Mapping[int, Array],
    *arrays: Any,
) -> None:
    """Task: a part of a scan that goes on where the parts before it end."""
    worker.scan(stage, part, out, inputs_of(needs, arrays), before)


def joined(out: Destination, *parts: Any) -> Any:
    """Task: the destination, once every part has been written."""
    return out.take()


def merged(stage: Stage, *records: Array) -> Array:
    """Task: the results of a reduction from the records of its parts."""
    source = stage.source
    if stage.op == "prod":
        return merged_products(shared_lines(stage), *records)
    assert isinstance(source, Reduced)
    whole = merge(source.op, is_exact_sum(source), records)
    return values(source, whole).reshape(stage.shape)


def is_exact_sum(source: Reduced) -> bool:
    """Whether the records of ``source`` are limbs."""
    return source.op in ("mean", "var", "std") or dtypes.is_float(source.arg.dtype)


def shaped(array: Array, shape: tuple[int, ...]) -> Any:
    """What the user gets: ``array`` in the expression's shape, a NumPy scalar for 0-d."""
    array = array.reshape(shape)
    return array if hasattr(array, "__cuda_array_interface__") else array[()]
