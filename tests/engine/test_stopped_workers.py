"""Workers that are stopped, and hold or make what a computation reads, or close."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import dask
import pytest

import speedcube as sc
from speedcube.engine.clusters import own, roster
from speedcube.engine.clusters.asked.calls import Calls, PlanCall
from speedcube.engine.clusters.asked.outcomes import values_of
from speedcube.engine.clusters.patience import Listed, Quiet, interval
from speedcube.engine.clusters.submission import settled
from speedcube.errors import WorkerError

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    # What was connecting to a worker that has gone is cancelled in the middle of TLS.
    pytest.mark.filterwarnings("ignore:unclosed <ssl:ResourceWarning"),
]
distributed = pytest.importorskip("distributed")

LIMIT: Final = 3  # seconds: the shortest silence that tells of a worker
HANG: Final = 60
WORKERS: Final = 3
ARRAYS: Final = 8
# A worker that several can give arrays asks all of them, for one each, and no second copy goes.
SETTINGS: Final = {
    "distributed.worker.transfer.message-bytes-limit": 1,
    "distributed.scheduler.active-memory-manager.start": False,
}


@contextmanager
def _connected(cluster: Any) -> Iterator[Any]:
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="module")
def another() -> Iterator[Any]:
    """The client of a cluster that is not ours."""
    where = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with dask.config.set(SETTINGS):
        started = distributed.LocalCluster(n_workers=WORKERS, threads_per_worker=1, **where)
    with _connected(started) as client:
        yield client


@pytest.fixture(scope="module")
def ours() -> Iterator[Any]:
    """The client of a cluster as names like ``cores:3x1`` start it."""
    shape = {"n_workers": WORKERS, "threads_per_worker": 1, "silence_logs": 50}
    with dask.config.set(SETTINGS):
        started = own.start(distributed.LocalCluster, **shape)
    with _connected(started) as client:
        yield client


def _workers(client: Any) -> dict[str, int]:
    """The processes of all workers, by address, once all are heard of and checked."""
    deadline = time.monotonic() + HANG
    while True:
        client.wait_for_workers(WORKERS, timeout=HANG)
        pids = client.run(os.getpid, on_error="ignore")
        if len(pids) == WORKERS == len(roster.worker_addresses(client)):
            return dict(sorted(pids.items()))
        assert time.monotonic() < deadline
        time.sleep(0.1)


@contextmanager
def _stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def _is_stopped(pid: int) -> bool:
    import psutil

    try:
        return bool(psutil.Process(pid).status() == "stopped")
    except psutil.NoSuchProcess:
        return False


def _in_time(work: Callable[[], Any]) -> Any:
    """What ``work`` gives; an assertion fails where that takes a minute."""
    found: list[Any] = []
    problems: list[BaseException] = []

    def run() -> None:
        try:
            with dask.config.set({"speedcube.worker-timeout": LIMIT}):
                found.append(work())
        except BaseException as err:
            problems.append(err)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(HANG)
    assert not thread.is_alive(), "it hangs"
    if problems:
        raise problems[0]
    return found[0]


def _called(client: Any, function: Any, futures: list[Any], workers: list[str]) -> Any:
    """What a call of ``function`` that reads ``futures`` gives, first asked of ``workers``."""
    call = PlanCall("call", 0, function, tuple(futures))
    return settled(client, Calls((call,), ("call",)), workers, values_of, None, None)[0]


def _total(*values: int) -> int:
    return sum(values)


def _on_two(client: Any, first: str, second: str) -> list[Any]:
    """Some numbers that the worker ``first`` has made, and ``second`` has read."""
    options = {"pure": False, "workers": [first], "allow_other_workers": True}
    futures = [client.submit(int, k, **options) for k in range(ARRAYS)]
    assert [one.result() for one in futures] == [*range(ARRAYS)]
    client.submit(_total, *futures, workers=[second], pure=False).result()
    assert all({*places} == {first, second} for places in client.who_has(futures).values())
    return futures


def test_what_is_fetched_from_a_stopped_worker_of_ours(ours: Any) -> None:
    """Dask waits for it, though another worker has it, too: it is ended, and comes back."""
    pids = _workers(ours)
    first, second, third = pids
    futures = _on_two(ours, first, second)
    with _stopped(pids[first]):
        assert _in_time(lambda: _called(ours, _total, futures, [third])) == sum(range(ARRAYS))
        assert not _is_stopped(pids[first])
    assert pids[first] not in _workers(ours).values()


def test_what_is_fetched_from_a_stopped_worker_of_another(another: Any) -> None:
    """Who uses it, too, is not known: it is left alone, and those that have the arrays go on."""
    pids = _workers(another)
    first, second, third = pids
    futures = _on_two(another, first, second)
    with _stopped(pids[first]):
        assert _in_time(lambda: _called(another, _total, futures, [third])) == sum(range(ARRAYS))
        assert _is_stopped(pids[first])


def test_what_only_a_stopped_worker_of_another_has(another: Any) -> None:
    x = sc.random.default_rng(5).normal(10, 1, size=(700, 500))
    held = x.persist(on=another)
    pids = _workers(another)
    ((place,),) = another.who_has(distributed.futures_of(held)).values()
    with _stopped(pids[place]):
        with pytest.raises(WorkerError) as caught:
            _in_time(held.sum().compute)
        text = str(caught.value)
        assert f"worker {place} gives no sign of life, and holds or makes arrays" in text
        assert "continue it (kill -CONT), or end it" in text
    assert another.run(os.getpid, workers=[place])[place] == pids[place], "it runs again"
    assert held.sum().compute() == x.sum().compute(on="core")
    assert _workers(another) == pids, "nobody was ended"


def test_what_a_stopped_worker_of_ours_has_is_made_again(ours: Any) -> None:
    x = sc.random.default_rng(5).normal(10, 1, size=(700, 500))
    held = x.persist(on=ours)
    pids = _workers(ours)
    ((place,),) = ours.who_has(distributed.futures_of(held)).values()
    with _stopped(pids[place]):
        assert _in_time(held.sum().compute) == x.sum().compute(on="core")


@pytest.mark.parametrize("on", [None, "core"])
def test_an_array_that_lies_with_a_stopped_worker_of_ours_is_read(ours: Any, on: str) -> None:
    """Nothing is computed with it, or it is to be computed with here: it is made again first."""
    x = sc.random.default_rng(5).normal(10, 1, size=(700, 500))
    held = x.persist(on=ours)
    pids = _workers(ours)
    ((place,),) = ours.who_has(distributed.futures_of(held)).values()
    with _stopped(pids[place]):
        found = _in_time(lambda: (held + (on is not None)).compute(on=on))
        assert not _is_stopped(pids[place])
    assert (found == (x + (on is not None)).compute(on="core")).all()
    assert (held.compute() == x.compute(on="core")).all(), "it is still there"


def test_an_array_that_lies_with_a_stopped_worker_of_another_is_read(another: Any) -> None:
    """It is not lost, though it cannot be read now."""
    x = sc.random.default_rng(5).normal(10, 1, size=(700, 500))
    held = x.persist(on=another)
    pids = _workers(another)
    ((place,),) = another.who_has(distributed.futures_of(held)).values()
    refused = pytest.raises(WorkerError, match=f"worker {place} .* holds or makes arrays")
    with _stopped(pids[place]), refused:
        _in_time(held.compute)
    assert (held.compute() == x.compute(on="core")).all()
    assert _workers(another) == pids, "nobody was ended"


def _slowly(number: int) -> int:
    time.sleep(1)
    return number


def _first_said(workers: int, limit: float, beat: float, stopped: int) -> tuple[float, set[int]]:
    """When anybody is first called silent, and who, where ``stopped`` of them give no sign."""
    quiet, passed, now = Quiet(), interval(workers), 0.0
    while now < 200:
        now += passed
        seen = [0.0 if k < stopped else now // beat for k in range(workers)]
        there = [Listed(f"w{k}", ("s", f"w{k}", ""), k, at) for k, at in enumerate(seen)]
        silent = quiet.after(passed, there, limit)
        if silent:
            return now, {int(worker.name) for worker in silent}
    return now, set()


def test_from_when_on_a_worker_is_silent() -> None:
    """After five seconds, or as many as are waited; the first look comes before the first two."""
    for limit, wanted in ((3, 4), (4.5, 6), (5, 6), (60, 6)):
        assert _first_said(4, limit, 0.5, stopped=2) == (wanted, {0, 1}), limit


@pytest.mark.parametrize("workers", [1, 10, 11, 49, 50, 199, 200, 300, 1_000])
def test_who_is_asked_less_often_is_not_silent(workers: int) -> None:
    """However short a time is waited: of many workers, who are asked less often, a longer one."""
    beat = distributed.scheduler.heartbeat_interval(workers)
    assert _first_said(workers, 0.1, beat, stopped=0)[1] == set()
    assert _first_said(workers, 0.1, beat, stopped=1)[1] == {0}


def test_a_line_says_who_is_given_up(ours: Any, capfd: pytest.CaptureFixture[str]) -> None:
    pids = _workers(ours)
    first, second, _ = pids
    made = ours.submit(_slowly, 3, pure=False, workers=[first], allow_other_workers=True)
    while not ours.processing()[first]:
        time.sleep(0.01)
    with _stopped(pids[first]):
        assert _in_time(lambda: _called(ours, _total, [made], [second])) == 3
    (line,) = [one for one in capfd.readouterr().err.splitlines() if "is given up" in one]
    assert f"speedcube: worker {first} (" in line
    assert " s without a sign of life (worker_timeout=3), and with it arrays that lie" in line
    assert line.endswith(": others go on, and make again what they need of that (2 are there)")


@pytest.mark.parametrize("whose", ["ours", "another"])
def test_what_a_stopped_worker_was_to_make(whose: str, request: pytest.FixtureRequest) -> None:
    client = request.getfixturevalue(whose)
    pids = _workers(client)
    first, second, _ = pids
    options = {"pure": False, "workers": [first], "allow_other_workers": True}
    made = client.submit(_slowly, 3, **options)
    while not client.processing()[first]:
        time.sleep(0.01)
    with _stopped(pids[first]):
        if whose == "ours":
            assert _in_time(lambda: _called(client, _total, [made], [second])) == 3
            return
        with pytest.raises(WorkerError, match=f"worker {first} .* holds or makes arrays"):
            _in_time(lambda: _called(client, _total, [made], [second]))


def test_a_worker_that_stopped_while_it_closed(
    another: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connections have ended, so a question fails; yet the scheduler lists it for minutes."""
    pids = _workers(another)
    first, *others = pids
    answer = roster._answer

    async def broken(client: Any, worker: Any, answers: bool) -> Any:
        if worker.address == first:
            return OSError("Connection closed by writer")
        return await answer(client, worker, answers)

    monkeypatch.setattr(roster, "_answer", broken)
    monkeypatch.setattr(roster, "_trusted", {})
    with _stopped(pids[first]):
        assert _in_time(lambda: roster.worker_addresses(another)) == others
