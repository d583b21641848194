"""The programs that use dask-pytorch-ddp, shortened, with one import line changed, and results.

Each ``*_program`` test has the calls of a program that is in use, in its order.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import uuid
from collections.abc import Iterator
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from dask.distributed import (
    Client,
    LocalCluster,
    Lock,
    Variable,
    performance_report,
)
from dask.distributed import wait as Wait

from speedcube.compat.dask_pytorch_ddp import dispatch, results
from speedcube.errors import ParameterError, ParameterTypeError, TrainError

pytestmark = pytest.mark.cluster
SECONDS = 60


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=0
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster) as client:
        yield client


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs leave their directories where the program is."""
    monkeypatch.chdir(tmp_path)


def slope(xs: Any, ys: Any, epochs: int = 20) -> tuple[float, Any]:
    """Fit y = a x with DDP on this rank's rows; the last loss and the DDP module."""
    import torch
    from torch.nn.parallel import DistributedDataParallel as DDP
    from torch.utils.data import DataLoader, TensorDataset
    from torch.utils.data.distributed import DistributedSampler

    torch.manual_seed(0)
    data = TensorDataset(
        torch.as_tensor(xs, dtype=torch.float32)[:, None],
        torch.as_tensor(ys, dtype=torch.float32)[:, None],
    )
    sampler = DistributedSampler(data)
    model = DDP(torch.nn.Linear(1, 1, bias=False))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for x, y in DataLoader(data, batch_size=8, sampler=sampler):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
    return float(loss), model


XS = [i / 16 for i in range(32)]
YS = [3 * x for x in XS]


def test_the_pytorch_geometric_temporal_program(cluster: LocalCluster, tmp_path: Path) -> None:
    """examples/indexBatching: a scheduler file, gloo, the GPU chosen by the rank."""
    scheduler_file = tmp_path / "cluster.info"
    scheduler_file.write_text(json.dumps({"address": cluster.scheduler_address}))

    class Arguments:
        mode, npar = "index", 2

    def train(
        args: Any = None,
        debug: bool = False,
        epochs: int = 1,
        batch_size: int = 1,
        allGPU: bool = False,
        loader: Any = None,
        start_time: float | None = None,
    ) -> None:
        import torch.distributed as dist

        worker_rank = int(dist.get_rank())
        gpu = worker_rank % 4
        loss, _ = slope(*loader(), epochs)
        if worker_rank == 0:
            Path("stats.txt").write_text(f"opt_loss: {loss}, gpu: {gpu}, {args.npar}\n")

    with Client(scheduler_file=str(scheduler_file)) as client:
        futures = dispatch.run(
            client,
            train,
            args=Arguments(),
            debug=False,
            epochs=20,
            batch_size=8,
            allGPU=False,
            loader=lambda: (XS, YS),
            start_time=0.0,
            backend="gloo",
        )
        key = uuid.uuid4().hex
        rh = results.DaskResultsHandler(key)
        rh.process_results(".", futures, raise_errors=False)
        Wait(futures)
    assert [future.key for future in futures]
    directory = client_directory(cluster)
    stats = next(folder for folder in map(Path, directory) if (folder / "stats.txt").exists())
    words = (stats / "stats.txt").read_text().split()
    (stats / "stats.txt").unlink()
    assert float(words[1].strip(",")) < 1e-6
    assert words[2:] == ["gpu:", "0,", "2"]


def client_directory(cluster: LocalCluster) -> list[str]:
    """Where the ranks of this cluster's workers run."""
    with Client(cluster) as client:
        return sorted(set(client.run(os.getcwd).values()))


def test_the_traffic_benchmark_program(client: Client, tmp_path: Path) -> None:
    """Dask-Parallel-Traffic-Benchmark: persisted arrays, uploaded modules, Variable and Lock."""
    import dask.array as da

    for name, text in {"layer.py": "FACTOR = 3\n", "net.py": "from layer import FACTOR\n"}.items():
        (tmp_path / name).write_text(text)

    def my_train(x_train: Any = None, mean: Any = None, std: Any = None) -> None:
        import torch.distributed as dist
        from net import FACTOR  # type: ignore[import-not-found]

        device = f"cuda:{int(dist.get_rank()) % 4}"
        share = x_train[dist.get_rank() :: dist.get_world_size()].compute()
        loss, _ = slope(share, FACTOR * share)
        with Lock("totals"):
            by_device = Variable("totals").get()
            by_device[device] = [
                len(share),
                float(share.sum()),
                loss < 1e-3,
                mean,
                float(std.compute()),
            ]
            Variable("totals").set(by_device)

    # performance_report draws with bokeh, of the extra "dashboard".
    recording = performance_report(filename=str(tmp_path / "dask-report.html"))
    with recording if find_spec("bokeh") else nullcontext():
        x = da.arange(64, chunks=16) / 32
        mean, std, x_train = client.persist([x.mean(), x.std(), x])
        Wait([mean, std, x_train])
        mean = float(mean.compute())
        for name in ("layer.py", "net.py"):
            client.upload_file(str(tmp_path / name))
        totals = Variable("totals", client=client)
        totals.set({})
        futures = dispatch.run(client, my_train, x_train=x_train, mean=mean, std=std)
        rh = results.DaskResultsHandler(uuid.uuid4().hex)
        report = rh.process_results(".", futures, raise_errors=False)
    assert report.errors == ()
    by_device = totals.get()
    deviation = pytest.approx(x.std().compute())
    assert list(by_device["cuda:0"]) == [32, 31.0, True, mean, deviation]
    assert list(by_device["cuda:1"]) == [32, 32.0, True, mean, deviation]


def test_the_easi_notebook_program(client: Client, tmp_path: Path) -> None:
    """easi-notebooks: the model in an uploaded file, scheduler_info replaced, gather."""
    model = tmp_path / "easi_model.py"
    model.write_text(
        "def train(repo_prefix, num_epochs, batch_size, learning_rate):\n"
        "    import torch.distributed as dist\n"
        "    return [repo_prefix, num_epochs * batch_size, learning_rate, dist.get_rank()]\n"
    )
    client.upload_file(str(model))
    namespace: dict[str, Any] = {}
    exec(  # a notebook's cell: the function is of no module that workers could import
        "def train(**kwargs):\n    import easi_model\n    return easi_model.train(**kwargs)\n",
        namespace,
    )
    client.scheduler_info = lambda: client.run_on_scheduler(  # type: ignore[method-assign]
        lambda dask_scheduler: dask_scheduler.identity()
    )
    futs = dispatch.run(
        client,
        namespace["train"],
        repo_prefix="s3://easi/a",
        num_epochs=3,
        batch_size=4,
        learning_rate=0.5,
    )
    assert client.gather(futs) == [["s3://easi/a", 12, 0.5, 0], ["s3://easi/a", 12, 0.5, 1]]
    # Uploaded again, it is the new one.
    model.write_text("def train(**kwargs):\n    return sorted(kwargs)\n")
    client.upload_file(str(model))
    futs = dispatch.run(client, namespace["train"], b=1, a=2)
    assert client.gather(futs) == [["a", "b"], ["a", "b"]]


def test_the_dasf_program(client: Client, tmp_path: Path) -> None:
    """dasf-core: a handler of its own key, a method of an object that holds the model."""

    class Model:
        def __init__(self, epochs: int) -> None:
            self.epochs = epochs
            self.handler = results.DaskResultsHandler(uuid.uuid4().hex)

        def fit(self, X: Any, y: Any) -> float:
            loss, _ = slope(X, y, self.epochs)
            self.handler.submit_result(f"loss-{os.environ['RANK']}.txt", str(loss < 1e-6))
            return loss

    model = Model(epochs=20)
    futures = dispatch.run(client, model.fit, XS, YS, backend="gloo")
    model.handler.process_results(tmp_path / "dasf", futures, raise_errors=True)
    assert [future.result() < 1e-6 for future in futures] == [True, True]
    assert (tmp_path / "dasf" / "loss-1.txt").read_text() == "True"


def test_the_saturn_program(client: Client, tmp_path: Path) -> None:
    """saturncloud/examples: JSON of each epoch and rank, a pickled state_dict of rank 0."""
    import torch

    key = uuid.uuid4().hex
    rh = results.DaskResultsHandler(key)

    def train(experiment: str) -> str:
        import torch.distributed as dist

        worker_rank = int(dist.get_rank())
        for epoch in range(2):
            loss, model = slope(XS, YS)
            rh.submit_result(
                f"logs/data_{worker_rank}_{epoch}.json",
                json.dumps({"loss": loss, "epoch": epoch, "worker": worker_rank}),
            )
            if worker_rank == 0:
                rh.submit_result("model.pkl", pickle.dumps(model.state_dict()))
        return experiment

    training = tmp_path / "training"
    futures = dispatch.run(client, train, experiment="lr-0.1")
    report = rh.process_results(f"{training}/", futures, raise_errors=False)
    assert futures[0].result() == "lr-0.1"
    logs = [f"logs/data_{rank}_{epoch}.json" for rank in (0, 1) for epoch in (0, 1)]
    assert {str(path.relative_to(training)) for path in report.written} == {*logs, "model.pkl"}
    assert report.ok
    for name in logs:
        record = json.loads((training / name).read_text())
        assert [record["worker"], record["epoch"]] == [int(name[10]), int(name[12])]
        assert record["loss"] < 1e-6
    state = pickle.loads((training / "model.pkl").read_bytes())
    assert torch.allclose(state["module.weight"], torch.tensor([[3.0]]), atol=1e-3)


HOSTILE = {
    "../out.txt": "leads out of the prefix",
    "a/../../out.txt": "leads out of the prefix",
    "/etc/speedcube-out.txt": "leads out of the prefix",
    "link/out.txt": "leads out of the prefix",
    "dangling": "leads out of the prefix",
    "circle/x": "",
    "circle/../link/out.txt": "",
    "nul\0.txt": "null",
    "x" * 300: "File name too long",
    "\ud800": "surrogates not allowed",
    "": "names no file",
    ".": "names no file",
    "taken/": "names no file",
    "taken": "s a directory",
    "file/below": "File exists",
}


def test_paths_that_leave_the_prefix_are_refused_at_home_and_told(
    client: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rh = results.DaskResultsHandler()
    prefix, outside = tmp_path / "prefix", tmp_path / "outside"
    for directory in (prefix / "taken", prefix / "inner", outside):
        directory.mkdir(parents=True)
    (prefix / "link").symlink_to(outside)
    (prefix / "dangling").symlink_to(outside / "not-yet")
    (prefix / "within").symlink_to(prefix / "inner")
    (prefix / "circle").symlink_to(prefix / "circle")
    (prefix / "file").write_text("old")
    fine = {"good.txt": "1", "within/good.txt": "2", "a/b/../c": "3", "file": "new", "ü/€": "4"}

    def submits(paths: list[str], fine: dict[str, str]) -> str:
        if os.environ["RANK"] == "0":
            for path in paths:
                rh.submit_result(path, "hostile")
            for path, data in fine.items():
                rh.submit_result(path, data)
            rh.submit_result("no-text", "\udfff")
        return "trained"

    futures = dispatch.run(client, submits, list(HOSTILE), fine)
    with caplog.at_level(logging.ERROR):
        report = rh.process_results(prefix, futures, raise_errors=False)
    assert client.gather(futures) == ["trained", "trained"]
    assert report.errors == ()
    assert not report.ok
    assert [refused.path for refused in report.refused] == [*HOSTILE, "no-text"]
    for refused, words in zip(report.refused, [*HOSTILE.values(), "surrogates"], strict=True):
        assert words in refused.reason, refused
        assert refused.kept.read_bytes() == b"hostile" or refused.path == "no-text"
    assert len([r for r in caplog.records if "result refused" in r.message]) == len(HOSTILE) + 1
    for path, data in fine.items():
        assert Path(os.path.normpath(prefix / path)).read_text() == data
    assert list(outside.iterdir()) == []
    assert not (tmp_path / "out.txt").exists()
    assert not Path("/etc/speedcube-out.txt").exists()
    assert [leftover.name for leftover in prefix.rglob(".speedcube-*")] == []
    assert (prefix / "good.txt").stat().st_mode & 0o777 == 0o666 & ~mask()
    # Asked to raise, it does so after all is written; what was written is not written again.
    with pytest.raises(
        ParameterError, match=r"16 results were not written: '\.\./out\.txt' of rank"
    ):
        rh.process_results(prefix, futures)
    assert rh.process_results(prefix, futures, raise_errors=False).written == ()


def mask() -> int:
    umask = os.umask(0o022)
    os.umask(umask)
    return umask


def test_failures_are_reported_and_earlier_results_written(
    client: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rh = results.DaskResultsHandler("mine")

    def breaks() -> None:
        rh.submit_result(f"before-{os.environ['RANK']}", b"\x00\xff")
        if os.environ["RANK"] == "1":
            raise KeyError("no such column")

    futures = dispatch.run(client, breaks)
    with caplog.at_level(logging.ERROR):
        report = rh.process_results(tmp_path, futures, raise_errors=False)
    (err,) = report.errors
    assert repr(err) == "KeyError('no such column')"
    assert not report.ok
    assert tmp_path / "before-1" in report.written
    assert (tmp_path / "before-1").read_bytes() == b"\x00\xff"
    assert [r.getMessage() for r in caplog.records if "training failed" in r.message] == [
        "training failed: KeyError('no such column')"
    ]
    with pytest.raises(KeyError, match="no such column"):
        rh.process_results(tmp_path, futures)


def test_large_results_and_two_handlers(client: Client, tmp_path: Path) -> None:
    mine, other = results.DaskResultsHandler(), results.DaskResultsHandler()
    pattern = bytes(range(256)) * 13

    def submits() -> None:
        mine.submit_result(f"{os.environ['RANK']}.bin", pattern * 3000)  # 10 MB
        other.submit_result("empty", "")
        other.submit_result("text", "ü")

    futures = dispatch.run(client, submits)
    mine.process_results(tmp_path / "mine", futures)
    for rank in (0, 1):
        assert (tmp_path / "mine" / f"{rank}.bin").read_bytes() == pattern * 3000
    assert sorted(os.listdir(tmp_path / "mine")) == ["0.bin", "1.bin"]
    submitted = list(other._get_results(futures))
    assert len(submitted) == 4
    assert {"path": "text", "data": "ü"} in submitted
    assert {"path": "empty", "data": ""} in submitted
    by_topic = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.get_events())
    assert not any(len(events) for topic, events in by_topic.items() if "speedcube" in topic)


def test_results_that_are_no_data_and_handlers_outside_of_a_rank(client: Client) -> None:
    rh = results.DaskResultsHandler("key")
    assert rh.pub_sub_key == pickle.loads(pickle.dumps(rh)).pub_sub_key == "key"
    assert results.DaskResultsHandler().pub_sub_key != results.DaskResultsHandler().pub_sub_key
    with pytest.raises(TrainError, match="this is not a rank"):
        rh.submit_result("a", "b")
    futures = dispatch.run(client, rh.submit_result, "a", {"loss": 1})
    with pytest.raises(ParameterTypeError, match=r"emit\('a', a dict\): give a name and a str"):
        rh.process_results(".", futures)
