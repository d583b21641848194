"""What a training job does when something dies, stops, hangs, fills up or is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import train_faults

from speedcube import train
from speedcube.errors import CheckpointError
from speedcube.train.driver import failures
from speedcube.train.driver.failures import Failure, root
from speedcube.train.messages import Cause
from speedcube.train.metrics.rows import read_rows

pytestmark = pytest.mark.cluster


@pytest.fixture(autouse=True)
def _in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(function: Callable[..., Any], *args: Any, **options: Any) -> train.Job:
    return train.run(function, *args, **{"on": "cores:2", "progress": False} | options)


def events(job: train.Job, kind: str) -> list[dict[str, Any]]:
    return [line for line in read_rows(job.out / "metrics.jsonl") if line.get("event") == kind]


def pids(job: train.Job) -> dict[int, int]:
    return {event["rank"]: event["pid"] for event in events(job, "started")}


def until(condition: Callable[[], Any], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)


def test_kills_stops_and_exceptions_leave_the_same_bits_and_nothing_else() -> None:
    """The times are measured by bench/train_faults.py, with more of each."""
    measured = train_faults.series(kills=3, stops=1, exceptions=1)
    assert len(measured["faults"]) == 5
    assert all(fault["same_bits"] for fault in measured["faults"])
    assert measured["left_over"] == []


def steps(count: int, pause: float = 0.01) -> int:
    for step in range(count):
        time.sleep(pause)
        train.report({"loss": 1.0}, checkpoint={"step": step})
    return count


def test_the_message_of_a_death_names_rank_host_step_cause_and_what_is_kept() -> None:
    job = run(steps, 1000)
    until(lambda: len(job.rows()) > 6)
    os.kill(pids(job)[1], signal.SIGKILL)
    with pytest.raises(train.RankError) as caught:
        job.results()
    newest = job.checkpoint()
    assert newest is not None
    message = str(caught.value)
    assert message.startswith("rank 1 on 127.0.0.1 failed at step ")
    assert ": it was killed by SIGKILL. " in message
    assert message.endswith(f"Kept: the checkpoint of step {newest.step} in {job.out}."), "no log"
    assert job.status == "failed"
    assert [event["rank"] for event in events(job, "failure")] == [1]


def test_restarts_are_counted() -> None:
    def fit() -> None:
        train.report({}, checkpoint={})
        os._exit(3)

    job = run(fit, max_restarts=2)
    with pytest.raises(train.RankError, match=r"ended with exit code 3\. after 2 of 2 restarts\."):
        job.results()
    assert job.restarts == 2
    assert len(events(job, "restart")) == 2
    rows = [row for row in job.rows() if row["rank"] == 0]
    assert [row["attempt"] for row in rows] == [0, 1, 2]
    assert [row["step"] for row in rows] == [1, 1, 1], "the function did not call train.latest()"


def test_a_dead_worker_takes_its_job_down_and_is_replaced() -> None:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        job = train.run(train_faults.fit, 40, 0.03, on=client, max_restarts=1, progress=False)
        until(lambda: len(job.rows()) > 6)
        first = pids(job)
        worker = psutil.Process(first[1]).parents()[1]
        worker.kill()
        until(lambda: not any(map(train_faults.alive, first.values())), seconds=10)
        hashes = job.results()
    (failure,) = events(job, "failure")
    assert "its Dask worker tcp://127.0.0.1:" in failure["text"]
    assert len(set(hashes)) == 1
    assert job.restarts == 1


def test_a_hung_step_ends_with_every_ranks_stack() -> None:
    def fit() -> None:
        import torch
        from torch import distributed as dist

        for step in range(8):
            train.report({"step": step})
            if step == 5 and train.rank() == 1:
                lost_in_thought()
            dist.all_reduce(torch.ones(1))

    def lost_in_thought() -> None:
        time.sleep(1000)

    job = run(fit, step_timeout=4)
    with pytest.raises(train.RankError) as caught:
        job.results()
    message = str(caught.value)
    assert "it hangs after step 6: no train.report() for 4 s (step_timeout= sets" in message
    assert message.startswith("rank 1 "), "rank 0 waits for it"
    lines = message.splitlines()
    behind, ahead = (
        lines.index(f"--- stack of rank {k}, innermost call first ---") for k in (1, 0)
    )
    assert behind < ahead
    assert lines[behind + 1].endswith(" in lost_in_thought")
    assert lines[behind + 2].endswith(" in fit")
    assert lines[ahead + 1].endswith(" in fit")
    assert lines[ahead + 2] == "  calls"
    assert lines[ahead + 3].endswith(" in all_reduce")
    assert "heartbeat" not in message
    assert "_beat" not in message


def test_to_start_is_no_step() -> None:
    """A cluster of its own, whose fork servers import PyTorch first: seconds."""
    from distributed import Client, LocalCluster

    def fit() -> None:
        train.report({"x": 1})

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        job = run(fit, on=client, step_timeout=2)
        job.results()
    assert len(job.rows()) == 2


def test_a_driver_that_was_stopped_blames_no_rank(tmp_path: Path) -> None:
    from distributed import LocalCluster

    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import sys, time
            from distributed import Client
            from speedcube import train

            def fit():
                for _ in range(100):
                    time.sleep(0.1)
                    train.report({"loss": 1.0})

            if __name__ == "__main__":
                client = Client(sys.argv[1])
                job = train.run(fit, on=client, progress=False, out="run", step_timeout=5)
                for row in job:
                    print("row", flush=True)
                print("restarts", job.restarts)
            """
        )
    )
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        subprocess.Popen(
            [sys.executable, str(program), cluster.scheduler_address],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        ) as driver,
    ):
        assert driver.stdout is not None
        assert driver.stdout.readline() == "row\n"
        driver.send_signal(signal.SIGSTOP)
        time.sleep(7)  # longer than a step, and than a worker, may be silent
        driver.send_signal(signal.SIGCONT)
        rest = driver.stdout.read()
        assert driver.wait(60) == 0
    assert rest == "row\n" * 99 + "restarts 0\n"


def test_a_rank_that_is_busy_and_silent_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fit() -> int:
        import ctypes

        # Holds the interpreter lock, and so the heartbeat, for longer than a stopped rank may.
        ctypes.PyDLL(None).sleep(1)
        total = sum(range(10**6))
        pow(3, 4_000_000)  # one call, seconds of CPU time
        return total

    assert run(fit).results() == [499999500000] * 2


@pytest.mark.parametrize(
    "where",
    ["iterating", *(pytest.param(w, marks=pytest.mark.slow) for w in ("results", "waiting"))],
)
def test_ctrl_c_ends_every_process_within_five_seconds(where: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            f"""
            import signal, sys, time
            from speedcube import train

            def fit():
                while True:
                    time.sleep(0.01)
                    train.report({{"loss": 1.0}})

            if __name__ == "__main__":
                signal.signal(signal.SIGINT, signal.default_int_handler)
                job = train.run(fit, on="cores:2", progress=False, out={str(tmp_path / "run")!r})
                for row in job:
                    if row["step"] == 3:
                        print("going", flush=True)
                        if {where!r} != "iterating":
                            break
                job.results() if {where!r} == "results" else job.wait()
            """
        )
    )
    process = subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "going\n"
    family = psutil.Process(process.pid).children(recursive=True)
    ranks = [e["pid"] for e in _started(tmp_path / "run")]
    assert set(ranks) <= {child.pid for child in family}
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    until(lambda: not any(map(train_faults.alive, ranks)), seconds=5)
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - began < 20, "the cluster of processes is closed, too"
    assert process.returncode == 130 or process.returncode == -signal.SIGINT
    assert errors.rstrip().endswith("KeyboardInterrupt")
    until(lambda: not any(train_faults.alive(child.pid) for child in family))


def _started(out: Path) -> list[dict[str, Any]]:
    return [line for line in read_rows(out / "metrics.jsonl") if line.get("event") == "started"]


def test_ranks_do_not_survive_a_killed_driver(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            f"""
            import time
            from speedcube import train

            if __name__ == "__main__":
                job = train.run(time.sleep, 600, on="cores:2", progress=False,
                                out={str(tmp_path / "run")!r})
                job.wait()
            """
        )
    )
    process = subprocess.Popen([sys.executable, str(program)])
    until(lambda: (tmp_path / "run/metrics.jsonl").exists(), seconds=120)
    until(lambda: len(_started(tmp_path / "run")) == 2, seconds=120)
    family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    ranks = [event["pid"] for event in _started(tmp_path / "run")]
    until(lambda: not any(map(train_faults.alive, ranks)), seconds=10)
    until(lambda: not any(train_faults.alive(child.pid) for child in family), seconds=40)


def test_a_lost_scheduler_is_said_at_once() -> None:
    from distributed import Client, LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        client = Client(cluster, set_as_default=False)
        job = run(steps, 10000, on=client, max_restarts=3)
        until(lambda: len(job.rows()) > 4)
        ranks = pids(job)
        cluster.sync(cluster.scheduler.close)
        with pytest.raises(train.RankError, match=r"^the connection to the Dask scheduler is lost"):
            job.results()
        until(lambda: not any(map(train_faults.alive, ranks.values())), seconds=15)
        assert job.restarts == 0
        client.close(timeout=1)


def test_a_full_disk_ends_the_job_with_the_old_checkpoint_whole(tmp_path: Path) -> None:
    disk = tmp_path / "small"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("mounting a small file system needs root")

    def fit() -> None:
        import torch

        for size in (1, 1, 4):
            values = {"weights": torch.full((size << 18,), float(size))}
            train.report({"size": size}, checkpoint=values)

    try:
        job = run(fit, out=disk / "run")
        with pytest.raises(CheckpointError, match="free"):
            job.results()
        newest = job.checkpoint()
        assert newest is not None
        assert newest.step == 2
        assert float(newest["weights"].sum()) == 1 << 18
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def failure(rank: int, cause: Cause, at: float, text: str = "") -> Failure:
    return Failure(rank, "here", cause, 4, at, text)


@pytest.mark.parametrize(
    ("failed", "rank"),
    [
        ([failure(0, Cause.EXCEPTION, 1.0, "seven"), failure(1, Cause.EXCEPTION, 2.0, "six")], 0),
        (
            [
                failure(0, Cause.EXCEPTION, 1.0, "Connection closed by peer"),
                failure(1, Cause.DEATH, 2.0),
            ],
            1,
        ),
        (
            [
                failure(0, Cause.EXCEPTION, 1.0, "NCCL error: unhandled"),
                failure(1, Cause.EXCEPTION, 2.0, "seven"),
            ],
            1,
        ),
        ([failure(0, Cause.DEATH, 1.0), failure(1, Cause.WORKER, 2.0)], 1),
        ([failure(0, Cause.SILENT, 1.0), failure(1, Cause.HUNG, 0.5)], 0),
    ],
)
def test_the_cause_is_found_among_its_consequences(failed: list[Failure], rank: int) -> None:
    assert root(failed).rank == rank
    assert root(failed[::-1]).rank == rank


def test_every_cause_has_its_words() -> None:
    assert failures.NATURES.keys() == set(Cause)
    for cause in Cause:
        sentence = failure(2, cause, 0.0, "{TEXT}").sentence()
        of_rank = cause not in (Cause.CANCELLED, Cause.SCHEDULER)
        assert sentence.startswith("rank 2 on here failed at step 4: ") == of_rank
        assert sentence.endswith("{TEXT}") == (cause is not Cause.CANCELLED)


@pytest.fixture(scope="module", autouse=True)
def _no_rank_is_left() -> Iterator[None]:
    yield
    time.sleep(0.5)
    left = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has just ended; a zombie has no command line
            if "speedcube.train.worker.fork_server" in " ".join(process.cmdline()):
                left.extend(process.children())
    assert left == []
