"""A driver whose scheduler is in its own process does not grow with what was sent to workers."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import distributed
import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.clusters.asked import spans
from speedcube.expr.nodes import Stored

pytestmark = pytest.mark.cluster
SHAPE = (211, 307)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    where: Path = tmp_path_factory.mktemp("workers")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None, local_directory=str(where)
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as connected,
    ):
        yield connected


def _kept() -> int:
    """How many arrays of our shape are sources of something that is kept."""
    gc.collect()
    sources = (one for one in gc.get_objects() if type(one) is Stored)
    return sum(getattr(one.buffer, "shape", None) == SHAPE for one in sources)


def test_what_was_sent_is_not_kept(client: Any) -> None:
    for k in range(4):
        x = sc.asarray(np.full(SHAPE, float(k)))
        assert float((x + 1).sum().compute(on=client)) == (k + 1) * SHAPE[0] * SHAPE[1]
        del x
    # A message is noted when it is sent, which may be after the answer to it has come.
    assert sc.arange(5.0).sum().compute(on=client) == 10
    assert _kept() == 0


def test_tasks_are_of_one_span(client: Any) -> None:
    """Dask makes one for each computation else, and keeps it with its group of tasks."""
    known = client.cluster.scheduler.extensions["spans"].spans
    x = sc.random.default_rng(1).normal(size=90_000)
    for _ in range(12):
        x.sum().compute(on=client)
    assert [span.name for span in known.values() if span.id == spans.our_id()] == [("speedcube",)]
    assert len(known[spans.our_id()].groups) < 5
    before = len(known)
    x.mean().compute(on=client)
    assert len(known) == before
    with distributed.span("mine") as own:
        x.std().compute(on=client)
    assert [len(span.groups) for span in known.values() if span.id == own] == [1]


PROGRAMS: Final = (
    lambda k: sc.random.default_rng(k).normal(size=90_000).sum(),
    lambda k: (sc.asarray(np.full(SHAPE, float(k))) * 2 + k).mean(axis=0),
    lambda k: sc.random.default_rng(k).normal(size=90_000).cumsum(),
    lambda k: sc.sort(sc.random.default_rng(k).normal(size=9_000)),
)


def _ours() -> Counter[str]:
    """Our objects that there are, by the names of their types."""
    gc.collect()
    kinds = (type(one) for one in gc.get_objects())
    return Counter(kind.__qualname__ for kind in kinds if "speedcube" in str(kind.__module__))


def test_programs_leave_no_object(client: Any) -> None:
    """Two leaves of each sum once stayed."""
    for k in range(24):
        if k == 10:  # kernels, and what is known of a few such expressions, are kept
            before = _ours()
        for make in PROGRAMS:
            make(k).compute(on=client)
    assert {name: n for name, n in (_ours() - before).items() if n > 10} == {}
