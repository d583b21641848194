"""Kernels with several sinks as CUDA, run on the host: the bits that each result has alone."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest
from cuda_host import COMPILER, ONE, THREE, HostKernels, fake_cupy, finished_together, source, texts
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine import compute as engine
from speedcube.engine import gpu, several
from speedcube.engine.compute import plan_for
from speedcube.engine.rungs import Rung
from speedcube.expr.nodes import c_strides


def statistics(x: sc.Array, axis: int) -> list[sc.Array]:
    """What is made of the same sums."""
    return [x.mean(axis), x.std(axis), x.var(axis, ddof=1), x.sum(axis)]


def five_along(x: sc.Array, axis: int) -> list[sc.Array]:
    """What has sums of its own, or none."""
    return [x.sum(axis), (x * x).sum(axis), x.min(axis), x.max(axis), x.std(axis)]


def _arrays() -> dict[str, Callable[[], list[sc.Array]]]:
    wild = np.random.default_rng(4).normal(size=9000) * 2.0 ** np.arange(9000) ** 0.6
    x, f = sc.asarray(wild), sc.asarray((wild[:4001] % 7).astype("f4"))
    g = sc.random.default_rng(6).normal(3, 2, size=(60, 150))
    n = sc.asarray(np.arange(-2000, 2000))
    table = sc.asarray(wild.reshape(90, 100))
    special = [np.nan, np.inf, -np.inf, 0.0, 5e-324, 1.7e308, 1e-170, 1.0, 2.0**-53]
    hard = np.random.default_rng(2).choice(special, (70, 40))
    hard[:, :20] = np.where(np.isfinite(hard[:, :20]), hard[:, :20], 3.0)
    return {
        "five": lambda: [x.sum(), (x * x).sum(), x.max(), x.min(), x.std()],
        "float32": lambda: [f.mean(), f.var(), f.min(), f * 2],
        "drawn": lambda: [g.sum(), g.max(), g.std(), sc.vecdot(g.ravel(), g.ravel())],
        "integers": lambda: [n.sum(), n.std(), n.mean(), n.max()],
        "stores": lambda: [x + 1, x * x, x > 0],
        "stores of a transpose": lambda: [table.T + 1, table.T * 2, table.T.sum()],
        "means and spreads": lambda: [x.mean(), x.std(), x.var(ddof=1), x.sum(), x.max()],
        "float16": lambda: [(x % 50).astype("f2").std(), (x % 50).astype("f2").max()],
        "along columns": lambda: statistics(table, 0),
        "along rows": lambda: statistics(table, 1),
        "along rows of float32": lambda: statistics(f[:4000].reshape(400, 10), 1),
        "along columns of integers": lambda: statistics(n.reshape(80, 50), 0)[:3],
        "along short rows": lambda: statistics(table.ravel()[:3000].reshape(1000, 3), 1),
        "along drawn rows": lambda: statistics(g, 1),
        "along hard columns": lambda: statistics(sc.asarray(hard), 0),
        "many along columns": lambda: five_along(table, 0),
        "many along rows": lambda: five_along(table, 1),
        "too many for one kernel": lambda: [(x * float(k)).sum() for k in range(7)],
        "standardised": lambda: [(table - table.mean(0)) / table.std(0)],
        "strided": lambda: [x[::-3].sum(), x[::-3] * 2, x[::-3].max()],
    }


def several_texts(arrays: list[sc.Array], rung: Rung) -> list[str]:
    """The CUDA C of what is made together of ``arrays`` on ``rung``."""
    plan, _ = plan_for([array._expr for array in arrays], rung, None, False)
    found = []
    for one in plan.passes:
        if one.together is None:
            continue
        found += finished_together(one)
        if one.is_along:
            continue
        kinds = several.sinks_of(one).kinds
        stores = any(reduction is None for _, reduction in kinds)
        for part in one.visited.parts:
            shape = part.root.shape
            strides = c_strides(shape) if stores else (0,) * len(shape)
            found.append(source(several._prepare(one, part, kinds, strides, (), True).program))
    return found


# On three GPUs what shares a kernel along axes is cut as what has one of its own is.
RUNS = [
    (name, rung)
    for name in _arrays()
    for rung in (ONE, THREE)
    if rung is ONE or not name.startswith("along") or name == "along rows"
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> HostKernels:
    if COMPILER is None:
        pytest.skip("neither g++ nor clang++ is on PATH")
    sources, alone = [], []
    for name, rung in RUNS:
        arrays = _arrays()[name]()
        sources += several_texts(arrays, rung)
        alone += [text for array in arrays for text in texts(array, rung)]
    return HostKernels(list(dict.fromkeys(sources + alone)), tmp_path_factory.mktemp("several"))


@pytest.mark.parametrize(("name", "rung"), RUNS, ids=lambda x: getattr(x, "name", x))
def test_host_gives_the_cpus_bits(
    library: HostKernels, monkeypatch: pytest.MonkeyPatch, name: str, rung: Rung
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(gpu, "gpu_kernel", library.kernel)
    arrays = _arrays()[name]()
    library.launches = 0
    got = engine.compute_all([array._expr for array in arrays], rung)
    assert library.launches > 0
    for value, array in zip(got, arrays, strict=True):
        assert_same_bits(value, array.compute(on="core"), name)


def test_on_a_gpu_any_results_along_the_same_axes_are_one_pass() -> None:
    arrays = _arrays()["many along columns"]()
    plan, _ = plan_for([array._expr for array in arrays], ONE, None, False)
    assert len(plan.passes) == 1
    others = [*arrays[:2], sc.asarray(np.ones((90, 100))).sum(0), arrays[0].sum()]
    plan, _ = plan_for([array._expr for array in others], ONE, None, False)
    assert [len(one.stages) for one in plan.passes] == [2, 1, 1]


def test_one_launch_for_all(library: HostKernels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(gpu, "gpu_kernel", library.kernel)
    for name in ("five", "stores", "stores of a transpose", "along columns", "many along rows"):
        library.launches = 0
        engine.compute_all([array._expr for array in _arrays()[name]()], ONE)
        assert library.launches == 1, name
