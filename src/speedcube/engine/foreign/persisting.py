"""Arrays whose values are made on a cluster and stay there, where a cluster is what computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...expr.nodes import Expr
from ..clusters.asked.holding import held_on
from ..clusters.roster import worker_addresses
from ..compute import planned_on
from ..keeping.where import folder
from ..progress.watch import telling
from ..results import ResultMemory
from ..routines.strictness import check_laws
from ..rungs import Rung
from ..stepwise.on_host import rung_of
from .held import futures_of_all


def persisted(
    roots: Sequence[Expr], on: Any, scheduler: Any, prefers_gpu: bool
) -> tuple[list[Expr] | None, Rung]:
    """``roots`` as what lies with a cluster's workers, and the rung; None where that is no cluster.

    Nor where a directory keeps what is computed: that passes through this process.
    """
    rung = rung_of(roots, on, scheduler, prefers_gpu, ResultMemory.OF_RUNG)
    if rung.kind != "client" or folder.get() is not None or not roots:
        return None, rung
    check_laws(roots)
    if futures_of_all(roots, rung.client) is not None:
        return list(roots), rung
    plan = planned_on(roots, rung)
    workers = rung.addresses or worker_addresses(rung.client)
    with telling(plan, rung.name) as told:
        return held_on(rung.client, plan, roots, workers, told), rung
