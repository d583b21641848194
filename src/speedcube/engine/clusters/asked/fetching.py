"""Arrays that lie with workers, brought here; a worker that is stopped is not waited for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ....late import uuid
from ..fingerprint import expected
from ..losses import on_loop, reported
from ..plans import Calls, PlanCall
from ..roster import worker_addresses
from ..submission import settled, waited
from ..watch import Watch
from .outcomes import gathered, values_of
from .submitted import Submission


def brought(client: Any, futures: Sequence[Any]) -> list[Any]:
    """The values of ``futures``, which ``client``'s workers hold or make."""
    names = tuple(f"speedcube-fetch-{uuid.uuid4().hex}-{k}" for k in range(len(futures)))
    calls = tuple(
        PlanCall(name, 0, as_it_is, (one,)) for name, one in zip(names, futures, strict=True)
    )
    by_name = {call.name: call for call in calls}
    held = Submission(client, by_name, names, expected(), dict(zip(names, futures, strict=True)))
    with reported(client):
        found = on_loop(client, partial(waited, Watch(client), held, gathered, None))
    if found is not None:
        return found
    # A worker that has them is stopped, or all have gone: others make them, or have them, too.
    return settled(client, Calls(calls, names), worker_addresses(client), values_of, None, None)


def as_it_is(value: Any) -> Any:
    """Task: ``value``, on a worker that can give it."""
    return value
