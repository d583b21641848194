"""What is persisted on a cluster stays with its workers, and what is made of it is made there."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.clusters.asked.outcomes import made_there
from speedcube.engine.clusters.asked.submitted import Submission
from speedcube.engine.clusters.fingerprint import expected
from speedcube.engine.foreign import held as held_values
from speedcube.errors import ParameterError

pytestmark = pytest.mark.cluster
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as connected,
    ):
        yield connected


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of each array that comes to this process."""
    sizes: list[int] = []
    gather = distributed.Client._gather

    async def seen(*arguments: Any, **options: Any) -> Any:
        values = await gather(*arguments, **options)
        sizes.extend(np.asarray(one).nbytes for one in np.atleast_1d(values))
        return values

    monkeypatch.setattr(distributed.Client, "_gather", seen)
    return sizes


def _normal(*shape: int) -> sc.Array:
    return sc.random.default_rng(5).normal(10, 1, size=shape)


MADE = {
    "elements": lambda: _normal(300, 200) * 2,
    "a sum": lambda: _normal(300, 200).sum(),
    "means": lambda: _normal(300, 200).mean(axis=0),
    "complex": lambda: _normal(300, 200) + 1j * _normal(300, 200),
    "running sums": lambda: _normal(300, 200).cumsum(axis=1),
    "whole numbers": lambda: _normal(300, 200).astype("int16"),
    "nothing": lambda: _normal(0, 3),
    "data": lambda: sc.asarray(np.arange(60.0).reshape(3, 20)[:, ::2]),
}


@pytest.mark.parametrize("name", MADE)
def test_the_bits_of_what_is_held_and_of_what_is_made_of_it(client: Any, name: str) -> None:
    wanted = MADE[name]().compute(on="core")
    held = MADE[name]().persist(on=client)
    assert (held.shape, held.dtype) == (np.shape(wanted), wanted.dtype)
    for found in (held.compute(), held.compute(on=client), held.compute(on="core")):
        assert (type(found), found.dtype) == (type(wanted), wanted.dtype)
        assert found.tobytes() == wanted.tobytes()
    more = (MADE[name]()[..., None] * 3).sum(axis=-1).compute(on="core")
    assert (held[..., None] * 3).sum(axis=-1).compute().tobytes() == more.tobytes()


def test_values_stay_with_the_workers(client: Any, brought: list[int]) -> None:
    x = _normal(300, 200)
    held = x.persist(on=client)
    (future,) = distributed.futures_of(held)
    assert len(client.who_has([future])[future.key]) == 1
    plan = held.sum().plan()
    assert plan.rung == f"client {client.scheduler.address}"
    assert plan.reason == "its data lie there"
    assert repr(held) == "<speedcube.Array (300, 200) float64: held>"
    again = (held + 1).persist()
    total = again.sum().compute()
    assert sum(brought) <= 64, "no more than a number came here"
    assert total == (x + 1).sum().compute(on="core")
    assert held.persist() is not held
    assert distributed.futures_of(held.persist())[0].key == future.key


def test_values_go_with_the_last_array_that_reads_them(client: Any) -> None:
    held = _normal(300, 200).persist(on=client)
    (key,) = [future.key for future in distributed.futures_of(held)]
    more = held[3:] + 1
    del held
    assert client.run_on_scheduler(lambda dask_scheduler: key in dask_scheduler.tasks)
    del more
    for _ in range(200):
        if not client.run_on_scheduler(lambda dask_scheduler: key in dask_scheduler.tasks):
            return
    raise AssertionError("it is still there")


def test_several_take_turns_at_the_workers(client: Any) -> None:
    x = _normal(300, 200)
    held = [(x + k).persist(on=client) for k in range(4)]
    places = [next(iter(client.who_has(distributed.futures_of(one)).values())) for one in held]
    assert len({place for (place,) in places}) == 2
    both = sc.persist(x.sum(), {"means": x.mean(axis=0)}, 5, on=client)
    assert both[0].compute() == x.sum().compute(on="core")
    means = both[1]["means"].compute()
    assert means.tobytes() == x.mean(axis=0).compute(on="core").tobytes()
    assert both[2] == 5


def test_what_a_client_persists_is_read_there(client: Any, brought: list[int]) -> None:
    x = _normal(300, 200)
    with client.as_current():
        kept = client.persist(x)
        assert kept.sum().explain().covered
        more = client.persist(kept * 2)
        total = more.sum().compute()
    assert sum(brought) <= 64
    assert total == (x * 2).sum().compute(on="core")


def test_a_dask_array_is_read_there(client: Any, brought: list[int]) -> None:
    import dask.array as da

    blocks = client.persist(da.arange(60_000, chunks=7_000).reshape(300, 200))
    total = (sc.from_dask_array(blocks) * 2).sum().compute(on=client)
    assert total == 59_999 * 60_000
    assert sum(brought) <= 64


def test_a_strict_block_takes_what_is_held(client: Any) -> None:
    held = _normal(300, 200).persist(on=client)
    with sc.on(client, strict=True):
        assert held.sum().compute() == _normal(300, 200).sum().compute(on="core")


def test_an_error_is_raised_at_once(client: Any) -> None:
    x = sc.asarray(np.full((3, 2), np.nan))
    with pytest.raises(ParameterError, match="holds only NaN"):
        sc.nanargmax(x, axis=1).persist(on=client)
    with pytest.raises(ParameterError, match="holds only NaN"):
        sc.persist(sc.nanargmax(x, axis=1), on=client)


def test_assigned_arrays_lie_here(client: Any) -> None:
    with client.as_current():
        x = _normal(30, 20)
        wanted = np.array(x.compute())
        for k in range(20):
            x[k] = k
            wanted[k] = k
        assert x.compute().tobytes() == wanted.tobytes()


def test_without_held_arrays_nobody_looks_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_values, "_alive", set())
    monkeypatch.setattr(held_values, "below", None)
    assert held_values.client_of((_normal(3)._expr,)) is None
    assert float(_normal(3).sum()) == float(_normal(3).sum().compute(on="core"))


def test_a_lost_task_is_raised_by_a_persist(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def cancelling(client: Any, calls: Any, workers: Any, told: Any) -> Any:
        futures = [client.submit(int, "no number", pure=False)]
        sent = Submission(client, {}, ("a",), expected(), dict(zip("a", futures, strict=True)))
        return client.sync(lambda: made_there(sent))

    from speedcube.engine.clusters.asked import holding

    monkeypatch.setattr(holding, "hold_calls", cancelling)
    with pytest.raises(ValueError, match="no number"):
        _normal(300, 200).persist(on=client)


def test_held_values_are_made_again_where_they_were_lost(client: Any) -> None:
    x = _normal(300, 200)
    held = x.persist(on=client)
    ((place,),) = client.who_has(distributed.futures_of(held)).values()
    os.kill(client.run(os.getpid, workers=[place])[place], signal.SIGKILL)
    assert (held * 2).sum().compute() == (x * 2).sum().compute(on="core")
    assert held.compute().tobytes() == x.compute(on="core").tobytes()
