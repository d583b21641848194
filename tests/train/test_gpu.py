"""Ranks on GPUs: NCCL, a killed rank, memory that comes back, arrays on the rank's own device."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import train_faults

import speedcube as sc
from speedcube import train
from speedcube.engine import machine
from speedcube.train.metrics.rows import read_rows

pytestmark = [pytest.mark.gpu, pytest.mark.cluster]
COUNTS = [pytest.param(n, marks=[pytest.mark.multigpu] if n > 1 else []) for n in (1, 2, 4, 8)]


@pytest.fixture(autouse=True)
def _in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="training needs speedcube[train]")
    monkeypatch.chdir(tmp_path)


def run(function: Callable[..., Any], *args: Any, **options: Any) -> train.Job:
    return train.run(function, *args, **{"on": "gpus:1", "progress": False} | options)


def used_bytes() -> list[int]:
    """Memory in use on each GPU, asked of the driver's management library."""
    import pynvml

    pynvml.nvmlInit()
    handles = [pynvml.nvmlDeviceGetHandleByIndex(k) for k in range(machine.gpu_count())]
    return [pynvml.nvmlDeviceGetMemoryInfo(handle).used for handle in handles]


def assert_given_back(before: list[int], ranks: Iterable[int]) -> None:
    """Neither the processes nor their memory are there: a GPU keeps nothing of a gone process."""
    time.sleep(1)
    assert [pid for pid in ranks if train_faults.alive(pid)] == []
    if int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) == 1:  # others use the GPU too
        pairs = zip(used_bytes(), before, strict=True)
        assert all(now <= was + (64 << 20) for now, was in pairs)


def environment() -> tuple[Any, ...]:
    import torch
    from torch import distributed as dist

    held = torch.ones(1 << 28, device=train.device())  # 1 GiB
    total = torch.tensor([dist.get_rank() + 1.0], device=train.device())
    dist.all_reduce(total)
    host = torch.tensor([dist.get_rank() + 1])
    dist.all_reduce(host)  # gloo beside NCCL, for tensors of the CPU
    train.report({"loss": total[0]}, checkpoint={"total": total})
    where = str(train.device()), torch.cuda.current_device(), str(held.device)
    return dist.get_world_size(), float(total), int(host), where, total, os.getpid()


@pytest.mark.parametrize("count", COUNTS)
def test_ranks_on_gpus(count: int) -> None:
    if machine.gpu_count() < count:
        pytest.skip(f"needs {count} GPUs")
    before = used_bytes()
    seen = run(environment, on=f"gpus:{count}").results()
    total = count * (count + 1) / 2
    for rank, (size, device_sum, host_sum, where, tensor, _) in enumerate(seen):
        assert (size, device_sum, host_sum) == (count, total, total)
        assert where == (f"cuda:{rank}", rank, f"cuda:{rank}")
        assert str(tensor.device) == "cpu", "a tensor of a GPU comes home to the host"
    assert_given_back(before, [result[-1] for result in seen])


@pytest.mark.multigpu
def test_a_killed_nccl_rank_takes_its_job_down_and_back() -> None:
    before = used_bytes()
    whole = run(fit_on_gpu, 30, on="gpus:2").results()
    job = run(fit_on_gpu, 30, 0.02, on="gpus:2", max_restarts=1)
    while not any(row["step"] >= 9 for row in job.rows()):
        time.sleep(0.01)
    lines = read_rows(job.out / "metrics.jsonl")
    first = {line["rank"]: line["pid"] for line in lines if line.get("event") == "started"}
    os.kill(first[1], signal.SIGKILL)
    began = time.monotonic()
    while any(map(train_faults.alive, first.values())):
        assert time.monotonic() < began + 3
        time.sleep(0.01)
    assert job.results() == whole
    assert job.restarts == 1
    lines = read_rows(job.out / "metrics.jsonl")
    started = [line["pid"] for line in lines if line.get("event") == "started"]
    assert_given_back(before, started)


def fit_on_gpu(steps: int, pause: float = 0.0) -> float:
    import torch
    from torch.nn.parallel import DistributedDataParallel

    torch.manual_seed(1)
    model = torch.nn.Linear(64, 64).to(train.device())
    state, first = train.latest(), 0
    if state is not None:
        model.load_state_dict(state["model"])
        first = state["done"]
    parallel = DistributedDataParallel(model)
    torch.manual_seed(5 + train.rank() + 10 * first)
    for step in range(first, steps):
        torch.manual_seed(1000 * step + train.rank())
        loss = parallel(torch.randn(32, 64, device=train.device())).square().mean()
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 0.01 * parameter.grad
                parameter.grad = None
        time.sleep(pause)
        train.report({"loss": loss}, checkpoint={"model": model.state_dict(), "done": step + 1})
    return float(model.weight.double().sum().detach())


def test_arrays_are_computed_on_the_ranks_own_gpu() -> None:
    x = sc.random.default_rng(3).normal(size=(2000, 2000))

    def total(x: Any) -> tuple[str, float]:
        return x.sum().plan().rung, float(x.sum())

    (value,) = run(total, x).results()
    assert value == ("gpu:0", float(x.sum()))


def test_on_a_cuda_cluster() -> None:
    pytest.importorskip("dask_cuda", reason="cuda-cluster needs dask-cuda")
    before = machine.gpu_count()
    seen = run(environment, on="cuda-cluster").results()
    assert [result[0] for result in seen] == [before] * before


@pytest.mark.multigpu
def test_old_programs_that_say_cuda_0_get_a_gpu_each() -> None:
    pytest.importorskip("dask_cuda", reason="cuda-cluster needs dask-cuda")
    from speedcube.compat.dask_pytorch_ddp import dispatch
    from speedcube.engine.clusters.named import client_of

    def fit(factor: int) -> tuple[str, float, int]:
        import torch
        from torch import distributed as dist

        total = torch.tensor([float(factor)], device="cuda:0")
        dist.all_reduce(total)
        return str(torch.cuda.get_device_properties(0).uuid), float(total), dist.get_rank()

    count = machine.gpu_count()
    futures = dispatch.run(client_of(tuple(range(count))), fit, 3)
    values = [future.result() for future in futures]
    assert len({uuid for uuid, _, _ in values}) == count
    assert [(total, rank) for _, total, rank in values] == [(3.0 * count, k) for k in range(count)]
