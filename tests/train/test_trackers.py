"""Trackers: what they are told, what happens when one fails, and each real one, offline."""

from __future__ import annotations

import re
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from speedcube import train
from speedcube.errors import TrainError
from speedcube.train.metrics import rows as metrics
from speedcube.train.metrics.steps import StepCollector, merged
from speedcube.train.trackers import (
    MLflow,
    TensorBoard,
    Trackers,
    Trackio,
    Wandb,
    group,
    mlflow,
    open_all,
)


def row(step: int, rank: int = 0, attempt: int = 0, **values: Any) -> metrics.Row:
    return metrics.row(values, step=step, rank=rank, attempt=attempt, seconds=float(step))


class Mine:
    """A tracker that keeps what it is told, and raises where it is asked to."""

    def __init__(self, fails: str = "") -> None:
        self.calls: list[Any] = []
        self.fails = fails

    def _tell(self, method: str, *what: Any) -> None:
        if method == self.fails:
            raise OSError(f"no {method} today")
        self.calls.append((method, *what))

    def start(self, name: str, settings: Any) -> Mine:
        self._tell("start", name, settings)
        return self

    def log(self, row: metrics.Row) -> None:
        self._tell("log", row["step"], row["metrics"])

    def artifact(self, path: Path, name: str) -> None:
        self._tell("artifact", path, name)

    def finish(self, status: str) -> None:
        self._tell("finish", status)


def started(spec: Any, ranks: int = 1, name: str = "names", **settings: Any) -> Trackers:
    trackers = open_all(spec, name, settings, ranks)
    trackers.start()
    return trackers


def test_a_tracker_is_told_everything_in_order() -> None:
    mine = Mine()
    trackers = started(mine, lr=0.1, path=Path("/data"))
    trackers.log(metrics.event("start", ranks=1))
    trackers.log(row(1, loss=0.5))
    trackers.log(row(2, loss=0.25))
    trackers.artifact(Path("checkpoints/2"), "names")
    trackers.finish("finished")
    assert mine.calls == [
        ("start", "names", {"lr": 0.1, "path": "/data"}),
        ("log", 1, {"loss": 0.5}),
        ("log", 2, {"loss": 0.25}),
        ("artifact", Path("checkpoints/2"), "names"),
        ("finish", "finished"),
    ]


def test_other_ranks_are_told_where_they_differ() -> None:
    mine = Mine()
    trackers = started([mine], ranks=3)
    trackers.log(row(1, rank=2, loss=0.5, lr=0.1, only=1))
    trackers.log(row(1, rank=1, loss=0.75, lr=0.1, bad=float("nan")))
    trackers.log(row(2, rank=2, loss=0.5))
    trackers.log(row(1, rank=0, loss=0.5, lr=0.1, bad=float("nan")))
    trackers.finish("finished")
    (_, step, first), (_, last, alone), _ = mine.calls[1:]
    assert (step, last) == (1, 2)
    assert repr(first) == repr(
        {"loss": 0.5, "lr": 0.1, "bad": float("nan"), "loss/rank1": 0.75, "only/rank2": 1}
    )
    assert alone == {"loss": 0.5}


def test_steps_that_a_restart_repeats_are_logged_once() -> None:
    mine = Mine()
    trackers = started(mine, ranks=2)
    for step in (1, 2, 3):
        for rank in (0, 1):
            trackers.log(row(step, rank, loss=step))
    trackers.log(row(4, 1, loss=-1))  # rank 0 died in step 4
    for step in (2, 3, 4, 5):
        for rank in (1, 0):
            trackers.log(row(step, rank, attempt=1, loss=step + rank))
    trackers.finish("finished")
    assert mine.calls[1:-1] == [
        ("log", 1, {"loss": 1}),
        ("log", 2, {"loss": 2}),
        ("log", 3, {"loss": 3}),
        ("log", 4, {"loss": 4, "loss/rank1": 5}),
        ("log", 5, {"loss": 5, "loss/rank1": 6}),
    ]


@pytest.mark.parametrize("method", ["start", "log", "artifact", "finish"])
def test_a_tracker_that_raises_is_dropped_with_one_warning(method: str) -> None:
    good, bad = Mine(), Mine(fails=method)
    trackers = started((bad, good))

    def use() -> None:
        trackers.log(row(1, loss=0.5))
        trackers.log(row(2, loss=0.5))
        trackers.artifact(Path("model"), "names")
        trackers.finish("failed")

    with pytest.warns(RuntimeWarning) as caught:
        use()
    assert [str(one.message) for one in caught] == [
        f"the tracker Mine raised OSError: no {method} today; metrics.jsonl has every row"
    ]
    assert [call[0] for call in good.calls] == ["start", "log", "log", "artifact", "finish"]


def test_a_tracker_that_hangs_holds_up_neither_rows_nor_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = threading.Event()
    good, slow = Mine(), Mine()
    slow.log = lambda row: ended.wait() and None  # type: ignore[method-assign]
    monkeypatch.setitem(group.WAITS, "cancelled", 0.2)
    trackers = started((slow, good))
    for step in range(1, 1001):
        trackers.log(row(step, loss=0.5))
    with pytest.warns(RuntimeWarning) as caught:
        trackers.finish("cancelled")
    ended.set()
    assert [str(one.message) for one in caught] == [
        "the tracker Mine was not done 0.2 s after the job; metrics.jsonl has every row"
    ]
    assert len(good.calls) == 1002


@pytest.mark.parametrize("wrong", ["wandbb", "", 3, None, Wandb, object()])
def test_what_is_no_tracker_is_refused(wrong: Any) -> None:
    with pytest.raises(TrainError) as caught:
        open_all(["tensorboard", wrong], "names", {}, 1)
    assert str(caught.value) == (
        f"{wrong!r} is not a tracker; trackers= takes 'mlflow', 'tensorboard', 'trackio', 'wandb', "
        "their options such as Wandb(project='names'), or an object with start(name, settings)"
    )


@pytest.mark.parametrize("tracker", ["mlflow", TensorBoard(), "trackio", Wandb()])
def test_a_missing_package_is_told_before_the_job_starts(
    tracker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("speedcube.train.trackers.protocol.find_spec", lambda name: None)
    package = tracker if isinstance(tracker, str) else tracker.package
    with pytest.raises(TrainError) as caught:
        open_all((tracker,), "names", {}, 1)
    assert str(caught.value) == (
        f"the tracker {package!r} needs the package {package}, which is not installed; "
        "pip install speedcube[track], or leave it out of trackers="
    )


def test_steps_wait_for_the_ranks_that_report() -> None:
    clock = SimpleNamespace(now=0.0)
    steps = StepCollector(3, 2.0, lambda: clock.now)

    def closed_steps(*rows: metrics.Row) -> list[tuple[int, list[int]]]:
        closed = [ranks for one in rows for ranks in steps.add(one)]
        return [(next(iter(ranks.values()))["step"], list(ranks)) for ranks in closed]

    assert closed_steps(row(1, 1), row(2, 1), row(1, 0)) == []
    assert closed_steps(row(1, 2)) == [(1, [0, 1, 2])]
    assert closed_steps(row(2, 0), row(3, 0)) == []
    clock.now = 3.0  # rank 2 has stopped reporting: the step has waited long enough
    assert closed_steps(row(3, 1)) == [(2, [0, 1]), (3, [0, 1])]
    assert closed_steps(row(4, 1), row(4, 0)) == [(4, [0, 1])]  # nobody waits for rank 2
    assert closed_steps(row(4, 2)) == []  # too late, but it is back
    assert closed_steps(row(5, 0), row(5, 1)) == []
    assert closed_steps(row(5, 2)) == [(5, [0, 1, 2])]
    assert closed_steps(row(6, 0), row(1, 0, attempt=1)) == []  # step 6 will come again
    assert [list(ranks) for ranks in steps.rest()] == [[0]]


def test_a_step_waits_for_no_more_than_64_others() -> None:
    steps = StepCollector(2, 2.0, lambda: 0.0)
    assert [steps.add(row(step)) for step in range(1, 65)] == [[]] * 64
    assert [len(steps.add(row(step))) for step in range(65, 70)] == [65, 1, 1, 1, 1]


def test_merged_takes_the_lowest_rank_that_there_is() -> None:
    both = {1: row(1, 1, loss=0.5), 3: row(1, 3, loss=True)}
    assert merged(both)["metrics"] == {"loss": 0.5, "loss/rank3": True}
    assert both[1]["metrics"] == {"loss": 0.5}


# The real ones, offline


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home of its own, and sockets that reach nothing but this machine."""
    connect = socket.socket.connect

    def local(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a tracker went to the network: {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", local)
    monkeypatch.chdir(tmp_path)
    settings = {
        "HOME": str(tmp_path),
        "DO_NOT_TRACK": "true",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "WANDB_ERROR_REPORTING": "false",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def run_two_steps(tracker: Any, path: Path) -> Path:
    """A job of two ranks and two steps, then its model, at ``tracker``."""
    model = path / "step-2"
    model.mkdir()
    (model / "weights.bin").write_bytes(b"weights")
    trackers = started(tracker, ranks=2, lr=0.1, data=Path("names.csv"))
    for step, loss in ((1, 0.5), (2, 0.25)):
        trackers.log(row(step, 0, loss=loss, phase="warm", done=False))
        trackers.log(row(step, 1, loss=loss + 1, phase="warm", done=False))
    trackers.artifact(model, "names")
    trackers.finish("finished")
    return model


def test_tensorboard_has_the_values(offline: Path) -> None:
    model = run_two_steps(TensorBoard(directory=offline / "logs"), offline)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    events = EventAccumulator(str(offline / "logs" / "names"))
    events.Reload()
    scalars = {
        name: [(event.step, event.value) for event in events.Scalars(name)]
        for name in events.Tags()["scalars"]
    }
    assert scalars == {
        "loss": [(1, 0.5), (2, 0.25)],
        "loss/rank1": [(1, 1.5), (2, 1.25)],
        "done": [(1, 0.0), (2, 0.0)],
    }
    texts = {
        name: [(event.step, event.tensor_proto.string_val[0]) for event in events.Tensors(name)]
        for name in ("phase", "names", "status")
    }
    assert texts == {
        "phase": [(1, b"warm")],
        "names": [(2, str(model).encode())],
        "status": [(2, b"finished")],
    }
    (content,) = events.PluginTagToContent("hparams").values()
    parameters = HParamsPluginData.FromString(content).session_start_info.hparams
    assert parameters["lr"].number_value == 0.1
    assert parameters["data"].string_value == "names.csv"


def test_trackio_has_the_values(offline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trackio.sqlite_storage import SQLiteStorage

    for name, module in list(sys.modules.items()):  # its directory is a constant of its modules
        if name.startswith("trackio."):
            for place in ("TRACKIO_DIR", "MEDIA_DIR", "ARTIFACTS_DIR"):
                if hasattr(module, place):
                    monkeypatch.setattr(module, place, offline / place)
    run_two_steps(Trackio(project="pets"), offline)
    logs = SQLiteStorage.get_logs("pets", "names")
    assert [
        {name: value for name, value in log.items() if name != "timestamp"} for log in logs
    ] == [
        {"step": 1, "loss": 0.5, "loss/rank1": 1.5, "phase": "warm", "done": False},
        {"step": 2, "loss": 0.25, "loss/rank1": 1.25, "phase": "warm", "done": False},
    ]
    config = SQLiteStorage.get_run_config("pets", "names")
    assert (config["lr"], config["data"]) == (0.1, "names.csv")
    (artifact,) = SQLiteStorage.list_artifacts("pets")
    assert (artifact["name"], artifact["type"]) == ("names", "model")
    (blob,) = (path for path in (offline / "ARTIFACTS_DIR").rglob("*") if path.is_file())
    assert blob.read_bytes() == b"weights"


def wandb_records(path: Path) -> Iterator[Any]:
    """The records of an offline run: a 7-byte header, then per record checksum, length, type."""
    from wandb.proto.wandb_internal_pb2 import Record

    data = path.read_bytes()
    assert len(data) < 32768  # the first block; records of longer files are split
    at = 7
    while at + 7 <= len(data):
        _, length, kind = struct.unpack_from("<IHB", data, at)
        assert kind == 1  # whole
        yield Record.FromString(data[at + 7 : at + 7 + length])
        at += 7 + length


def test_wandb_has_the_values(offline: Path) -> None:
    import wandb

    run_two_steps(Wandb(project="pets", mode="offline", directory=offline), offline)
    wandb.teardown()  # the process that writes the file
    (path,) = offline.glob("wandb/offline-run-*/*.wandb")
    records = list(wandb_records(path))
    history = [
        {item.key or ".".join(item.nested_key): item.value_json for item in record.history.item}
        for record in records
        if record.HasField("history")
    ]
    ours = ("_step", "loss", "loss/rank1", "phase", "done")
    assert [{name: step[name] for name in ours} for step in history] == [
        {"_step": "1", "loss": "0.5", "loss/rank1": "1.5", "phase": '"warm"', "done": "false"},
        {"_step": "2", "loss": "0.25", "loss/rank1": "1.25", "phase": '"warm"', "done": "false"},
    ]
    (run,) = (record.run for record in records if record.HasField("run"))
    assert (run.project, run.display_name) == ("pets", "names")
    config = {item.key: item.value_json for item in run.config.update}
    assert (config["lr"], config["data"]) == ("0.1", '"names.csv"')
    (artifact,) = (record.artifact for record in records if record.HasField("artifact"))
    assert (artifact.type, artifact.name) == ("model", "names")
    (file,) = artifact.manifest.contents
    assert (file.path, file.size) == ("weights.bin", 7)
    (end,) = (record.exit for record in records if record.HasField("exit"))
    assert end.exit_code == 0


# MLflow 3.17 uses what SQLAlchemy 2.1 deprecates, when it loads its database code.
@pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning")
def test_mlflow_has_the_values(offline: Path) -> None:
    run_two_steps(MLflow("pets", f"sqlite:///{offline}/mlflow.db"), offline)
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{offline}/mlflow.db")
    (run,) = client.search_runs([client.get_experiment_by_name("pets").experiment_id])
    assert (run.info.run_name, run.info.status) == ("names", "FINISHED")
    assert run.data.params == {"lr": "0.1", "data": "names.csv"}
    assert run.data.tags["phase"] == "warm"
    history = {
        name: [(one.step, one.value) for one in client.get_metric_history(run.info.run_id, name)]
        for name in run.data.metrics
    }
    assert history == {
        "loss": [(1, 0.5), (2, 0.25)],
        "loss/rank1": [(1, 1.5), (2, 1.25)],
        "done": [(1, 0.0), (2, 0.0)],
    }
    (file,) = client.list_artifacts(run.info.run_id, "names")
    assert (file.path, file.file_size) == ("names/weights.bin", 7)


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("val/loss", "val/loss"),
        ("a-b_c.d e:f", "a-b_c.d e:f"),
        ("loss (val), %", "loss _val__ _"),
        ("../x//./y/", "x/y"),
        ("é", "é"),
        ("..", "_"),
    ],
)
def test_names_are_made_fit_for_mlflow(name: str, allowed: str) -> None:
    assert mlflow._allowed(name) == allowed


def test_mlflow_gets_many_metrics_in_few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow")
    calls: list[tuple[int, int]] = []

    def log_batch(run: str, metrics: Any = (), tags: Any = ()) -> None:
        calls.append((len(metrics), len(tags)))

    client = SimpleNamespace(log_batch=log_batch, set_terminated=lambda run, status: None)
    run = mlflow._MLflowRun(client, "1", sent=time.monotonic() + 3600)
    for step in range(1, 501):
        run.log(row(step, a=1, b=True, c=None, phase=f"{step}"))
    assert calls == [(500, 0), (0, 1)] * 2
    run.sent -= 2 * 3600  # long ago
    run.log(row(501, a=1))
    assert calls[4:] == [(1, 0)]
    run.finish("cancelled")
    assert len(calls) == 5


@pytest.mark.usefixtures("offline")
def test_wandb_without_a_key_is_told_instead_of_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(TrainError) as caught:
        Wandb(mode="online").start("names", {})
    assert str(caught.value) == "no API key: run `wandb login`, or use Wandb(mode='offline')"


def fit(steps: int, lr: float = 0.1) -> None:
    for step in range(1, steps + 1):
        last = step == steps
        train.report({"loss": 1 / step + train.rank(), "lr": lr}, {"w": 1} if last else None)


@pytest.mark.cluster
def test_a_job_tells_its_trackers_and_shows_its_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = Mine()
    job = train.run(fit, 3, on="cores:2", out=tmp_path / "first", trackers=mine)
    job.results()
    assert mine.calls == [
        ("start", "first", {"on": "cores:2", "ranks": 2, "steps": 3}),
        ("log", 1, {"loss": 1.0, "lr": 0.1, "loss/rank1": 2.0}),
        ("log", 2, {"loss": 0.5, "lr": 0.1, "loss/rank1": 1.5}),
        ("log", 3, {"loss": 1 / 3, "lr": 0.1, "loss/rank1": 4 / 3}),
        ("artifact", tmp_path / "first/checkpoints/step-00000003", "fit"),
        ("finish", "finished"),
    ]
    lines = capsys.readouterr().err.splitlines()
    assert any(re.match(r"fit: step [123], .*, lr 0\.1$", line) for line in lines)
    (last,) = (line for line in lines if line.startswith("fit: finished, step 3, "))
    assert last.endswith(", checkpoint of step 3, loss 0.33333 (0.33333 .. 1.3333), lr 0.1")
    written = metrics.read_rows(tmp_path / "first/metrics.jsonl")
    assert [line for line in written if "metrics" in line] == job.rows()
