"""What the driver learns of a worker that dies while it asks, places or fetches: its name."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest
from distributed import Client, LocalCluster

from speedcube.train.driver import placement, scheduler
from speedcube.train.driver.placement import Site
from speedcube.train.driver.scheduler import LostWorker

pytestmark = pytest.mark.cluster
FACTS = {"cores": 2, "process": ("elsewhere", "0"), "one_gpu": False, "devices": (), "gpus": 0}


@pytest.fixture
def client() -> Iterator[Any]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        Client(cluster, set_as_default=False) as found,
    ):
        yield found


def pids(client: Any) -> dict[str, int]:
    """The workers' processes by their addresses, in the order of their names."""
    return dict(sorted(client.run(os.getpid).items()))


def nap() -> int:
    time.sleep(0.6)
    return os.getpid()


@pytest.mark.parametrize("killed", [0, 1])
def test_a_question_to_several_workers_names_the_one_that_died(client: Any, killed: int) -> None:
    """Named falsely, the living one would be done without, and a job would wait for ever."""
    workers = pids(client)
    dead = list(workers)[killed]
    assert scheduler.ask_workers(client, os.getpid, workers=workers) == workers
    os.kill(workers[dead], signal.SIGKILL)
    with pytest.raises(LostWorker, match=f"worker {dead} is gone") as caught:
        scheduler.ask_workers(client, nap, workers=workers)
    assert caught.value.worker == dead


def test_a_question_names_the_worker_that_does_not_answer(client: Any) -> None:
    workers = pids(client)
    silent = list(workers)[1]
    os.kill(workers[silent], signal.SIGSTOP)
    try:
        asked = {
            worker: client.run(os.getpid, workers=[worker], asynchronous=True) for worker in workers
        }
        with pytest.raises(LostWorker, match=f"{silent} does not answer within 1 s"):
            scheduler.with_workers(client, asked, 1)
    finally:
        os.kill(workers[silent], signal.SIGCONT)


def test_a_value_that_went_with_its_worker_is_none(client: Any) -> None:
    """Dask itself would wait for ever to compute it again where nobody is."""
    workers = pids(client)
    worker = next(iter(workers))
    future = client.submit(os.getpid, workers=[worker], pure=False)
    assert scheduler.fetch(client, future, worker) is None, "it has not ended"
    assert future.result() == workers[worker]
    assert scheduler.fetch(client, future, worker) == workers[worker]
    os.kill(workers[worker], signal.SIGKILL)
    assert scheduler.fetch(client, future, worker) is None


def test_no_rank_is_placed_without_the_others(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker may die after it has said what it has."""
    workers = [*pids(client), "tcp://127.0.0.1:1"]
    monkeypatch.setattr(placement, "_facts", lambda client, named: dict.fromkeys(named, FACTS))
    site = Site("a test", client, 3)
    with pytest.raises(LostWorker, match=r"worker tcp://127\.0\.0\.1:1 is gone"):
        placement.place(site, tuple((worker, worker) for worker in workers))
    places, _ = placement.place(site, tuple((worker, worker) for worker in workers[:2]))
    assert {place.worker for place in places} == set(workers[:2])
