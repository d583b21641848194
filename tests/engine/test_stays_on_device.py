"""What a GPU makes without the host: its kernels, built for the host, beside the CPU's bits."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from cuda_host import COMPILER, ONE, DeviceArray, HostKernels, fake_cupy
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine import compute as engine
from speedcube.engine import gpu
from speedcube.engine.finished import launch
from speedcube.engine.small.device import value_on_gpu

U = np.random.default_rng(1).standard_normal((5, 12, 14))
HALVES = np.random.default_rng(2).uniform(-5, 5, (40, 30)).astype("float16")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> HostKernels:
    if COMPILER is None:
        pytest.skip("neither g++ nor clang++ is on PATH")
    return HostKernels([], tmp_path_factory.mktemp("stays"))


@pytest.fixture
def cupy(library: HostKernels, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = fake_cupy()
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setattr(gpu, "gpu_kernel", library.kernel)
    monkeypatch.setattr("speedcube.engine.scans.device.gpu_kernel", library.kernel, raising=False)
    return module


def turned() -> Any:
    u = sc.asarray(U)
    return (sc.roll(u, -1, axis=2) - sc.roll(u, -1, axis=1)).std(axis=0)


def drawn() -> Any:
    return sc.random.default_rng(0).uniform(1, 2, (300, 3)).prod(axis=1)


@pytest.mark.parametrize("make", [turned, drawn])
def test_results_are_made_where_they_stay(
    cupy: ModuleType, make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DeviceArray, "set", None)  # nothing comes from the host
    array = make()
    (result,) = engine.compute_all([array._expr], ONE, to="cupy")
    assert type(result) is DeviceArray
    assert_same_bits(np.asarray(result), array.compute(on="core"))


@pytest.mark.parametrize("stays", [True, False])
@pytest.mark.parametrize(
    "reduce",
    [
        lambda x: x.sum(),
        lambda x: x.sum(axis=0),
        lambda x: x.mean(axis=1),
        lambda x: (x * 3000).sum(),
        lambda x: x.argmin(),
        lambda x: x.argmax(),
    ],
)
def test_halves_and_places_take_one_launch(
    library: HostKernels, cupy: ModuleType, reduce: Callable[[Any], Any], stays: bool
) -> None:
    array = reduce(sc.asarray(HALVES))
    value_on_gpu(array._expr, 0, stays)
    library.launches = 0
    value = value_on_gpu(array._expr, 0, stays)
    assert library.launches == 1
    assert isinstance(value, DeviceArray) is stays
    assert_same_bits(np.asarray(value), np.asarray(array.compute(on="core")))


def test_float32_functions_by_plain_arithmetic_have_the_cpus_bits(cupy: ModuleType) -> None:
    x = sc.asarray(np.random.default_rng(3).uniform(-0.99, 0.99, 50_000).astype("float32"))
    y = abs(x) * 20 + 1
    parts = [sc.asinh(x), sc.acosh(y), sc.atanh(x), sc.asin(x), sc.acos(x), sc.atan(y)]
    parts += [sc.atan2(x, y), sc.log1p(x), sc.gammaln(y), sc.sinh(x), sc.cosh(y), sc.sigmoid(x)]
    total = sum((k + 1) * part for k, part in enumerate(parts))
    value = value_on_gpu(total._expr, 0, True)
    assert_same_bits(np.asarray(value), total.compute(on="core"))


def test_parts_that_need_much_memory_wait_in_the_pools(
    cupy: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their launch is kept all the same: each had been prepared anew, which took 0.3 ms."""
    monkeypatch.setattr(launch, "KEPT", 1 << 16)
    made: list[launch.OnceForAll] = []
    given: list[int] = []
    ready, lend = launch.OnceForAll.__init__, launch.OnceForAll._partial

    def noted(self: launch.OnceForAll, *args: Any) -> None:
        ready(self, *args)
        made.append(self)

    def lent(self: launch.OnceForAll) -> Any:
        memory = lend(self)
        given.append(memory.size)
        return memory

    monkeypatch.setattr(launch.OnceForAll, "__init__", noted)
    monkeypatch.setattr(launch.OnceForAll, "_partial", lent)
    data = np.random.default_rng(3).standard_normal((4, 700, 500))
    x = sc.asarray(cupy.asarray(data))
    for _ in range(3):
        found = value_on_gpu(x.mean(axis=1)._expr, 0, True, True)
        assert_same_bits(np.asarray(found), sc.asarray(data).mean(axis=1).compute(on="core"))
    (one,) = made
    assert one.is_all
    assert one.launches.partial.size == 0
    assert given == [one.waiting] * 3
    assert one.waiting * 8 > 1 << 16
