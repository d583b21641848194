"""Compute: resolve the rung, plan, hand the graph to that rung's Dask scheduler."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum, auto
from functools import partial
from typing import Any, Final

import dask.local
import dask.threaded
from dask.callbacks import Callback

from ..errors import MemoryLimitError, ParameterError, RungError
from ..expr.nodes import STAGED, Expr, Leaf, Map, StageResult
from ..expr.space import TILE
from ..kernel.cuda.compile import source as cuda_source
from ..kernel.llvm.compile import source as llvm_source
from ..kernel.llvm.compile import styles
from ..kernel.llvm.simd import targets
from ..kernel.program import Program
from ..plan.costs import GPU_TRAFFIC
from ..plan.plan import Plan, Resources, check_memory, make_plan
from ..plan.regions import kernels_of
from . import machine
from .clusters.losses import reported
from .clusters.roster import worker_addresses
from .clusters.submission import run_on
from .graph import build_graph, deferred_values
from .known import drawn
from .known.alone import run_alone, wait
from .known.kept import active
from .known.memory import planned
from .prepare import prepare
from .results import shaped
from .rungs import Rung, resolve
from .small import lines as short_lines
from .small.known import FINISHED, MOST_AT_ONCE, ONE_LAUNCH, ONE_SUM, value_on_gpu
from .small.known import value as small_value
from .small.structure import SMALL


class ResultMemory(Enum):
    """What `compute` takes as ``to`` besides the names that users give."""

    OF_RUNG = auto()  # a GPU's on a GPU rung, the host's on others


_KEEPS: Final = frozenset(("core", "cores"))  # rungs where drawn numbers are kept

# Plans by rung, kept by the array they are of. Not by its expression: a plan holds that, and the
# data in it would never be freed.
Plans = dict[Any, Plan]


def plan_for(
    root: Expr | Sequence[Expr],
    on: Any,
    scheduler: Any,
    prefers_gpu: bool,
    known: Plans | None = None,
) -> tuple[Plan, Rung]:
    """The plan of ``root``, or of several together, on the rung that would run it."""
    roots = [root] if isinstance(root, (Leaf, Map)) else root
    rung = _rung_of(roots, on, scheduler, prefers_gpu)
    plan = _plan_with_kept(roots, rung) if rung.kind in _KEEPS else None
    return plan or _planned(roots, rung, known), rung


def _plan_with_kept(roots: Sequence[Expr], rung: Rung) -> Plan | None:
    """The plan of ``roots`` with drawn numbers that are kept, or will be; None without any."""
    reading = drawn.foreseen(roots)
    if reading.roots is roots:
        return None
    rung = replace(rung, reason=f"{rung.reason}; {reading.text}")
    try:
        plan = _planned(reading.roots, rung, None)
    except MemoryLimitError:
        return None  # what is kept is given back then
    return replace(plan, peak_bytes=plan.peak_bytes + reading.new)


def _planned(roots: Sequence[Expr], rung: Rung, known: Plans | None) -> Plan:
    known = {} if known is None else known
    key = (rung.name, rung.reason, rung.workers)
    if key not in known:
        traffic = GPU_TRAFFIC if rung.devices else 1.0
        memory = machine.free_memory() // 4
        resources = Resources(
            rung.name,
            rung.workers,
            memory=memory,
            traffic=traffic,
            gpu=bool(rung.devices),
            apart=rung.kind == "client",
        )
        known[key] = make_plan(roots, resources, rung.reason, TILE)
    check_memory(known[key], machine.free_memory())
    return known[key]


def _visited(root: Expr) -> Expr:
    """The expression whose elements are computed."""
    if isinstance(root, Leaf) and isinstance(root.source, STAGED):
        return root.source.arg
    return root


def compute(
    root: Expr,
    on: Any = None,
    scheduler: Any = None,
    prefers_gpu: bool = False,
    to: str | ResultMemory = "numpy",
    known: Plans | None = None,
) -> Any:
    """The value of ``root``: a NumPy array, or a scalar for 0-d.

    ``to="cupy"`` leaves it on the (first) GPU, `ResultMemory.OF_RUNG` wherever the rung computes.
    """
    if active() is not None:
        return compute_all([root], on, scheduler, prefers_gpu, to)[0]
    visited = _visited(root)
    size = math.prod(visited.shape)
    rung = resolve(on, scheduler, size, prefers_gpu, visited.dtype)
    if size <= _at_once(rung, visited is not root) and to in ("numpy", ResultMemory.OF_RUNG):
        value = small_value(root, rung.kind)
        if value is not None:
            return value
    _check_place(to, rung)
    if rung.kind == "gpu" and size <= _in_one_launch() and not known:
        value = value_on_gpu(root, rung.devices[0], to != "numpy", size > SMALL)
        if value is not None:
            return value
    return _read_again([root], rung, to, known)[0]


def _at_once(rung: Rung, reduces: bool) -> int:
    """Elements up to which a computation may be one call in this thread."""
    if reduces and rung.kind == "core" and SMALL > 0:
        return FINISHED
    if rung.kind == "core" or (rung.kind == "cores" and not Callback.active):
        most = MOST_AT_ONCE[rung.kind][0]
        return (max(most, ONE_SUM) if reduces else most) if SMALL > 0 else -1
    return -1


def _in_one_launch() -> int:
    """The same of a GPU: Dask's callbacks hear of what is large."""
    return SMALL if SMALL < 0 or Callback.active else ONE_LAUNCH


def _read_again(
    roots: Sequence[Expr], rung: Rung, to: str | ResultMemory, known: Plans | None = None
) -> list[Any]:
    """The values of ``roots``, made of what is kept of drawn numbers where there is room for it."""
    if rung.kind not in _KEEPS:
        return _values(roots, rung, to, known)
    reading = drawn.keeping_drawn(roots, lambda some: _values(some, rung, "numpy"))
    if reading is not roots:
        try:
            return _values(reading, rung, to)
        except MemoryError:
            reading = ()
            drawn.drop()
    return _values(roots, rung, to, known)


def _values(
    roots: Sequence[Expr], rung: Rung, to: str | ResultMemory, known: Plans | None = None
) -> list[Any]:
    """The values of ``roots``, by a plan that is known of such programs, or by one of their own."""
    if not known and rung.kind != "client":
        lines = short_lines.outline(roots) if _runs_lines(rung) else None
        values = None if lines is None else short_lines.values(lines, roots, rung)
        if values is not None:
            return values
        with planned(roots, rung, lines) as remembered:
            if remembered is not None:
                return _run(remembered, roots, rung, to)
    return _run(_planned(roots, rung, known), roots, rung, to)


def _runs_lines(rung: Rung) -> bool:
    """Whether a program of short lines may be calls in this thread."""
    return rung.kind in _KEEPS and SMALL > 0 and not Callback.active


def compute_all(
    roots: Sequence[Expr],
    on: Any = None,
    scheduler: Any = None,
    prefers_gpu: bool = False,
    to: str | ResultMemory = "numpy",
) -> list[Any]:
    """The values of ``roots``, planned together: what they share is made once."""
    if not roots:
        return []
    rung = _rung_of(roots, on, scheduler, prefers_gpu)
    _check_place(to, rung)

    def values(some: Sequence[Expr]) -> list[Any]:
        return _read_again(some, rung, to)

    kept = active()
    if kept is None or (rung.devices and to != "numpy"):
        return values(roots)
    return kept.values(roots, values)


def _rung_of(roots: Sequence[Expr], on: Any, scheduler: Any, prefers_gpu: bool) -> Rung:
    """The rung for all of ``roots``, as for one that visits as much as they together."""
    visited = [_visited(root) for root in roots]
    sizes = [math.prod(one.shape) for one in visited]
    widest = visited[sizes.index(max(sizes))]
    return resolve(on, scheduler, sum(sizes), prefers_gpu, widest.dtype)


def _check_place(to: str | ResultMemory, rung: Rung) -> None:
    """Raise `ParameterError` where results cannot be left in the memory ``to`` names."""
    if to not in ("numpy", "cupy", ResultMemory.OF_RUNG) or (to == "cupy" and not rung.devices):
        raise ParameterError(f"to={to!r} is not possible on {rung.name}; use to='numpy'")


def _run(plan: Plan, roots: Sequence[Expr], rung: Rung, to: str | ResultMemory) -> list[Any]:
    """The values of ``roots`` by ``plan``."""
    if rung.kind == "client":
        with reported(rung.client):
            ready = {id(d): d.collection.compute(scheduler=rung.client) for d in plan.deferred}
        workers = rung.addresses or worker_addresses(rung.client)
        return run_on(rung.client, plan, [root.shape for root in roots], ready, workers)
    get = _get(rung)
    leave_on_gpu = to != "numpy"
    if rung.workers == 1 and not plan.deferred and not Callback.active:
        device = rung.devices[0] if rung.devices else None
        return _shaped(run_alone(plan, device, leave_on_gpu), plan, roots)
    for device in rung.devices:
        wait(device)  # its stream may still make what other devices are to read
    graph = build_graph(plan, deferred_values(plan, get), rung.devices, leave_on_gpu)
    try:
        values = get(graph.tasks, list(graph.keys))
    except BaseException:
        graph.stop.set()  # running parts finish their current box and leave
        raise
    return _shaped(values, plan, roots)


def _shaped(values: Sequence[Any], plan: Plan, roots: Sequence[Expr]) -> list[Any]:
    return [
        _own(shaped(value, root.shape), result, plan.results[:k])
        for k, (value, root, result) in enumerate(zip(values, roots, plan.results, strict=True))
    ]


def _own(value: Any, result: StageResult, earlier: Sequence[StageResult]) -> Any:
    """``value``, or a copy of it where it was asked for before: writes are seen by nobody else."""
    again = any(one is result for one in earlier)
    return value.copy() if again else value


def _get(rung: Rung) -> Any:
    # Said here, because asking Dask's configuration for each costs as much as a small kernel.
    settings: dict[str, Any] = {"cache": {}, "chunksize": 1, "rerun_exceptions_locally": False}
    if rung.kind in ("core", "gpu"):
        return partial(dask.local.get_sync, **settings)
    if rung.kind in ("cores", "gpus"):
        return partial(dask.threaded.get, num_workers=rung.workers, **settings)
    raise RungError(f"no engine for {rung.name}")


def source_of(root: Expr, target: str) -> str:
    """The generated kernel of the last stage of ``root``: ``cpu``, ``cuda`` or ``ir``."""
    stage = make_plan(root, Resources("core", 1), "", TILE).stages[-1]
    program = prepare(*kernels_of(stage)[0], None).program
    best = targets()[0]
    printers: dict[str, Callable[[Program], str]] = {
        "cpu": lambda p: llvm_source(p, best, styles(p, best)[1]),
        "cuda": cuda_source,
        "ir": str,
    }
    if target not in printers:
        raise ParameterError(f"unknown target {target!r}; targets: {', '.join(printers)}")
    return printers[target](program)
