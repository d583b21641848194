"""Running a plan: in this thread, by Dask's scheduler of the rung, or on a Client's workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...expr.nodes import Expr
from ...late import watched
from ...plan.plan import Plan
from ..clusters.losses import reported
from ..clusters.roster import worker_addresses
from ..clusters.submission import run_on
from ..foreign.held import fetched, futures_of_all
from ..foreign.values import deferred_values, is_of_dask, values_there
from ..graph import build_graph, scheduler_of
from ..progress.count import Told
from ..progress.watch import telling
from ..results import ResultMemory, joined, shaped, shaped_values
from ..rungs import Rung
from ..streams.decoded import keeping
from .alone import run_alone, wait


def run(plan: Plan, roots: Sequence[Expr], rung: Rung, to: str | ResultMemory) -> list[Any]:
    """The values of ``roots`` by ``plan``; how far they are is told where somebody looks."""
    with telling(plan, rung.name) as told, keeping(plan.kept_bytes):
        return _told(plan, roots, rung, to != "numpy", told)


def _told(
    plan: Plan, roots: Sequence[Expr], rung: Rung, leave_on_gpu: bool, told: Told
) -> list[Any]:
    if rung.kind == "client":
        with reported(rung.client):
            if (there := futures_of_all(roots, rung.client)) is not None:
                return fetched(rung.client, roots, there)
            ready = values_there(plan, rung.client)
        workers = rung.addresses or worker_addresses(rung.client)
        shapes = [root.shape for root, own in zip(roots, plan.roots, strict=True) for _ in own]
        found = run_on(rung.client, plan, shapes, ready, workers, told)
        return [joined([found[k] for k in own]) for own in plan.roots]
    get = scheduler_of(rung)
    if plan.workers == 1 and not plan.deferred and not watched():
        device = rung.devices[0] if rung.devices else None
        return shaped_values(run_alone(plan, device, leave_on_gpu, told.stop), plan, roots)
    for device in rung.devices:
        wait(device)  # its stream may still make what other devices are to read
    given = deferred_values(plan, get, rung.devices)
    if not rung.devices and len(roots) == 1 and is_of_dask(roots[0]):
        return [shaped(given[id(plan.deferred[0])], roots[0].shape)]  # in memory of its own
    graph = build_graph(plan, given, rung.devices, leave_on_gpu, told.stop, rung.cores)
    try:
        values = get(graph.tasks, list(graph.keys))
    except BaseException:
        graph.stop.set()  # running parts finish their current box and leave
        raise
    return shaped_values(values, plan, roots)
