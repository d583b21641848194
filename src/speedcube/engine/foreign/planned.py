"""Plans on a rung; of large Dask arrays those that pull blocks, where that needs less memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...expr.nodes import Expr, Staged, whole
from ...expr.space import TILE
from ...plan.costs import GPU_TRAFFIC
from ...plan.plan import Plan, Resources, make_plan
from .. import machine
from ..rungs import Rung
from ..streams.later import Make
from ..streams.scanned import scanning
from .pulled import is_pulled, pulling
from .values import is_of_dask

_HERE: Final = ("core", "cores")  # where scans of files go on from box to box


def plan_of(roots: Sequence[Expr], rung: Rung, make: Make) -> Plan:
    """The plan of ``roots`` on ``rung``; ``make`` computes there what scans are made of."""
    roots = going_on(roots, rung, make)
    held = bool(rung.devices) or any(map(is_of_dask, roots))  # all of one is asked for
    pulled = roots if held else pulling(roots, rung.kind == "client")
    if pulled is not roots:
        plan = _made(pulled, rung)
        if not any(map(is_pulled, plan.deferred)):  # else all would be in memory after all
            return plan
    return _made(roots, rung)


def going_on(roots: Sequence[Expr], rung: Rung, make: Make) -> Sequence[Expr]:
    """``roots`` whose scans of files go on from box to box, where one process makes them."""
    if rung.kind not in _HERE:
        return roots
    return scanning(roots, make, lambda one: plan_of([_all(one)], rung, make).peak_bytes)


def _all(source: Staged) -> Expr:
    return whole(source, source.shape)


def _made(roots: Sequence[Expr], rung: Rung) -> Plan:
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
    return make_plan(roots, resources, rung.reason, TILE)
