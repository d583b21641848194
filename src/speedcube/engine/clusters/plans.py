"""A plan as calls: one for each part and one that joins them; each stands on its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from dask._task_spec import Task, TaskRef

from ...expr.nodes import Reduced, Scanned
from ...plan.plan import Plan
from ...plan.stages import Stage
from ..scans.shared import carries, merged_products, shared_lines
from .fingerprint import Fingerprint, guarded
from .remote import (
    carry_part,
    chain_parts,
    final_shape,
    join_parts,
    merge_parts,
    run_part,
    sent_part,
)


@dataclass(frozen=True, eq=False)
class PlanCall:
    """What a task calls; an argument that is a `TaskRef` stands for another call's result.

    ``worker`` counts the workers: each is to have its share.
    """

    name: str
    worker: int
    function: Any
    arguments: tuple[Any, ...]

    @property
    def needs(self) -> list[str]:
        """The names of the calls whose results this one reads."""
        return [str(one.key) for one in self.arguments if isinstance(one, TaskRef)]


@dataclass(frozen=True)
class How:
    """How parts run: on a GPU (None: where the worker has one), on how many threads (None: all)."""

    gpu: bool | None = None
    threads: int | None = None


def calls_of(plan: Plan, ready: dict[int, Any], name: str, how: How) -> list[PlanCall]:
    """The calls of ``plan``, each after those that it needs; the last gives the result."""
    ready = dict(ready)
    calls: list[PlanCall] = []
    for k, stage in enumerate(plan.stages):
        calls += _stage(f"{name}-{k}", stage, ready, how)
        ready[id(stage.result)] = TaskRef(f"{name}-{k}")
    return calls


def graph_of(
    plan: Plan,
    shape: tuple[int, ...],
    ready: dict[int, Any],
    name: str,
    how: How,
    here: Fingerprint | None,
) -> dict[Any, Any]:
    """Tasks of ``plan`` that can run anywhere; the result is task ``name``.

    They compare their process with the fingerprint ``here``, if there is one.
    """
    calls = calls_of(plan, ready, name, how)
    tasks: dict[Any, Any] = {
        call.name: Task(call.name, function_of(call, here), *call.arguments) for call in calls
    }
    tasks[name] = Task(name, final_shape, shape, TaskRef(calls[-1].name))
    return tasks


def function_of(call: PlanCall, here: Fingerprint | None) -> Any:
    """The function of ``call`` for a process that has to be as ``here`` says."""
    return call.function if here is None else partial(guarded, here, call.function)


def _stage(key: str, stage: Stage, ready: dict[int, Any], how: How) -> Iterator[PlanCall]:
    arrays = [ready[id(need)] for need in stage.needs]
    if stage.join == "one":
        part = sent_part(stage, stage.parts[0])
        yield PlanCall(key, 0, run_part, (part, how.gpu, how.threads, *arrays))
        return
    sent = [sent_part(stage, part) for part in stage.parts]
    names = [f"{key}-part-{k}" for k in range(len(sent))]
    for k, name in enumerate(names):
        fold = sent_part(*stage.folded(k))
        yield PlanCall(name, k, run_part, (fold, how.gpu, how.threads, *arrays))
    parts = [TaskRef(name) for name in names]
    if stage.join == "carry":
        before = f"{key}-before"
        yield PlanCall(before, 0, carries, (shared_lines(stage), *parts))
        parts = [TaskRef(f"{key}-carried-{k}") for k in range(len(sent))]
        for k, part in enumerate(sent):
            arguments = (part, how.gpu, how.threads, TaskRef(before), *arrays)
            yield PlanCall(str(parts[k].key), k, carry_part, arguments)
    function, first = _joining(stage)
    yield PlanCall(key, 0, function, (*first, *parts))


def _joining(stage: Stage) -> tuple[Any, tuple[Any, ...]]:
    """The task that puts the parts of ``stage`` together, and its first arguments."""
    if stage.join == "carry":
        assert isinstance(stage.source, Scanned)
        return chain_parts, (stage.shape, stage.source.axis)
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
