"""The plan: every stage of an expression, its tasks and bytes, known before anything runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from ..errors import MemoryLimitError
from ..expr.nodes import Deferred, Expr, Leaf, Reduced, Scanned, Staged, whole
from ..expr.show import reads
from .stages import WORKER_OVERHEAD, Stage, make_stage


@dataclass(frozen=True)
class Resources:
    """Where a plan runs, as far as planning cares.

    ``shared``: workers write into one result array.
    """

    name: str
    workers: int
    shared: bool = True


class PrettyPrinter(Protocol):
    """What IPython hands to an object that it prints."""

    def text(self, text: str) -> None:
        """Add ``text`` to what is printed."""


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """Stages in order, the last giving the result. Bytes are per worker, counts are totals."""

    rung: str
    reason: str
    workers: int
    stages: tuple[Stage, ...]
    deferred: tuple[Deferred, ...]
    tasks: int
    tiles: int
    elements: int
    peak_bytes: int
    result_bytes: int

    def __repr__(self) -> str:
        lines = [
            f"Plan on {self.rung} ({self.reason})",
            f"  {_count(self.elements, 'element')} in {_count(self.tiles, 'tile')}; "
            f"{_count(self.tasks, 'task')} on {_count(self.workers, 'worker')}; "
            f"at most {self.peak_bytes:,} bytes per worker; result {self.result_bytes:,} bytes",
        ]
        for k, stage in enumerate(self.stages):
            axes = stage.axes if stage.source is None else stage.source.axes
            what = "store" if stage.op is None else f"{stage.op} over axes {axes}"
            lines.append(
                f"  stage {k}: {what} of {stage.root.shape} -> {stage.shape} {stage.dtype}, "
                f"{_count(len(stage.parts), 'part')}, {stage.join}"
            )
            lines += [f"    reads {text}" for text in reads(stage.root)]
        return "\n".join(lines)

    def _repr_pretty_(self, printer: PrettyPrinter, cycle: bool) -> None:
        printer.text(repr(self))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def make_plan(root: Expr, resources: Resources, reason: str, tile: int) -> Plan:
    """The plan of ``root`` on ``resources``."""
    stages: list[Stage] = []
    deferred: list[Deferred] = []
    _collect(root, resources.workers, stages, deferred, {})
    tasks = sum(_tasks(s) for s in stages) + len(deferred)
    peak = max(_stage_bytes(s, resources) for s in stages)
    return Plan(
        resources.name,
        reason,
        resources.workers,
        tuple(stages),
        tuple(deferred),
        tasks,
        sum(-(-math.prod(s.root.shape) // tile) for s in stages),
        sum(math.prod(s.root.shape) for s in stages),
        peak,
        stages[-1].result_bytes,
    )


def _collect(
    root: Expr,
    workers: int,
    stages: list[Stage],
    deferred: list[Deferred],
    seen: dict[int, bool],
) -> None:
    """Stages below ``root`` first, then its own."""
    source = _own_source(root)
    stage = make_stage(root if source is None else source.arg, source, workers)
    for need in stage.needs:
        if id(need) in seen:
            continue
        seen[id(need)] = True
        if isinstance(need, Deferred):
            deferred.append(need)
        else:
            _collect(whole(need, need.shape), workers, stages, deferred, seen)
    stages.append(stage)


def _tasks(stage: Stage) -> int:
    """A task a part, twice where parts carry on; one that joins them, one that carries."""
    parts = len(stage.parts)
    return {"one": parts, "carry": 2 * parts + 2}.get(stage.join, parts + 1)


def _own_source(root: Expr) -> Staged | None:
    """The reduction or scan that ``root`` is, when it is one read whole and in order."""
    if not (isinstance(root, Leaf) and isinstance(root.source, (Reduced, Scanned))):
        return None
    same = whole(root.source, root.source.shape)
    as_it_is = (root.shape, root.offset, root.strides) == (same.shape, same.offset, same.strides)
    return root.source if as_it_is else None


def _stage_bytes(stage: Stage, resources: Resources) -> int:
    """Peak bytes of a worker in ``stage``: overhead, its result, records, and what it reads."""
    share = 1 if resources.shared else max(1, len(stage.parts))
    result = -(-stage.result_bytes // share)
    if isinstance(stage.source, Scanned) and stage.parts[0].axis:  # lines, before they lie apart
        result += -(-stage.result_bytes // len(stage.parts))
    inputs = sum(math.prod(n.shape) * 8 for n in stage.needs)
    return WORKER_OVERHEAD + result + inputs


def check_memory(plan: Plan, free: int) -> None:
    """Raise `MemoryLimitError` where a worker of ``plan`` needs more than ``free`` bytes."""
    if plan.peak_bytes > free:
        raise MemoryLimitError(
            f"this needs {plan.peak_bytes:,} bytes per worker on {plan.rung} and {free:,} are "
            "free; three ways out: reduce it or slice it before computing, write it out in pieces "
            "(.to_dask_array() and Dask's to_zarr), or use a rung with more memory (on=...)"
        )
