"""A scheduler that dies, a client that is closed: said at once, with the address and what to do."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import rungs
from speedcube.engine.clusters.client import _clients as clients
from speedcube.errors import SchedulerError

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
distributed = pytest.importorskip("distributed")

AT_ONCE = 4.0  # seconds; the loss itself takes milliseconds, the rest is for a busy machine


_SCHEDULER = """
import asyncio, sys
from distributed import Scheduler, Worker

async def serve(port):
    async with Scheduler(host="127.0.0.1", port=port, dashboard=False) as scheduler:
        async with Worker(scheduler.address, nthreads=1, host="127.0.0.1", dashboard=False):
            print("ready", flush=True)
            await scheduler.finished()

asyncio.run(serve(int(sys.argv[1])))
"""


class SchedulerProcess:
    """A scheduler with a worker of its own, in a process that a signal reaches at any time."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SCHEDULER, str(self.port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"ready\n"

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()

    def close(self) -> None:
        self.process.kill()
        self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def scheduler() -> Iterator[SchedulerProcess]:
    there = SchedulerProcess()
    yield there
    there.close()


def _client(scheduler: SchedulerProcess) -> Any:
    return distributed.Client(scheduler.address, set_as_default=False, timeout="30s")


def _long() -> Any:
    """Minutes of work."""
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
    """What the error says; it comes at once."""
    with pytest.raises(SchedulerError) as caught:
        computation()
    assert time.monotonic() - done[0] < AT_ONCE
    assert "cancel-keys" not in str(caught.value)
    assert "ClosedClientError" not in repr(caught.value.__cause__)
    return str(caught.value)


def test_a_scheduler_that_is_killed_while_its_workers_are_asked(
    scheduler: SchedulerProcess,
) -> None:
    with _client(scheduler) as client:
        text = _lost(lambda: _long().compute(on=client), _after(0.05, scheduler.kill))
        assert f"the connection to the Dask scheduler at {scheduler.address} is lost" in text


def test_a_scheduler_that_is_killed_while_it_computes(scheduler: SchedulerProcess) -> None:
    import dask.array as da

    with _client(scheduler) as client:
        x = sc.from_dask_array(client.persist(da.ones(1000, chunks=100))) + 1
        assert np.asarray(x.compute(on=client)).sum() == 2000
        text = _lost(lambda: _long().compute(on=client), _after(0.5, scheduler.kill))
        assert f"the connection to the Dask scheduler at {scheduler.address} is lost" in text
        assert "persisted on its workers" in text
        assert "compute again" in text
        for again in (x, _short()):
            with pytest.raises(SchedulerError, match="compute again"):
                again.compute(on=client)


def test_a_new_scheduler_at_the_same_address(scheduler: SchedulerProcess) -> None:
    expected = _short().compute(on="core")
    assert _short().compute(on=scheduler.address) == expected
    scheduler.close()
    with pytest.raises(SchedulerError, match=scheduler.address):
        _short().compute(on=scheduler.address)
    scheduler.start()
    assert _short().compute(on=scheduler.address) == expected
    scheduler.close()
    scheduler.start()  # unnoticed, between two computations
    assert _short().compute(on=scheduler.address) == expected
    clients.pop(scheduler.address).close()


def test_a_client_that_is_closed_meanwhile(scheduler: SchedulerProcess) -> None:
    for seconds in (0.0, 0.01, 0.02, 0.3, 0.6):
        client = _client(scheduler)
        done = _after(seconds, client.close)
        text = _lost(lambda client=client: _long().compute(on=client), done)  # type: ignore[misc]
        assert "closed" in text
        assert "make a new Client" in text


def test_a_client_that_is_closed_before_its_tasks_are_sent(scheduler: SchedulerProcess) -> None:
    client = _client(scheduler)
    submit = client.submit

    def closing(*args: Any, **kwargs: Any) -> Any:
        client.close()
        return submit(*args, **kwargs)

    client.submit = closing
    with pytest.raises(SchedulerError, match=r"was closed meanwhile.*make a new Client"):
        _short().compute(on=client)


def test_a_client_that_is_closed_while_its_workers_are_asked(
    scheduler: SchedulerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, real = _client(scheduler), rungs.worker_addresses

    def closing(asked: Any, *given: Any) -> Any:
        found = real(asked, *given)
        asked.close()
        return found

    monkeypatch.setattr(rungs, "worker_addresses", closing)
    with pytest.raises(SchedulerError, match=r"closed.*make a new Client"):
        _short().compute(on=client)


def test_a_stopped_scheduler(
    scheduler: SchedulerProcess, capfd: pytest.CaptureFixture[str]
) -> None:
    with _client(scheduler) as client:
        assert _short().compute(on=client) == _short().compute(on="core")
        done = _after(0.5, lambda: scheduler.signal(signal.SIGSTOP))
        with pytest.raises(SchedulerError) as caught:
            _long().compute(on=client, worker_timeout=6)
        assert time.monotonic() - done[0] < 6 + 1 + AT_ONCE
        assert f"scheduler at {scheduler.address} has not answered for 6 s" in str(caught.value)
        assert f"{scheduler.address} has not answered for 5 s" in capfd.readouterr().err
        scheduler.signal(signal.SIGCONT)
        assert _short().compute(on=client) == _short().compute(on="core")
