"""Tasks that travel: a part runs on whichever process gets it, on its threads or its GPU.

A task carries the expression of its part; the worker lowers it, and compiles the kernel or finds
it in its cache. Nothing is shared with the process that planned.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import WorkerError
from ...expr.nodes import Reduced, Staged
from ...plan.stages import Part, Stage, cut_stage, make_stage
from .. import machine
from ..results import merge, values
from ..scan import carries, shared
from ..stop import Stop
from ..tasks import Destination, Worker, inputs_of, is_exact_sum, merged, part_width

Array: TypeAlias = NDArray[Any]
Given = TypeVar("Given")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Job:
    """A part of a stage, on its own: what to compute and how its result joins others."""

    part: Part
    source: Staged | None
    axes: tuple[int, ...]
    join: str
    block: int

    @property
    def ordered(self) -> bool:
        return self.alone().ordered

    def alone(self) -> Stage:
        """A stage that has this part only."""
        return Stage(self.part.root, self.source, self.axes, (self.part,), self.join, self.block)


def job_of(stage: Stage, part: Part) -> Job:
    """``part`` of ``stage`` as something that can be sent."""
    source = stage.source
    if isinstance(source, Reduced):
        source = replace(source, arg=part.root, keepdims=False)
    elif source is not None:
        source = replace(source, arg=part.root)
    return Job(part, source, stage.axes, stage.join, stage.block)


def worker_threads() -> int:
    """Threads of the Dask worker this runs on; this machine's cores elsewhere."""
    from distributed import get_worker

    try:
        return int(get_worker().state.nthreads)
    except ValueError:
        return machine.cores()


def use_gpu() -> bool:
    """Whether this process was started for a GPU: dask-cuda prepared it, and it sees one."""
    return "dask_cuda" in sys.modules and machine.gpu_count() > 0


class TaskStop(Stop):
    """Raised also when Dask cancels the task of this thread: whoever asked pressed Ctrl-C.

    And when the program ends, which waits for its threads: Dask's threaded scheduler leaves its
    own to finish what nobody waits for any more.
    """

    __slots__ = ("task",)

    def __init__(self) -> None:
        super().__init__()
        self.task = _current_task()

    def is_set(self) -> bool:
        cancelled = self.task is not None and self.task.state == "cancelled"
        # No public name says so this early.
        if cancelled or getattr(threading, "_SHUTTING_DOWN", False):
            self.set()
        return self.raised


def _current_task() -> Any:
    """What the Dask worker knows of the task this thread runs; None elsewhere."""
    from distributed import get_worker

    try:
        worker = get_worker()
        return worker.state.tasks.get(worker.get_current_task())
    except (ValueError, KeyError):
        return None


def _each(
    run: Callable[[Given], Result], parts: Iterable[Given], threads: int, stop: Stop
) -> list[Result]:
    """``run`` of every part on ``threads`` threads; all leave when one fails or ``stop`` is set."""
    with ThreadPoolExecutor(threads) as pool:
        try:
            found = list(pool.map(run, parts)) if threads > 1 else [run(part) for part in parts]
        except BaseException:
            stop.set()
            raise
    if stop.is_set():
        raise WorkerError("this task was cancelled while it ran; compute again for its result")
    return found


def _worker(gpu: bool | None, threads: int | None) -> tuple[int, Worker]:
    """Threads to use, and what runs parts on them."""
    on_gpu = use_gpu() if gpu is None else gpu
    count = 1 if on_gpu else worker_threads() if threads is None else threads
    return count, Worker(TaskStop(), 0 if on_gpu else None)


def run_job(job: Job, gpu: bool | None, threads: int | None, *arrays: Any) -> Array:
    """Task: the results of a part, or its records where others share its reduction.

    ``gpu`` None: where the worker has one; ``threads`` None: as many as the worker has.
    """
    count, worker = _worker(gpu, threads)
    if job.block:
        stage = job.alone()
        return worker.partial(stage, job.part, inputs_of(stage.needs, arrays))
    if job.ordered:
        return _ordered(make_stage(job.part.root, job.source, count), worker, count, arrays)
    stage = cut_stage(job.part.root, job.source, job.axes, job.part.extra, count)
    stop = worker.stop
    inputs = inputs_of(stage.needs, arrays)
    if job.join == "merge" or stage.join == "merge":
        records = _each(lambda part: worker.partial(stage, part, inputs), stage.parts, count, stop)
        assert isinstance(job.source, Reduced)
        whole = merge(job.source.op, is_exact_sum(job.source), records)
        if job.join == "merge":
            return whole
        return values(job.source, whole).reshape(stage.shape)
    out = Destination(stage.shape, stage.dtype)
    run = worker.store if job.source is None else worker.reduce
    _each(lambda part: run(stage, part, out, inputs), stage.parts, count, stop)
    return np.asarray(out.array())


def _ordered(stage: Stage, worker: Worker, count: int, arrays: Sequence[Any]) -> Array:
    """All of a stage whose elements have an order, on this worker's threads."""
    inputs, stop, parts = inputs_of(stage.needs, arrays), worker.stop, stage.parts
    out = Destination(stage.shape, stage.dtype)
    records: list[Array] = []
    if stage.block:
        folds = [stage.folded(k) for k in range(len(parts))]
        records = _each(lambda fold: worker.partial(*fold, inputs), folds, count, stop)
    if stage.join == "merge":
        return merged(stage, *records)
    before = carries(shared(stage), *records) if records else {}
    _each(lambda part: worker.ordered(stage, part, out, inputs, before), parts, count, stop)
    return np.asarray(out.array())


def carry_job(
    job: Job, gpu: bool | None, threads: int | None, before: dict[int, Array], *arrays: Any
) -> Array:
    """Task: the results of a part of a scan that goes on where the parts before it end."""
    stage, (_, worker) = job.alone(), _worker(gpu, threads)
    found = np.empty(part_width(stage, job.part), stage.dtype)
    inputs = inputs_of(stage.needs, arrays)
    worker.scan(stage, job.part, found, inputs, before.get(job.part.start))
    return found


def chain_parts(shape: tuple[int, ...], *parts: Array) -> Array:
    """Task: parts of lines, one after the other."""
    return np.concatenate(parts).reshape(shape)


def join_parts(axis: int, *parts: Array) -> Array:
    """Task: parts of a result, one after the other along ``axis``."""
    return np.concatenate(parts, axis=axis)


def merge_parts(source: Reduced, shape: tuple[int, ...], *records: Array) -> Array:
    """Task: the results of a reduction from the records of its parts."""
    whole = merge(source.op, is_exact_sum(source), records)
    return values(source, whole).reshape(shape)


def final_shape(shape: tuple[int, ...], array: Array) -> Any:
    """Task: the result in the expression's shape."""
    return array.reshape(shape)[()]
