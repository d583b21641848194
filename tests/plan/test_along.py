"""Results along axes that share their sums: which are one pass, and their bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine.finished import along
from speedcube.kernel.llvm import simd

Results = tuple[sc.Array, ...]


def passes(*arrays: sc.Array, on: str = "core") -> list[list[str]]:
    """The operations of each pass of what is computed together."""
    plan = arrays[0].plan(on=on, together=arrays[1:])
    return [[stage.op or "store" for stage in one.stages] for one in plan.passes]


def same(*arrays: sc.Array) -> None:
    """Together each has the bits that it has alone, on one thread and on three."""
    alone = [array.compute(on="core") for array in arrays]
    for on in ("core", "cores:3"):
        for value, wanted in zip(sc.compute(*arrays, on=on), alone, strict=True):
            assert_same_bits(value, wanted, on)


def statistics(x: sc.Array, axis: Any) -> Results:
    """What is made of the same sums."""
    return x.mean(axis=axis), x.std(axis=axis), x.var(axis=axis, ddof=1), x.sum(axis=axis)


def _stored(shape: tuple[int, ...], dtype: str = "float64") -> sc.Array:
    return sc.asarray((np.random.default_rng(3).normal(size=shape) * 50 + 7).astype(dtype))


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each pass along axes was made by one kernel."""
    made: list[bool] = []
    run = along.run

    def noted(*arguments: Any) -> bool:
        made.append(run(*arguments))
        return made[-1]

    monkeypatch.setattr(along, "run", noted)
    return made


def test_a_mean_and_a_deviation_along_axes_are_one_pass() -> None:
    x = _stored((300, 40))
    assert passes(*statistics(x, 0)) == [["mean", "std", "var", "sum"]]
    assert passes(*statistics(x, 1), on="cores:2") == [["mean", "std", "var", "sum"]]
    assert passes(x.mean(0), x.std(0, keepdims=True)) == [["mean", "std"]]
    text = repr(x.mean(0).plan(on="core", together=[x.std(0)]))
    assert "stage 1: std over axes (0,) of (300, 40) -> (40,) float64, in one pass with" in text


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_standardising_reads_twice(axis: int) -> None:
    x = _stored((300, 40))
    scaled = (x - x.mean(axis, keepdims=True)) / x.std(axis, keepdims=True)
    assert passes(scaled) == [["mean", "std"], ["store"]]
    same(scaled)


def _apart() -> dict[str, Results]:
    x = _stored((300, 40))
    whole = sc.asarray(np.arange(12_000).reshape(300, 40) * 2**40)
    return {
        "other axes": (x.mean(0), x.std(1)),
        "short ones of another array": (x[:9].mean(0), (x[:9] + 1).std(0)),
        "one number": (x.mean(0), x.std()),
        "places of extremes": (x.mean(0), x.argmax(0)),
        "float16": (x.astype("float16").mean(0), x.astype("float16").max(0)),
        "pieces": (sc.pad(x, 1).mean(0), sc.pad(x, 1).std(0)),
        "stored": (x.mean(0), x * 2),
        "no whole degrees of freedom": (x.mean(0), x.var(0, ddof=0.5), x.std(0, ddof=300)),
        "integers that are no doubles": (whole.mean(0), whole.std(0)),
    }


@pytest.mark.parametrize("name", _apart())
def test_apart(name: str) -> None:
    arrays = _apart()[name]
    assert all(len(one) == 1 for one in passes(*arrays)), passes(*arrays)
    same(*arrays)


def anything(x: sc.Array, axis: Any) -> Results:
    """Results that one kernel makes of one reading, some of the same sums."""
    folds = x.min(axis=axis), x.max(axis=axis)
    return *folds, *statistics(x, axis), (x * x).sum(axis=axis), (x + 1).min(axis=axis)


def _special() -> np.ndarray:
    data = np.random.default_rng(7).normal(size=(900, 70))
    data[:, 3], data[5, 7], data[8, 9], data[9, 11] = -0.0, np.nan, np.inf, 5e-324
    return data


def _growing() -> np.ndarray:
    """Rows that grow after those from which units come: sums are tried once more."""
    data = np.random.default_rng(7).normal(size=(900, 70))
    data[1::2] *= 2.0**40
    return data


TOGETHER: dict[str, Callable[[], sc.Array]] = {
    **{dtype: partial(_stored, (900, 70), dtype) for dtype in ("float64", "float32", "int32")},
    "special": lambda: sc.asarray(_special()),
    "special float32": lambda: sc.asarray(_special().astype("float32")),
    "growing": lambda: sc.asarray(_growing()),
    "growing float32": lambda: sc.asarray(_growing().astype("float32")),
    "drawn": lambda: sc.random.default_rng(4).normal(size=(900, 70)),
    "reversed": lambda: _stored((70, 900)).T[:, ::-1],
    "long": lambda: _stored((3, 20, 3000)).reshape(60, 3000),
}


@pytest.mark.parametrize("name", TOGETHER)
def test_any_results_of_the_same_elements_are_one_kernel(name: str, kernels: list[bool]) -> None:
    x = TOGETHER[name]()
    for axis in range(x.ndim):
        assert [len(one) for one in passes(*anything(x, axis))] == [8]
        same(*anything(x, axis))
    same(x.min(0), x.max(0))
    assert kernels
    assert all(kernels)


@pytest.mark.parametrize("target", simd.runnable())
def test_every_target_makes_them_together(target: str, kernels: list[bool]) -> None:
    with simd.limited(target):
        for name in ("float64", "growing float32"):
            same(*anything(TOGETHER[name](), 0), TOGETHER[name]().max())
            same(*anything(TOGETHER[name](), 1))
    assert all(kernels)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
def test_numbers_of_long_arrays_are_one_kernel(dtype: str, kernels: list[bool]) -> None:
    for shape in ((70_001,), (300, 301), (50, 3, 700)):
        x = _stored(shape, dtype)
        same(x.min(), x.max(), x.sum(), x.std(), (x * x).sum(), x.mean())
        same(x.T[::2].min(), x.T[::2].max())
    assert any(kernels)


DTYPES = ("int8", "uint16", "int32", "float16", "float32", "float64")
SHAPES = ((2, 900), (3, 700), (8, 512), (900, 2), (700, 3), (64, 65), (33, 7, 19), (9000, 5))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_shape(dtype: str, kernels: list[bool]) -> None:
    for shape in SHAPES:
        x = _stored(shape).astype(dtype)
        for axis in range(x.ndim):
            given = statistics(x, axis)
            same(*(given if dtype.startswith("f") else given[:3]))
            same(x.mean(axis), x.sum(axis))
    assert sum(kernels) > len(kernels) // 2


def test_views_and_what_is_drawn(kernels: list[bool]) -> None:
    base, drawn = _stored((60, 50, 40)), sc.random.default_rng(4).normal(size=(300, 70))
    for x, axis in (
        (base[::2, ::-1], (0, 2)),
        (base.T, 1),
        (base[:, :1] * base[:, :, :1], (1, 2)),
        (drawn, 0),
        (drawn, 1),
        (sc.random.default_rng(4).gamma(2.5, size=(90, 70)), 0),
    ):
        same(*statistics(x, axis))
    assert any(kernels)


def test_results_that_are_uncertain_are_made_by_records() -> None:
    draw = np.random.default_rng(0)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1.7e308, -1.7e308, 1e-170])
    for kind in (special, special[3:], special[1:2], special[3:6], special[8:]):
        for dtype in ("float64", "float32", "float16"):
            with np.errstate(over="ignore"):
                x = sc.asarray(draw.choice(kind, (40, 64)).astype(dtype))
            for axis in (0, 1):
                same(*statistics(x, axis))
    same(*statistics(sc.asarray(np.full((50, 40), 0.1)), 0))
    same(*statistics(sc.asarray(np.arange(64.0 * 33).reshape(64, 33)), 0))


def test_parts_of_a_long_column_give_records() -> None:
    """Three threads, and two columns that are cut: the records of each are merged."""
    x = _stored((40_000, 2))
    plan = x.mean(0).plan(on="cores:3", together=[x.std(0)])
    assert [(len(one.stages), one.visited.join) for one in plan.passes] == [(2, "merge")]
    same(*statistics(x, 0))


def test_spreads_of_tall_columns_are_exact() -> None:
    """Rests are put aside now and then: certain results are right, and nearly all are certain."""
    draw = np.random.default_rng(5)
    data = draw.normal(size=(70_000, 3)) * 2.0 ** draw.integers(-20, 20, (70_000, 3)) + 1.0
    mean, variance = sc.compute(*statistics(sc.asarray(data), 0)[0:1], sc.asarray(data).var(0))
    for k in range(3):
        terms = [Fraction(x) for x in data[:, k].tolist()]
        total, squares, n = sum(terms), sum(x * x for x in terms), len(terms)
        assert mean[k] == float(total / n)
        assert variance[k] == float((n * squares - total * total) / (n * n))
    assert math.isfinite(variance[0])


def test_nothing_is_shared_by_what_has_no_elements() -> None:
    x = _stored((0, 4))
    with np.errstate(all="ignore"):
        same(x.mean(0), x.std(0))
        same(x.T.mean(0), x.T.std(0))


def test_known_programs_take_other_data() -> None:
    """A program that was seen before puts its data into the pass."""
    for seed in range(4):
        data = np.random.default_rng(seed).normal(size=(300, 40))
        x = sc.asarray(data)
        mean, deviation = sc.compute(x.mean(0), x.std(0), on="core")
        assert_same_bits(mean, x.mean(0).compute(on="core"))
        assert_same_bits(deviation, x.std(0).compute(on="core"))
