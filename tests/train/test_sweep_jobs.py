"""Sweeps of real jobs on two CPU workers: packing, failures, pruning, Ctrl-C, kill and resume."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import distributed
import optuna
import pandas as pd
import psutil
import pytest
import torch

from speedcube import train
from speedcube.errors import ParameterError
from speedcube.train.driver import local_cluster, placement
from speedcube.train.metrics.rows import read_rows

pytestmark = pytest.mark.cluster
REPO = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", autouse=True)
def _own() -> Iterator[None]:
    """One cluster of two workers for all sweeps of this file."""
    local_cluster.close_all()  # another file may have left a larger one
    placement.site("cores:2", None, None)
    yield
    local_cluster.close_all()


@pytest.fixture
def cluster() -> Iterator[str]:
    """The address of a cluster of Dask's, which other processes can talk to."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as there:
        yield there.scheduler_address


def halving(lr: float, steps: int = 3, gpus: int = 0) -> int:
    """Reports lr / 2, lr / 4 ...; the number of GPUs that it was told of."""
    for k in range(steps):
        loss = lr / 2 ** (k + 1)
        train.report({"loss": loss, "epoch": k, "size": train.world_size(), "told": gpus})
    return gpus


def stubborn(lr: float) -> None:
    """Fails, is silent, or reports something else, by its parameter."""
    if lr == 1.0:
        raise ValueError(f"{lr} is no rate of mine")
    if lr > 2.0:
        train.report({"accuracy": 0.5, "loss": "unknown"} if lr == 3.0 else {"accuracy": 0.5})
    if lr == 2.0:
        train.report({"loss": 0.25})


def patient(lr: float, gate: str, steps: int = 6) -> None:
    """Saves a checkpoint at each step; from its third on it waits for the file ``gate``."""
    newest = train.latest()
    total = 0.0 if newest is None else float(newest["total"])
    for step in range(0 if newest is None else newest.step, steps):
        total += lr * torch.rand(()).item()
        state = {"total": torch.tensor(total, dtype=torch.float64)}
        train.report({"loss": total, "pid": os.getpid()}, checkpoint=state)
        while step >= 2 and not Path(gate).exists():
            time.sleep(0.02)


def endless(lr: float) -> None:
    for _ in range(3000):
        train.report({"loss": lr})
        time.sleep(0.01)


def rows(out: Path, trial: int, rank: int = 0) -> list[dict[str, Any]]:
    path = out / f"trial-{trial:04d}" / "metrics.jsonl"
    rows = read_rows(path) if path.exists() else []
    return [row for row in rows if "event" not in row and row["rank"] == rank]


def until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "waited for two minutes"
        time.sleep(0.02)


def test_a_grid_runs_every_combination_with_its_ranks(tmp_path: Path) -> None:
    space = {"lr": [1.0, 0.5], "gpus": [1, 2]}
    swept = train.sweep(halving, space, on="cores:2", out=tmp_path, target=0.2, steps=4)
    results = [(r.params, r.ranks, r.status, r.value, r.steps) for r in swept.results()]
    assert results == [
        ({"lr": 1.0, "gpus": 1}, 1, "finished", 0.0625, 4),
        ({"lr": 1.0, "gpus": 2}, 2, "finished", 0.0625, 4),
        ({"lr": 0.5, "gpus": 1}, 1, "finished", 0.03125, 4),
        ({"lr": 0.5, "gpus": 2}, 2, "finished", 0.03125, 4),
    ]
    for trial, ranks in enumerate((1, 2, 1, 2)):
        (last,) = rows(tmp_path, trial)[-1:]
        assert last["metrics"]["size"] == last["metrics"]["told"] == ranks
    starts = [
        line["trial"] for line in read_rows(tmp_path / "trials.jsonl") if line["event"] == "start"
    ]
    assert starts == [1, 3, 0, 2]  # those that take both workers first
    assert swept.best is not None
    assert swept.best.number == 2
    assert 0 < swept.busy < 1
    table = pd.read_parquet(tmp_path / "trials.parquet")
    assert table["value"].tolist() == [0.0625, 0.0625, 0.03125, 0.03125]
    assert table["params_gpus"].tolist() == [1, 2, 1, 2]
    assert (tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")


def test_narrow_trials_run_side_by_side(tmp_path: Path) -> None:
    gate = tmp_path / "gate"

    def open_gate() -> None:  # a trial waits in its third step, until both are there
        until(lambda: len(rows(tmp_path, 0)) == len(rows(tmp_path, 1)) == 3)
        gate.touch()

    opener = threading.Thread(target=open_gate)
    opener.start()
    space = {"lr": [1.0, 2.0]}
    swept = train.sweep(patient, space, on="cores:2", out=tmp_path, gate=str(gate))
    opener.join()
    assert [r.status for r in swept.results()] == ["finished", "finished"]


def test_failed_trials_are_told_and_do_not_end_the_sweep(tmp_path: Path) -> None:
    swept = train.sweep(stubborn, {"lr": [1.0, 0.0, 2.0, 3.0, 4.0]}, on="cores:2", out=tmp_path)
    one, silent, fine, text, other = swept.results()
    assert one.status == "failed"
    assert one.error is not None
    assert one.error.startswith("ValueError: 1.0 is no rate of mine\nrank 0 on 127.0.0.1 failed")
    assert "in stubborn" in one.error
    assert silent.error == "'loss' never came: the function made no train.report()"
    assert (fine.status, fine.value, fine.error) == ("finished", 0.25, None)
    assert text.error == "'loss' was reported, and never as a number"
    assert other.error == "'loss' never came in 1 reports; they have accuracy"


def brittle(lr: float, mended: str) -> None:
    """Fails after its first step unless the file ``mended`` exists; 1.0 never does."""
    newest = train.latest()
    for step in range(0 if newest is None else newest.step, 3):
        if step and lr > 1.0 and not Path(mended).exists():
            raise OSError(f"{mended} is not there")
        train.report({"loss": lr, "epoch": step}, checkpoint={"step": step})


def test_failed_trials_are_run_again_only_if_asked_and_go_on_from_their_checkpoint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mended, out = tmp_path / "mended", tmp_path / "out"

    def again(**options: Any) -> tuple[list[tuple[str, int]], list[str]]:
        swept = train.sweep(
            brittle, {"lr": [1.0, 2.0]}, on="cores:2", out=out, mended=str(mended), progress=True,
            **options,
        )  # fmt: skip
        results = [(r.status, r.steps) for r in swept.results()]
        return results, capsys.readouterr().err.splitlines()

    results, said = again()
    assert results == [("finished", 3), ("failed", 1)]
    assert said[:2] == ["trial 0 (lr=1) starts on 1 rank", "trial 1 (lr=2) starts on 1 rank"]
    mended.touch()
    assert again() == (results, ["1 failed before: not run again without retry_failed"])
    first = (out / "trial-0000" / "metrics.jsonl").read_bytes()
    results, said = again(retry_failed=True)
    assert results == [("finished", 3), ("finished", 3)]
    assert said == [
        "trial 1 (lr=2) starts on 1 rank", "2 of 2: trial 1 (lr=2) finished, loss 2",
    ]  # fmt: skip
    assert [row["step"] for row in rows(out, 1)] == [1, 2, 3]  # step 1 was not computed again
    assert (out / "trial-0000" / "metrics.jsonl").read_bytes() == first
    assert again(retry_failed=True) == (results, [])


def test_a_pruned_trial_stops_all_ranks_at_one_step(tmp_path: Path) -> None:
    swept = train.sweep(
        endless,
        {"lr": [9.0], "ranks": [2]},
        on="cores:2",
        out=tmp_path,
        prune=optuna.pruners.ThresholdPruner(upper=1.0),
    )
    (result,) = swept.results()
    assert (result.status, result.value, result.error) == ("pruned", 9.0, None)
    assert 0 < result.steps < 3000
    assert rows(tmp_path, 0, rank=1)[-1]["step"] == rows(tmp_path, 0)[-1]["step"] == result.steps


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C raises here, also where the tests run in the background of a script."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_the_trials_and_the_same_call_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = tmp_path / "gate"
    space = {"lr": [1.0, 2.0, 3.0]}

    def interrupt() -> None:
        until(lambda: len(rows(tmp_path, 0)) == len(rows(tmp_path, 1)) == 3)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    presser = threading.Thread(target=interrupt)
    presser.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        train.sweep(patient, space, on="cores:2", out=tmp_path, gate=str(gate))
    presser.join()
    assert capsys.readouterr().err == ""
    assert caught.value.__notes__ == [
        "Interrupted: 0 of 3 trials have ended. The same call with "
        f"out={str(tmp_path)!r} goes on from here."
    ]
    assert [r.status for r in train.Sweep(tmp_path).results()] == ["running", "running"]
    pids = [rows(tmp_path, trial)[-1]["metrics"]["pid"] for trial in (0, 1)]
    assert not any(psutil.pid_exists(pid) for pid in pids)

    gate.touch()
    with pytest.raises(ParameterError, match=r"holds a sweep with space=.*give another out"):
        train.sweep(patient, {"lr": [1.0, 2.0]}, on="cores:2", out=tmp_path, gate=str(gate))
    swept = train.sweep(patient, space, on="cores:2", out=tmp_path, gate=str(gate))
    assert [(r.status, r.steps) for r in swept.results()] == [("finished", 6)] * 3


KILLED = """
import sys
from speedcube import train
from tests.train.test_sweep_jobs import half_open
train.sweep(half_open, {"lr": [1.0, 2.0, 3.0, 4.0, 5.0]}, on=sys.argv[1], out=sys.argv[2],
            gate=sys.argv[3], steps=3)
"""


def half_open(lr: float, gate: str, steps: int) -> None:
    """As `patient`; from the third trial on it meets a closed gate."""
    patient(lr, "/" if lr < 3.0 else gate, steps + 3)


@pytest.mark.slow
def test_a_killed_sweep_goes_on_to_the_same_table(tmp_path: Path, cluster: str) -> None:
    killed, gate = tmp_path / "killed", tmp_path / "gate"
    path = os.pathsep.join([str(REPO / "src"), str(REPO)])
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, cluster, str(killed), str(gate)],
        env=os.environ | {"PYTHONPATH": path},
    )
    try:
        until(lambda: process.poll() or len(rows(killed, 2)) == len(rows(killed, 3)) == 3)
    finally:
        process.kill()
        process.wait()
    before = train.Sweep(killed)
    assert [r.status for r in before.results()] == ["finished"] * 2 + ["running"] * 2
    first = (killed / "trial-0000" / "metrics.jsonl").read_bytes()
    pids = [rows(killed, trial)[-1]["metrics"]["pid"] for trial in (2, 3)]
    until(lambda: not any(psutil.pid_exists(pid) for pid in pids))  # they end with their driver

    gate.touch()
    space = {"lr": [1.0, 2.0, 3.0, 4.0, 5.0]}
    swept = train.sweep(half_open, space, on=cluster, out=killed, gate=str(gate), steps=3)
    assert [(r.params["lr"], r.status, r.steps) for r in swept.results()] == [
        (lr, "finished", 6) for lr in space["lr"]
    ]
    assert (killed / "trial-0000" / "metrics.jsonl").read_bytes() == first  # not run again
    for trial in (2, 3):  # went on after step 3: nothing was computed twice
        assert [row["step"] for row in rows(killed, trial)] == [1, 2, 3, 4, 5, 6]
        losses = [row["metrics"]["loss"] for row in rows(killed, trial)]
        assert losses == sorted(losses)
        assert swept.results()[trial].value == losses[-1]
    again = train.sweep(half_open, space, on=cluster, out=killed, gate=str(gate), steps=3)
    assert again.dataframe().equals(swept.dataframe())  # nothing is left to do


def test_random_and_tpe_draw_from_ranges(tmp_path: Path) -> None:
    space = {"lr": (1e-3, 1e-1, "log"), "steps": train.Range(1, 3)}
    for method in ("random", "tpe"):
        options: dict[str, Any] = {"on": "cores:2", "method": method, "seed": 7}
        one = train.sweep(halving, space, out=tmp_path / method, trials=2, **options)
        more = train.sweep(halving, space, out=tmp_path / method, trials=4, **options)
        assert [r.status for r in more.results()] == ["finished"] * 4
        assert more.results()[:2] == one.results()  # the first two were not run again
        for result in more.results():
            assert 1e-3 <= result.params["lr"] <= 1e-1  # type: ignore[operator]
            assert result.steps == result.params["steps"] in (1, 2, 3)
        assert len({result.params["lr"] for result in more.results()}) == 4


def test_more_ranks_than_workers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="'gpus' asks for 3, and there are 2 workers"):
        train.sweep(halving, {"lr": [1.0], "gpus": [1, 3]}, on="cores:2", out=tmp_path / "a")
    with pytest.raises(ParameterError, match="ranks=3, and there are 2 workers"):
        train.sweep(halving, {"lr": [1.0]}, ranks=3, on="cores:2", out=tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_two_processes_cannot_run_one_sweep(tmp_path: Path) -> None:
    code = (
        "import sys, fcntl; file = open(sys.argv[1], 'a'); fcntl.flock(file, fcntl.LOCK_EX); "
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "trials.jsonl")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(ParameterError, match="another process runs the sweep"):
            train.sweep(halving, {"lr": [1.0]}, on="cores:2", out=tmp_path)
        other.communicate()
    assert json.loads((tmp_path / "trials.jsonl").read_text() or "null") is None
