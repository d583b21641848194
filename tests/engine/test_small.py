"""Small computations: one call of a kernel that was made before, with the bits of the long way."""

from __future__ import annotations

import gc
import math
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine import compute as engine
from speedcube.engine import machine
from speedcube.engine.small import first, known
from speedcube.engine.tiers import tiers
from speedcube.errors import MemoryLimitError
from speedcube.kernel.llvm.simd import limited


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    """Each test begins without structures that others have seen."""
    known._known.clear()
    known._met.clear()
    yield
    known._known.clear()
    known._met.clear()


def planned(array: sc.Array) -> Any:
    """What the planner and Dask's scheduler give, on one thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "SMALL", -1)
        return array.compute(on="core")


def same(array: sc.Array) -> None:
    """The value is that of the long way, bit for bit, and of its kind."""
    small, long = known.value(array._expr), planned(array)
    if small is None:
        assert "normal(" in repr(array)  # to several results: left to the planner
        small = array.compute(on="core")
    assert type(small) is type(long)
    assert (small.dtype, small.shape) == (long.dtype, long.shape)
    assert small.tobytes() == long.tobytes(), array


Make = Callable[[np.random.Generator, int, float], sc.Array]

# Of data, a length and a number: made twice, with others, each is one structure.
ONE_STRUCTURE: dict[str, Make] = {
    "sum": lambda g, n, c: (sc.asarray(g.normal(size=n)) * c + sc.asarray(g.normal(size=n))).sum(),
    "store": lambda g, n, c: sc.asarray(g.normal(size=n)) * c - 1.5,
    "views": lambda g, n, c: (lambda u: u[1:] - c * u[:-1])(sc.asarray(g.normal(size=n))),
    "shared": lambda g, n, c: (lambda u: (u * u + u / c).sum())(sc.asarray(g.normal(size=n))),
    "float32": lambda g, n, c: (sc.asarray(g.normal(size=n).astype("f4")) * c).mean(),
    "float16": lambda g, n, c: (sc.asarray(g.normal(size=n).astype("f2")) + 1).sum(),
    "integers": lambda g, n, c: (sc.asarray(g.integers(0, 99, n)) * 3).sum(),
    "maximum": lambda g, n, c: sc.maximum(sc.asarray(g.normal(size=n)), c).max(),
    "place": lambda g, n, c: (sc.asarray(g.normal(size=n)) * c).argmin(),
    "std": lambda g, n, c: (sc.asarray(g.normal(size=n)) * c).std(),
    "dot": lambda g, n, c: sc.dot(sc.asarray(g.normal(size=n)), sc.asarray(g.normal(size=n)) + c),
    "cube": lambda g, n, c: sc.asarray(g.normal(size=(n, 3, 2))).sum(),
    "truth": lambda g, n, c: (sc.asarray(g.normal(size=n)) > c).any(),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_STRUCTURE)
def test_data_lengths_and_numbers_are_arguments(name: str) -> None:
    """The same kernel for all of them: nothing is lowered or compiled for the later ones."""
    make = ONE_STRUCTURE[name]
    draw = np.random.default_rng(1)
    same(make(draw, 700, 1.25))
    kernels, structures = tiers.cache_info().misses, len(known._known)
    for n, number in ((701, 1.25), (3, -0.0), (5000, math.inf), (33, math.nan), (64, 1e-320)):
        same(make(draw, n, number))
    assert tiers.cache_info().misses == kernels
    assert len(known._known) == structures


# Structures in which a length, a number or a stride counts.
OTHERS: dict[str, Make] = {
    "bounded": lambda g, n, c: sc.clip(sc.asarray(g.normal(size=n)), -abs(c), abs(c)).sum(),
    "drawn": lambda g, n, c: (sc.random.default_rng(n).normal(size=n) * c).sum(),
    "uniform": lambda g, n, c: sc.random.default_rng(n).uniform(c, c + 1, n).sum(),
    "two draws": lambda g, n, c: (lambda r: (r.normal(size=n) - r.normal(size=n)).std())(
        sc.random.default_rng(n)
    ),
    "gamma": lambda g, n, c: sc.random.default_rng(n).gamma(abs(c) + 1, size=n).sum(),
    "range": lambda g, n, c: (sc.arange(n) * c).sum(),
    "folded": lambda g, n, c: sc.asarray(g.normal(size=n)) * sc.exp(sc.full(n, c)),
    "matrix": lambda g, n, c: (sc.asarray(g.normal(size=(5, n))).T - sc.full(5, c)).sum(),
    "back": lambda g, n, c: (sc.asarray(g.normal(size=n))[::-2] * c).sum(),
    "where": lambda g, n, c: sc.where(sc.asarray(g.normal(size=n)) > c, 1.0, -c),
    "one": lambda g, n, c: (sc.asarray(g.normal(size=1)) * c).sum(),
    "number": lambda g, n, c: sc.asarray(g.normal()) * c,
    "taken": lambda g, n, c: sc.take(sc.asarray(g.normal(size=n)), g.integers(0, n, 9)) * c,
    "no axes": lambda g, n, c: sc.asarray(g.integers(0, 9, (1, 1))).sum(axis=0),
    "weak": lambda g, n, c: sc.asarray(g.integers(0, 9, n)) * (n > 50) + n,
    "columns": lambda g, n, c: (sc.asarray(g.normal(size=(5, n)))[1:, ::-1] * c).mean(axis=0),
    "rows": lambda g, n, c: (sc.asarray(g.normal(size=(n, 3))[::-1])[::-1] + c).std(axis=1),
    "places": lambda g, n, c: sc.asarray(g.normal(size=(n, 3))).T.argmax(axis=1, keepdims=True),
    "kept": lambda g, n, c: sc.asarray(g.integers(0, 9, (3, n, 2)))[:, 3:].sum(axis=(0, 2)),
    "drawn rows": lambda g, n, c: (sc.random.default_rng(n).normal(size=(3, n)) * c).max(axis=1),
    "huge": lambda g, n, c: sc.asarray(g.normal(size=n).astype("f4")) * 1e300,
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_what_counts_is_told_apart(name: str) -> None:
    draw = np.random.default_rng(2)
    for n, number in ((700, 1.25), (30, -0.0), (30, 0.0), (3000, 1e100), (64, 3.0), (64, 1e-320)):
        same(OTHERS[name](draw, n, number))


@pytest.mark.parametrize("target", ["avx2", "plain"])
def test_a_target_has_kernels_of_its_own(target: str) -> None:
    x = sc.asarray(np.linspace(0.1, 7.0, 900))
    best = sc.exp(x).sum().compute(on="core")
    with limited(target):
        assert sc.exp(x).sum().compute(on="core") == best
    assert {key[0] for key in known._known} >= {target}  # type: ignore[index]


def test_no_array_of_a_user_is_kept() -> None:
    a = np.random.default_rng(3).normal(size=1000)
    gone = weakref.ref(a)
    x = sc.asarray(a)
    y = (x[1:] * 2 + x[:-1]).sum()
    assert math.isclose(y.compute(on="core"), (2 * a[1:] + a[:-1]).sum())
    del a, x, y
    gc.collect()
    assert known._known
    assert gone() is None


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "MOST", 8)
    for n in range(2, 30):
        assert sc.asarray(np.ones((n, 2)).T)[:, ::-1].sum().compute(on="core") == 2 * n
    assert len(known._known) <= 8


def test_threads_do_not_share_arguments() -> None:
    """Calls of one kernel at the same time, each with its data, length and number."""
    wrong: list[int] = []

    def work(k: int) -> None:
        for step in range(60):
            a = np.full(500 + k + step, float(k))
            if (sc.asarray(a) * (k + 0.5)).sum().compute(on="core") != len(a) * k * (k + 0.5):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_loop_with_new_lengths_and_numbers_compiles_once() -> None:
    total = 0.0
    (sc.asarray(np.ones(5)) * 0.5).sum().compute(on="core")
    kernels = tiers.cache_info().misses
    for n in range(1000):
        total += float((sc.asarray(np.ones(n + 2)) * (0.5 + n)).sum())
    assert total == sum((n + 2) * (0.5 + n) for n in range(1000))
    assert tiers.cache_info().misses == kernels
    assert len(known._known) == 1


def test_without_memory_the_planner_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    y = (sc.asarray(np.ones(9)) + 1).sum()
    assert y.compute(on="core") == 18.0
    monkeypatch.setattr(machine, "free_memory", lambda: 1000)
    with pytest.raises(MemoryLimitError, match="1,000 are free"):
        y.compute(on="core")


def test_what_has_more_kernels_than_one_is_left_to_the_planner() -> None:
    x = sc.asarray(np.arange(12.0).reshape(3, 4))
    many = sc.asarray(np.arange(4.0 * first.FEW).reshape(-1, 4))  # (those of few are made first)
    two, none = many.max() - many.min(), x[:0].mean()
    for array in (two, sc.exp(many) - many.mean(), x.cumsum(), x.prod(), none):
        assert known.value(array._expr) is None
        np.testing.assert_array_equal(array.compute(on="core"), planned(array))
    deep = x
    for _ in range(200):
        deep = deep + 1
    assert known.value(deep._expr) is None
    assert deep.sum().compute(on="core") == 66 + 12 * 200


def test_what_is_written_between_is_seen() -> None:
    a = np.zeros(10)
    y = sc.asarray(a) + 1
    assert y.compute(on="core").sum() == 10
    a[:] = 1
    assert y.compute(on="core").sum() == 20
    a.flags.writeable = False
    assert y.compute(on="core").sum() == 20


BIG = np.random.default_rng(4).normal(size=(1100, 1000))

# Of a million numbers and more: what a kernel finishes is one call of it, whatever lies where.
FINISHED: dict[str, Callable[[Any], sc.Array]] = {
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.T.mean(axis=0),
    "spread": lambda x: x[::-1].std(),
    "spreads": lambda x: x[:, ::-1].var(axis=1, ddof=1),
    "dot": lambda x: sc.vecdot(x, x[::-1]),
    "extreme": lambda x: x.max(axis=(0, 1), keepdims=True),
    "extremes": lambda x: x[3:].min(axis=0, keepdims=True),
    "place": lambda x: x.argmax(),
    "truth": lambda x: (x == x).all(axis=1),
    "count": lambda x: sc.count_nonzero(x, axis=0),
    "short": lambda x: x.astype("float32").reshape(-1, 5).sum(axis=1),
    "half": lambda x: x.astype("float16").sum(axis=0),
    "body": lambda x: abs(x + x[::-1]).sum(),
    "constants": lambda x: (x * 0.5).sum(axis=0),
    "cancels": lambda x: (x - x[:1]).sum(axis=1),
}


@pytest.mark.parametrize("name", FINISHED)
def test_much_that_a_kernel_finishes(name: str) -> None:
    for rows in (1099, 1100, 1099):  # a length is part of the structure here
        array = FINISHED[name](sc.asarray(BIG[1100 - rows :]))
        small, long = array.compute(on="core"), planned(array)
        assert (type(small), small.dtype, small.shape) == (type(long), long.dtype, long.shape)
        assert small.tobytes() == long.tobytes()


def test_what_reads_one_long_reduction_is_two_calls() -> None:
    x = sc.asarray(BIG)
    for array in (x - x.mean(axis=1, keepdims=True), x / x.max(), sc.sqrt((x * x).sum())):
        for rung in ("core", "cores"):
            assert np.asarray(known.value(array._expr, rung)).tobytes() == planned(array).tobytes()


def test_few_folds_of_what_lies_in_memory_are_a_call_each() -> None:
    some = BIG[:500]
    x = sc.asarray(some)
    both = [x.min()._expr, x.argmax(axis=1)._expr]
    found = known.folds(both, "cores")
    assert found is not None
    assert found[0] == some.min()
    np.testing.assert_array_equal(found[1], some.argmax(axis=1))
    for others in ([both[0]], both * 2, [*both, x.std()._expr], [(x + 1).max()._expr, both[0]]):
        assert known.folds(others, "cores") is None
    least, greatest = sc.compute(x.min(), x.max())
    assert (least, greatest) == (some.min(), some.max())


def test_elements_at_computed_positions_are_one_call_on_all_cores() -> None:
    x, index = sc.asarray(BIG).reshape(-1), np.arange(700_000)[::-1] % 1009
    y = x[index]
    found = known.value(y._expr, "cores")
    assert found is not None
    assert found.tobytes() == BIG.reshape(-1)[index].tobytes()
    assert known.value(sc.exp(y)._expr, "cores") is None


def test_squares_and_products_of_long_lines_are_one_call_on_all_cores() -> None:
    x = sc.asarray(BIG)
    for array in (x.std(), sc.vecdot(x, x[::-1]), x.var(axis=0), abs(x).std()):
        assert np.asarray(known.value(array._expr, "cores")).tobytes() == planned(array).tobytes()
    short = sc.asarray(BIG.reshape(-1, 5)).var(axis=1)  # whose results cost more than its elements
    assert known.value(short._expr, "cores") is None
    assert known.value(sc.exp(x).std()._expr, "cores") is None


def test_the_sum_of_nothing_is_known() -> None:
    for dtype in ("float64", "float32", "int8", "bool"):
        x = np.zeros((0, 3), dtype)
        for axis in (None, 0, (0, 1)):
            y = sc.asarray(x).sum(axis=axis)
            assert y.plan().stages[0].op is None  # no reduction
            assert_same_bits(y.compute(), x.sum(axis=axis), (dtype, axis))
    assert sc.vecdot(np.zeros((2, 0)), np.zeros((2, 0))).tolist() == [0.0, 0.0]
    assert sc.asarray(np.zeros((0, 3))).sum(axis=1).compute().shape == (0,)


def test_results_that_are_not_certain_are_made_again() -> None:
    x = BIG.copy()
    x[:, 7], x[:2, 8], x[5, 9], x[6, 10] = 0.1, 1e300, np.inf, np.nan
    x[:, 11] = 10.0 ** np.arange(-300, 800)[:1100].clip(-300, 300)
    for op in ("sum", "mean", "std"):
        array = getattr(sc.asarray(x), op)(axis=0)
        with np.errstate(all="ignore"):
            assert array.compute(on="core").tobytes() == planned(array).tobytes()


def test_threads_share_no_results() -> None:
    x = sc.asarray(BIG)
    wanted = x.sum(axis=1).compute(on="core")
    wrong: list[str] = []

    def run() -> None:
        for _ in range(20):
            if (x.sum(axis=1).compute(on="core") != wanted).any():
                wrong.append("a sum")

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
