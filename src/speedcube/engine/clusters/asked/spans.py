"""The span of Dask's that our tasks belong to: one of this process, as long as it lives.

Without, Dask's scheduler makes a span for each computation, for its dashboard, and drops none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from ....late import dask, uuid

NAME: Final = "speedcube"


@cache
def our_id() -> str:
    """That of our span: one for each process."""
    return f"{NAME}-{uuid.uuid4().hex}"


@contextmanager
def annotated() -> Iterator[None]:
    """Within it tasks are of our span, but where who asks has opened one (`distributed.span`)."""
    if "span" in dask.get_annotations():
        yield
        return
    with dask.annotate(span={"name": (NAME,), "ids": (our_id(),)}):
        yield


def empty(client: Any) -> None:
    """Drop what the scheduler of ``client`` has noted of tasks that it has forgotten.

    Where it is in this process: 7 kB a computation.
    """
    scheduler = getattr(client.cluster, "scheduler", None)
    extension = getattr(scheduler, "extensions", {}).get("spans")
    span = getattr(extension, "spans", {}).get(our_id())
    if span is None:
        return
    for group in [*span.groups]:
        if not any(n for state, n in group.states.items() if state != "forgotten"):
            span.groups.discard(group)
    metadata = getattr(span, "_metadata", None)
    if metadata:
        metadata["collections"].clear()
