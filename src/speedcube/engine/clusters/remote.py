"""Tasks that travel: the expression of a part, compiled and run by whichever process gets it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...errors import WorkerError
from ...expr.nodes import Map, Reduced, Staged, Through
from ...late import futures
from ...plan.passes import Pass, together
from ...plan.shares import of_part
from ...plan.stages import Part, Stage, cut_reduced, cut_stage, make_stage
from ..boxes import Stop
from ..ordering.run import placed, run_through
from ..results import Destination, inputs_of, is_exact_sum, merge, values
from ..scans.parts import part_width
from ..scans.shared import carries, shared_lines
from ..several import Outcome, merged, merged_records
from ..tasks import Worker
from ..tasks import run_pass as run_shared
from .asked.here import worker_here
from .handing import GPU, AlongResults, Left, along_results, has_few, in_slices, slices_of

Array: TypeAlias = NDArray[Any]
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class SentPart:
    """A part of a stage, on its own: what to compute and how its result joins others.

    ``name left among``: how it hands its record over while it is folded (`handing.HandsOver`).
    """

    part: Part
    source: Staged | None
    axes: tuple[int, ...]
    join: str
    block: int
    name: str = ""
    left: Left | None = None
    among: int = 1

    def alone(self) -> Stage:
        """A stage that has this part only."""
        return Stage(self.part.root, self.source, self.axes, (self.part,), self.join, self.block)

    @property
    def _folds(self) -> bool:
        """Whether it gives records that can be merged with others, and hands something over."""
        reduces = isinstance(self.source, Reduced) and self.source.op != "prod"
        return bool(self.name) and reduces and not self.block

    @property
    def along_results(self) -> AlongResults | None:
        """How it is cut, where it hands its results over."""
        if not self._folds or self.source is None or self.join == "merge":
            return None
        return along_results(self.part, self.axes, self.source.dtype)

    @property
    def hands_records_over(self) -> bool:
        """Whether it hands records of all its results over."""
        few = has_few(self.part, self.axes)
        return self._folds and few and (self.join == "merge" or self.along_results is None)

    @property
    def is_folded(self) -> bool:
        """Whether its results are made of such records: it takes long, or was begun before."""
        if not self.hands_records_over:
            return False
        slices = slices_of(self.part, self.axes)
        return slices.extent > slices.step or self.left is not None


def sent_part(stage: Stage, part: Part, name: str = "") -> SentPart:
    """``part`` of ``stage`` as something that can be sent."""
    source = stage.source
    if isinstance(source, Reduced):
        source = replace(source, arg=part.root, keepdims=False)
    elif isinstance(source, Through) and stage.join == "concatenate":
        source = of_part(source, part)
    elif source is not None:
        source = replace(source, arg=part.root)
    return SentPart(part, source, stage.axes, stage.join, stage.block, name, among=len(stage.parts))


def _each(
    run: Callable[[Item], Result], parts: Iterable[Item], threads: int, stop: Stop
) -> list[Result]:
    """``run`` of every part on ``threads`` threads; all leave when one fails or ``stop`` is set."""
    with futures.ThreadPoolExecutor(threads) as pool:
        try:
            results = list(pool.map(run, parts)) if threads > 1 else [run(part) for part in parts]
        except BaseException:
            stop.set()
            raise
    if stop.is_set():
        raise WorkerError("this task was cancelled while it ran; compute again for its result")
    return results


def run_part(sent: SentPart, gpu: bool | None, threads: int | None, *arrays: Any) -> Array:
    """Task: the results of a part, or its records where others share its reduction.

    ``gpu`` None: where the worker has one; ``threads`` None: as many as the worker has.
    """
    count, worker = worker_here(gpu, threads)
    if sent.block:
        stage = sent.alone()
        return worker.partial(stage, sent.part, inputs_of(stage.sent(len(arrays)), arrays))
    if isinstance(sent.source, Through):
        stage = make_stage(sent.part.root, sent.source, count)
        given = inputs_of(stage.sent(len(arrays)), arrays)
        how = worker.device, worker.stop, worker.store, worker.walked
        made = run_through(stage, given, *how)
        return np.asarray(placed(made, Destination(stage.shape, stage.dtype)))
    if sent.alone().is_scan:
        return _scan(make_stage(sent.part.root, sent.source, count), worker, count, arrays)
    stage = cut_stage(sent.part.root, sent.source, sent.axes, sent.part.extra, count)
    inputs = inputs_of(stage.sent(len(arrays)), arrays)
    if cut := sent.along_results:
        return _results(sent, cut, worker, count, inputs)
    if "merge" in (sent.join, stage.join) or sent.is_folded:
        assert isinstance(sent.source, Reduced)
        whole = _record(sent, sent.source, worker, count, inputs)
        if sent.join == "merge":
            return whole
        return values(sent.source, whole).reshape(stage.shape)
    out = Destination(stage.shape, stage.dtype)
    run = worker.store if sent.source is None else worker.reduce
    _each(lambda part: run(stage, part, out, inputs), stage.parts, count, worker.stop)
    return np.asarray(out.array())


def _results(
    sent: SentPart, cut: AlongResults, worker: Worker, count: int, inputs: Mapping[int, Array]
) -> Array:
    """The results of a part, by slices of one of their axes."""

    def fold(part: Part) -> list[Array]:
        assert isinstance(sent.source, Reduced)
        source = replace(sent.source, arg=part.root, keepdims=False)
        alone = replace(sent, part=part, source=source, name="", join="one")
        given = [inputs[id(need)] for need in alone.alone().needs]
        return [cut.record(run_part(alone, worker.device is not None, count, *given))]

    def joined(records: list[list[Array]]) -> list[Array]:
        return [np.concatenate([one for (one,) in records])]

    return cut.results(in_slices(sent, cut.slices, _at_once(worker, count), fold, joined)[0])


def _record(
    sent: SentPart, source: Reduced, worker: Worker, count: int, inputs: Mapping[int, Array]
) -> Array:
    """The record of a part, folded on ``count`` threads."""

    def merged_records_of(records: list[list[Array]]) -> list[Array]:
        return [merge(source.op, is_exact_sum(source), [one for (one,) in records])]

    def fold(part: Part) -> list[Array]:
        stage = cut_reduced(part.root, source, sent.axes, part.extra, count)
        records = _each(
            lambda part: [worker.partial(stage, part, inputs)], stage.parts, count, worker.stop
        )
        return merged_records_of(records)

    slices = slices_of(sent.part, sent.axes)
    return in_slices(sent, slices, _at_once(worker, count), fold, merged_records_of)[0]


def _at_once(worker: Worker, count: int) -> int:
    """Slices that a worker of ``count`` threads takes at once."""
    return count if worker.device is None else GPU


@dataclass(frozen=True, eq=False)
class SentPass:
    """A part of several stages, made together or (``along``) one after the other, on its elements.

    ``name``, ``left`` and ``among`` as of a `SentPart`.
    """

    stages: tuple[SentPart, ...]
    along: bool
    name: str = ""
    left: Left | None = None
    among: int = 1


def sent_pass(one: Pass, part: Part, name: str = "") -> SentPass:
    """``part`` of ``one`` as something that can be sent."""
    assert isinstance(part.root, Map)
    alone = [replace(part, root=part.root.args[place]) for place in one.places]
    names = [f"{name}-{k}" if name and one.is_along else "" for k in range(len(alone))]
    stages = tuple(map(sent_part, one.stages, alone, names))
    folds = all(stage.source is not None for stage in one.stages)
    return SentPass(stages, one.is_along, name if folds else "", None, stages[0].among)


def run_pass(sent: SentPass, gpu: bool | None, threads: int | None, *arrays: Any) -> Outcome:
    """Task: what a part gives of each stage: its records, or the elements that it stores."""
    count, worker = worker_here(gpu, threads)
    one = together([sent_stage.alone() for sent_stage in sent.stages], count)
    needs = one.visited.needs
    if sent.along:
        given = dict(zip(map(id, needs), arrays, strict=True))
        return tuple(
            run_part(alone, gpu, threads, *(given[id(need)] for need in alone.alone().needs))
            for alone in sent.stages
        )
    out = [Destination(stage.shape, stage.dtype) for stage in one.stages]

    def run(part: Part) -> Outcome:
        return run_shared(worker, one, part, out, needs, *arrays)

    def merged_outcomes(outcomes: list[Any]) -> list[Array]:
        return [
            np.asarray(place.array())
            if stage.source is None
            else merged_records(stage, [outcome[k] for outcome in outcomes])
            for k, (stage, place) in enumerate(zip(one.stages, out, strict=True))
        ]

    if not sent.name:
        return tuple(merged_outcomes(_each(run, one.visited.parts, count, worker.stop)))

    def fold(part: Part) -> list[Array]:
        parts = cut_reduced(part.root, None, one.visited.axes, (), count).parts
        return merged_outcomes(_each(run, parts, count, worker.stop))

    root = one.visited.root
    slices = slices_of(Part(root, (), None, 0, 0), one.visited.axes)
    return tuple(in_slices(sent, slices, _at_once(worker, count), fold, merged_outcomes))


def _scan(stage: Stage, worker: Worker, count: int, arrays: Sequence[Any]) -> Array:
    """All of a scan's stage, on this worker's threads."""
    inputs, stop, parts = inputs_of(stage.needs, arrays), worker.stop, stage.parts
    out = Destination(stage.shape, stage.dtype)
    records: list[Array] = []
    if stage.block:
        folds = [stage.folded(k) for k in range(len(parts))]
        records = _each(lambda fold: worker.partial(*fold, inputs), folds, count, stop)
    if stage.join == "merge":
        return merged(stage, *records)
    before = carries(shared_lines(stage), *records) if records else {}
    _each(lambda part: worker.scan(stage, part, out, inputs, before), parts, count, stop)
    return np.asarray(out.array())


def carry_part(
    sent: SentPart, gpu: bool | None, threads: int | None, before: dict[int, Array], *arrays: Any
) -> Array:
    """Task: the results of a part of a scan that goes on where the parts before it end."""
    stage, (_, worker) = sent.alone(), worker_here(gpu, threads)
    results = np.empty(part_width(stage, sent.part), stage.dtype)
    inputs = inputs_of(stage.needs, arrays)
    scan = worker.ordered(stage, sent.part, inputs)
    scan.running(results, before.get(sent.part.start))
    return results
