"""The plan: every stage of what is computed, its tasks and bytes, known before anything runs."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Protocol

from .. import dtypes
from ..dataclass import dataclass
from ..errors import MemoryLimitError
from ..expr.nodes import Deferred, Expr, Leaf, Map, Reduced, StageResult, Through, Tiled
from ..expr.pairs.node import is_pair, parts
from ..expr.routines.table import ROUTINES
from ..expr.show import reads
from ..numbers import bytes_text, so_many
from .blocks import Blocked, blocked
from .cuts import KEPT, cut
from .cutting.grouped import passes_of
from .passes import Pass, make_pass, reading_once
from .regions import regions_of
from .shares import held_twice, moved, tasks
from .stages import WORKER_OVERHEAD, Stage, lies_apart
from .touched import making_bytes, readings, shared_bytes
from .working import adding_bytes, scan_on_gpu, stream_bytes, working_bytes


@dataclass(frozen=True)
class Resources:
    """Where a plan runs, as far as planning cares.

    ``shared``: workers write into one result array. ``memory``: bytes that a stage may keep for
    others; what is larger is computed again where it is read. ``traffic``: how dear its memory is
    beside its operations, a CPU's core being 1 (`costs.GPU_TRAFFIC`). ``gpu``: its kernels finish
    any reductions of the same elements together. ``apart``: workers have no memory in common.
    """

    name: str
    workers: int
    shared: bool = True
    memory: int = KEPT
    traffic: float = 1.0
    gpu: bool = False
    apart: bool = False


class PrettyPrinter(Protocol):
    """What IPython hands to an object that it prints."""

    def text(self, text: str) -> None:
        """Add ``text`` to what is printed."""


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """Passes in order, each of one stage or several that are made together.

    ``results`` says which of the stages' give what was asked for. Bytes are per worker, counts are
    totals.
    """

    rung: str
    reason: str
    workers: int
    passes: tuple[Pass, ...]
    results: tuple[StageResult, ...]
    deferred: tuple[Deferred | Tiled, ...]
    tasks: int
    tiles: int
    elements: int
    peak_bytes: int
    result_bytes: int
    # For each root which of ``results`` give it: one, or those of both parts of complex numbers.
    roots: tuple[tuple[int, ...], ...]
    # Bytes of decoded chunks, of those of the peak, that passes after the first do not decode.
    kept_bytes: int = 0

    def keeping(self, size: int) -> Plan:
        """The same plan, run with ``size`` bytes of decoded chunks kept."""
        return replace(self, peak_bytes=self.peak_bytes + size, kept_bytes=size) if size else self

    @cached_property
    def halves(self) -> dict[int, tuple[int, int]]:
        """Results, by their ids, that can be written side by side with the other part.

        Each with the number of its root and that of the part: what a stage stores elements of, that
        nobody else asks for or reads.
        """
        stored = {id(s.result) for one in self.passes for s in one.stages if s.source is None}
        stored -= {id(need) for one in self.passes for need in one.visited.needs}
        times = Counter(map(id, self.results))
        pairs = {}
        for number, root in enumerate(self.roots):
            ids = [id(self.results[k]) for k in root]
            if len(ids) == 2 and all(one in stored and times[one] == 1 for one in ids):
                pairs[number] = ids
        together = [{id(s.result) for s in one.stages if s.source is None} for one in self.passes]
        while True:  # what one kernel stores lies in one way
            halves = {one for ids in pairs.values() for one in ids}
            mixed = {one for some in together if some & halves and some - halves for one in some}
            if not halves & mixed:
                break
            pairs = {k: ids for k, ids in pairs.items() if mixed.isdisjoint(ids)}
        return {
            one: (number, part) for number, ids in pairs.items() for part, one in enumerate(ids)
        }

    @property
    def stages(self) -> tuple[Stage, ...]:
        """All stages in order; the last gives the (last) result."""
        return tuple(stage for one in self.passes for stage in one.stages)

    @cached_property
    def streams(self) -> bool:
        """Whether sources are read a box at a time."""
        return any(one.visited.streams for one in self.passes)

    @cached_property
    def _last(self) -> frozenset[int]:
        """Results of stages that are made alone, asked for, and read by no other stage."""
        alone = {id(one.visited.result) for one in self.passes if one.together is None}
        read = {id(need) for one in self.passes for need in one.visited.needs}
        return frozenset(alone.intersection(map(id, self.results)) - read)

    @cached_property
    def blocks(self) -> tuple[Blocked, ...]:
        """Which passes cores make for a block of rows after the other."""
        in_memory = self.rung.startswith("core") and not self.streams
        return blocked(self.passes, self.results) if in_memory else ()

    def order(self, stage: Stage) -> tuple[int, ...] | None:
        """The axes of the result of ``stage``, slowest first, in memory; None: C order."""
        return stage.order if id(stage.result) in self._last else None

    def __repr__(self) -> str:
        lines = [
            f"Plan on {self.rung} ({self.reason})",
            f"  {so_many(self.elements, 'element')} in {so_many(self.tiles, 'tile')}; "
            f"{so_many(self.tasks, 'task')} on {so_many(self.workers, 'worker')}; "
            f"at most {self.peak_bytes:,} bytes per worker; result {self.result_bytes:,} bytes",
            *(f"  {text}" for text in readings(self.passes, self.deferred)),
        ]
        if self.kept_bytes:
            lines.append(
                f"  keeps {bytes_text(self.kept_bytes)} of decoded chunks for later passes"
            )
        number = 0
        for one in self.passes:
            first = number
            for stage in one.stages:
                lines += self.described(number, stage, one, first)
                number += 1
        for chain in self.blocks:
            first = sum(len(one.stages) for one in self.passes[: chain.first])
            last = first + chain.end - chain.first - 1
            lines.append(f"  stages {first} to {last} by {chain.count} blocks of {chain.step} rows")
        return "\n".join(lines)

    def described(self, number: int, stage: Stage, one: Pass, first: int) -> list[str]:
        """A stage in words, then what it reads; ``first`` is the first one of its pass."""
        axes = stage.axes if stage.source is None else stage.source.axes
        what = "store" if stage.op is None else f"{stage.op} over axes {axes}"
        if takes_all := isinstance(stage.source, Through):
            what = f"{stage.op}{_warning(str(stage.op))}"
        why = f": {stage.why}" if len(self.stages) > 1 else ""
        visited = one.visited
        boxes = len(regions_of(stage, stage.parts[0]))
        each = f" of {so_many(boxes, 'region')}" if boxes else ""
        how = f"{so_many(len(visited.parts), 'part')}{each}, {visited.join}"
        if visited.join == "exchange":
            how += f" of {moved(visited):,} bytes between workers"
        how += ", on the first GPU" * (takes_all and self.rung.startswith("gpus"))
        if number > first:
            common, other = one.shares(number - first)
            how = f"in one {common} with stage {first + other}"
        line = f"  stage {number}: {what} of {stage.root.shape} -> {stage.shape} {stage.dtype}, "
        return [line + how + why, *(f"    reads {text}" for text in reads(stage.root))]

    def _repr_pretty_(self, printer: PrettyPrinter, cycle: bool) -> None:
        printer.text(repr(self))


def _warning(op: str) -> str:
    """That no law covers ``op``, where none does."""
    warning = ROUTINES[op].warning if op in ROUTINES else ""
    return f" (no law: {warning})" if warning else ""


def make_plan(root: Expr | Sequence[Expr], resources: Resources, reason: str, tile: int) -> Plan:
    """The plan of ``root``, or of several roots together, on ``resources``."""
    roots = [root] if isinstance(root, (Leaf, Map)) else list(root)
    each = [parts(one) if is_pair(one) else (one,) for one in roots]
    every = [one for some in each for one in some]
    sharing = 1 if resources.gpu or resources.apart else resources.workers
    made = cut(every, resources.memory, resources.traffic, sharing)
    here = not (resources.gpu or resources.apart)
    passes = tuple(
        make_pass(requests, resources.workers, resources.apart)
        for requests in passes_of(made.requests, made.results, resources.gpu, here)
    )
    if here:
        passes = reading_once(passes, resources.workers, set(map(id, made.results)))
    visited = [one.visited for one in passes]
    deferred = {
        id(n): n for stage in visited for n in stage.needs if isinstance(n, (Deferred, Tiled))
    }
    sizes = [math.prod(stage.root.shape) for stage in visited]
    results = {id(result): result for result in made.results}.values()
    numbers = iter(range(len(made.results)))
    places = tuple(tuple(islice(numbers, len(some))) for some in each)
    peak = max(_peaks(passes, resources, {id(result) for result in results}))
    result_bytes = sum(math.prod(r.shape) * dtypes.itemsize(r.dtype) for r in results)
    if len(made.results) > len(roots) and (resources.gpu or resources.apart):
        peak += result_bytes  # parts of complex numbers, which are put together at the end
    return Plan(
        resources.name,
        reason,
        resources.workers,
        passes,
        made.results,
        tuple(deferred.values()),
        sum(map(_tasks, passes)) + len(deferred),
        sum(-(-size // tile) for size in sizes),
        sum(sizes),
        peak,
        result_bytes,
        places,
    )


def _peaks(passes: Sequence[Pass], resources: Resources, asked: set[int]) -> Iterator[int]:
    """Bytes of a worker in each of ``passes``, with what is kept for later ones and the user."""
    last = {id(need): k for k, one in enumerate(passes) for need in one.visited.needs}
    ends: dict[int, int] = defaultdict(int)  # bytes by the last pass that reads them
    for one in passes:
        for stage in one.stages:
            if id(stage.result) in last and id(stage.result) not in asked:
                ends[last[id(stage.result)]] += stage.result_bytes
    kept = 0
    for k, one in enumerate(passes):
        read = sum(math.prod(n.shape) * dtypes.itemsize(n.dtype) for n in one.visited.needs)
        yield _pass_bytes(one, resources) + max(0, kept - read)
        staying = (s for s in one.stages if id(s.result) in last or id(s.result) in asked)
        kept += sum(stage.result_bytes for stage in staying) - ends[k]


def _tasks(one: Pass) -> int:
    """A task a part, twice where parts carry on; one that joins them, one that carries."""
    stage, parts = one.visited, len(one.visited.parts)
    if one.together is not None:
        return parts + len(one.stages)
    if stage.join in ("rounds", "exchange"):
        return tasks(stage)
    return {"one": parts, "carry": 2 * parts + 2}.get(stage.join, parts + 1)


def _pass_bytes(one: Pass, resources: Resources) -> int:
    """Peak bytes of a worker in a pass: overhead, results, records, and what it reads."""
    visited, parts, streams = one.visited, len(one.visited.parts), 0
    inputs = sum(math.prod(n.shape) * 8 for n in visited.needs)
    if visited.streams:
        first = visited.parts[0].root
        streams = stream_bytes(first, visited.source, resources.gpu) + making_bytes(one)
    if resources.shared:  # threads, each with blocks of its own
        streams *= min(max(parts, visited.threads), resources.workers)
    streams += adding_bytes(one) + shared_bytes(one)
    return WORKER_OVERHEAD + inputs + streams + sum(_held(s, parts, resources) for s in one.stages)


def _held(stage: Stage, parts: int, resources: Resources) -> int:
    """Bytes of a worker for the result of ``stage``, made in ``parts``."""
    share = 1 if resources.shared else max(1, parts)
    copies = 2 if resources.apart and parts > 1 and stage.source is None else 1
    result = copies * -(-stage.result_bytes // share)  # a second worker has what took long, too
    if lies_apart(stage, resources.name.startswith("core")):
        result += -(-stage.result_bytes // parts)
    if isinstance(stage.source, Through):
        threads = 1 if not resources.shared else resources.workers
        result += working_bytes(stage.source, threads, resources.gpu) + held_twice(stage)
    elif isinstance(stage.source, Reduced) and stage.dtype == "float16":
        result *= 5  # float64 first
    elif stage.op == "prod":
        result *= 4  # block by block, then in a row, then a part of the whole
    if stage.is_scan and resources.gpu:
        result += scan_on_gpu(stage)
    return result


def check_memory(plan: Plan, free: int) -> None:
    """Raise `MemoryLimitError` where a worker of ``plan`` needs more than ``free`` bytes."""
    if plan.peak_bytes > free:
        raise MemoryLimitError(
            f"this needs {plan.peak_bytes:,} bytes per worker on {plan.rung}, {plan.result_bytes:,}"
            f" of them for the result, and {free:,} are free; three ways out: reduce or slice it "
            "before, write it by blocks (.to_zarr(...), sc.save), or take a rung with more (on=...)"
        )
