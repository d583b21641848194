"""A plan as tasks of a Dask cluster: one for each part and one that joins them, on any `Client`."""

from __future__ import annotations

import uuid
from typing import Any

from dask._task_spec import Task, TaskRef

from ...expr.nodes import Reduced
from ...plan.plan import Plan
from ...plan.stages import Stage
from ..shared_lines import carries, merged_products, shared_lines
from .client import worker_addresses
from .remote import (
    carry_part,
    chain_parts,
    final_shape,
    join_parts,
    merge_parts,
    run_part,
    sent_part,
)


def graph_of(
    plan: Plan,
    shape: tuple[int, ...],
    ready: dict[int, Any],
    name: str,
    gpu: bool | None = None,
    threads: int | None = None,
) -> dict[Any, Any]:
    """Tasks of ``plan`` that can run anywhere; the result is task ``name``."""
    tasks: dict[Any, Any] = {}
    key = name
    for k, stage in enumerate(plan.stages):
        key = f"{name}-{k}"
        _stage(tasks, key, stage, ready, gpu, threads)
        if stage.source is not None:
            ready[id(stage.source)] = TaskRef(key)
    tasks[name] = Task(name, final_shape, shape, TaskRef(key))
    return tasks


def _stage(
    tasks: dict[Any, Any],
    key: str,
    stage: Stage,
    ready: dict[int, Any],
    gpu: bool | None,
    threads: int | None,
) -> None:
    arrays = [ready[id(need)] for need in stage.needs]
    if stage.join == "one":
        part = sent_part(stage, stage.parts[0])
        tasks[key] = Task(key, run_part, part, gpu, threads, *arrays)
        return
    sent = [sent_part(stage, part) for part in stage.parts]
    folds = [sent_part(*stage.folded(k)) for k in range(len(sent))]
    names = [f"{key}-part-{k}" for k in range(len(sent))]
    for name, part in zip(names, folds, strict=True):
        tasks[name] = Task(name, run_part, part, gpu, threads, *arrays)
    if stage.join == "carry":
        before = f"{key}-before"
        tasks[before] = Task(
            before, carries, shared_lines(stage), *(TaskRef(name) for name in names)
        )
        names = [f"{key}-carried-{k}" for k in range(len(sent))]
        for name, part in zip(names, sent, strict=True):
            tasks[name] = Task(name, carry_part, part, gpu, threads, TaskRef(before), *arrays)
    function, arguments = _joining(stage)
    tasks[key] = Task(key, function, *arguments, *(TaskRef(name) for name in names))


def run_on(client: Any, plan: Plan, shape: tuple[int, ...], ready: dict[int, Any]) -> Any:
    """The result of ``plan`` from ``client``'s workers: one part on each."""
    workers = worker_addresses(client)
    name = f"speedcube-{uuid.uuid4().hex}"
    futures: list[Any] = []

    def submit(key: str, worker: int, function: Any, *arguments: Any) -> Any:
        where = [workers[worker % len(workers)]]
        future = client.submit(
            function, *arguments, key=key, pure=False, workers=where, allow_other_workers=True
        )
        futures.append(future)
        return future

    try:
        for k, stage in enumerate(plan.stages):
            future = _submit_stage(submit, f"{name}-{k}", stage, ready)
            if stage.source is not None:
                ready[id(stage.source)] = future
        return final_shape(shape, future.result())
    except BaseException:
        client.cancel(futures)
        raise


def _submit_stage(submit: Any, key: str, stage: Stage, ready: dict[int, Any]) -> Any:
    arrays = [ready[id(need)] for need in stage.needs]
    sent = [sent_part(stage, part) for part in stage.parts]
    parts = [
        submit(f"{key}-part-{k}", k, run_part, sent_part(*stage.folded(k)), None, None, *arrays)
        for k in range(len(sent))
    ]
    if stage.join == "carry":
        before = submit(f"{key}-before", 0, carries, shared_lines(stage), *parts)
        parts = [
            submit(f"{key}-carried-{k}", k, carry_part, part, None, None, before, *arrays)
            for k, part in enumerate(sent)
        ]
    if stage.join == "one":
        return parts[0]
    function, arguments = _joining(stage)
    return submit(key, 0, function, *arguments, *parts)


def _joining(stage: Stage) -> tuple[Any, tuple[Any, ...]]:
    """The task that puts the parts of ``stage`` together, and its first arguments."""
    if stage.join == "carry":
        return chain_parts, (stage.shape,)
    if stage.block:
        return merged_products, (shared_lines(stage),)
    if stage.join == "merge":
        source = stage.source
        assert isinstance(source, Reduced)
        return merge_parts, (source, stage.shape)
    axis = stage.parts[0].axis
    assert axis is not None
    kept = [k for k in range(len(stage.root.shape)) if k not in stage.axes]
    return join_parts, (kept.index(axis),)
