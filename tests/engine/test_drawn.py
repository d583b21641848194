"""Drawn numbers that are kept from the second computation on: the same bits, within a bound."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dask
import numpy as np
import pytest

import speedcube as sc
from speedcube.commands.ladder.measure import measure
from speedcube.commands.verify.check import check
from speedcube.commands.verify.hash_list import digest
from speedcube.engine import machine, rungs
from speedcube.engine.known import budget, drawn
from speedcube.errors import MemoryLimitError, ParameterError

SIZE = (1 << 20) + 5  # more than what may be one call


@pytest.fixture(autouse=True)
def kept() -> Iterator[None]:
    drawn.drop()
    with dask.config.set({drawn.SETTING: "100 MB"}):
        yield
    drawn.drop()


def normals(**given: Any) -> sc.Array:
    return sc.random.default_rng(3).normal(1.0, 2.0, size=SIZE, **given)


@pytest.mark.parametrize("on", ["core", "cores:2"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_second_computation_keeps_what_the_third_reads(on: str, dtype: str) -> None:
    x = normals(dtype=dtype)
    y = (x[::-1] * 2 + x)[3:].cumsum()
    with dask.config.set({drawn.SETTING: 0}):
        wanted = y.compute(on=on)
    assert drawn.held() == 0
    for held in (0, x.nbytes, x.nbytes):
        assert (y.compute(on=on) == wanted).all()
        assert drawn.held() == held
    assert "drawn: kept" in y.plan(on=on).reason
    assert "Random" not in repr(y.plan(on=on))
    assert float(x.sum()) == float(normals(dtype=dtype).sum())


@pytest.mark.parametrize("size", [drawn.LEAST, SIZE])
def test_what_is_kept_goes_with_the_array(size: int) -> None:
    x = sc.random.default_rng(3).normal(1.0, 2.0, size=size)
    y = x * 2
    for _ in range(2):
        y.sum().compute(on="core")
    assert drawn.held() == x.nbytes
    del x
    gc.collect()
    assert drawn.held() == y.nbytes
    del y
    gc.collect()
    assert drawn.held() == 0


STATISTICS: dict[str, Callable[[sc.Array], Any]] = {
    "mean": lambda x: x.mean(),
    "standardised": lambda x: ((x - x.mean()) / x.std()).max(),
    "median": lambda x: sc.median(x),
    "sorted": lambda x: sc.sort(x)[::1000],
    "masked": lambda x: x[x > 2].sum(),
    "product": lambda x: x.reshape(100, 1000) @ np.arange(1000.0),
    "complex": lambda x: (x + 1j * x).sum(),
}


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("on", ["core", "cores:2"])
def test_a_hundred_thousand_numbers_are_drawn_twice_at_most(name: str, on: str) -> None:
    make = STATISTICS[name]
    with dask.config.set({drawn.SETTING: 0}):
        wanted = make(sc.random.default_rng(4).normal(1.0, 2.0, size=100_000)).compute(on=on)
    x = sc.random.default_rng(4).normal(1.0, 2.0, size=100_000)
    found = [make(x).compute(on=on) for _ in range(4)]
    assert all(np.array_equal(one, wanted) for one in found)
    assert drawn.held() == x.nbytes


def test_a_block_that_keeps_values_knows_them_by_what_was_drawn() -> None:
    x = sc.random.default_rng(4).normal(size=100_000)
    with sc.on("core"), sc.cache("1GB") as kept:
        for times in range(4):
            sc.compute(x.sum(), (x * 2).max())
            assert kept.used == 2 * times


def test_what_is_kept_stays_where_other_arrays_are_computed() -> None:
    x, other = normals(), sc.ones(SIZE) * 3
    for _ in range(2):
        x.sum().compute(on="core")
    assert float(other.std()) == 0
    assert float(sc.asarray(np.ones(SIZE)).sum()) == SIZE
    assert drawn.held() == x.nbytes


@pytest.mark.parametrize(
    ("twice", "make"),
    [
        (True, lambda x: (x - x.mean()).std()),
        (True, lambda x: ((x - x.mean()) ** 2).sum() / x.std()),
        (True, lambda x: (x[:-5].reshape(16, -1) - sc.roll(x[:-5].reshape(16, -1), 1)).std(axis=0)),
        (False, lambda x: x.mean() + x.std()),
        (False, lambda x: (x - x.mean())[::2]),
        (False, lambda x: (x[1:] - x[:-1]).sum()),
    ],
)
def test_what_one_computation_would_draw_twice_is_kept_at_once(twice: bool, make: Any) -> None:
    """A reduction of what another reduction has read, or along axes of two places of normals."""
    with dask.config.set({drawn.SETTING: 0}):
        wanted = make(normals()).compute(on="core")
    x = normals()
    y = make(x)
    assert ("to be kept" in y.plan(on="core").reason) == twice
    assert np.array_equal(y.compute(on="core"), wanted)
    assert (drawn.held() > 0) == twice
    assert np.array_equal(y.compute(on="cores:2"), wanted)


@pytest.mark.parametrize(
    "part",
    [
        lambda x: x[: drawn.LEAST - 1],
        lambda x: x[::3],
        lambda x: (x * 2)[5:9],
        lambda x: sc.take(x, np.array([3, 5])),
        lambda x: sc.random.default_rng(1).normal(size=drawn.LEAST - 1) + 1,
        lambda x: sc.random.default_rng(1).vonmises(0.0, 1.0, SIZE) + 1,
    ],
)
def test_parts_and_what_depends_on_memory_are_drawn(part: Any) -> None:
    x = normals()
    y = part(x)
    first = y.compute(on="core")
    for _ in range(3):
        assert (y.compute(on="core") == first).all()
    assert drawn.held() == 0


def test_what_does_not_fit_is_drawn() -> None:
    x, y = normals(), sc.random.default_rng(4).normal(size=SIZE)
    with dask.config.set({drawn.SETTING: x.nbytes + 8}):
        for _ in range(3):
            float((x + y).max())
        assert drawn.held() == x.nbytes
    with (
        dask.config.set({drawn.SETTING: "much"}),
        pytest.raises(ParameterError, match="keep-drawn"),
    ):
        (x + 1).sum().compute(on="core")


def test_a_part_of_free_memory_is_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "free_memory", lambda: budget.SHARE * 1000)
    assert drawn.limit() == 1000


def test_memory_is_given_back_to_what_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A computation that does not fit beside what is kept is done without it."""
    from speedcube.engine import compute

    x = normals()
    wanted = float((x + 1).sum())
    assert float((x + 1).sum()) == wanted
    assert drawn.held()
    values, asked = compute._values, []

    def tight(*given: Any) -> Any:
        asked.append(drawn.held())
        if asked[-1]:
            raise MemoryLimitError("no room")
        return values(*given)

    monkeypatch.setattr(compute, "_values", tight)
    assert float((x + 1).sum()) == wanted
    assert asked[0]
    assert asked[1:] == [0]


def test_several_results_and_assignment_read_what_is_kept() -> None:
    x = normals()
    pairs = [sc.compute(x.mean(), x.std(), on="core") for _ in range(3)]
    assert pairs[0] == pairs[1] == pairs[2]
    assert drawn.held() == x.nbytes
    before = float(x.sum())
    values = x.compute(on="core")
    values[:] = 0  # a result of its own: what is kept stays
    y = x.copy()
    y[0] = 5.0
    assert float(x.sum()) == before
    assert float(y[0]) == 5.0


@pytest.mark.parametrize(
    ("draw", "dtype"),
    [
        (lambda rng: rng.uniform(1.0, 2.0, SIZE), "float64"),
        (lambda rng: rng.random(SIZE, dtype="float32"), "float32"),
        (lambda rng: rng.exponential(2.0, SIZE), "float64"),
        (lambda rng: rng.integers(0, 100, SIZE), "int64"),
        (lambda rng: rng.gamma(2.5, 2.0, SIZE), "float64"),
        (lambda rng: rng.poisson(5.0, SIZE), "float64"),
        (lambda rng: rng.poisson(50.0, SIZE), "float64"),
        (lambda rng: rng.permutation(SIZE), "int64"),
    ],
)
def test_what_is_dear_to_draw_is_kept_as_it_is_drawn(draw: Any, dtype: str) -> None:
    x = draw(sc.random.default_rng(7))
    y = (x[::-1] * 2 - x).cumsum()
    first = y.compute(on="core")
    total = float(x.sum())
    for _ in range(3):
        assert (y.compute(on="cores:2") == first).all()
        assert (x.compute(on="core") == draw(sc.random.default_rng(7)).compute(on="core")).all()
    assert float(x.sum()) == total
    assert drawn.held() == SIZE * np.dtype(dtype).itemsize


def test_two_samplers_of_one_formula_are_two_sources() -> None:
    x = sc.random.default_rng(7).beta(2.0, 3.0, SIZE)
    values = [x.compute(on="core") for _ in range(3)]
    assert (values[0] == values[1]).all()
    assert (values[0] == values[2]).all()
    assert drawn.held() == 2 * 8 * SIZE


@pytest.mark.parametrize(
    "work",
    [
        lambda x: (x * 2).compute(on="core"),
        lambda x: (x * 2).sum().compute(on="core"),
        lambda x: ((x - x.mean()) / x.std()).compute(on="cores:2"),
        lambda x: (sc.roll(x, 1) - x).std().compute(on="core"),
        lambda x: sc.compute(x.mean(), x.cumsum(), sc.median(x), on="core"),
        lambda x: (x * 2).std().plan(on="core"),
    ],
)
def test_nothing_waits_for_the_garbage_collector(work: Any) -> None:
    x = normals()
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            work(x)
        for _ in range(2):
            x.sum().compute(on="core")
        assert drawn.held() == x.nbytes
        del x
        assert drawn.held() == 0
    finally:
        gc.enable()


def test_it_is_so_unless_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "free_memory", lambda: 1 << 40)
    monkeypatch.setattr(dask.config, "global_config", {})
    assert drawn.limit() == 1 << 30


def test_a_plan_counts_what_its_computation_will_keep() -> None:
    x = normals()
    y = (x + 1).sum()
    first = y.plan(on="core")
    assert "drawn" not in first.reason
    y.compute(on="core")
    second = y.plan(on="core")
    assert f"drawn: to be kept, {x.nbytes:,} bytes" in second.reason
    assert second.peak_bytes == first.peak_bytes + x.nbytes
    assert drawn.held() == 0
    y.compute(on="core")
    third = y.plan(on="core")
    assert f"drawn: kept, {x.nbytes:,} bytes" in third.reason
    assert third.peak_bytes == first.peak_bytes
    with dask.config.set({drawn.SETTING: 0}):
        assert repr(y.plan(on="core")) == repr(first)


def test_what_is_kept_is_dropped_when_memory_is_scarce(monkeypatch: pytest.MonkeyPatch) -> None:
    x = normals()
    totals = [float((x + 1).sum()) for _ in range(3)]
    assert drawn.held() == x.nbytes
    monkeypatch.setattr(machine, "free_memory", lambda: 12 * x.nbytes)
    assert "drawn" not in (x + 1).sum().plan(on="core").reason
    totals += [float((x + 1).sum()) for _ in range(3)]
    assert drawn.held() == 0
    assert len(set(totals)) == 1


def test_less_is_kept_when_less_is_allowed() -> None:
    x = normals()
    totals = [float((x + 1).sum()) for _ in range(3)]
    with dask.config.set({drawn.SETTING: 0}):
        totals.append(float((x + 1).sum()))
        assert drawn.held() == 0
    assert len(set(totals)) == 1


def test_an_interrupted_computation_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from speedcube.engine import compute

    x = normals()
    wanted = float((x + 1).sum())
    values = compute._values

    def stopped(*given: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(compute, "_values", stopped)
    with pytest.raises(KeyboardInterrupt):
        (x + 1).sum().compute(on="core")
    assert drawn.held() == 0
    monkeypatch.setattr(compute, "_values", values)
    assert float((x + 1).sum()) == wanted
    assert drawn.held() == x.nbytes


def test_threads_keep_a_source_once() -> None:
    x = normals()
    with ThreadPoolExecutor(4) as pool:
        totals = list(pool.map(lambda _: float((x + 1).sum()), range(8)))
    assert len(set(totals)) == 1
    assert drawn.held() == x.nbytes


def test_a_ladder_and_verify_draw_each_time() -> None:
    x = normals()
    result = measure(x.sum(), rungs.parse("core", "a test"), 3)
    assert "+" not in result.bits
    assert drawn.held() == 0
    listed = {"normals": digest(x.std().compute(on="core"))}
    x.std().compute(on="core")
    kept = drawn.held()
    drawn.drop()
    assert kept
    asked: list[int] = []

    def made() -> sc.Array:
        asked.append(drawn.limit())
        return x.std()

    assert check(rungs.parse("core", "a test"), listed, {"normals": made}).passed
    assert asked == [0]
    assert drawn.held() == 0


# Programs as NumPy's users write them: data drawn once, and a function that is called again.
YEARS, MONTHS, PLACES = 10, 12, (60, 160)


def climatology(np_: Any, weather: Any) -> Any:
    months = weather.reshape(YEARS, MONTHS, *PLACES)
    return (months - months.mean(axis=0)).std(axis=0)


def squares(np_: Any, u: Any, v: Any) -> Any:
    return (u**2 + v**2).mean(axis=0)


def vorticity(np_: Any, u: Any, v: Any) -> Any:
    return ((np_.roll(v, -1, axis=2) - v) - (np_.roll(u, -1, axis=1) - u)).std(axis=0)


@pytest.mark.parametrize(
    ("program", "count", "shape"),
    [
        (climatology, 1, (YEARS * MONTHS, *PLACES)),
        (squares, 2, (12, 300, 320)),
        (vorticity, 2, (12, 300, 320)),
    ],
)
def test_programs_that_draw_their_data_once(program: Any, count: int, shape: Any) -> None:
    rng = sc.random.default_rng(1)
    data = [rng.normal(15, 8, size=shape).astype("float32") for _ in range(count)]
    results = [program(sc, *data).compute(on="core") for _ in range(3)]
    assert drawn.held() == count * 8 * int(np.prod(shape))
    assert (results[0] == results[1]).all()
    assert (results[0] == results[2]).all()
    wide = program(np, *(one.compute(on="core").astype("float64") for one in data))
    np.testing.assert_allclose(results[2], wide, rtol=2e-5)
