"""Loops that write into arrays on a GPU played by the host: bits, and where the arrays lie."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from cuda_host import COMPILER, ONE, DeviceArray, HostKernels, fake_cupy

import speedcube as sc
from speedcube.api.indexing.assigning import home
from speedcube.engine import gpu, rungs
from speedcube.engine.stepwise import choice

from .test_loops_on_gpu import DATA, colours, numbers, rows, steps_of_time


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> HostKernels:
    if COMPILER is None:
        pytest.skip("neither g++ nor clang++ is on PATH")
    return HostKernels([], tmp_path_factory.mktemp("loops"))


@pytest.fixture(autouse=True)
def on_a_gpu(library: HostKernels, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Arrays of more than 256 elements are the GPU's, which is what computes."""
    module = fake_cupy()
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setattr(gpu, "gpu_kernel", library.kernel)
    monkeypatch.setattr(home, "HOST", 256)
    monkeypatch.setattr(home, "gpu_count", lambda: 1)
    token = rungs.run_on(ONE)
    with choice.limited_to(256, choice.FIRST):
        yield module
    rungs.run_no_longer(token)


def _on_core(program: Callable[[Any, Any], None], given: Any) -> Any:
    x = sc.array(given)
    token = rungs.run_on("core")
    try:
        program(x, sc)
        return x.compute()
    finally:
        rungs.run_no_longer(token)


@pytest.mark.parametrize(
    "program", [rows, colours, numbers, steps_of_time], ids=lambda f: f.__name__
)
def test_the_bits_are_those_of_a_core(program: Callable[[Any, Any], None]) -> None:
    x = sc.array(DATA)
    program(x, sc)
    assert x.compute().tobytes() == _on_core(program, DATA).tobytes()


def test_a_large_array_is_written_where_the_gpu_has_it() -> None:
    x, want = sc.array(DATA), DATA.copy()
    for i in range(1, 60):
        x[i] = x[i - 1] + i
        want[i] = want[i - 1] + i
    memory = x._expr.source.buffer
    assert type(memory) is DeviceArray
    place = memory.data.ptr
    del memory
    for i in range(60, 90):
        x[i] = x[i - 1] + i
        x[i, 0] = 0.5
        want[i] = want[i - 1] + i
        want[i, 0] = 0.5
    assert x._expr.source.buffer.data.ptr == place
    np.testing.assert_array_equal(x.compute(), want)


def test_a_small_one_stays_on_the_host() -> None:
    x = sc.array(DATA[:3])
    for i in range(60):
        x[i % 3] = x[(i + 1) % 3] * 0.5 + i
    assert type(x._expr.source.buffer) is np.ndarray


def test_what_a_loop_has_made_is_not_looked_through_in_each_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Weights that follow the error of the step before: 240 steps behind the last ones."""
    looked, ordinary = [0], home._is_readable

    def counted(node: Any) -> bool:
        looked[0] += 1
        return ordinary(node)

    monkeypatch.setattr(home, "_is_readable", counted)
    size, steps = 8, 240
    x, d = np.random.default_rng(3).normal(size=(2, size + steps))
    given, errors, w = sc.array(x), sc.zeros(size + steps), sc.zeros(size)
    want, v = np.zeros(size + steps), np.zeros(size)
    for t in range(size, size + steps):
        errors[t] = d[t] - (w * given[t - size : t]).sum()
        w = w + 0.01 * errors[t] * given[t - size : t]
        want[t] = d[t] - (v * x[t - size : t]).sum()
        v = v + 0.01 * want[t] * x[t - size : t]
    np.testing.assert_allclose(errors, want, rtol=1e-12)
    assert looked[0] < 60 * steps
