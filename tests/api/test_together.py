"""`speedcube.compute` and `persist` of several arrays, Dask's, and values kept in a block."""

from __future__ import annotations

import gc
import weakref

import dask
import numpy as np
import pytest
from dask.base import collections_to_expr
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine.clusters.asked import collections
from speedcube.errors import ParameterError, UnsupportedError


def _data() -> tuple[np.ndarray, sc.Array]:
    data = np.random.default_rng(2).normal(size=(300, 200))
    return data, sc.asarray(data)


# compute and persist -----------------------------------------------------------------------------


def test_compute_gives_a_tuple() -> None:
    data, x = _data()
    total, highest, columns = sc.compute(x.sum(), x.max(), x.mean(axis=0), on="core")
    assert isinstance(total, np.float64)
    assert highest == data.max()
    assert_same_bits(columns, x.mean(axis=0).compute(on="core"))
    assert sc.compute() == ()
    assert sc.compute(x.max(), on="core") == (data.max(),)


def test_containers() -> None:
    da = pytest.importorskip("dask.array")
    data, x = _data()
    found = sc.compute({"a": x.max(), "b": [x.min(), 3, "c"]}, (x[:2], None), da.ones(4).sum(), 5)
    assert found[0] == {"a": data.max(), "b": [data.min(), 3, "c"]}
    assert isinstance(found[1], tuple)
    assert_same_bits(found[1][0], data[:2])
    assert found[1][1] is None
    assert found[2:] == (4.0, 5)


def test_asked_for_twice_nobody_shares_memory() -> None:
    data, x = _data()
    first, second = sc.compute(x, x, on="core")
    first[:] = 0
    assert_same_bits(second, data)
    doubled, again, rows = sc.compute(x * 2, x * 2, (x * 2)[1:], on="cores:2")
    doubled[:] = 0
    again[0] = 1
    assert_same_bits(rows, data[1:] * 2)


def test_an_input_of_another() -> None:
    x = _data()[1]
    y = x + 1
    z = y.sum(axis=1) * y[:, 0]
    values = sc.compute(y, z, y.sum(axis=1), on="cores:2")
    for value, array in zip(values, (y, z, y.sum(axis=1)), strict=True):
        assert_same_bits(value, array.compute(on="core"))


def test_a_thousand_results() -> None:
    data, x = _data()
    arrays = [(x[k % 300] * float(k)).sum() for k in range(500)] + [x.max() + k for k in range(500)]
    values = sc.compute(*arrays, on="core")
    assert len(values) == 1000
    assert values[-1] == data.max() + 499
    assert values[7] == arrays[7].compute(on="core")


def test_persist() -> None:
    data, x = _data()
    doubled, total = sc.persist(x * 2, [x.max(), 4], on="cores:2")
    wanted = data * 2, data.max()
    data[:] = 0
    assert isinstance(doubled, sc.Array)
    assert_same_bits(doubled.compute(on="core"), wanted[0])
    assert total[0].compute(on="core") == wanted[1]
    assert total[1] == 4


def test_keywords() -> None:
    x = _data()[1]
    with pytest.raises(UnsupportedError, match="has no keyword 'nonsense'"):
        sc.compute(x, nonsense=1)
    with pytest.raises(ParameterError, match="to='cupy' is not possible on core"):
        sc.compute(x, x.sum(), on="core", to="cupy")
    assert sc.compute(x.max(), x.min(), scheduler="threads", num_workers=2)[0] == x.max()
    assert x.plan("cores", together=[x.sum()], num_workers=3).workers == 3
    with pytest.raises(ParameterError, match="together= takes speedcube's arrays, not int"):
        x.plan(together=[3])


def test_what_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from speedcube.engine import several

    def fails(*_: object) -> None:
        raise MemoryError("no room")

    x = _data()[1]
    monkeypatch.setattr(several, "_on_cpu", fails)
    with pytest.raises(MemoryError, match="no room"):
        sc.compute(x.sum(), x.max(), on="cores:2")
    monkeypatch.undo()
    assert sc.compute(x.sum(), x.max(), on="cores:2")[1] == x.max().compute(on="core")


# Dask's ------------------------------------------------------------------------------------------


def test_dask_is_given_one_plan() -> None:
    x = sc.asarray(np.random.default_rng(1).normal(size=100_000))
    arrays = [x.sum(), (x * x).sum(), x.max()]
    expression = collections_to_expr(arrays).optimize()
    graph = dict(expression.__dask_graph__())
    parts = [key for key in graph if "-part-" in str(key) and str(key).rsplit("-", 2)[1] == "part"]
    alone = dict(arrays[0].__dask_graph__())
    assert len(parts) == len([key for key in alone if "-part-" in str(key)])
    for value, array in zip(dask.compute(*arrays), arrays, strict=True):
        assert_same_bits(value, array.compute(on="core"))


def test_dask_plans_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many arrays there are, and what else is computed with them."""
    plans = []
    make = collections.make_plan
    monkeypatch.setattr(collections, "make_plan", lambda *a: plans.append(make(*a)) or plans[-1])
    x = _data()[1]
    found = dask.compute(x.sum(), x.max(), x.std(), dask.delayed(abs)(-3), scheduler="sync")
    assert found[3] == 3
    assert len(plans) == 1


def test_dask_joins_numbers_that_share_a_pass() -> None:
    x = _data()[1]
    arrays = x.sum() * 2, x.sum() + 1
    for value, array in zip(dask.compute(*arrays, scheduler="sync"), arrays, strict=True):
        assert_same_bits(value, array.compute(on="core"))


def test_dask_persists_together() -> None:
    data, x = _data()
    doubled, total = dask.persist(x * 2, x.max(), scheduler="sync")
    wanted = data * 2
    data[:] = 0
    assert_same_bits(doubled.compute(on="core"), wanted)
    assert total.compute(on="core") == wanted.max() / 2


# Values kept in a block --------------------------------------------------------------------------


def test_what_was_computed_is_used_again() -> None:
    x = _data()[1]
    with sc.cache("10MB") as kept:
        mean = x.mean().compute(on="core")
        assert kept.used == 0
        assert x.mean().compute(on="core") == mean
        assert kept.used == 1
        scaled = ((x - x.mean()) / x.std()).compute(on="core")
        assert kept.used == 2
        x.std().compute(on="core")  # made on the way
        assert kept.used == 3
        assert_same_bits(((x - x.mean()) / x.std()).compute(on="cores:2"), scaled)
        assert kept.nbytes == 8 * (2 + 60_000)
        assert "values, 480,016 of 10,000,000 bytes; used again" in repr(kept)
    assert kept.nbytes == 0
    assert_same_bits(((x - x.mean()) / x.std()).compute(on="core"), scaled)


def test_stored_data_are_as_they_were_first_read() -> None:
    data, x = _data()
    with sc.cache("1MB"):
        before = x.sum().compute(on="core")
        data[:] = 0
        assert x.sum().compute(on="core") == before
        assert (x + 0).compute(on="core").sum() == 0, "this was not computed before"
    assert x.sum().compute(on="core") == 0


def test_data_are_not_kept() -> None:
    """Only values are: data go when nobody else has them; what lies there next is told apart."""
    with sc.cache("1MB") as kept:
        for k in range(30):
            data = np.full(50_000, float(k))
            alive = weakref.ref(data)
            assert (sc.asarray(data) + 1).max().compute(on="core") == k + 1
            assert (sc.asarray(data) + 1).max().compute(on="core") == k + 1
            assert kept.used == k + 1
            del data
            gc.collect()
            assert alive() is None


def test_kept_values_are_nobodys() -> None:
    _, x = _data()
    with sc.cache("1MB"):
        first = (x * 2).compute(on="core")
        wanted = first.copy()
        first[:] = 0
        second = (x * 2).compute(on="core")
        assert_same_bits(second, wanted)
        second[:] = 0
        assert_same_bits(sc.compute(x * 2, x.sum(), on="core")[0], wanted)


def test_the_oldest_go_first() -> None:
    x = sc.asarray(np.arange(1000.0))
    with sc.cache(20_000) as kept:
        for k in range(5):
            (x + k).compute(on="core")
        assert kept.nbytes == 16_000
        (x + 4).compute(on="core")
        assert kept.used == 1
        (x + 0).compute(on="core")
        assert kept.used == 1
        sc.compute(sc.asarray(np.ones(10_000)) * 2, on="core")
        assert kept.nbytes == 16_000, "80,000 bytes do not fit"


def test_what_differs_is_told_apart() -> None:
    x = sc.asarray(np.arange(8.0))
    r, s = sc.random.default_rng(1), sc.random.default_rng(2)
    arrays = [
        *(x * 0.0, x * -0.0, x * 1, x * True, x[1:], x[:-1], x[::-1], x.sum(), x.mean(), x.std()),
        *(x.std(ddof=1), x.cumsum(), x.cumprod(), x.reshape(2, 4).sum(axis=0), x.astype("f4")),
        *(x.reshape(2, 4).sum(axis=1), x.reshape(2, 4).sum(axis=0, keepdims=True)),
        *(r.normal(size=8), s.normal(size=8), r.normal(1, 1, size=8), sc.pad(x, 1), sc.pad(x, 2)),
        *(sc.roll(x, 1), sc.take(x, [1, 2]), sc.take(x, [2, 1]), sc.arange(8) * 1.5),
    ]
    alone = [array.compute(on="core") for array in arrays]
    with sc.cache("1MB") as kept:
        for _ in range(2):
            for array, wanted in zip(arrays, alone, strict=True):
                assert_same_bits(array.compute(on="core"), wanted)
        assert kept.used >= len(arrays)
        assert_same_bits((sc.asarray(np.arange(8.0)) * 2).compute(on="core"), np.arange(8.0) * 2)
        for k in range(20):  # memory that is free again is another array's
            assert (sc.asarray(np.full(8, float(k))) + 1).compute(on="core")[0] == k + 1


def test_bad_limits() -> None:
    for limit in ("a lot", None, [1]):
        with pytest.raises(ParameterError, match="takes a number of bytes"), sc.cache(limit):
            pass
    with pytest.raises(ParameterError, match="positive number of bytes, not -5"), sc.cache(-5):
        pass


def test_a_block_in_a_block_keeps_for_itself() -> None:
    x = sc.asarray(np.arange(1000.0))
    with sc.cache("1MB") as outer:
        x.sum().compute(on="core")
        with sc.cache("1MB") as inner:
            x.sum().compute(on="core")
            assert inner.used == 0
        x.sum().compute(on="core")
        assert outer.used == 1
