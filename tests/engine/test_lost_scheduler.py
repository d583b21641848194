"""A scheduler that dies, a client that is closed: said at once, with the address and what to do."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import SchedulerError

pytestmark = pytest.mark.cluster
distributed = pytest.importorskip("distributed")

AT_ONCE = 4.0  # seconds; the loss itself takes milliseconds, the rest is for a busy machine


class Processes:
    """A scheduler and two workers of its own, as ``dask scheduler`` and ``dask worker`` start."""

    def __init__(self) -> None:
        self.running: list[subprocess.Popen[bytes]] = []
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        self.scheduler = self._spawn(
            "scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"
        )
        for _ in range(2):
            self._spawn(
                "worker", self.address, "--host", "127.0.0.1", "--no-nanny", "--nthreads", "1",
                "--no-dashboard", "--death-timeout", "30",
            )  # fmt: skip

    def _spawn(self, *words: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.running.append(process)
        return process

    def close(self) -> None:
        for process in self.running:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait(30)
        self.running.clear()


@pytest.fixture
def processes() -> Iterator[Processes]:
    there = Processes()
    yield there
    there.close()


def _client(processes: Processes) -> Any:
    client = distributed.Client(processes.address, set_as_default=False, timeout="30s")
    client.wait_for_workers(2, timeout=30)
    return client


def _long() -> Any:
    """Minutes of work on two workers."""
    return sc.random.default_rng(0).normal(size=(10**6, 10**5)).sum()


def _short() -> Any:
    return sc.random.default_rng(0).normal(size=(300, 100)).sum()


def _after(seconds: float, act: Callable[[], Any]) -> list[float]:
    """Do ``act`` in ``seconds``; when it was done."""
    done: list[float] = []

    def wait() -> None:
        time.sleep(seconds)
        done.append(time.monotonic())
        act()

    threading.Thread(target=wait, daemon=True).start()
    return done


def _lost(computation: Callable[[], Any], done: list[float]) -> str:
    with pytest.raises(SchedulerError) as caught:
        computation()
    assert time.monotonic() - done[0] < AT_ONCE
    text = str(caught.value)
    assert "cancel-keys" not in text
    assert "ClosedClientError" not in repr(caught.value.__cause__)
    return text


@pytest.mark.parametrize("seconds", [0.05, 1.5])
def test_a_scheduler_that_is_killed(processes: Processes, seconds: float) -> None:
    """While workers are asked what they have, and while they compute."""
    with _client(processes) as client:
        done = _after(seconds, processes.scheduler.kill)
        text = _lost(lambda: _long().compute(on=client), done)
        assert f"the connection to the Dask scheduler at {processes.address} is lost" in text
        assert "persisted on its workers" in text
        assert "compute again" in text
        with pytest.raises(SchedulerError):
            _short().compute(on=client)


def test_the_next_computation_on_a_new_scheduler_at_the_same_address(processes: Processes) -> None:
    expected = _short().compute(on="core")
    _client(processes).close()
    assert _short().compute(on=processes.address) == expected
    processes.close()
    with pytest.raises(SchedulerError, match=processes.address):
        _short().compute(on=processes.address)
    processes.start()
    _client(processes).close()
    assert _short().compute(on=processes.address) == expected
    processes.close()
    processes.start()  # unnoticed, between two computations
    _client(processes).close()
    assert _short().compute(on=processes.address) == expected


def test_a_client_that_is_closed_meanwhile(processes: Processes) -> None:
    for seconds in (0.0, 0.02, 0.3, 1.0):
        client = _client(processes)
        done = _after(seconds, client.close)
        text = _lost(lambda client=client: _long().compute(on=client), done)  # type: ignore[misc]
        assert "closed" in text
        assert "make a new Client" in text


def test_a_stopped_scheduler(processes: Processes, capfd: pytest.CaptureFixture[str]) -> None:
    with _client(processes) as client:
        _short().compute(on=client)
        done = _after(1.0, lambda: os.kill(processes.scheduler.pid, signal.SIGSTOP))
        with pytest.raises(SchedulerError) as caught:
            _long().compute(on=client, worker_timeout=7)
        assert time.monotonic() - done[0] < 7 + 1 + AT_ONCE
        assert f"scheduler at {processes.address} has not answered for 7 s" in str(caught.value)
        assert f"{processes.address} has not answered for 5 s" in capfd.readouterr().err
        os.kill(processes.scheduler.pid, signal.SIGCONT)
        assert _short().compute(on=client) == _short().compute(on="core")


def test_a_persisted_collection_is_lost_with_its_scheduler(processes: Processes) -> None:
    import dask.array as da

    with _client(processes) as client:
        persisted = client.persist(da.ones(1000, chunks=100))
        distributed.wait(persisted)
        x = sc.asarray(persisted) + 1
        assert np.asarray(x.compute(on=client)).sum() == 2000
        processes.scheduler.kill()
        done = [time.monotonic()]
        with pytest.raises(SchedulerError):
            x.compute(on=client)
        assert time.monotonic() - done[0] < 5 + AT_ONCE
