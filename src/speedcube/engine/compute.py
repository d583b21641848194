"""Compute: resolve the rung, plan, hand the graph to that rung's Dask scheduler."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from typing import Any

import dask.local
import dask.threaded

from ..errors import ParameterError, RungError
from ..expr.nodes import Expr, Leaf, Reduced, Scanned
from ..expr.space import TILE
from ..kernel.cuda.compile import source as cuda_source
from ..kernel.llvm.compile import source as llvm_source
from ..kernel.llvm.compile import styles
from ..kernel.llvm.simd import targets
from ..kernel.program import Program
from ..plan.plan import Plan, Resources, check_memory, make_plan
from ..plan.regions import kernels_of
from . import machine
from .clusters.fingerprint import expected
from .clusters.losses import reported
from .clusters.plans import How, graph_of
from .clusters.roster import worker_addresses
from .clusters.submission import run_on
from .graph import build_graph, deferred_values
from .prepare import prepare
from .rungs import Rung, active_client, resolve
from .small.known import SMALL
from .small.known import value as small_value
from .tasks import shaped


class ResultMemory(Enum):
    """What `compute` takes as ``to`` besides the names that users give."""

    OF_RUNG = auto()  # a GPU's on a GPU rung, the host's on others


# Plans by rung, kept by the array they are of. Not by its expression: a plan holds that, and the
# data in it would never be freed.
Plans = dict[Any, Plan]


def plan_for(
    root: Expr, on: Any, scheduler: Any, prefers_gpu: bool, known: Plans | None = None
) -> tuple[Plan, Rung]:
    """The plan of ``root`` on the rung that would run it."""
    visited = _visited(root)
    rung = resolve(on, scheduler, math.prod(visited.shape), prefers_gpu, visited.dtype)
    return _planned(root, rung, known), rung


def _planned(root: Expr, rung: Rung, known: Plans | None) -> Plan:
    known = {} if known is None else known
    key = (rung.name, rung.reason, rung.workers)
    if key not in known:
        resources = Resources(rung.name, rung.workers, memory=machine.free_memory() // 4)
        known[key] = make_plan(root, resources, rung.reason, TILE)
    check_memory(known[key], machine.free_memory())
    return known[key]


def _visited(root: Expr) -> Expr:
    """The expression whose elements are computed."""
    if isinstance(root, Leaf) and isinstance(root.source, (Reduced, Scanned)):
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
    visited = _visited(root)
    size = math.prod(visited.shape)
    rung = resolve(on, scheduler, size, prefers_gpu, visited.dtype)
    if rung.kind == "core" and size <= SMALL and to in ("numpy", ResultMemory.OF_RUNG):
        value = small_value(root)
        if value is not None:
            return value
    plan = _planned(root, rung, known)
    if to not in ("numpy", "cupy", ResultMemory.OF_RUNG) or (to == "cupy" and not rung.devices):
        raise ParameterError(f"to={to!r} is not possible on {rung.name}; use to='numpy'")
    if rung.kind == "client":
        with reported(rung.client):
            ready = {id(d): d.collection.compute(scheduler=rung.client) for d in plan.deferred}
        workers = rung.addresses or worker_addresses(rung.client)
        return run_on(rung.client, plan, root.shape, ready, workers)
    get = _get(rung)
    leave_on_gpu = to != "numpy"
    graph = build_graph(plan, deferred_values(plan, get), rung.devices, leave_on_gpu)
    try:
        return shaped(get(graph.tasks, graph.key), root.shape)
    except BaseException:
        graph.stop.set()  # running parts finish their current box and leave
        raise


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


def collection_graph(root: Expr, name: str) -> dict[Any, Any]:
    """``root`` as tasks for whoever runs them: one part for each worker of the active client,
    else for each core; the result is task ``name``.
    """
    client = active_client()
    workers = len(worker_addresses(client)) if client is not None else machine.cores()
    plan = make_plan(root, Resources("Dask", workers, shared=False), "a Dask collection", TILE)
    ready = {id(d): d.collection.compute(scheduler="threads") for d in plan.deferred}
    if client is None:
        return graph_of(plan, root.shape, ready, name, How(False, 1), None)
    return graph_of(plan, root.shape, ready, name, How(), expected())
