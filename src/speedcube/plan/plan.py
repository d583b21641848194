"""The plan: every stage of an expression, its tasks and bytes, known before anything runs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from .. import dtypes
from ..errors import MemoryLimitError
from ..expr.nodes import Deferred, Expr, Reduced, Scanned
from ..expr.show import reads
from .cuts import KEPT, requests_of
from .regions import regions_of
from .stages import WORKER_OVERHEAD, Stage, make_stage


@dataclass(frozen=True)
class Resources:
    """Where a plan runs, as far as planning cares.

    ``shared``: workers write into one result array. ``memory``: bytes that a stage may keep for
    others; what is larger is computed again where it is read.
    """

    name: str
    workers: int
    shared: bool = True
    memory: int = KEPT


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
            why = f": {stage.why}" if len(self.stages) > 1 else ""
            boxes = len(regions_of(stage, stage.parts[0]))
            each = f" of {_count(boxes, 'region')}" if boxes else ""
            lines.append(
                f"  stage {k}: {what} of {stage.root.shape} -> {stage.shape} {stage.dtype}, "
                f"{_count(len(stage.parts), 'part')}{each}, {stage.join}{why}"
            )
            lines += [f"    reads {text}" for text in reads(stage.root)]
        return "\n".join(lines)

    def _repr_pretty_(self, printer: PrettyPrinter, cycle: bool) -> None:
        printer.text(repr(self))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def make_plan(root: Expr, resources: Resources, reason: str, tile: int) -> Plan:
    """The plan of ``root`` on ``resources``."""
    stages = tuple(
        replace(make_stage(one.root, one.source, resources.workers), result=one.result, why=one.why)
        for one in requests_of(root, resources.memory)
    )
    deferred = {
        id(need): need for stage in stages for need in stage.needs if isinstance(need, Deferred)
    }
    return Plan(
        resources.name,
        reason,
        resources.workers,
        stages,
        tuple(deferred.values()),
        sum(_tasks(s) for s in stages) + len(deferred),
        sum(-(-math.prod(s.root.shape) // tile) for s in stages),
        sum(math.prod(s.root.shape) for s in stages),
        max(_peaks(stages, resources)),
        stages[-1].result_bytes,
    )


def _peaks(stages: tuple[Stage, ...], resources: Resources) -> Iterator[int]:
    """Bytes of a worker in each of ``stages``, with those kept for later ones."""
    last = {id(need): k for k, stage in enumerate(stages) for need in stage.needs}
    ends: dict[int, int] = defaultdict(int)  # bytes by the last stage that reads them
    for stage in stages:
        if id(stage.result) in last:
            ends[last[id(stage.result)]] += stage.result_bytes
    kept = 0
    for k, stage in enumerate(stages):
        read = sum(math.prod(n.shape) * dtypes.itemsize(n.dtype) for n in stage.needs)
        yield _stage_bytes(stage, resources) + max(0, kept - read)
        kept += stage.result_bytes * (id(stage.result) in last) - ends[k]


def _tasks(stage: Stage) -> int:
    """A task a part, twice where parts carry on; one that joins them, one that carries."""
    parts = len(stage.parts)
    return {"one": parts, "carry": 2 * parts + 2}.get(stage.join, parts + 1)


def _stage_bytes(stage: Stage, resources: Resources) -> int:
    """Peak bytes of a worker in ``stage``: overhead, its result, records, and what it reads."""
    share = 1 if resources.shared else max(1, len(stage.parts))
    result = -(-stage.result_bytes // share)
    if _lies_apart(stage, resources):
        result += -(-stage.result_bytes // len(stage.parts))
    if isinstance(stage.source, Reduced) and stage.dtype == "float16":
        result *= 5  # float64 first
    elif stage.op == "prod":
        result *= 4  # block by block, then in a row, then a part of the whole
    inputs = sum(math.prod(n.shape) * 8 for n in stage.needs)
    return WORKER_OVERHEAD + result + inputs


def _lies_apart(stage: Stage, resources: Resources) -> bool:
    """Whether a scan's results may be made elsewhere, together, before they are put in place."""
    if stage.op == "prod":
        return len(stage.shape) > 1
    if not isinstance(stage.source, Scanned):
        return False
    by_lines = stage.join == "carry" or not resources.name.startswith("core")
    return bool(stage.parts[0].axis or (stage.source.inner and by_lines))


def check_memory(plan: Plan, free: int) -> None:
    """Raise `MemoryLimitError` where a worker of ``plan`` needs more than ``free`` bytes."""
    if plan.peak_bytes > free:
        raise MemoryLimitError(
            f"this needs {plan.peak_bytes:,} bytes per worker on {plan.rung} and {free:,} are "
            "free; three ways out: reduce it or slice it before computing, write it out in pieces "
            "(.to_dask_array() and Dask's to_zarr), or use a rung with more memory (on=...)"
        )
