"""What one Dask task does: run a part, or put the parts of a stage together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..dataclass import dataclass
from ..expr.nodes import Expr, Reduced, Scanned, Through
from ..plan.passes import Pass
from ..plan.regions import Region, folds_across, regions_of
from ..plan.stages import Part, Stage
from . import cpu
from .boxes import Stop
from .finished import along, at_once, near
from .finished import cpu as finished_cpu
from .finished.near import Partial
from .ordering.elements import AllElements
from .ordering.run import placed, run_through
from .pieces import few
from .pieces.lines import lines_taken
from .pieces.moves import moved, passes_the_cache
from .pieces.records import merged_regions
from .pieces.regions import joined as joined_regions
from .prepare import Prepared, prepare, prepare_many
from .results import Destination, Needs, inputs_of, values
from .scans.parts import ScanPart, share_of
from .several import Outcome, from_several, run_part
from .staging.late import finished, gpu, gpu_records

Array: TypeAlias = NDArray[Any]
Inputs: TypeAlias = Mapping[int, Array]
Strides: TypeAlias = tuple[int, ...] | None


@dataclass(frozen=True, eq=False)
class Worker:
    """Runs parts on the thread that calls it: on a CPU core, or on GPU ``device``.

    ``alone``: what it leaves on the GPU is read by itself, on its stream, before anybody else.
    ``here``: what its parts give is put together in this process.
    """

    stop: Stop
    device: int | None = None
    alone: bool = False
    here: bool = False

    def walked(
        self, roots: Sequence[Expr], inputs: Inputs, threads: int
    ) -> list[AllElements] | None:
        """The elements of each of ``roots`` that are read block after block; None: in memory."""
        return None

    def ordered(self, stage: Stage, part: Part, inputs: Inputs) -> ScanPart:
        """A part whose elements are taken in their order."""
        return ScanPart(stage, part, inputs, self.device, self.stop)

    def store(self, stage: Stage, part: Part, out: Destination, inputs: Inputs) -> None:
        """The part's elements into its slice of ``out``."""
        share = share_of(stage, part, out.array())
        regions = regions_of(stage, part)
        if not regions:
            self.store_into(stage, part, share, inputs, part.axis is None)
        for region in few.left(regions, share, inputs, self.device):
            if not self.stop.is_set():
                here = share[region.kept]
                self.store_into(region.stage, region.part, here, inputs, False)

    def store_into(self, stage: Stage, part: Part, share: Any, inputs: Inputs, whole: bool) -> None:
        """The elements of one kernel into ``share``: the ``whole`` result, or a slice of it."""
        if not share.size:
            return
        by_kernel = self.device is None and passes_the_cache(part.root, share)
        if not by_kernel and moved(part.root, inputs, share, self.stop):
            return
        if self.device is None and lines_taken(part.root, inputs, share, self.stop):
            return
        if self.device is None:
            packed = whole and share.flags.c_contiguous
            strides = None if packed else tuple(s // share.itemsize for s in share.strides)
            cpu.run_store(self.prepared(stage, part, strides), inputs, share, self.stop)
        else:
            self._gpu_store(stage, part, share, inputs, whole)

    def _gpu_store(self, stage: Stage, part: Part, share: Any, inputs: Inputs, whole: bool) -> None:
        import cupy

        assert self.device is not None
        with cupy.cuda.Device(self.device):
            on_gpu = hasattr(share, "__cuda_array_interface__")
            here = on_gpu and share.device.id == self.device
            out = share if here else cupy.empty(share.shape, stage.dtype)
            strides = tuple(s // share.itemsize for s in share.strides)
            prepared = self.prepared(stage, part, strides if here and not whole else None)
            gpu.run_store(prepared, inputs, out, self.device, self.stop, not (self.alone and here))
            if not here:
                share[...] = out if on_gpu else out.get()

    def prepared(self, stage: Stage, part: Part, strides: Strides = None) -> Prepared:
        return prepare(stage, part, strides, gpu=self.device is not None)

    def records(
        self, prepared: Prepared, inputs: Inputs, consume: cpu.Consume, block: int = cpu.RECORDS
    ) -> None:
        """Hand the part's records to ``consume``."""
        if self.device is None:
            cpu.run_records(prepared, inputs, self.stop, consume, block)
            return
        import cupy

        with cupy.cuda.Device(self.device):
            gpu_records.run_records(prepared, inputs, self.device, self.stop, consume, block)

    def reduce(self, stage: Stage, part: Part, out: Destination, inputs: Inputs) -> None:
        """The part's finished results into its slice of ``out``."""
        self.reduce_into(stage, part, share_of(stage, part, out.array()), inputs)

    def reduce_into(self, stage: Stage, part: Part, share: Any, inputs: Inputs) -> None:
        """The part's finished results into ``share``."""
        if stage.op == "prod" and share.flags.c_contiguous:
            return self.ordered(stage, part, inputs).products(share.reshape(-1))
        results = self.reduced(stage, part, inputs, share.shape, share)
        if hasattr(results, "__cuda_array_interface__"):
            return
        if hasattr(share, "__cuda_array_interface__"):
            share.set(results)
        elif not np.may_share_memory(results, share):
            share[...] = results

    def reduced(
        self, stage: Stage, part: Part, inputs: Inputs, shape: tuple[int, ...], out: Any = None
    ) -> Array:
        """The part's finished results, in ``out`` if that is where they can be made."""
        assert isinstance(stage.source, Reduced)
        regions = regions_of(stage, part)
        if folds_across(stage, part):
            return values(stage.source, self.partial(stage, part, inputs)).reshape(shape)
        if regions:

            def each(region: Region, share: Any) -> None:
                self.reduce_into(region.stage, region.part, share, inputs)

            made = few.in_memory(regions, inputs, self.device)
            return joined_regions(made, each, shape, stage.dtype, out, self.device)  # type: ignore[no-any-return]
        here = self.device is None
        if here and (found := at_once.results_of(stage, part, inputs, self.stop, out)) is not None:
            return found.reshape(shape)
        many = prepare_many(stage, part, self.device is not None)
        if many and (results := self.finished(stage, part, many, inputs, out)) is not None:
            return results.reshape(shape)  # type: ignore[no-any-return]
        if (known := self.known(stage, part, inputs)) is not None:
            return from_several(stage, [known]).reshape(shape)  # type: ignore[no-any-return]
        flat = np.empty(math.prod(shape), stage.dtype)
        if stage.op == "prod":
            self.ordered(stage, part, inputs).products(flat)
            return flat.reshape(shape)
        source, prepared = stage.source, self.prepared(stage, part)

        def finish(first: int, records: Array) -> None:
            flat[first : first + len(records)] = values(source, records)

        if flat.size and 0 in part.root.shape:
            finish(0, cpu.initial_records(prepared.program, flat.size))
        elif flat.size:
            self.records(prepared, inputs, finish)
        return flat.reshape(shape)

    def finished(self, stage: Stage, part: Part, many: Prepared, inputs: Inputs, out: Any) -> Any:
        """The part's results, by a kernel that finishes them; None: by records, all of them."""
        assert isinstance(stage.source, Reduced)
        if self.device is not None:
            share = finished.FinishedPart(many, inputs, self.device, out)
            return share.run(stage.source, self.prepared(stage, part), self.stop)
        return finished_cpu.run_repaired(stage, part, many, inputs, self.stop, out)

    def along(self, one: Pass, part: Part, shares: Sequence[Any], inputs: Inputs) -> Outcome:
        """A part of several reductions along the same axes, as `several`: by one kernel or each."""
        own = along.own_parts(one, part)
        if one.visited.join == "merge":
            return tuple(self.partial(*its, inputs) for its in own)
        if not along.run(one, part, shares, inputs, self.device, self.stop):
            for its, share in zip(own, shares, strict=True):
                self.reduce_into(*its, share, inputs)
        return (None,) * len(shares)

    def several(self, one: Pass, part: Part, shares: Sequence[Any], inputs: Inputs) -> Outcome:
        """A part of several stages: stored in ``shares``, or the records it gives."""
        if one.is_along:
            return self.along(one, part, shares, inputs)
        if self.here and (found := along.numbers(self, one, part, inputs)):
            return found
        for region in (regions := regions_of(one.visited, part)):
            here = [share[region.kept] for share in shares]  # of pieces there are no reductions
            run_part(one, region.part, here, inputs, self.device, self.stop)
        if regions:
            return (None,) * len(shares)
        return run_part(one, part, shares, inputs, self.device, self.stop)

    def known(self, stage: Stage, part: Part, inputs: Inputs) -> Partial | None:
        """What the part knows of a spread of a long array, which records take long for."""
        if self.device is not None or not self.here or regions_of(stage, part):
            return None
        return near.number_of(stage, part, inputs, self.stop, self.partial)

    def shared(self, stage: Stage, part: Part, inputs: Inputs) -> Any:
        return self.known(stage, part, inputs) or self.partial(stage, part, inputs)

    def partial(self, stage: Stage, part: Part, inputs: Inputs) -> Array:
        """The part's records, to be merged with those of the other parts."""
        if stage.is_scan:
            return self.ordered(stage, part, inputs).record()
        if regions := regions_of(stage, part):
            regions = tuple(few.in_memory(regions, inputs, self.device))
            each = [self.partial(region.stage, region.part, inputs) for region in regions]
            return merged_regions(stage, part, regions, each)
        prepared, collected = self.prepared(stage, part), list[Array]()

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
            share = share_of(stage, part, out.array())
            self.ordered(stage, part, inputs).running(share, before.get(part.start))
        else:
            self.reduce(stage, part, out, inputs)


def run_joined(
    worker: Worker, stage: Stage, part: Part, out: Destination, needs: Needs, *arrays: Any
) -> Any:
    """Task: a part whose results are its own; gives the destination if there is no other part."""
    inputs = inputs_of(needs, arrays)
    if isinstance(stage.source, Through):
        how = worker.device, worker.stop, worker.store, worker.walked
        return placed(run_through(stage, inputs, *how), out)
    if stage.source is None:
        worker.store(stage, part, out, inputs)
    elif isinstance(stage.source, Scanned):
        worker.scan(stage, part, out, inputs, {})
    elif stage.join == "one" and out.device is None:
        return worker.reduced(stage, part, inputs, stage.shape)
    else:
        worker.reduce(stage, part, out, inputs)
    return out.take() if stage.join == "one" else None


def run_partial(worker: Worker, stage: Stage, part: Part, needs: Needs, *arrays: Any) -> Any:
    """Task: a part of a reduction that others share."""
    return worker.shared(stage, part, inputs_of(needs, arrays))


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


def run_pass(
    worker: Worker,
    one: Pass,
    part: Part,
    out: Sequence[Destination],
    needs: Needs,
    *arrays: Any,
) -> Outcome:
    """Task: a part of several stages that are made together; the records of the reductions."""
    shares = [
        None if one.gives_records(stage) else share_of(stage, part, place.array())
        for stage, place in zip(one.stages, out, strict=True)
    ]
    return worker.several(one, part, shares, inputs_of(needs, arrays))


def joined(out: Destination, *parts: Any) -> Any:
    """Task: the destination, once every part has been written."""
    return out.take()
