"""train.run on real processes: what arrives in a rank, what comes back, what is refused."""

from __future__ import annotations

import functools
import json
import math
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import speedcube as sc
from speedcube import __version__, train
from speedcube.engine.clusters.roster import checked_workers
from speedcube.errors import ParameterError, RungError, TrainError
from speedcube.train.driver import local_cluster, placement
from speedcube.train.driver.directory import run_directory
from speedcube.train.metrics.rows import read_rows

pytestmark = pytest.mark.cluster


@pytest.fixture(autouse=True)
def _in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(function: Callable[..., Any], *args: Any, **options: Any) -> train.Job:
    return train.run(function, *args, **{"on": "cores:2", "progress": False} | options)


def counting(steps: int) -> None:
    for k in range(steps):
        train.report({"loss": k})


def test_a_rank_sees_the_directory_and_the_variables_of_now(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Those of the driver when the job starts, not when the first one did."""

    def seen() -> tuple[str, str, str | None, str | None]:
        text = Path("names.csv").read_text()
        return os.getcwd(), text, os.environ.get("NCCL_DEBUG"), os.environ.get("MASTER_ADDR")

    (tmp_path / "names.csv").write_text("Mia")
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    monkeypatch.setenv("MASTER_ADDR", "elsewhere")  # a rank's own go before the user's
    assert run(seen).results() == [(str(tmp_path), "Mia", "INFO", "127.0.0.1")] * 2
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper/names.csv").write_text("Leo")
    monkeypatch.chdir(tmp_path / "deeper")
    monkeypatch.delenv("NCCL_DEBUG")
    assert run(seen).results() == [(str(tmp_path / "deeper"), "Leo", None, "127.0.0.1")] * 2


def test_arguments_are_told_in_few_words() -> None:
    class Shy:
        def __repr__(self) -> str:
            raise RuntimeError("not now")

    def size(values: list[int], shy: Shy, word: str) -> int:
        return len(values)

    job = run(size, list(range(10**6)), Shy(), word="x" * 1000)
    assert job.results() == [10**6] * 2
    settings = json.loads((job.out / "run.json").read_text())
    first, second = settings["args"]
    assert first.startswith("[0, 1, 2, 3,")
    assert first.endswith(", 18, 19, ...]")
    assert second.startswith("<Shy instance at")
    assert settings["kwargs"]["word"].startswith("'xxx")
    assert len(settings["kwargs"]["word"]) == 200
    assert (settings["name"], settings["on"], settings["ranks"]) == ("size", "cores:2", 2)


def test_with_a_total_what_is_shown_says_of_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    run(counting, 3, total=4, progress=True).results()
    assert "counting: finished, step 3 of 4, " in capsys.readouterr().err
    with pytest.raises(ParameterError, match="total=0: give an integer, 1 or more"):
        run(counting, 3, total=0)


def environment() -> dict[str, Any]:
    import torch
    from torch import distributed as dist

    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    total = torch.tensor([dist.get_rank() + 1])
    dist.all_reduce(total)
    listening = [
        connection.laddr.ip
        for connection in psutil.Process().net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    return {
        "environment": {name: os.environ[name] for name in names},
        "group": (dist.get_rank(), dist.get_world_size(), dist.get_backend()),
        "asked": (train.rank(), train.local_rank(), train.world_size(), str(train.device())),
        "total": int(total),
        "listening": listening,
        "parents": [process.pid for process in psutil.Process().parents()],
        "pid": os.getpid(),
        "threads": torch.get_num_threads(),
    }


def test_a_rank_has_its_group_its_environment_and_a_process_of_its_own() -> None:
    job = run(environment)
    by_rank = job.results()
    assert job.status == "finished"
    for rank, seen in enumerate(by_rank):
        assert seen["group"] == (rank, 2, "gloo")
        assert seen["asked"] == (rank, rank, 2, "cpu")
        assert seen["total"] == 3
        variables = seen["environment"]
        assert variables.pop("MASTER_PORT").isdecimal()
        assert variables == {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": "2",
            "LOCAL_WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
        }
        assert set(seen["listening"]) <= {"127.0.0.1"}
        assert os.getpid() in seen["parents"]  # through the fork server and the worker
        assert not psutil.pid_exists(seen["pid"])
    assert by_rank[0]["listening"], "rank 0 serves the store"
    assert by_rank[0]["parents"][1] != by_rank[1]["parents"][1], "each on its worker"


def test_closures_keywords_and_big_arguments_arrive() -> None:
    factor = 3
    big = np.arange(1_000_000.0)

    def fit(x: int, /, *, y: int, table: Any) -> Any:
        return x * factor + y, float(table.sum()), train.rank()

    assert run(fit, 4, y=5, table=big).results() == [(17, big.sum(), 0), (17, big.sum(), 1)]
    assert run(functools.partial(fit, 1, table=big), y=0).results()[1] == (3, big.sum(), 1)


def test_modules_of_the_driver_can_be_imported_in_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(environment).results()  # the workers are there, and do not know what comes now
    apart = tmp_path / "apart"  # where a rank runs is on its path anyway
    apart.mkdir()
    (apart / "of_the_driver.py").write_text("def fit():\n    return __name__\n")
    monkeypatch.syspath_prepend(str(apart))
    import of_the_driver  # type: ignore[import-not-found]

    assert run(of_the_driver.fit).results() == ["of_the_driver"] * 2


def test_speedcube_arrays_and_dask_collections_arrive_lazily() -> None:
    import dask.array as da

    x = sc.random.default_rng(5).normal(size=(1000, 1000))
    lazy = da.arange(100, chunks=10)

    def fit(x: Any, lazy: Any) -> Any:
        kinds = type(x).__module__.split(".")[0], type(lazy).__module__.split(".")[0]
        return kinds, float(x[::2].sum()), int(lazy.sum().compute())

    assert run(fit, x, lazy).results() == [(("speedcube", "dask"), float(x[::2].sum()), 4950)] * 2


def test_persisted_collections_are_computed_on_the_cluster_inside_a_rank() -> None:
    import dask.array as da
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        held = client.persist(da.arange(100, chunks=10))
        job = run(lambda lazy: int((lazy + 1).sum().compute()), held, on=client)
        assert job.results() == [5050, 5050]
        assert "2 ranks" in repr(job)


def test_rows_logs_and_files() -> None:
    def fit(steps: int) -> None:
        for step in range(steps):
            train.report({"loss": 1 / (step + 1), "rank": train.rank(), "text": "ü"})
            print("line", step, "of", train.rank())
        print("to standard error", file=sys.stderr)

    job = run(fit, 3, name="three", out="here")
    rows = list(job)
    assert [(row["step"], row["rank"], row["attempt"]) for row in rows] == [
        (1, 0, 0),
        (2, 0, 0),
        (3, 0, 0),
    ]
    assert rows[1]["metrics"] == {"loss": 0.5, "rank": 0, "text": "ü"}
    assert len(job.rows()) == 6
    assert job.logs(1) == "line 0 of 1\nline 1 of 1\nline 2 of 1\nto standard error\n"
    lines = read_rows(job.out / "metrics.jsonl")
    assert [line for line in lines if "step" in line and line.get("rank") == 0] == rows
    assert lines[0]["event"] == "start"
    assert (lines[-1]["event"], lines[-1]["status"]) == ("end", "finished")
    assert json.loads(Path("here/run.json").read_text())["name"] == "three"
    with pytest.raises(ParameterError, match="ranks 0 to 1"):
        job.logs(2)


def test_two_calls_are_two_runs_and_default_directories_differ() -> None:
    def pid() -> int:
        return os.getpid()

    first, second = run(pid), run(pid)
    assert set(first.results()).isdisjoint(second.results())
    assert first.out != second.out
    assert first.out.parent == Path.cwd() / "speedcube-runs"


def test_one_rank_and_more_ranks_than_before() -> None:
    assert run(environment, on="core").results()[0]["asked"] == (0, 0, 1, "cpu")
    assert [seen["total"] for seen in run(environment, on="cores:3").results()] == [6, 6, 6]
    assert len(run(environment, ranks=1).results()) == 1


def test_a_run_goes_on_in_its_directory() -> None:
    def fit(steps: int) -> Any:
        state = train.latest()
        first = 0 if state is None else state["done"]
        for step in range(first, steps):
            train.report({}, checkpoint={"done": step + 1, "mine": train.rank()}, per_rank=True)
        return first, None if state is None else (state.step, state["mine"])

    assert run(fit, 2, out="here").results() == [(0, None), (0, None)]
    job = run(fit, 5, out="here")
    assert job.results() == [(2, (2, 0)), (2, (2, 1))]
    assert [row["step"] for row in job] == [3, 4, 5]
    newest = job.checkpoint()
    assert newest is not None
    assert (newest.step, newest["done"], newest.world_size) == (5, 5, 2)
    assert len(list(Path("here/checkpoints").glob("step-*"))) == 2


def test_an_exception_comes_home_as_itself() -> None:
    class Odd(Exception):
        pass

    def fit(kind: str) -> None:
        from torch import distributed as dist

        if train.rank() == 1:
            raise {"value": ValueError, "odd": Odd}[kind]("seven is too many")
        dist.barrier()

    with pytest.raises(ValueError, match="seven is too many") as caught:
        run(fit, "value").results()
    notes = "\n".join(caught.value.__notes__)
    assert "rank 1 on 127.0.0.1 failed at step 0: it raised builtins.ValueError" in notes
    assert "No checkpoint was kept" in notes
    assert "traceback of rank 1" in notes
    assert '{"value": ValueError, "odd": Odd}[kind]("seven is too many")' in notes
    with pytest.raises(Exception, match="seven is too many") as odd:
        list(run(fit, "odd"))
    assert type(odd.value).__name__ == "Odd"


def test_an_exception_that_cannot_travel_is_told_in_words() -> None:
    def fit() -> None:
        class Locked(Exception):
            def __init__(self) -> None:
                super().__init__("held")
                self.lock = threading.Lock()

        raise Locked

    with pytest.raises(train.RankError, match=r"Locked: held[\s\S]*raise Locked"):
        run(fit).results()
    with pytest.raises(train.RankError, match="SystemExit: 3"):
        run(lambda: sys.exit(3)).results()


def test_a_nan_stops_every_rank_at_the_same_step() -> None:
    def fit() -> None:
        for step in range(1, 9):
            bad = step == 4 and train.rank() == 1
            train.report({"loss": math.nan if bad else 1.0}, checkpoint={"step": step})

    job = run(fit, stop_on_nan=True, max_restarts=3)
    with pytest.raises(train.NonFiniteError, match="loss is nan on rank 1 at step 4; every rank"):
        job.results()
    assert max(row["step"] for row in job.rows()) == 4
    assert [row["rank"] for row in job.rows() if row["step"] == 4] in ([0, 1], [1, 0])
    assert job.restarts == 0
    newest = job.checkpoint()
    assert newest is not None
    assert newest.step == 3
    assert run(fit).results() == [None, None]


def test_stop_ends_all_ranks_at_one_step() -> None:
    def fit() -> None:
        while True:
            time.sleep(0.01)
            train.report({"loss": 1.0})

    job = run(fit, prunable=True)
    for row in job:
        if row["step"] == 5:
            job.stop("not promising")
            break
    with pytest.raises(TrainError, match=r"asked to stop at step \d+: not promising"):
        job.results()
    last = {rank: max(r["step"] for r in job.rows() if r["rank"] == rank) for rank in (0, 1)}
    assert last[0] == last[1]
    with pytest.raises(ParameterError, match="prunable=True"):
        run(environment).stop("no")


def test_ranks_draw_differently_and_resume_their_own_generators() -> None:
    def fit() -> Any:
        import random

        import torch

        state = train.latest()
        if state is None:
            torch.manual_seed(train.rank())
            np.random.seed(train.rank())
            random.seed(train.rank())
        train.report({}, checkpoint={})
        return float(torch.rand(1)), np.random.rand(), random.random()

    first = run(fit, out="here").results()
    assert len(set(first[0] + first[1])) == 6
    again = run(fit, out="here").results()
    assert again == first

    def fresh() -> Any:
        import random

        return random.random(), np.random.rand()

    (a, b), (c, d) = run(fresh).results()
    assert a != c
    assert b != d


def test_two_jobs_share_a_cluster_by_waiting() -> None:
    def fit(seconds: float) -> tuple[float, float]:
        began = time.time()
        time.sleep(seconds)
        return began, time.time()

    jobs = [run(fit, 0.3) for _ in range(3)]
    spans = sorted(span for job in jobs for span in job.results())
    for k in (2, 4):
        assert min(s[0] for s in spans[k : k + 2]) >= max(s[1] for s in spans[k - 2 : k])
    beside = [run(fit, 0.5, ranks=1) for _ in range(2)]
    (one,), (other,) = (job.results() for job in beside)
    assert max(one[0], other[0]) < min(one[1], other[1]), "two workers, a rank each, at once"


def test_a_directory_has_one_job_at_a_time() -> None:
    go = Path("go").absolute()

    def fit(word: str) -> str:
        while not go.exists():
            time.sleep(0.05)
        return word

    first = run(fit, "first", ranks=1, out="one/place")
    settings = Path("one/place/run.json").read_text()
    message = (
        rf"out='.*/one/place' is in use by a job of process {os.getpid()} on .+: give each job"
    )
    with pytest.raises(ParameterError, match=message):
        run(fit, "second", ranks=1, out="one/place")
    code = (
        "import pathlib, speedcube.train.driver.run_lock as h; h.RunLock(pathlib.Path('one/place'))"
    )
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "ParameterError: out='one/place' is in use" in other.stderr
    assert Path("one/place/run.json").read_text() == settings
    go.touch()
    assert first.results() == ["first"]
    assert run(fit, "third", ranks=1, out="one/place").results() == ["third"]


def test_a_directory_outlasts_the_power(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    monkeypatch.setattr("speedcube.train.checkpoint.disk.sync_directory", synced.append)
    directory = run_directory(tmp_path / "a" / "b", "name")
    assert directory.is_dir()
    assert synced == [tmp_path, tmp_path / "a"]


def test_a_waiting_job_can_be_cancelled() -> None:
    def fit() -> None:
        time.sleep(60)

    holder = run(fit)
    waiting = run(fit)
    waiting.cancel()
    assert waiting.status == "cancelled"
    with pytest.raises(TrainError, match="cancelled"):
        waiting.results()
    began = time.monotonic()
    holder.cancel()
    assert time.monotonic() - began < 5
    assert holder.status == "cancelled"
    assert run(environment).results()


def test_a_busy_port_is_no_ones_business() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        ports = [run(environment).results()[0]["environment"]["MASTER_PORT"] for _ in range(2)]
    assert ports[0] != ports[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_restarts": -1}, "max_restarts=-1: give an integer, 0 or more"),
        ({"max_restarts": True}, "max_restarts=True"),
        ({"max_restarts": 1.5}, "max_restarts=1.5"),
        ({"keep": 0}, "keep=0: give an integer, 1 or more"),
        ({"step_timeout": 0}, "step_timeout=0: give seconds"),
        ({"step_timeout": math.nan}, "step_timeout=nan"),
        ({"step_timeout": "5"}, "step_timeout='5'"),
        ({"ranks": 0}, "ranks=0: give a number of processes, 1 or more"),
        ({"ranks": "two"}, "ranks='two'"),
        ({"name": "a/b"}, "name='a/b': a name has"),
        ({"name": ""}, "name=''"),
        ({"name": ".."}, "name='..'"),
        ({"name": 7}, "name=7"),
        ({"backend": "mpi"}, "backend='mpi': 'nccl' for GPUs"),
        ({"out": "/dev/null/x"}, "cannot be a run's directory"),
        ({"out": 7}, "out=7 cannot be a run's directory"),
        ({"out": "a\0b"}, "cannot be a run's directory"),
    ],
    ids=str,
)
def test_bad_options_are_refused_before_anything_starts(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        run(environment, **options)
    assert message in str(caught.value)
    assert not Path("speedcube-runs").exists()


PLACES = """
import time
import psutil
from speedcube import train

def function(x=1):
    train.report({"loss": 1.0})

if __name__ == "__main__":
    for place in ({"on": "cpu"}, {"on": "core:2"}, {"on": "cores:2", "ranks": 4}, {"on": "cuda"}):
        for start in (train.run, lambda f, **p: train.sweep(f, {"x": [1]}, **p)):
            try:
                start(function, **place)
            except Exception as err:
                children = psutil.Process().children(recursive=True)
                print(type(err).__name__, len(children), err, sep="|")
"""


def test_wrong_places_are_refused_before_anything_starts(tmp_path: Path) -> None:
    program = tmp_path / "places.py"
    program.write_text(PLACES)
    ended = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    lines = [line.split("|") for line in ended.stdout.splitlines()]
    wanted = [
        ("RungError", "unknown rung 'cpu' (did you mean 'cores'?)"),
        ("RungError", "rung 'core:2' takes no such number (did you mean 'cores:2'?)"),
        ("TrainError", "4 ranks on cores:2: it has 2 cores, and each has one rank; give on='cor"),
        ("RungError", "unknown rung 'cuda' (did you mean 'gpu'?)"),
    ]
    pairs = [pair for pair in wanted for _ in range(2)]
    pairs[5] = ("ParameterError", "ranks=4, and there are 2 workers, one for each rank")
    assert len(lines) == len(pairs)
    for (kind, children, message), (wanted_kind, begin) in zip(lines, pairs, strict=True):
        assert (kind, children) == (wanted_kind, "0")
        assert message.startswith(begin)
    assert [path.name for path in tmp_path.iterdir()] == ["places.py"]


def test_other_bad_calls() -> None:
    with pytest.raises(ParameterError, match="give a function"):
        run(7)  # type: ignore[arg-type]
    with pytest.raises(
        ParameterError, match="'keep' is both a parameter of the function and an option"
    ):
        run(lambda keep: keep, keep=1)
    with pytest.raises(ParameterError, match="cannot be sent to the ranks"):
        run(environment, threading.Lock())
    cores = sc.engine.machine.cores()
    message = rf"'cores:9999' asks for 9999 ranks on {cores} cores, .*: at most {16 * cores} here"
    with pytest.raises(RungError, match=message):
        run(environment, on="cores:9999")
    with pytest.raises(RungError, match="unknown rung 'coresx'"):
        run(environment, on="coresx")
    with pytest.raises(TrainError, match="5 ranks on cores:2: it has 2 cores"):
        run(environment, ranks=5)
    if not sc.engine.machine.gpu_count():
        with pytest.raises(RungError, match=r"no GPU is visible: .* asked for 'gpus:2'"):
            run(environment, on="gpus:2")
    with pytest.raises(TrainError, match="this is not a rank"):
        train.report({"loss": 1})
    with pytest.raises(TrainError, match="this is not a rank"):
        train.latest()
    with pytest.raises(TrainError, match="loss is a tensor of shape"):
        run(lambda: train.report({"loss": __import__("torch").ones(3)})).results()


def test_two_jobs_of_one_host_get_different_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """By arithmetic alone: plain workers on a host with GPUs, of which each job has some."""
    workers = [f"tcp://h:{k}" for k in range(4)]
    fact = {"cores": 8, "gpus": 4, "devices": None, "one_gpu": False, "process": ("", 1)}
    monkeypatch.setattr(placement, "_facts", lambda client, there: dict.fromkeys(there, fact))
    monkeypatch.setattr(placement, "_by_host", lambda client: {"h": workers})
    site = placement.Site("here", None, 2)
    for chosen in ((0, 1), (1, 3)):
        places, backend = placement.place(site, tuple((workers[k], k) for k in chosen))
        assert [p.device for p in places] == [str(k) for k in chosen]
        assert [(p.rank, p.local_rank, p.local_world_size) for p in places] == [
            (0, 0, 2),
            (1, 1, 2),
        ]
        assert backend == "cpu:gloo,cuda:nccl"
    on_cpus = placement.Site("here", None, 1, wants_gpu=False)
    (place,), backend = placement.place(on_cpus, ((workers[2], 2),))
    assert (place.device, place.threads, backend) == (None, 2, "gloo"), "cores are shared by four"


def test_versions_that_differ_are_refused_before_the_first_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(environment).results()
    facts = dict(placement._known)
    there = {one.key for one in checked_workers(local_cluster._clients[False], answers=False)}
    first = next(key for key in facts if key in there)
    for name, here in (("torch", r"2\."), ("speedcube", __version__)):
        changed = facts[first] | {"versions": facts[first]["versions"] | {name: "0.0.1"}}
        monkeypatch.setitem(placement._known, first, changed)
        with pytest.raises(
            TrainError, match=rf"versions of {name} differ: 0\.0\.1 on tls://.*; {here}"
        ):
            run(environment).results()
    missing = facts[first] | {"versions": facts[first]["versions"] | {"torch": "missing"}}
    monkeypatch.setitem(placement._known, first, missing)
    with pytest.raises(TrainError, match=r"has no PyTorch .* install speedcube\[train\]"):
        run(environment).results()
