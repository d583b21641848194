"""Clusters that we start: closed to other users, whole again after any kill, gone at their end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from speedcube import train
from speedcube.errors import RankError
from speedcube.train.driver import local_cluster

pytestmark = [
    pytest.mark.cluster,
    # Dask leaves connections with TLS to workers that are killed to the garbage collector.
    pytest.mark.filterwarnings(
        r"ignore:Exception ignored in. <ssl\.SSLSocket fd=\d+, family=2,"
        ":pytest.PytestUnraisableExceptionWarning"
    ),
]
STRANGER = Path(__file__).parents[1] / "support/stranger.py"

# Starts something of the given kind, prints a line when it runs, and waits for the file ``gate``.
PROGRAM = """
import os, sys, time, types

def waiting(gate, lr=0.0):
    from speedcube import train
    train.report({"loss": 1.0})
    while not os.path.exists(gate):
        time.sleep(0.05)
    return train.rank()

def job(gate, **options):
    from speedcube import train
    job = train.run(waiting, gate, on="cores:2", progress=False, out="run", **options)
    next(iter(job))
    print("runs", flush=True)
    print(job.results())

def ranks(gate):
    job(gate)

def tasks(gate):
    job(gate, as_task=True)

def sweep(gate):
    import threading
    from speedcube import train
    def tell():
        while not os.path.exists("run/trial-0001/metrics.jsonl"):
            time.sleep(0.1)
        time.sleep(1)
        print("runs", flush=True)
    threading.Thread(target=tell).start()
    done = train.sweep(waiting, {"lr": [0.1, 0.2]}, on="cores:2", out="run", gate=gate)
    print([result.status for result in done.results()])

def gpus(gate):  # the ladder's rungs gpus and cuda-cluster, and sc.on: all ask client_of
    import distributed
    from speedcube.engine.clusters import named
    class LocalCUDACluster(distributed.LocalCluster):
        def __init__(self, CUDA_VISIBLE_DEVICES, **options):
            super().__init__(n_workers=2, threads_per_worker=1, **options)
    sys.modules["dask_cuda"] = types.SimpleNamespace(LocalCUDACluster=LocalCUDACluster)
    named.find_spec = lambda name: True
    client = named.client_of((0, 1))
    print("runs", flush=True)
    while not os.path.exists(gate):
        time.sleep(0.05)
    print(client.submit(lambda: 1).result())

if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
"""
DONE = {"ranks": "[0, 1]", "tasks": "[0, 1]", "sweep": "['finished', 'finished']", "gpus": "1"}
NO_GUARD = "from speedcube import train\ntrain.run(print, on='cores:2', out='run')\n"
NO_GUARD_GPUS = """
import sys, types
import distributed
from speedcube.engine.clusters import named
class LocalCUDACluster(distributed.LocalCluster):
    def __init__(self, CUDA_VISIBLE_DEVICES, **options):
        super().__init__(n_workers=2, threads_per_worker=1, **options)
sys.modules["dask_cuda"] = types.SimpleNamespace(LocalCUDACluster=LocalCUDACluster)
named.find_spec = lambda name: True
named.client_of((0, 1))
"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts a program and returns when it runs; it is gone at the end of the test."""
    started = []

    def start(kind: str) -> subprocess.Popen[str]:
        file = tmp_path / "program.py"
        file.write_text(PROGRAM)
        process = subprocess.Popen(
            [sys.executable, file, kind, tmp_path / "gate"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            start_new_session=True,
        )
        started.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line == "runs\n", process.communicate()
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def family(pid: int) -> list[psutil.Process]:
    return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]


def listeners(pid: int) -> dict[int, str]:
    """The address of every port that a process and its descendants listen at."""
    found = {}
    for process in family(pid):
        with suppress(psutil.NoSuchProcess):  # short-lived helpers come and go
            for connection in process.net_connections("inet"):
                if connection.status == psutil.CONN_LISTEN:
                    found[connection.laddr.port] = connection.laddr.ip
    return found


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")
@pytest.mark.parametrize(
    "kind",
    ["gpus", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("ranks", "tasks", "sweep"))],
)
def test_another_user_gets_nothing_from_any_listener(
    kind: str, program: Callable[[str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = program(kind)
    found = listeners(process.pid)
    several = kind in ("ranks", "tasks")  # alone, a rank listens for nobody
    assert len(found) == (7 if several else 5), "scheduler, nannies and workers; ranks"
    assert set(found.values()) == {"127.0.0.1"}
    for one in family(process.pid):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            for name in ("cmdline", "environ"):
                assert b"PRIVATE KEY" not in Path(f"/proc/{one.pid}/{name}").read_bytes()
    tried = subprocess.run(
        [sys.executable, STRANGER, *map(str, found)], capture_output=True, text=True, check=False
    )
    assert tried.returncode == 0, tried.stderr
    assert json.loads(tried.stdout) == {"uid": 65534, "tries": 5 * len(found), "through": []}
    (tmp_path / "gate").touch()
    output, errors = process.communicate(timeout=60)
    assert output == f"{DONE[kind]}\n", "what was tried has disturbed nothing"
    assert all("TLS handshake failed" in line for line in errors.splitlines())


def test_a_plain_cluster_lets_the_stranger_in() -> None:
    """A stranger that is refused everywhere would prove nothing."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster:
        ports = [cluster.scheduler.port, cluster.scheduler.http_server.port]
        tried = subprocess.run(
            [sys.executable, STRANGER, *map(str, ports)],
            capture_output=True,
            text=True,
            check=True,
        )
    through = json.loads(tried.stdout)["through"]
    assert {f"a Dask client at {ports[0]}", f"HTTP at {ports[1]}"} <= set(through)


def test_what_a_run_keeps_is_its_users_alone(tmp_path: Path) -> None:
    def saving() -> None:
        print("a line")
        train.emit("name.txt", "text")
        train.report({"loss": 1.0}, checkpoint={"a": 1})

    before = os.umask(0)
    try:
        train.sweep(
            saving, {"ranks": [1]}, on="cores:2", out=tmp_path / "new/sweep", progress=False
        )
    finally:
        os.umask(before)
    names = set()
    for path in (tmp_path / "new", *(tmp_path / "new").rglob("*")):
        names.add(path.name)
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path
    assert {"sweep.json", "trials.jsonl", "trials.parquet", "report.html"} <= names
    assert {"metrics.jsonl", "run.json", "rank-0.log", "manifest.json", "emitted"} <= names


def test_a_directory_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    out = tmp_path / "shared"
    out.mkdir()
    out.chmod(0o755)
    train.run(print, on="cores:2", ranks=1, out=out, progress=False).results()
    assert out.stat().st_mode & 0o777 == 0o755
    assert (out / "metrics.jsonl").stat().st_mode & 0o777 == 0o600


def workers() -> list[psutil.Process]:
    """The processes of our cluster's workers, ready or not."""
    found = []
    for process in psutil.Process().children():
        with suppress(psutil.Error):  # it has just ended
            if "--multiprocessing-fork" in process.cmdline():
                found.append(process)
    return found


def kill(count: int) -> None:
    for process in workers()[:count]:
        process.kill()


def steps(count: int) -> int:
    for _ in range(count):
        train.report({"loss": 1.0})
        time.sleep(0.1)
    return train.rank()


def run(out: Path, count: int = 1, **options: Any) -> train.Job:
    options = {"on": "cores:2", "progress": False, "out": out} | options
    return train.run(steps, count, **options)


@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_job_finds_a_whole_cluster_after_its_workers_were_killed(
    count: int, tmp_path: Path
) -> None:
    run(tmp_path / "before").results()
    kill(count)
    assert run(tmp_path / "after").results() == [0, 1]


def test_a_killed_worker_is_a_restart_and_then_our_error(tmp_path: Path) -> None:
    """Both workers die in the middle; then one, where no restart is left."""
    job = run(tmp_path / "job", 15, max_restarts=1)
    next(iter(job))
    kill(2)
    assert job.results() == [0, 1]
    assert job.restarts == 1
    job = run(tmp_path / "last", 100)
    next(iter(job))
    kill(1)
    with pytest.raises(RankError, match=r"rank \d .*its Dask worker tls://127.0.0.1:\d+ is gone"):
        job.results()


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.5])
@pytest.mark.parametrize("again", [1, 3])
def test_kills_at_any_moment(delay: float, again: int, tmp_path: Path) -> None:
    """While a job starts, and while the workers in the place of those killed start."""
    run(tmp_path / "warm").results()

    def killing() -> None:
        for _ in range(again):
            time.sleep(delay)
            kill(1)

    killer = threading.Thread(target=killing)
    killer.start()
    job = run(tmp_path / "job", 3, max_restarts=again)
    assert job.results() == [0, 1]
    killer.join()
    # The last kill may be this very moment: then it is this job's first failure.
    assert run(tmp_path / "after", max_restarts=1).results() == [0, 1]


def test_a_stopped_worker_does_not_hold_up_the_end(capfd: pytest.CaptureFixture[str]) -> None:
    """Dask asks it to end, waits for four seconds and says that it is still alive."""
    local_cluster.client(False, 2)
    stopped = workers()
    for process in stopped:
        process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    local_cluster.close_all()
    assert time.monotonic() - began < 3
    assert not [process for process in stopped if process.is_running()]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("call", [pytest.param("train.run", marks=pytest.mark.slow), "sc.on"])
def test_a_missing_guard_is_told_in_one_sentence(call: str, tmp_path: Path) -> None:
    text = {"train.run": NO_GUARD, "sc.on": NO_GUARD_GPUS}[call]
    file = tmp_path / "program.py"
    file.write_text(text)
    done = subprocess.run(
        [sys.executable, file], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("speedcube.errors.WorkerError: the workers that speedcube starts import")
    assert last.endswith('below  if __name__ == "__main__":')
