"""What people bring works in a rank as it is: compilers, autocast, FSDP2, Accelerate, Fabric."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from speedcube import train

pytestmark = pytest.mark.cluster
pytest.importorskip("torch", reason="training needs speedcube[train]")


@pytest.fixture(autouse=True)
def _in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def results(function: Callable[..., Any]) -> list[Any]:
    return train.run(function, on="cores:2", progress=False).results()


def network() -> Any:
    import torch

    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))


def data() -> tuple[Any, Any]:
    import torch

    generator = torch.Generator().manual_seed(train.rank())
    x = torch.randn(32, 8, generator=generator)
    return x, x.sum(1, keepdim=True)


def losses(step: Callable[[Any, Any], float]) -> list[float]:
    x, y = data()
    return [step(x, y) for _ in range(5)]


def falls(losses: list[list[float]]) -> bool:
    return all(series[-1] < series[0] for series in losses)


def test_torch_compile() -> None:
    def fit() -> list[float]:
        import torch
        from torch.nn.parallel import DistributedDataParallel

        model = network()
        # The backend without a C++ compiler: what is tested is that tracing works in a rank.
        compiled = torch.compile(DistributedDataParallel(model), backend="aot_eager")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

        def step(x: Any, y: Any) -> float:
            loss = (compiled(x) - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return float(loss.detach())

        return losses(step)

    assert falls(results(fit))


def test_autocast_and_a_loader_with_processes() -> None:
    def fit() -> tuple[list[float], str, int]:
        import torch
        from torch.nn.parallel import DistributedDataParallel

        model = network()
        parallel = DistributedDataParallel(model)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        loader = torch.utils.data.DataLoader(range(6), num_workers=1, batch_size=2)
        total = sum(int(batch.sum()) for batch in loader)
        kinds = []

        def step(x: Any, y: Any) -> float:
            with torch.autocast("cpu", torch.bfloat16):
                out = parallel(x)
            kinds.append(str(out.dtype))
            loss = (out.float() - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return float(loss.detach())

        return losses(step), kinds[0], total

    by_rank = results(fit)
    assert falls([series for series, _, _ in by_rank])
    assert {(kind, total) for _, kind, total in by_rank} == {("torch.bfloat16", 15)}


def test_fsdp2() -> None:
    def fit() -> tuple[list[float], list[int], float]:
        import torch
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        model = network()
        mesh = init_device_mesh("cpu", (train.world_size(),))
        for layer in (model[0], model[2]):
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

        def step(x: Any, y: Any) -> float:
            loss = (model(x) - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return float(loss.detach())

        values = losses(step)
        shards = {name: tensor.to_local() for name, tensor in model.state_dict().items()}
        train.report({"loss": values[-1]}, checkpoint={"shard": shards}, per_rank=True)
        state = train.latest()
        assert state is not None
        same = all(torch.equal(state["shard"][name], shards[name]) for name in shards)
        return values, list(shards["0.weight"].shape), float(same)

    by_rank = results(fit)
    assert falls([series for series, _, _ in by_rank])
    assert [(shape, same) for _, shape, same in by_rank] == [([8, 8], 1.0)] * 2


def test_accelerate() -> None:
    pytest.importorskip("accelerate", reason="this test needs Accelerate")

    def fit() -> tuple[list[float], int, int]:
        import torch
        from accelerate import Accelerator

        accelerator = Accelerator(cpu=True)
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        model, optimizer = accelerator.prepare(model, optimizer)

        def step(x: Any, y: Any) -> float:
            loss = (model(x) - y).square().mean()
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            return float(loss.detach())

        return losses(step), accelerator.num_processes, accelerator.process_index

    by_rank = results(fit)
    assert falls([series for series, _, _ in by_rank])
    assert [(size, rank) for _, size, rank in by_rank] == [(2, 0), (2, 1)]


def test_lightning_fabric() -> None:
    pytest.importorskip("lightning_fabric", reason="this test needs Lightning Fabric")

    def fit() -> tuple[list[float], int, int]:
        import torch
        from lightning_fabric import Fabric

        fabric = Fabric(accelerator="cpu", devices=train.world_size(), strategy="ddp", num_nodes=1)
        fabric.launch()
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        model, optimizer = fabric.setup(model, optimizer)

        def step(x: Any, y: Any) -> float:
            loss = (model(x) - y).square().mean()
            optimizer.zero_grad()
            fabric.backward(loss)
            optimizer.step()
            return float(loss.detach())

        return losses(step), fabric.world_size, fabric.global_rank

    by_rank = results(fit)
    assert falls([series for series, _, _ in by_rank])
    assert [(size, rank) for _, size, rank in by_rank] == [(2, 0), (2, 1)]
