"""Any Dask client: real worker processes, one task on each, the bits of one core."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dask
import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import SchedulerError

pytestmark = pytest.mark.cluster
distributed = pytest.importorskip("distributed")

_DATA = np.random.default_rng(3).normal(size=(501, 333))


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as connected,
    ):
        yield connected


EXPRESSIONS = {
    "published sum": lambda: _normal(900, 2000)[::2, ::2].sum(),
    "mean of rows": lambda: _normal(900, 2000).mean(axis=1),
    "stored": lambda: (sc.asarray(_DATA) * 2 + 1)[::-1, ::3],
    "stored sum of columns": lambda: sc.asarray(_DATA).sum(axis=0),
    "argmin": lambda: sc.asarray(_DATA).argmin(),
    "centred": lambda: (lambda x: ((x - x.mean()) ** 2).sum())(_normal(300, 700)),
    "running sum": lambda: sc.asarray(_DATA).cumsum() + 1,
    "running sums from nothing": lambda: sc.cumulative_sum(
        sc.asarray(_DATA).reshape(-1)[:100_000], include_initial=True
    ),
    "running products": lambda: (_normal(2, 40_000) / 1000).cumprod(axis=1),
    "product": lambda: (_normal(300, 700) / 11).prod(),
    "running products of columns": lambda: (_normal(40_000, 1) / 1000).cumprod(axis=0),
    "products": lambda: (_normal(300, 700) / 11).prod(axis=0),
    # in memory with gaps, backwards, turned, repeated: sent with their layout
    "strided": lambda: sc.asarray(_DATA[::-1, ::2]) + 1,
    "turned": lambda: sc.asarray(_DATA[::3].T) + 1,
    "repeated": lambda: sc.asarray(np.broadcast_to(_DATA[3], (99, *_DATA[3].shape))) + 1,
    "taken": lambda: sc.take(_DATA[::-2, ::3], sc.arange(40_000) * 7 % 40, 0),
    "gamma": lambda: sc.random.default_rng(5).gamma([0.5, 3.0], size=(40_000, 2)),
    "permuted rows": lambda: sc.random.default_rng(5).permutation(_normal(40_000, 3)),
    "multinomial": lambda: sc.random.default_rng(5).multinomial(9, [0.2, 0.3, 0.5], 40_000),
    "sorted columns": lambda: sc.sort(_normal(300, 200) * 2, axis=0),
    "a median": lambda: sc.asarray(_DATA) - sc.median(sc.asarray(_DATA) + 1),
    "a histogram": lambda: sc.histogram(_normal(900, 200), 50, (-3, 3))[0],
    "steps of a loop": lambda: _steps(sc.asarray(_DATA), 12),
    "pieces": lambda: np.concatenate([sc.pad(_DATA, 1)[1:-1, 2:], sc.asarray(_DATA)[::3]]) * 2,
    "a sum over pieces": lambda: np.concatenate([sc.asarray(_DATA), _normal(300, 333)]).sum(),
    "sums over pieces": lambda: np.roll(_normal(400, 300), 7, axis=0).sum(axis=0),
    "standardised columns": lambda: _standardised(sc.asarray(_DATA), 0),
    "standardised rows": lambda: _standardised(_normal(400, 300) * 2 + 1, 1),
    "standardised long columns": lambda: _standardised(_normal(40_000, 2), 0),
    "steps round a torus": lambda: _rolled(sc.asarray(_DATA), 5),
    "tiny": lambda: sc.asarray(_DATA)[:2, :2].sum(),
}


def _normal(*shape: int) -> Any:
    return sc.random.default_rng(5).normal(10, 1, size=shape) + 1


def _steps(u: Any, count: int) -> Any:
    for _ in range(count):
        u = np.sin(u[1:-1] - (u[:-2] + u[2:]) * 0.3)
    return u - u.mean(axis=0)


def _rolled(u: Any, count: int) -> Any:
    for _ in range(count):
        u = np.sin(u - (np.roll(u, 1, axis=0) + np.roll(u, -1, axis=1)) * 0.3)
    return u


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_same_bits_as_one_core(client: Any, name: str) -> None:
    expected = np.asarray(EXPRESSIONS[name]().compute(on="core"))
    computed = np.asarray(EXPRESSIONS[name]().compute(on=client))
    assert computed.dtype == expected.dtype
    assert computed.tobytes() == expected.tobytes()


def _standardised(x: sc.Array, axis: int) -> sc.Array:
    return (x - x.mean(axis, keepdims=True)) / x.std(axis, keepdims=True)


def test_one_task_on_each_worker_and_a_merge(client: Any) -> None:
    def executed(dask_worker: Any) -> int:
        return int(dask_worker.state.executed_count)

    y = _normal(900, 2000).sum()
    y.compute(on=client)  # client.run for the version check, once
    before = client.run(executed)
    assert y.plan(on=client).tasks == 4
    y.compute(on=client)
    after = client.run(executed)
    ran = sorted(after[worker] - before[worker] for worker in after)
    assert ran == [1, 1, 2]  # a part on each of the three, the merge on one of them


def test_addresses_and_clusters(client: Any) -> None:
    y = _normal(100, 100).sum()
    assert y.compute(on=client.scheduler.address) == y.compute(on="core")
    assert y.compute(on=client.cluster) == y.compute(on="core")
    with sc.on(client):
        assert float(y) == float(y.compute(on="core"))


def test_the_active_client_is_used(client: Any) -> None:
    with client.as_current():
        plan = _normal(100, 100).sum().plan()
    assert plan.workers == 3
    assert plan.reason == "the active Dask client"


def test_dask_collection(client: Any) -> None:
    a, b = _normal(300, 200).sum(), _normal(300, 200)
    expected = a.compute(on="core"), b.compute(on="core")
    computed = dask.compute(a, b)
    assert computed[0] == expected[0]
    assert computed[1].tobytes() == expected[1].tobytes()
    assert client.compute(a).result() == expected[0]
    persisted = client.persist(b)
    assert persisted.shape == b.shape
    assert (persisted + 0).compute(on=client).tobytes() == expected[1].tobytes()


def test_a_scheduler_that_does_not_answer() -> None:
    with pytest.raises(
        SchedulerError, match=r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"
    ):
        _normal(10).sum().compute(on="tcp://127.0.0.1:9")


def test_a_worker_without_the_package(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from speedcube import __about__
    from speedcube.engine.clusters import roster

    monkeypatch.setattr(__about__, "__version__", "99")
    monkeypatch.setattr(roster, "_trusted", {})
    with pytest.raises(sc.errors.WorkerError, match=r"has speedcube 0\.1\.0; this process has 99"):
        _normal(10).sum().compute(on=client)
