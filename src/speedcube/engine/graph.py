"""A plan as a Dask graph: one task a part, one a join; every rung runs the same shape of graph."""

from __future__ import annotations

from dataclasses import field
from functools import partial
from itertools import count
from typing import Any

from ..dataclass import dataclass
from ..errors import RungError
from ..expr.nodes import StageResult
from ..late import dask, task_spec
from ..plan.blocks import Blocked
from ..plan.passes import Pass
from ..plan.plan import Plan
from ..plan.stages import Stage
from .boxes import Stop
from .dealing.tasks import can_be_dealt, deal_tasks
from .known.rows import run_rows
from .results import Destination, Destinations
from .rungs import Rung
from .scans.shared import carries, shared_lines
from .several import from_records, merged
from .streams.worker import StreamWorker
from .tasks import (
    Worker,
    joined,
    run_carried,
    run_joined,
    run_partial,
    run_pass,
)

_serial = count()  # keys need to differ only within one call of a scheduler


@dataclass(frozen=True, eq=False)
class Graph:
    """Tasks by key, the keys of the results, and the event that makes running parts stop."""

    tasks: dict[Any, Any]
    keys: tuple[str, ...]
    stop: Stop = field(default_factory=Stop)


def build_graph(
    plan: Plan,
    deferred: dict[int, Any],
    devices: tuple[int, ...] = (),
    leave_on_gpu: bool = False,
    stop: Stop | None = None,
    cores: int = 0,
) -> Graph:
    """The graph of ``plan`` on the threads of this process, or one thread for each GPU.

    GPUs share with ``cores`` threads what can be cut anywhere; the rest is theirs.
    ``deferred`` maps each deferred source to the value it gives; ``leave_on_gpu`` leaves the
    results on the first one. Parts leave once ``stop`` is set.
    """
    token = f"speedcube-{next(_serial)}"
    stop = Stop() if stop is None else stop
    kind = StreamWorker if plan.streams else Worker
    workers = [kind(stop, device) for device in devices] or [kind(stop, here=True)]
    sharing = [*workers, *(kind(stop) for _ in range(cores))] if cores and not leave_on_gpu else []
    tasks: dict[Any, Any] = {}
    ready: dict[int, Any] = dict(deferred)
    asked = {id(result) for result in plan.results}
    destinations = Destinations(plan)

    def destination(stage: Stage) -> Destination:
        is_result = id(stage.result) in asked
        stays = (
            leave_on_gpu if is_result else not stage.is_scan and len(devices) == 1 and not sharing
        )
        first = devices[0] if devices else None
        place = first if stays else None
        order = plan.order(stage) if not devices else None
        return destinations(stage, place, order)

    chains = {} if devices else {chain.end - 1: chain for chain in plan.blocks}
    inside = {k for end, chain in chains.items() for k in range(chain.first, end)}
    for k, one in enumerate(plan.passes):
        if k in inside:
            continue  # what a core makes of it is gone with its block
        key = f"{token}-{k}"
        out = [destination(stage) for stage in one.stages]
        names = [key]
        if k in chains:
            _row_tasks(tasks, key, chains[k], plan.workers, workers[0], ready, out[0])
        elif sharing and can_be_dealt(one):
            names = [f"{key}-{n}" for n in range(len(out))]
            deal_tasks(tasks, names, one, sharing, ready, out)
        elif one.together is None:
            _stage_tasks(tasks, key, one.visited, workers, ready, out[0])
        else:
            names = [f"{key}-{n}" for n in range(len(out))]
            _pass_tasks(tasks, names, one, workers, ready, out)
        for stage, name in zip(one.stages, names, strict=True):
            ready[id(stage.result)] = task_spec.TaskRef(name)
    return Graph(tasks, tuple(str(ready[id(result)].key) for result in plan.results), stop)


def _pass_tasks(
    tasks: dict[Any, Any],
    names: list[str],
    one: Pass,
    workers: list[Worker],
    ready: dict[int, Any],
    out: list[Destination],
) -> None:
    """The tasks of a pass of several stages; those of ``names`` give their results."""
    needs = one.visited.needs
    arrays = [ready[id(need)] for need in needs]
    refs = []
    for k, part in enumerate(one.visited.parts):
        name = f"{names[0]}-part-{k}"
        refs.append(task_spec.TaskRef(name))
        run = partial(run_pass, workers[k % len(workers)], one, part, out, needs)
        tasks[name] = task_spec.Task(name, run, *arrays)
    for k, (name, stage) in enumerate(zip(names, one.stages, strict=True)):
        if one.gives_records(stage):
            tasks[name] = task_spec.Task(name, partial(from_records, stage, k, out[k]), *refs)
        else:
            tasks[name] = task_spec.Task(name, partial(joined, out[k]), *refs)


def _row_tasks(
    tasks: dict[Any, Any],
    key: str,
    chain: Blocked,
    count: int,
    worker: Worker,
    ready: dict[int, Any],
    out: Destination,
) -> None:
    """The tasks of ``count`` workers, who share the blocks of ``chain``."""
    needs = [source for source, _ in chain.sources if isinstance(source, StageResult)]
    arrays = [ready[id(need)] for need in needs]
    refs = []
    for k in range(count):
        name = f"{key}-rows-{k}"
        refs.append(task_spec.TaskRef(name))
        tasks[name] = task_spec.Task(
            name, partial(run_rows, worker, chain, (k, count), out, needs), *arrays
        )
    tasks[key] = task_spec.Task(key, partial(joined, out), *refs)


def _stage_tasks(
    tasks: dict[Any, Any],
    key: str,
    stage: Stage,
    workers: list[Worker],
    ready: dict[int, Any],
    out: Destination,
) -> None:
    # What a task does not depend on is bound beforehand: Dask looks into every argument.
    needs = stage.needs
    arrays = [ready[id(need)] for need in needs]
    if stage.join == "one":
        part = stage.parts[0]
        tasks[key] = task_spec.Task(
            key, partial(run_joined, workers[0], stage, part, out, needs), *arrays
        )
        return
    refs = []
    for k, part in enumerate(stage.parts):
        name, worker = f"{key}-part-{k}", workers[k % len(workers)]
        refs.append(task_spec.TaskRef(name))
        if stage.join in ("merge", "carry"):
            run = partial(run_partial, worker, *stage.folded(k), needs)
        else:
            run = partial(run_joined, worker, stage, part, out, needs)
        tasks[name] = task_spec.Task(name, run, *arrays)
    if stage.join == "carry":
        before = f"{key}-before"
        tasks[before] = task_spec.Task(before, partial(carries, shared_lines(stage)), *refs)
        refs = []
        for k, part in enumerate(stage.parts):
            name, worker = f"{key}-carried-{k}", workers[k % len(workers)]
            refs.append(task_spec.TaskRef(name))
            go_on = partial(run_carried, worker, stage, part, out, needs)
            tasks[name] = task_spec.Task(name, go_on, task_spec.TaskRef(before), *arrays)
    if stage.join == "merge":
        tasks[key] = task_spec.Task(key, partial(merged, stage), *refs)
    else:
        tasks[key] = task_spec.Task(key, partial(joined, out), *refs)


def scheduler_of(rung: Rung) -> Any:
    """Dask's function that runs a graph on ``rung``."""
    # Said here, because asking Dask's configuration for each costs as much as a small kernel.
    settings: Any = {"cache": {}, "chunksize": 1, "rerun_exceptions_locally": False}
    if rung.kind in ("core", "gpu"):
        return partial(dask.local.get_sync, **settings)
    if rung.kind in ("cores", "gpus"):
        return partial(dask.threaded.get, num_workers=rung.workers, **settings)
    raise RungError(f"no engine for {rung.name}")
