"""Plans on a rung; of large Dask arrays those that pull blocks, where that needs less memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...expr.nodes import Expr, Staged, whole
from ...expr.push import straightened
from ...expr.space import TILE
from ...plan.costs import GPU_TRAFFIC
from ...plan.plan import Plan, Resources, make_plan
from .. import machine
from ..rungs import Rung
from ..streams.boxwise import SortRoom, made_boxwise
from ..streams.made.later import Make
from .pulled import is_pulled, pulling
from .values import is_of_dask

_HERE: Final = ("core", "cores")  # where scans of files go on from box to box


def plan_of(roots: Sequence[Expr], rung: Rung, make: Make, room: SortRoom | None = None) -> Plan:
    """The plan of ``roots`` on ``rung``; ``make`` computes there what scans are made of.

    ``room``: what sorts may take that are not made in memory.
    """
    roots = going_on([straightened(root) for root in roots], rung, make, room)
    held = bool(rung.devices) or any(map(is_of_dask, roots))  # all of one is asked for
    pulled = roots if held else pulling(roots, rung.kind == "client")
    if pulled is not roots:
        plan = _made(pulled, rung)
        if not any(map(is_pulled, plan.deferred)):  # else all would be in memory after all
            return plan
    return _made(roots, rung)


def going_on(
    roots: Sequence[Expr], rung: Rung, make: Make, room: SortRoom | None = None
) -> Sequence[Expr]:
    """``roots`` whose scans of files go on from box to box, where one process makes them.

    So do sorts, if they are given ``room``.
    """
    if rung.kind not in _HERE:
        return roots

    def weigh(one: Staged) -> int:
        return plan_of([_all(one)], rung, make).peak_bytes

    return made_boxwise(roots, make, weigh, room, rung.workers)


def plan_within(roots: Sequence[Expr], rung: Rung, make: Make) -> Plan:
    """`plan_of`; where that needs more memory than is free, sorts are made in cells."""
    plan, free = plan_of(roots, rung, make), machine.free_memory()
    if plan.peak_bytes <= free or rung.kind not in _HERE:
        return plan
    least = plan_of(roots, rung, make, SortRoom(0, rung.workers))
    if least.peak_bytes > free:
        return min(plan, least, key=lambda one: one.peak_bytes)
    left = (free - least.peak_bytes) * 3 // 4
    for share in (1, rung.workers):  # each thread that reads an order may be counted
        made = plan_of(roots, rung, make, SortRoom(left // share, rung.workers))
        if made.peak_bytes <= free:
            return made
    return least


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
