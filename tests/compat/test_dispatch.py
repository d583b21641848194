"""dispatch.run on a cluster of two processes: what dask-pytorch-ddp got wrong, and Dask futures."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, Event, LocalCluster, as_completed, get_client, wait

from speedcube import train
from speedcube.compat.dask_pytorch_ddp import dispatch
from speedcube.errors import ParameterError, TrainError
from speedcube.train.driver import placement
from speedcube.train.messages import JobSettings, Place
from speedcube.train.ranks import process

pytestmark = pytest.mark.cluster
SECONDS = 60


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=0
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs leave their directories where the program is."""
    monkeypatch.chdir(tmp_path)


def total(*values: float, scale: float = 1.0) -> tuple[int, int, float]:
    """Rank, world size and the sum over ranks of everything given, as the old programs do it."""
    import torch
    from torch import distributed as dist

    tensor = torch.tensor([scale * sum(values) + dist.get_rank()])
    dist.all_reduce(tensor)
    return dist.get_rank(), dist.get_world_size(), float(tensor)


def test_positional_and_keyword_arguments_reach_the_function(client: Client) -> None:
    futures = dispatch.run(client, total, 1, 2.5, scale=2.0)
    assert client.gather(futures) == [(0, 2, 15.0), (1, 2, 15.0)]


def test_the_same_call_again_trains_again(client: Client, tmp_path: Path) -> None:
    def train_once() -> int:
        path = tmp_path / f"calls-{os.environ['RANK']}"
        with path.open("a") as file:
            file.write("x")
        return path.stat().st_size

    assert client.gather(dispatch.run(client, train_once)) == [1, 1]
    assert client.gather(dispatch.run(client, train_once)) == [2, 2]


def test_two_runs_at_once_wait_for_each_other_and_no_port_is_fixed(client: Client) -> None:
    with socket.socket() as listener:  # the old port is in use on this machine
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 23456))
        first = dispatch.run(client, total, 1)
        second = dispatch.run(client, total, 2)
        assert [value for _, _, value in client.gather(first + second)] == [3.0, 3.0, 5.0, 5.0]


def test_the_world_has_every_worker_whatever_scheduler_info_tells(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = client.scheduler_info

    def truncated(n_workers: int = 1) -> dict[str, Any]:  # as distributed did with five
        return dict(whole(n_workers=n_workers))

    monkeypatch.setattr(client, "scheduler_info", truncated)
    assert len(dispatch.run(client, total)) == 2
    # What users put over it to get them all, on versions where the method takes an argument.
    monkeypatch.setattr(
        client,
        "scheduler_info",
        lambda: client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.identity()),
    )
    assert client.gather(dispatch.run(client, total)) == [(0, 2, 1.0), (1, 2, 1.0)]


def test_what_a_rank_raised_is_what_its_future_raises(client: Client) -> None:
    def breaks() -> None:
        if os.environ["RANK"] == "1":
            raise ZeroDivisionError("batch 7 is empty")
        total()

    futures = dispatch.run(client, breaks)
    wait(futures, timeout=SECONDS)
    assert [future.status for future in futures] == ["error", "error"]
    err = futures[1].exception()
    assert type(err) is ZeroDivisionError
    assert str(err) == "batch 7 is empty"
    assert any("rank 1 on" in note and "at step 0" in note for note in err.__notes__)
    assert any("in breaks" in note for note in err.__notes__)
    with pytest.raises(ZeroDivisionError, match="batch 7 is empty"):
        client.gather(futures)
    with pytest.raises(ZeroDivisionError, match="batch 7 is empty"):
        futures[0].result()


def test_an_exception_that_cannot_be_pickled_comes_as_its_words(client: Client) -> None:
    class HoldsALock(RuntimeError):
        def __init__(self) -> None:
            super().__init__("holds a lock")
            self.lock = threading.Lock()

    def breaks() -> None:
        raise HoldsALock

    err = dispatch.run(client, breaks)[0].exception()
    assert isinstance(err, TrainError)
    assert "HoldsALock" in str(err)
    assert "holds a lock" in str(err)


def test_words_that_no_encoding_has_come_home_escaped(client: Client) -> None:
    """They would end the connection of a worker."""

    def breaks() -> None:
        train.report({"file": "name-\udcff"})
        raise ValueError("bad file name-\udcff")

    futures = dispatch.run(client, breaks)
    with pytest.raises(ValueError, match=r"bad file name-") as caught:
        client.gather(futures)
    assert any(r"ValueError: bad file name-\udcff" in note for note in caught.value.__notes__)
    assert futures[0].job.rows()[0]["metrics"] == {"file": r"name-\udcff"}


def test_nothing_of_a_job_stays_in_the_workers(client: Client) -> None:
    def look() -> tuple[set[str], bool]:
        import sys

        torch = sys.modules.get("torch.distributed")
        return set(os.environ), bool(torch and torch.is_initialized())

    before = client.run(look)
    client.gather(dispatch.run(client, total))
    with pytest.raises(ZeroDivisionError):
        client.gather(dispatch.run(client, lambda: 1 / 0))
    after = client.run(look)
    assert {worker: state[0] for worker, state in after.items()} == {
        worker: state[0] for worker, state in before.items()
    }
    assert not any(initialized for _, initialized in after.values())


def test_inside_a_rank_everything_is_ready(client: Client) -> None:
    def look() -> dict[str, Any]:
        from torch import distributed as dist

        names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_PORT")
        return {name: int(os.environ[name]) for name in names} | {
            "group": (dist.get_rank(), dist.get_world_size(), dist.get_backend()),
            "device": str(train.device()),
            "pid": os.getpid(),
        }

    answers = client.gather(dispatch.run(client, look))  # backend="nccl", and no GPU
    for rank, seen in enumerate(answers):
        assert seen["RANK"] == seen["LOCAL_RANK"] == rank
        assert seen["WORLD_SIZE"] == seen["LOCAL_WORLD_SIZE"] == 2
        assert seen["MASTER_PORT"] != 23456
        assert seen["group"] == (rank, 2, "gloo")
        assert seen["device"] == "cpu"
    assert {seen["pid"] for seen in answers}.isdisjoint(client.run(os.getpid).values())


def test_pass_local_rank(client: Client) -> None:
    def look(name: str, local_rank: int) -> str:
        return f"{name}{local_rank}"

    assert client.gather(dispatch.run(client, look, "gpu", pass_local_rank=True)) == [
        "gpu0",
        "gpu1",
    ]


def test_keywords_of_train_run_belong_to_the_function(client: Client) -> None:
    def look(name: str = "?", out: str = "?", ranks: int = 0, on: str = "?") -> tuple[Any, ...]:
        return name, out, ranks, on

    futures = dispatch.run(client, look, name="a", out="b", ranks=7)
    assert client.gather(futures) == [("a", "b", 7, "?")] * 2


def test_lambdas_closures_partials_and_callables(client: Client) -> None:
    class Trainer:
        def __init__(self, base: int) -> None:
            self.base = base

        def __call__(self, x: int) -> int:
            return self.base + x

    base = 40
    for function, name in (
        (lambda x: base + x, "lambda"),
        (partial(lambda y, x: y + x, base), "lambda"),
        (Trainer(base), "Trainer"),
    ):
        futures = dispatch.run(client, function, 2)
        assert client.gather(futures) == [42, 42]
        assert futures[0].job.name == name


def test_dask_collections_come_lazily_and_compute_inside(client: Client) -> None:
    import dask.array as da

    x = da.arange(1000, chunks=100)
    persisted, mean = client.persist([x + 1, x.mean()])
    wait([persisted, mean])

    def look(x: Any = None, persisted: Any = None, mean: Any = None) -> tuple[Any, ...]:
        kinds = {type(value).__name__ for value in (x, persisted, mean)}
        return kinds, int(x.sum().compute()), int(persisted.sum().compute()), float(mean.compute())

    futures = dispatch.run(client, look, x=x, persisted=persisted, mean=mean)
    del persisted, mean  # the job holds them
    assert client.gather(futures) == [({"Array"}, 499500, 500500, 499.5)] * 2


def test_a_rank_has_a_client_as_a_task_has(client: Client) -> None:
    def look(address: str) -> bool:
        return bool(get_client().scheduler.address == address)

    assert client.gather(dispatch.run(client, look, client.scheduler.address)) == [True, True]


def test_futures_are_dasks_own(client: Client) -> None:
    gate = Event("compat-gate", client=client)

    def waits() -> dict[str, int]:
        assert Event("compat-gate").wait(SECONDS)
        return {"rank": train.rank()}

    futures = dispatch.run(client, waits)
    assert [future.status for future in futures] == ["pending", "pending"]
    assert not futures[0].done()
    gate.set()
    assert not wait(futures, timeout=SECONDS).not_done
    assert [future.status for future in futures] == ["finished", "finished"]
    assert sorted(future.result()["rank"] for future in as_completed(futures)) == [0, 1]
    assert [future.exception() for future in futures] == [None, None]
    # Tasks can use them.
    used = client.submit(lambda first, second: first["rank"] - second["rank"], *futures)
    assert used.result() == -1
    assert futures[0].job.status == "finished"


def test_tensors_come_home_however_many(client: Client) -> None:
    import torch

    def weights(n: int) -> dict[str, Any]:
        import torch

        return {"w": torch.full((n,), float(train.rank())), "b": torch.nn.Linear(2, 3)}

    for n in (4, 1 << 20):
        first, second = client.gather(dispatch.run(client, weights, n))
        assert torch.equal(first["w"], torch.zeros(n))
        assert torch.equal(second["w"], torch.ones(n))
        assert second["b"](torch.ones(2)).shape == (3,)


def test_cancelling_a_future_cancels_the_job(client: Client) -> None:
    started = Event("compat-started", client=client)

    def hangs() -> None:
        Event("compat-started").set()
        Event("compat-never").wait()

    first, second = dispatch.run(client, hangs)
    assert started.wait(SECONDS)
    second.cancel()
    with pytest.raises(CancelledError):
        first.result(SECONDS)
    assert (first.status, second.status) == ("cancelled", "cancelled")
    assert first.job.status == "cancelled"
    assert client.gather(dispatch.run(client, total)) == [(0, 2, 1.0), (1, 2, 1.0)]


def test_what_cannot_start_says_so_at_once(client: Client) -> None:
    with pytest.raises(ParameterError, match="backend='mpi': 'nccl' for GPUs, 'gloo' for CPUs"):
        dispatch.run(client, total, backend="mpi")
    with pytest.raises(ParameterError, match="open files, locks and connections have to be made"):
        dispatch.run(client, total, threading.Lock())


def test_dispatch_with_ddp_makes_a_group_and_leaves_nothing() -> None:
    from torch import distributed as dist

    def look(x: int, y: int = 0) -> tuple[Any, ...]:
        return x + y, dist.get_rank(), dist.get_world_size(), os.environ["RANK"]

    before = dict(os.environ)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    result = dispatch.dispatch_with_ddp(look, "127.0.0.1", port, 0, "1", 40, y=2)
    assert result == (42, 0, 1, "0")
    assert not dist.is_initialized()
    assert dict(os.environ) == before
    with pytest.raises(ZeroDivisionError):
        dispatch.dispatch_with_ddp(lambda: 1 / 0, "127.0.0.1", port, 0, 1)
    assert not dist.is_initialized()
    with pytest.raises(
        ValueError, match="invalid literal for int"
    ):  # not that there is no group to destroy
        dispatch.dispatch_with_ddp(look, "127.0.0.1", port, "first", 1, 0)
    assert dict(os.environ) == before


def test_dispatch_with_ddp_inside_a_rank_is_refused(client: Client) -> None:
    futures = dispatch.run(
        client, dispatch.dispatch_with_ddp, total, "127.0.0.1", 23456, 0, 2, backend="gloo"
    )
    with pytest.raises(TrainError, match="initialised in this process"):
        client.gather(futures)


def test_a_rank_finds_its_gpu_in_its_workers_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """dask-cuda puts a worker's own first, and old programs use cuda:0; no GPU is needed here."""
    places = [Place(k, f"tcp://{k}", "here", k, 2, name) for k, name in enumerate("23")]
    for as_task, seen in ((False, ("2", "3")), (True, ())):
        settings = JobSettings("job", 2, "out", as_task=as_task)
        assert placement.visible_gpus(settings, places, "here") == seen
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,0,1,2")
    assert process._gpu("3") == 0
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    assert process._gpu("3") == 1
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert process._gpu("3") == 3
