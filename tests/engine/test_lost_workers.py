"""Workers that die, stop, or are not there: the right bits all the same, or what to do."""

from __future__ import annotations

import os
import random
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import dask
import numpy as np
import pytest
from dask._task_spec import TaskRef

import speedcube as sc
from speedcube.engine.clusters.asked.calls import PlanCall
from speedcube.engine.clusters.asked.submitted import Submission
from speedcube.engine.clusters.fingerprint import expected
from speedcube.engine.clusters.handing import TOPIC
from speedcube.engine.clusters.losses import on_loop
from speedcube.engine.clusters.patience import Listed
from speedcube.engine.clusters.watch import Watch
from speedcube.errors import ParameterError, WorkerError

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
distributed = pytest.importorskip("distributed")

WORKERS: Final = 4
LIMIT: Final = 6  # seconds: one more than until something is said
SLACK: Final = 10  # seconds, for a busy machine

_DATA = np.random.default_rng(3).normal(size=(700, 500))


def _normal(*shape: int) -> Any:
    return sc.random.default_rng(5).normal(10, 1, size=shape)


EXPRESSIONS: Final[list[Callable[[], Any]]] = [
    lambda: _normal(6_000, 4_000).sum(),  # parts and a merge
    lambda: sc.asarray(_DATA).cumsum() + 1,  # parts that carry on, with data of their own
    lambda: (lambda x: ((x - x.mean()) ** 2).sum())(_normal(3_000, 2_000)),  # two stages
    lambda: (sc.asarray(_DATA) * 2 + 1)[::-1, ::3],  # parts that are joined
]


@pytest.fixture(scope="module")
def wanted() -> list[bytes]:
    return [np.asarray(make().compute(on="core")).tobytes() for make in EXPRESSIONS]


@contextmanager
def _cluster(workers: int, **options: Any) -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
            **options,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as connected,
    ):
        yield connected


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with _cluster(WORKERS) as connected:
        yield connected


def _after(seconds: float, act: Callable[[], Any]) -> threading.Thread:
    def wait() -> None:
        time.sleep(seconds)
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def _bits(make: Callable[[], Any], client: Any, **options: Any) -> bytes:
    return np.asarray(make().compute(on=client, **options)).tobytes()


def _pids(client: Any, workers: int = WORKERS) -> dict[str, int]:
    """Of all workers, once the killed ones are there again."""
    client.wait_for_workers(workers, timeout=60)
    while True:
        pids = client.run(os.getpid, on_error="ignore")
        if len(pids) >= workers:
            return dict(sorted(pids.items()))
        time.sleep(0.1)


def _kills(client: Any, wanted: list[bytes], delays: list[float], seed: int) -> None:
    """Kill a worker so long after the first computation on its new cluster began, then go on."""
    chance = random.Random(seed)
    for delay in delays:
        victim = chance.choice(list(_pids(client).values()))
        killing = _after(delay, lambda victim=victim: os.kill(victim, signal.SIGKILL))  # type: ignore[misc]
        k = 0
        while killing.is_alive() or k < len(EXPRESSIONS):
            assert _bits(EXPRESSIONS[k % 4], client) == wanted[k % 4], (delay, k)
            k += 1
        killing.join()


def test_a_killed_worker_changes_nothing(client: Any, wanted: list[bytes]) -> None:
    """While workers are asked what they have (the new ones, each time), and while they compute."""
    _kills(client, wanted, [0.0, 0.05, 0.2, 0.4, 0.6], seed=1)


def test_nobody_goes_on_connecting_to_a_worker_that_has_gone(client: Any) -> None:
    """Dask tells the others. Who was just told to fetch from it connects for 30 seconds then."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"tcp://127.0.0.1:{free.getsockname()[1]}"

    def connect(nobody: str, dask_worker: Any) -> None:
        import asyncio

        dask_worker.begun = asyncio.ensure_future(dask_worker.rpc.connect(nobody))

    def is_done(dask_worker: Any) -> bool:
        return bool(dask_worker.begun.done() and dask_worker.begun.exception())

    def is_connecting(nobody: str, dask_worker: Any) -> bool:
        return bool(dask_worker.rpc._connecting.get(nobody))

    def all_soon(ask: Callable[[], dict[str, bool]]) -> bool:
        """Within 10 seconds, a third of what they would connect for: machines may be loaded."""
        until = time.monotonic() + 10
        while not (done := all(ask().values())) and time.monotonic() < until:
            time.sleep(0.02)
        return done

    _pids(client)
    client.run(connect, nobody)
    assert all_soon(lambda: client.run(is_connecting, nobody))
    assert [*client.run(is_done).values()] == [False] * WORKERS
    on_loop(client, lambda: Watch(client).disconnect([nobody], []))
    assert all_soon(lambda: client.run(is_done))


def test_a_killed_worker_costs_the_last_of_its_slices(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long part hands its record over on the way: who runs it next begins behind that.

    And a line says who has gone; the others are told once more.
    """
    told: list[str] = []
    disconnect = Watch.disconnect

    async def noted(self: Watch, gone: Sequence[str], listed: Iterable[Listed]) -> None:
        told.extend(gone)
        await disconnect(self, gone, listed)

    monkeypatch.setattr(Watch, "disconnect", noted)
    # Two seconds of work: longer than a driver waits between two looks at its workers.
    x = sc.random.default_rng(1).gamma(2.5, size=420_000_000)
    results: list[Any] = []
    with _cluster(2) as connected:
        pids = connected.run(os.getpid)
        run = threading.Thread(target=lambda: results.append(x.sum().compute(on=connected)))
        run.start()
        while not (events := connected.get_events(TOPIC)):
            time.sleep(0.02)
        first = events[0][1]
        os.kill(pids[first["worker"]], signal.SIGKILL)
        run.join()
        places: dict[bool, list[int]] = {True: [], False: []}
        for _, one in connected.get_events(TOPIC):
            if one["name"] == first["name"]:
                places[one["worker"] == first["worker"]].append(one["position"])
    assert results == [x.sum().compute(on="cores:2")]
    assert told == [first["worker"]]
    assert places[False]
    assert min(places[False]) > max(places[True]) > 0
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("speedcube:")]
    assert len(said) == 1
    assert said[0].startswith(f"speedcube: worker {first['worker']}")
    assert "has gone: what it had of this computation is made again, from its last" in said[0]


def test_one_that_has_gone_is_known_by_its_address() -> None:
    """Whoever is told to give it up needs that, before a first look and after it."""
    named, other = (
        Listed(address, ("s", address, "d"), name, 0.0)
        for address, name in (("tcp://a:1", 0), ("tcp://b:1", "tcp://b:1"))
    )
    submission = Submission(None, {}, (), expected())
    submission.meant = frozenset({named.address, other.address})
    assert submission.gone([other]) == {"tcp://a:1": "tcp://a:1"}
    assert not submission.is_left_by([named, other])
    assert submission.gone([other]) == {"tcp://a:1": "tcp://a:1 (0)"}
    assert submission.gone([named]) == {"tcp://b:1": "tcp://b:1"}


@pytest.mark.slow
def test_twenty_killed_workers_change_nothing(wanted: list[bytes]) -> None:
    for round_ in range(4):
        with _cluster(WORKERS) as client:
            chance = random.Random(round_)
            _kills(client, wanted, [chance.random() * 0.6 for _ in range(5)], seed=round_)


@contextmanager
def _stopped(*pids: int) -> Iterator[None]:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def test_a_stopped_worker_is_done_without(
    client: Any, wanted: list[bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    (address, pid), *_ = _pids(client).items()
    assert _bits(EXPRESSIONS[0], client) == wanted[0]
    with _stopped(pid):
        began = time.monotonic()
        assert _bits(EXPRESSIONS[2], client, worker_timeout=LIMIT) == wanted[2]
        assert LIMIT - 2 < time.monotonic() - began < LIMIT + SLACK
        said = [line for line in capfd.readouterr().err.splitlines() if "speedcube" in line]
        assert len(said) == 2
        assert f"no sign of life from worker {address}" in said[0]
        assert f"tasks; after {LIMIT} s without it (worker_timeout=)" in said[0]
        assert f"worker {address} (" in said[1]
        assert ") is given up, after " in said[1]
        assert "make again what they need of that (3 are there)" in said[1]
        began = time.monotonic()  # it is known now
        for make, bits in zip(EXPRESSIONS, wanted, strict=True):
            assert _bits(make, client) == bits
        assert time.monotonic() - began < SLACK
    deadline = time.monotonic() + SLACK
    while _normal(10).sum().plan(on=client).workers < WORKERS:  # it is back
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_worker_that_is_stopped_while_it_computes(client: Any, wanted: list[bytes]) -> None:
    """With what it holds: the others make it again."""
    pids = _pids(client)
    x = _normal(3_000, 4_000).cumsum()[-1:]
    expected = np.asarray(x.compute(on="cores")).tobytes()
    assert _bits(EXPRESSIONS[0], client) == wanted[0]
    stopped: list[Any] = []
    for pid, seconds in zip(pids.values(), (0.1, 0.7), strict=False):
        stop = _after(seconds, lambda pid=pid: stopped.append(os.kill(pid, signal.SIGSTOP)))  # type: ignore[misc]
        try:
            assert _bits(lambda: x, client, worker_timeout=LIMIT) == expected
        finally:
            stop.join()
            os.kill(pid, signal.SIGCONT)


def test_what_others_have_given_stays(client: Any) -> None:
    """``c`` reads ``b``, which has read what the stopped worker holds: nothing is made again."""

    def slow(*values: int) -> int:
        import time

        time.sleep(2)
        return sum(values)

    pids = _pids(client)
    calls = {
        "a": PlanCall("a", 0, lambda: 3, ()),
        "b": PlanCall("b", 1, lambda a: a + 4, (TaskRef("a"),)),
        "c": PlanCall("c", 1, slow, (TaskRef("b"),)),
    }
    assert _bits(EXPRESSIONS[3], client)
    submission = Submission(client, calls, ("c",), expected())
    submission.submit([*pids])
    submission.futures["b"].result()
    with _stopped(next(iter(pids.values()))):
        kept = client.sync(submission.kept, [*pids][1:])
        kept.pop("a", None)  # which the second worker has, too, for having read it
        assert kept == {"b": submission.futures["b"], "c": submission.futures["c"]}
        submission.submit([*pids][1:], kept)
        assert submission.futures == kept
        assert submission.futures["c"].result() == 7


def test_a_worker_that_goes_on_in_time(client: Any, wanted: list[bytes]) -> None:
    pid = next(iter(_pids(client).values()))
    assert _bits(EXPRESSIONS[0], client) == wanted[0]
    os.kill(pid, signal.SIGSTOP)
    going_on = _after(2, lambda: os.kill(pid, signal.SIGCONT))
    assert _bits(EXPRESSIONS[1], client) == wanted[1]
    going_on.join()


def test_all_workers_stopped(client: Any, wanted: list[bytes]) -> None:
    pids = _pids(client)
    assert _bits(EXPRESSIONS[3], client) == wanted[3]
    with _stopped(*pids.values()):
        for _ in range(2):  # what is known of them is said, too
            with pytest.raises(WorkerError) as caught:
                _bits(EXPRESSIONS[0], client, worker_timeout=LIMIT)
            text = str(caught.value)
            assert f"all workers of the scheduler at {client.scheduler.address}" in text
            assert next(iter(pids)) in text
            assert "kill -CONT" in text
    time.sleep(1)
    assert _bits(EXPRESSIONS[3], client) == wanted[3]


def test_a_pool_that_loses_its_workers(capfd: pytest.CaptureFixture[str]) -> None:
    with _cluster(1, processes=False, protocol="tcp") as client:
        small = _bits(EXPRESSIONS[3], client)
        client.cluster.scale(0)
        while client.scheduler_info()["workers"]:
            time.sleep(0.1)
        with pytest.raises(WorkerError, match="has no workers; start some, then compute again"):
            _bits(EXPRESSIONS[3], client, worker_timeout=1)
        new = _after(5.5, lambda: client.cluster.scale(1))
        assert _bits(EXPRESSIONS[3], client) == small  # it waits for one
        new.join()
        assert "has no workers: waiting for one, 60 s in all" in capfd.readouterr().err


def test_a_cluster_that_loses_all_its_workers_while_it_computes(wanted: list[bytes]) -> None:
    with _cluster(1) as client:
        pid = next(iter(_pids(client, 1).values()))
        assert _bits(EXPRESSIONS[1], client) == wanted[1]
        killing = _after(0.1, lambda: os.kill(pid, signal.SIGKILL))
        assert _bits(EXPRESSIONS[0], client) == wanted[0]  # its nanny starts another one
        killing.join()
        _pids(client, 1)
        _after(0.3, lambda: client.cluster.scale(0)).join()
        with pytest.raises(WorkerError, match="has no workers"):
            _normal(10**6, 10**4).sum().compute(on=client, worker_timeout=2)


def test_what_was_held_by_all_workers_is_made_by_those_that_come_later() -> None:
    """For a moment there is none: Dask would keep the wish for one that has gone."""
    x, found = _normal(300, 200), list[Any]()
    with _cluster(1) as client:
        held = x.persist(on=client)
        (old,) = client.scheduler_info()["workers"]
        os.kill(_pids(client, 1)[old], signal.SIGKILL)
        while [*client.scheduler_info()["workers"]] in ([], [old]):
            time.sleep(0.05)
        reading = threading.Thread(target=lambda: found.append(held.sum().compute()), daemon=True)
        reading.start()
        reading.join(20)
    assert found == [x.sum().compute(on="core")]


@pytest.mark.slow
def test_a_busy_worker_is_not_taken_for_a_stopped_one(
    client: Any, wanted: list[bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    """A call that holds the interpreter's lock sends no heartbeats, and is waited for."""

    def hold(seconds: float) -> float:
        import itertools
        import time

        began = time.monotonic()
        sum(itertools.repeat(1, 10**7))
        sum(itertools.repeat(1, int(seconds / (time.monotonic() - began) * 10**7)))
        return time.monotonic() - began

    address = next(iter(_pids(client)))
    assert _bits(EXPRESSIONS[0], client) == wanted[0]
    for _ in range(4):
        held = client.submit(hold, 15, workers=[address], pure=False)
        time.sleep(1)
        assert _bits(EXPRESSIONS[2], client, worker_timeout=LIMIT) == wanted[2]
        assert held.done()
        if held.result() > 10:  # else the machine was busier when it was measured than later
            break
    assert "its process is busy" in capfd.readouterr().err
    assert _normal(10).sum().plan(on=client).workers == WORKERS


@pytest.mark.parametrize("value", [0, -1, True, float("nan"), "soon", [5]])
def test_a_timeout_that_is_none(value: Any) -> None:
    with pytest.raises(ParameterError, match=r"worker_timeout=.*: give seconds, more than 0"):
        sc.ones(3).compute(on="core", worker_timeout=value)
    with dask.config.set({"speedcube.worker-timeout": "2 min"}):
        assert sc.ones(3).sum().compute(on="core", worker_timeout="1s") == 3
