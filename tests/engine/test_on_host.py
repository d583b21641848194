"""Few elements on a GPU's rung: one core makes them, so no GPU, and no CuPy, is needed for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.compute import compute, compute_all, plan_for
from speedcube.engine.results import ResultMemory
from speedcube.engine.rungs import Rung
from speedcube.engine.stepwise import choice
from speedcube.engine.stepwise.on_host import kind_here, where_few_lie

GPU = Rung("gpu", "gpu", 1, "asked for", (0,))
RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 30))


@pytest.fixture(autouse=True)
def as_users_have_it() -> Iterator[None]:
    with choice.limited_to(choice.MOST, choice.FIRST):
        yield


def steps() -> Any:
    u = sc.asarray(X)
    for t in range(20):
        u = u + 0.1 * (sc.roll(u, 1, 0) - u) * np.sin(0.1 * t)
    return u


FEW = {
    "one kernel": lambda: sc.asarray(X) * 2 + 1,
    "functions": lambda: sc.exp(sc.asarray(X)).sum(),
    "steps": steps,
    "a number": lambda: sc.asarray(X).mean() * 3 + sc.sin(0.5),
    "drawn": lambda: sc.random.default_rng(3).normal(size=1000).std(),
    "sorted": lambda: sc.sort(sc.asarray(X), axis=0)[3],
    "a routine": lambda: sc.linalg.solve(sc.asarray(X[:30]), sc.ones(30)),
    "complex": lambda: sc.asarray(X) * 1j + 2,
    "a scan": lambda: sc.asarray(X).cumsum(axis=1),
}


@pytest.mark.parametrize("name", list(FEW))
def test_one_core_makes_them_with_the_same_bits(name: str) -> None:
    expr = FEW[name]()._expr
    for _ in range(3):  # known from the second time on
        found, wanted = compute(expr, GPU), compute(expr, "core")
        assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes()


def test_what_is_to_stay_on_a_gpu_is_not_made_in_this_thread() -> None:
    """Complex numbers that were met, too: `persist` on a GPU leaves them there."""
    root = (sc.asarray(X) * 1j)._expr
    assert kind_here(root, GPU, None, False, "numpy", X.size) == "core"
    assert kind_here(root, GPU, None, False, ResultMemory.OF_RUNG, X.size) is None


def test_several_values_too() -> None:
    roots = [FEW[name]()._expr for name in ("one kernel", "functions", "steps")]
    for found, root in zip(compute_all(roots, GPU), roots, strict=True):
        np.testing.assert_array_equal(found, compute(root, "core"))


def test_a_loop_that_asks_keeps_its_state_on_the_host() -> None:
    u, asked = sc.asarray(X), []
    for t in range(60):
        u = u + 0.1 * (sc.roll(u, 1, 0) - u) * np.sin(0.1 * t)
        asked.append(float(compute(u.sum()._expr, GPU)))
    wanted = X
    for t in range(60):
        wanted = wanted + 0.1 * (np.roll(wanted, 1, 0) - wanted) * np.sin(0.1 * t)
        assert asked[t] == pytest.approx(wanted.sum())


def test_the_plan_says_so() -> None:
    plan, rung = plan_for((sc.asarray(X) + 1)._expr, GPU, None, False)
    assert rung.kind == "core"
    assert "few elements, which lie in the host's memory; asked for" in repr(plan)


MUCH = {
    "many elements": lambda: sc.asarray(np.zeros(choice.MOST + 1)) + 1,
    "many that are reduced": lambda: (sc.asarray(np.zeros(choice.MOST + 1)) + 1).sum(),
    "long to draw": lambda: sc.random.default_rng(3).gamma(2.0, size=5000),
}


@pytest.mark.parametrize("name", list(MUCH))
def test_a_gpu_makes_what_takes_a_core_longer(name: str) -> None:
    assert where_few_lie(GPU, (MUCH[name]()._expr,)) is GPU


def test_other_rungs_and_what_is_to_stay_on_the_gpu() -> None:
    root = (sc.asarray(X) + 1)._expr
    shared = Rung("cores,gpu", "gpus", 3, "asked for", (0,), cores=2)
    for rung in (Rung("cores", "cores", 2, "asked for"), shared):
        assert where_few_lie(rung, (root,)) is rung
    assert where_few_lie(GPU, (root,), "cupy") is GPU
    assert where_few_lie(GPU, (root,), ResultMemory.OF_RUNG) is GPU
    with choice.by_kernels():
        assert where_few_lie(GPU, (root,)) is GPU
