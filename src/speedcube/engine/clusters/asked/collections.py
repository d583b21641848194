"""Arrays as Dask collections: the tasks that they are when Dask asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....dataclass import dataclass
from ....expr.nodes import Expr
from ....expr.pairs.node import is_pair
from ....expr.space import TILE
from ....late import task_spec
from ....plan.plan import Resources, make_plan
from ... import machine
from ...foreign.values import deferred_values, values_there
from ...results import combined
from ...rungs import active_client
from ..fingerprint import Fingerprint, expected
from ..plans import How, graph_of
from ..roster import worker_addresses


@dataclass(frozen=True)
class Whereabouts:
    """Where Dask will run a collection's tasks, as far as is known when it asks for them.

    ``here`` is what processes elsewhere have to be like; None: there are no others.
    """

    workers: int
    here: Fingerprint | None


def place_of_collections() -> Whereabouts:
    """The workers of the active client, else the cores of this machine."""
    client = active_client()
    if client is None:
        return Whereabouts(machine.cores(), None)
    return Whereabouts(len(worker_addresses(client)), expected())


def collection_graph(roots: Mapping[str, Expr], place: Whereabouts) -> dict[Any, Any]:
    """``roots`` as tasks, one part for each worker; the results are the tasks of these names."""
    resources = Resources("Dask", place.workers, shared=False, apart=True)
    plan = make_plan([*roots.values()], resources, "a Dask collection", TILE)
    client = place.here and active_client()
    ready = values_there(plan, client) if client else deferred_values(plan, "threads")
    complex_ones = {name: (f"{name}-re", f"{name}-im") for name in roots if is_pair(roots[name])}
    shapes = {
        one: root.shape for name, root in roots.items() for one in complex_ones.get(name, (name,))
    }
    how = How(False, 1) if place.here is None else How()
    tasks = graph_of(plan, shapes, ready, how, place.here)
    for name, both in complex_ones.items():
        tasks[name] = task_spec.Task(name, combined, *map(task_spec.TaskRef, both))
    return tasks
