"""A process that the machine gives no time is waited for; one that is stopped is found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from speedcube import train
from speedcube.train.messages import AWAY_SECONDS
from speedcube.train.metrics.rows import read_rows
from speedcube.train.patience import ANY, BUSY, Silence, machine, vitals

BURNS = "import os; os.sched_setaffinity(0, {%d}); [0 for _ in iter(int, 1)]"


@contextmanager
def process(program: str) -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", program]) as child:
        try:
            yield child.pid
        finally:
            child.kill()


@contextmanager
def starved(pid: int) -> Iterator[None]:
    """Give a process what is left of a CPU that two others want whole: next to nothing."""
    cpu = min(os.sched_getaffinity(0))
    with process(BURNS % cpu), process(BURNS % cpu):
        for task in map(int, os.listdir(f"/proc/{pid}/task")):
            with suppress(ProcessLookupError):
                os.sched_setaffinity(task, {cpu})
                os.sched_setscheduler(task, os.SCHED_IDLE, os.sched_param(0))
        yield


def silence_of(pid: int | None, share: float, seconds: float = 3.0) -> float:
    watched = Silence(pid, share)
    for _ in range(int(seconds / 0.1)):
        time.sleep(0.1)
        counted = watched.seconds()
    return counted


def test_only_who_is_not_at_work_is_silent() -> None:
    with process("import time; time.sleep(60)") as idle, process("[0 for _ in iter(int, 1)]") as on:
        time.sleep(1)
        assert silence_of(idle, ANY) > 2
        assert silence_of(None, ANY) > 2
        assert silence_of(on, BUSY) < 1.5
        with starved(on):
            assert silence_of(on, BUSY) < 1.5, "it waits for a CPU"
        os.kill(on, signal.SIGSTOP)
        time.sleep(1)
        assert silence_of(on, BUSY) > 2, "nothing is waited for by who is stopped"
    assert vitals(2**22 + 1) is None
    assert silence_of(2**22 + 1, ANY) > 2
    assert machine() == machine()


def test_who_did_not_listen_heard_no_silence() -> None:
    watched = Silence(None, ANY)
    time.sleep(2 * AWAY_SECONDS)
    assert watched.seconds() <= AWAY_SECONDS
    watched.heard()
    assert watched.seconds() < AWAY_SECONDS


def _started(job: train.Job) -> list[int]:
    lines = read_rows(job.out / "metrics.jsonl")
    return [line["pid"] for line in lines if line.get("event") == "started"]


@pytest.mark.cluster
@pytest.mark.parametrize("who", ["rank", pytest.param("worker", marks=pytest.mark.slow)])
def test_a_starved_process_ends_no_job_and_a_stopped_one_does(who: str, tmp_path: Path) -> None:
    def fit(end: str) -> int:
        while not os.path.exists(end):
            time.sleep(0.05)
        return 7

    from distributed import Client, LocalCluster

    def found(job: train.Job) -> int:
        while not _started(job):
            time.sleep(0.05)
        rank = psutil.Process(_started(job)[0])
        return int(rank.pid if who == "rank" else rank.parents()[1].pid)

    options: dict[str, Any] = {"progress": False, "out": tmp_path / "starved"}
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        job = train.run(fit, str(tmp_path / "end"), on=client, **options)
        victim = found(job)
        with starved(victim):
            assert not job.wait(12), "longer than rank, agent and driver wait for each other"
        (tmp_path / "end").touch()
        assert job.results() == [7]
        job = train.run(fit, "never", on=client, **options | {"out": tmp_path / "stopped"})
        victim = found(job)
        time.sleep(1)
        os.kill(victim, signal.SIGSTOP)
        with pytest.raises(train.RankError, match=r"no sign of life for 6 s|: stopped\."):
            job.results()
        os.kill(victim, signal.SIGCONT) if who == "worker" else None


@pytest.mark.cluster
def test_one_long_line_and_a_large_value_are_no_silence(tmp_path: Path) -> None:
    def fit() -> bytes:
        print("x" * 300_000_000, flush=True)
        return bytes(100_000_000)

    job = train.run(fit, on="cores:2", progress=False, out=tmp_path / "run")
    assert list(map(len, job.results())) == [100_000_000] * 2
