"""train.run under hostile functions and clumsy callers: they get an answer, and leave no litter."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import psutil
import pytest
from distributed import Client, Event, LocalCluster, get_client

from speedcube import train
from speedcube.errors import RungError, SchedulerError, TrainError
from speedcube.train.driver import timeouts
from speedcube.train.metrics.rows import read_rows
from speedcube.train.ranks.process import SILENT_SECONDS, TEXT_LIMIT
from speedcube.train.worker import agent

pytestmark = pytest.mark.cluster


@pytest.fixture(autouse=True)
def _in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as connected,
    ):
        yield connected


def run(function: Callable[..., Any], *args: Any, **options: Any) -> train.Job:
    return train.run(function, *args, **{"progress": False} | options)


def events(job: train.Job, kind: str) -> list[dict[str, Any]]:
    return [line for line in read_rows(job.out / "metrics.jsonl") if line.get("event") == kind]


def exists(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_a_worker_that_computes_something_else_is_waited_for(client: Client) -> None:
    def hold() -> None:
        Event("over", client=get_client()).wait()

    held = client.submit(hold, pure=False, workers=[_one(client)])
    job = run(train.rank, on=client)
    while not events(job, "waits"):
        time.sleep(0.1)
    assert not job.wait(timeouts.AGENT_SECONDS + 1), "longer than an agent may be silent"
    Event("over", client=client).set()
    assert job.results() == [0, 1]
    (event,) = events(job, "waits")
    assert event["text"].startswith(f"worker {_one(client)} is busy with other tasks; rank ")
    assert held.result() is None
    job = run(train.rank, on=client)
    assert job.results() == [0, 1]
    assert events(job, "waits") == []


def _one(client: Client) -> str:
    return min(client.scheduler_info(n_workers=-1)["workers"])


def test_a_job_may_be_started_in_a_dask_task(client: Client) -> None:
    def task() -> Any:
        job = run(train.rank, on=get_client())
        return job.results(), len(list(job)), job.results()

    assert client.submit(task, pure=False).result() == ([0, 1], 0, [0, 1])

    def own() -> str:
        with pytest.raises(RungError) as caught:
            run(train.rank, on="cores:2")
        return str(caught.value)

    assert "inside a Dask task give on=distributed.get_client()" in client.submit(own).result()


def steps(count: int) -> None:
    for _ in range(count):
        time.sleep(0.01)
        train.report({"x": 1})


def detached(seconds: int) -> int:
    return subprocess.Popen(["sleep", str(seconds)], start_new_session=True).pid


def test_no_process_outlives_its_rank_not_even_in_a_session_of_its_own(client: Client) -> None:
    pids = run(detached, 1000, on=client).results()
    assert not any(map(exists, pids))

    def fit() -> None:
        train.report({"pid": detached(1000)})
        os.kill(os.getpid(), signal.SIGKILL)

    job = run(fit, on=client)
    with pytest.raises(train.RankError, match="was killed by SIGKILL"):
        job.results()
    assert job.rows()
    assert not any(exists(row["metrics"]["pid"]) for row in job.rows())


class Rude(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def test_exceptions_of_every_shape_arrive(client: Client) -> None:
    def long() -> None:
        raise ValueError("h" * 30_000_000)

    with pytest.raises(train.RankError, match=r"it raised builtins\.ValueError: hhh") as caught:
        run(long, on=client).results()
    assert "[... 29934464 characters ...]" in str(caught.value)
    assert len(str(caught.value)) < 4 * TEXT_LIMIT

    def rude() -> None:
        raise Rude

    with pytest.raises(Rude) as odd:
        run(rude, on=client).results()
    assert "its text cannot be had: RuntimeError" in "\n".join(odd.value.__notes__)

    def several() -> None:
        raise ExceptionGroup("both", [ValueError("one"), KeyError("two")])

    with pytest.raises(ExceptionGroup, match="both") as group:
        run(several, on=client).results()
    assert [type(err) for err in group.value.exceptions] == [ValueError, KeyError]


def test_what_cannot_come_home_is_said(client: Client) -> None:
    async def fit() -> None:
        pass

    with pytest.raises(TrainError, match="what the function returned, of type coroutine, cannot"):
        run(fit, on=client).results()
    with pytest.raises(TrainError, match=r"of type lock, .* cannot pickle '_thread.lock'"):
        run(threading.Lock, on=client).results()


def test_who_cancels_blames_no_rank(client: Client) -> None:
    job = run(steps, 10_000, on=client)
    next(iter(job))
    job.cancel()
    job.cancel()
    for look in (job.results, lambda: list(job)):
        with pytest.raises(TrainError, match=r"^the job was cancelled\. No checkpoint") as caught:
            look()
        assert not isinstance(caught.value, train.RankError)


def test_output_that_nobody_will_read_takes_no_disk(client: Client) -> None:
    def fit() -> float:
        with open(1, "wb", closefd=False) as out:
            for _ in range(24):
                out.write(bytes(1 << 20))
        deadline = time.monotonic() + 60
        while os.fstat(1).st_blocks and time.monotonic() < deadline:
            time.sleep(0.1)
        print("after")
        return os.fstat(1).st_blocks * 512

    job = run(fit, on=client)
    assert max(job.results()) <= 1 << 16
    assert job.logs().endswith(f"[output beyond {agent.LOG_LIMIT >> 20} MB is not kept]\n")


def test_clients_that_cannot_be_used_are_refused(client: Client) -> None:
    closed = Client(client.scheduler.address, set_as_default=False)
    closed.close()
    with pytest.raises(SchedulerError, match="is closed; make a new Client"):
        run(train.rank, on=closed)

    async def refused() -> str:
        async with Client(
            client.scheduler.address, asynchronous=True, set_as_default=False
        ) as connected:
            with pytest.raises(SchedulerError) as caught:
                run(train.rank, on=connected)
        return str(caught.value)

    assert "is asynchronous: give a Client made without" in asyncio.run(refused())


def test_workers_that_are_still_starting_are_waited_for(capfd: pytest.CaptureFixture[str]) -> None:
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as connected,
    ):
        joining = threading.Timer(1, cluster.scale, (2,))
        joining.start()
        try:
            assert run(train.rank, on=connected, ranks=2).results() == [0, 1]
        finally:
            joining.join()
        assert (
            "has 1 of the 2 workers that the ranks need: waiting up to 60 s for the rest"
            in capfd.readouterr().err
        )
        begin = time.monotonic()
        with (
            dask.config.set({"speedcube.worker-timeout": 0.5}),
            pytest.raises(TrainError, match=r"3 ranks on .*: it has 2 workers, and each runs one"),
        ):
            run(train.rank, on=connected, ranks=3)
        assert time.monotonic() - begin >= 0.5


PROGRAM = """
import sys, time
from speedcube import train

def steps(count):
    for step in range(count):
        time.sleep(0.05)
        train.report({"x": step})

def bad():
    raise ValueError("seven")

if __name__ == "__main__":
    if sys.argv[1] == "drops":
        job = train.run(bad, on="cores:1", out="failed")
        job.wait()
        next(iter(train.run(steps, 10_000, on="cores:1", out="dropped")))
    else:
        job = train.run(steps, 200, on="cores:2", progress=False, out="paused")
        next(iter(job))
        print("going", flush=True)
        print(job.results(), len(job.rows()), job.restarts)
"""


def program(tmp_path: Path, mode: str) -> subprocess.Popen[str]:
    """In a process group of its own, as a shell starts it."""
    (tmp_path / "program.py").write_text(PROGRAM)
    return subprocess.Popen(
        [sys.executable, "program.py", mode],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )


def test_a_program_that_does_not_ask_is_told(tmp_path: Path) -> None:
    with program(tmp_path, "drops") as process:
        _, errors = process.communicate()
    assert process.returncode == 0
    lines = errors.splitlines()
    assert lines[0] == (
        "bad: rank 0 on 127.0.0.1 failed at step 0: it raised builtins.ValueError: seven"
    )
    assert lines[1] == "bad: failed"
    assert "steps: the program ends before this job; wait for it with job.results()" in lines
    assert lines[-1].startswith("steps: cancelled, step ")


@pytest.mark.parametrize("who", ["group", pytest.param("machine", marks=pytest.mark.slow)])
def test_ctrl_z_and_a_machine_that_pauses_end_no_job(who: str, tmp_path: Path) -> None:
    with program(tmp_path, "pauses") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "going\n"
        if who == "group":
            os.killpg(process.pid, signal.SIGTSTP)
        family = [psutil.Process(process.pid)]
        family += family[0].children(recursive=True)
        if who == "machine":
            for member in family:
                member.suspend()
        time.sleep(SILENT_SECONDS + 2)
        if who == "machine":
            for member in reversed(family):
                member.resume()
        os.killpg(process.pid, signal.SIGCONT)
        rest = process.stdout.read()
    assert rest == "[None, None] 400 0\n"
