"""float16: every one of its 65536 patterns, beside NumPy and beside exact fractions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import assert_same_bits, bits, elements, reduce_row

import speedcube as sc
from speedcube import dtypes
from speedcube.engine.compute import plan_for
from speedcube.engine.prepare import prepare
from speedcube.expr.analysis import analyse
from speedcube.ops import ELEMENTARY, OPS

EVERY = np.arange(65536, dtype=np.uint16).view(np.float16)
_rng = np.random.default_rng(16)
X, Y = _rng.permutation(EVERY), _rng.permutation(EVERY)
_EDGES = np.array([0, 1, 0x3FF, 0x400, 0x3C00, 0x3C01, 0x7BFF, 0x7C00, 0x7E00], np.uint16)
EDGES = np.concatenate([_EDGES, _EDGES | 0x8000]).view(np.float16)


def core(lazy: sc.Array) -> Any:
    return lazy.compute(on="core")


def pairs() -> tuple[np.ndarray, np.ndarray]:
    """Every pattern with another, and every edge with every edge."""
    a, b = (g.ravel() for g in np.meshgrid(EDGES, EDGES))
    return np.concatenate([X, a]), np.concatenate([Y, b])


# Elements ----------------------------------------------------------------------------------------

UNARY = [op for op, row in OPS.items() if row.arity == 1 and row.rule not in ("bits", "cast")]
BINARY = [op for op, row in OPS.items() if row.arity == 2 and row.rule not in ("bits", "integer")]


def numpys(op: str, *args: np.ndarray) -> np.ndarray:
    """NumPy's values; of elementary functions our own float32 values, rounded by NumPy."""
    with np.errstate(all="ignore"):
        if op in ELEMENTARY:
            wide = (sc.asarray(a.astype("float32")) for a in args)
            return core(getattr(sc, op)(*wide)).astype("float16")
        return np.asarray(OPS[op].numpy(*args))


@pytest.mark.parametrize("op", UNARY)
def test_every_value(op: str) -> None:
    assert_same_bits(core(getattr(sc, op)(sc.asarray(EVERY))), numpys(op, EVERY), op)


@pytest.mark.parametrize("op", BINARY)
def test_pairs(op: str) -> None:
    x, y = pairs()
    values, wanted = core(getattr(sc, op)(sc.asarray(x), sc.asarray(y))), numpys(op, x, y)
    if op in ("minimum", "maximum"):  # of two zeros NumPy chooses one for float16, another for more
        zeros = (x == 0) & (y == 0)
        values, wanted = values[~zeros], wanted[~zeros]
    assert_same_bits(values, wanted, op)


@pytest.mark.parametrize("op", ["exp", "log", "sin", "tanh", "atan"])
def test_functions_are_numpys_almost_everywhere(op: str) -> None:
    with np.errstate(all="ignore"):
        wanted = getattr(np, op)(EVERY)
    values = core(getattr(sc, op)(sc.asarray(EVERY)))
    assert (bits(values) != bits(wanted)).sum() <= 10


def test_powers_are_rounded_once() -> None:
    x = EVERY[(abs(EVERY) > 0.5) & (abs(EVERY) < 8)]
    for exponent in (2, 3, 5, -2, 0.5):
        with np.errstate(all="ignore"):
            wanted = (x.astype("float64") ** exponent).astype("float16")
        assert_same_bits(core(sc.asarray(x) ** exponent), wanted, exponent)


def test_bits_that_are_only_viewed_are_kept() -> None:
    """NaNs of every kind included; arithmetic makes one of them."""
    x = sc.asarray(EVERY.reshape(64, 1024))
    seen = core(x[::-1, 5::3].T)
    wanted = EVERY.reshape(64, 1024)[::-1, 5::3].T
    assert np.array_equal(seen.view("u2"), np.ascontiguousarray(wanted).view("u2"))
    product = core(x * 1)
    assert set(product[np.isnan(product)].view("u2").tolist()) == {0x7E00}


@pytest.mark.parametrize("dtype", dtypes.ALL)
def test_promotion_is_numpys(dtype: str) -> None:
    one, other = np.ones(3, "float16"), np.ones(3, dtype)
    values = sc.asarray(one) + sc.asarray(other)
    assert values.dtype == (one + other).dtype
    assert (sc.asarray(one) < sc.asarray(other)).dtype == bool
    assert_same_bits(core(values), one + other)


SCALARS: dict[str, Callable[[Any], Any]] = {
    "float": lambda a: a * 0.1,
    "float first": lambda a: 0.1 - a,
    "integer": lambda a: a + 3,
    "bool": lambda a: a + True,
    "beyond the largest": lambda a: a + 70_000,
    "halfway to the next": lambda a: a * 65_519.99,
    "not below its own rounding": lambda a: a < 0.1,
    "equal to a rounded one": lambda a: a == 0.1,
    "compared with what overflows": lambda a: a < 10**6,
    "a float16 scalar": lambda a: a * np.float16(0.3),
    "a float32 scalar": lambda a: a * np.float32(0.3),
    "a float64 scalar": lambda a: a * np.float64(0.3),
    "an int8 scalar": lambda a: a * np.int8(3),
    "an int32 scalar": lambda a: a * np.int32(3),
    "clip": lambda a: a.clip(-0.1, 1000.3),
    "round": lambda a: a.round(),
    "absolute": abs,
    "two outcomes": lambda a: divmod(a, 0.7)[1],
}


@pytest.mark.parametrize("name", SCALARS)
def test_scalars_are_weak(name: str) -> None:
    x = np.concatenate([EDGES, np.float16([0.1, 0.3, 7.7, -9.9, 1e-7])])
    with np.errstate(all="ignore"):
        wanted = SCALARS[name](x)
    assert_same_bits(core(SCALARS[name](sc.asarray(x))), wanted, name)


def test_where() -> None:
    chosen = core(sc.where(sc.asarray(X) > 0.1, sc.asarray(Y), 0.1))
    assert_same_bits(chosen, np.where(X > 0.1, Y, np.float16(0.1)))
    wide = sc.where(sc.asarray(X) > 1, sc.asarray(Y), sc.asarray(np.float32(0.1)))
    assert_same_bits(core(wide), np.where(X > 1, Y, np.float32(0.1)))


# Casts -------------------------------------------------------------------------------------------


def beside_halfway(dtype: str) -> np.ndarray:
    """Numbers halfway between neighbours, the next ones on both sides, and others."""
    finite = np.sort(EVERY[np.isfinite(EVERY)]).astype(dtype)
    middle = (finite[1:] + finite[:-1]) / 2
    others = [65519.99, 65520.0, 65520.01, 2.0**-25, 1e-30, 1e30, np.inf, np.nan]
    both = [finite, middle, *(np.nextafter(middle, v, dtype=dtype) for v in (np.inf, -np.inf))]
    numbers = np.concatenate([*both, np.array(others, dtype)])
    return np.concatenate([numbers, -numbers])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_casts_from_floats_round_once(dtype: str) -> None:
    values = beside_halfway(dtype)
    with np.errstate(over="ignore"):
        wanted = values.astype("float16")
    assert_same_bits(core(sc.asarray(values).astype("float16")), wanted)


def test_float64_does_not_pass_through_float32() -> None:
    value = np.array([1 + 2.0**-11 + 2.0**-40])
    through = value.astype("float32").astype("float16")
    half = core(sc.asarray(value).astype("float16"))
    assert (half.item(), through.item()) == (1 + 2.0**-10, 1.0)


@pytest.mark.parametrize("dtype", [d for d in dtypes.ALL if not dtypes.is_float(d)])
def test_casts_of_integers(dtype: str) -> None:
    if dtype == "bool":
        values = np.array([False, True])
    else:
        info = np.iinfo(dtype)
        near = np.arange(max(info.min, -70_000), min(info.max, 70_000) + 1).astype(dtype)
        ends = np.array([info.min, info.max, info.max // 2, info.max - 1], dtype)
        values = np.concatenate([near, ends])
    with np.errstate(over="ignore"):
        wanted = values.astype("float16")
    assert_same_bits(core(sc.asarray(values).astype("float16")), wanted)


@pytest.mark.parametrize("dtype", dtypes.ALL)
def test_casts_to_others(dtype: str) -> None:
    values = EVERY
    if dtypes.is_integer(dtype):
        info = np.iinfo(dtype)
        whole = np.trunc(np.nan_to_num(EVERY.astype("float64"), nan=np.inf))
        values = EVERY[(whole >= info.min) & (whole <= info.max)]
    assert_same_bits(core(sc.asarray(values).astype(dtype)), values.astype(dtype))


# Reductions --------------------------------------------------------------------------------------

SUMS = ["sum", "mean", "var", "std"]
FINITE = X[np.isfinite(X)]
ROWS = {
    "finite": FINITE[::20],
    "small": FINITE[::20] / np.float16(30_000),
    "least": np.array([1, 0x8001, 0x0002, 0x03FF], np.uint16).view("float16"),
    "tie, then a grain": np.array([2048, 1, 2.0**-24], "float16"),
    "tie": np.array([2048, 1], "float16"),
    "overflow in passing": np.array([65504] * 3 + [-65504] * 3 + [1], "float16"),
    "overflow": np.array([65504, 16], "float16"),
    "just no overflow": np.array([65504, 15.99], "float16"),
    "zeros": np.array([-0.0, -0.0], "float16"),
    "inf": np.array([1, np.inf, 65504], "float16"),
    "inf - inf": np.array([np.inf, -np.inf], "float16"),
    "nan": np.array([1, np.nan], "float16"),
    "one": np.array([0.1], "float16"),
    "none": np.array([], "float16"),
}


@pytest.mark.parametrize("op", SUMS)
@pytest.mark.parametrize("name", ROWS)
def test_sums_are_rounded_once(name: str, op: str) -> None:
    values = core(getattr(sc.asarray(ROWS[name]), op)())
    assert values.dtype == np.float16
    assert_same_bits(values, reduce_row(op, ROWS[name], "float16"))


@pytest.mark.parametrize("op", SUMS)
@pytest.mark.parametrize("axis", [0, 1])
def test_sums_of_many_rows(op: str, axis: int) -> None:
    with np.errstate(invalid="ignore"):  # a signalling NaN
        data = np.resize(X, (60, 311)) / np.float16(1 << 10)
    values = core(getattr(sc.asarray(data), op)(axis=axis))
    rows = np.moveaxis(data, axis, -1)
    wanted = np.array([reduce_row(op, row, "float16") for row in rows], "float16")
    assert_same_bits(values, wanted)
    finite = np.where(np.isfinite(data), data, np.float16(0.5))
    values = core(getattr(sc.asarray(finite), op)(axis=axis))
    wanted = [reduce_row(op, row, "float16") for row in np.moveaxis(finite, axis, -1)]
    assert_same_bits(values, np.array(wanted, "float16"))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 65535), min_size=1, max_size=40), st.sampled_from(SUMS))
def test_sums_of_any_bits(patterns: list[int], op: str) -> None:
    row = np.array(patterns, np.uint16).view("float16")
    assert_same_bits(core(getattr(sc.asarray(row), op)()), reduce_row(op, row, "float16"))


def test_sums_in_other_dtypes() -> None:
    data = FINITE[:3000]
    for dtype in ("float32", "float64"):
        for op in ("sum", "mean"):
            values = core(getattr(sc.asarray(data), op)(dtype=dtype))
            assert_same_bits(values, reduce_row(op, data, dtype))
    wide = np.array([1, 2.0**-11, 2.0**-60])  # rounded to float32 first: 1.0
    assert core(sc.asarray(wide).sum(dtype="float16")) == np.float16(1 + 2.0**-10)
    assert core(sc.asarray(np.array([2049, 4097])).sum(dtype="float16")) == np.float16(6144)
    assert core(sc.asarray(np.array([4097, 4099])).mean(dtype="float16")) == np.float16(4096)


def test_products_and_running_ones() -> None:
    data = FINITE[:3000] / np.float16(256)
    sums = [reduce_row("sum", data[: k + 1], "float16") for k in range(0, 3000, 100)]
    x = sc.asarray(data)
    assert_same_bits(core(x.cumsum()[::100]), np.array(sums, "float16"))
    few = data[abs(data) > 0.5][:40]
    wanted = np.multiply.accumulate(few.astype("float64"))
    with np.errstate(over="ignore"):
        wanted = wanted.astype("float16")
    assert_same_bits(core(sc.asarray(few).cumprod()), wanted)
    assert core(sc.asarray(few).prod()).dtype == np.float16


@pytest.mark.parametrize("far", [2.0**-60, 2.0**-1000])
def test_running_sums_of_wider_numbers_are_rounded_once(far: float) -> None:
    """Rounded to float64 first, the last would be a tie, and 1.0; a far term takes the slow way."""
    wide = sc.asarray(np.array([1, 2.0**-11, far]))
    assert core(sc.cumulative_sum(wide, dtype="float16")).tolist() == [1, 1, 1 + 2.0**-10]
    assert core(sc.cumulative_sum(-wide, dtype="float16")).tolist() == [-1, -1, -1 - 2.0**-10]
    assert_same_bits(
        core(wide.cumsum(dtype="float16")), elements(wide.cumsum(dtype="float16")._expr)
    )


def test_extremes_and_their_places() -> None:
    shape = (31, 2048)
    data = FINITE[: 31 * 2048].reshape(shape)
    x = sc.asarray(data)
    for op in ("min", "max", "argmin", "argmax"):
        for axis in (0, 1, None):
            values = core(getattr(x, op)(axis=axis))
            assert_same_bits(values, np.asarray(getattr(data, op)(axis=axis))[()], (op, axis))
    with_nan = np.where(np.arange(2048) == 77, np.float16(np.nan), data[0])
    assert np.isnan(core(sc.asarray(with_nan).max()))
    assert core(sc.asarray(with_nan).argmin()) == 77
    zeros = np.array([0.0, -0.0], "float16")
    assert np.signbit(core(sc.asarray(zeros).min()))
    assert core(sc.count_nonzero(x)) == np.count_nonzero(data)
    assert core((x == 0).any(axis=1)).tolist() == (data == 0).any(axis=1).tolist()


def bins(lazy: sc.Array) -> list[str]:
    """How the terms of a sum are added up."""
    plan, _ = plan_for(lazy._expr, "core", None, False)
    (part,) = plan.stages[0].parts
    return [t.bins.mode for t in prepare(plan.stages[0], part, None).program.sink.terms]


def test_sums_need_no_search() -> None:
    """Of stored float16 one double holds a tile's sum exactly."""
    x = sc.asarray(FINITE)
    assert bins(x.sum()) == bins((x * 3 + 1).mean()) == ["plain"]
    assert bins(x.var()) == ["plain", "search"]


# What is known beforehand ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_bounds_hold_where_results_underflow(dtype: str) -> None:
    least = {"float16": 1e-3, "float32": 1e-18}[dtype]
    x = sc.random.default_rng(3).uniform(least, 2 * least, 2000).astype(dtype)
    cube = x * x * x
    known, values = analyse(cube._expr), core(cube).astype("float64")
    assert (values == 0).any()
    assert known.low <= values.min() <= values.max() <= known.high
    assert core((1 / cube).sum()) == np.inf


@pytest.mark.parametrize(("dtype", "value"), [("float16", 65520.0), ("float32", 1e39)])
def test_constants_that_overflow_are_infinite(dtype: str, value: float) -> None:
    x = sc.zeros(9, dtype) + value
    assert not analyse(x._expr).known
    assert core(x.sum()) == np.inf
    assert core(x.std()) != core(x.std())


# Doors -------------------------------------------------------------------------------------------


def test_creation() -> None:
    assert_same_bits(core(sc.full((2, 3), 0.1, "float16")), np.full((2, 3), 0.1, "float16"))
    assert_same_bits(core(sc.ones(3, "float16")), np.ones(3, "float16"))
    assert_same_bits(core(sc.eye(3, dtype="f2")), np.eye(3, dtype="float16"))
    assert_same_bits(core(sc.arange(70, dtype="f2")), np.arange(70, dtype="float16"))
    assert_same_bits(core(sc.linspace(0, 1, 5, dtype="f2")), np.linspace(0, 1, 5, dtype="float16"))
    assert_same_bits(core(sc.zeros_like(sc.asarray(X[:5]))), np.zeros(5, "float16"))
    assert_same_bits(core(sc.asarray([1, 2], dtype="float16")), np.array([1, 2], "float16"))


def test_what_it_says_of_itself() -> None:
    x = sc.asarray(X[:4])
    assert (x.dtype, x.itemsize, x.nbytes) == (np.float16, 2, 8)
    assert repr(sc.asarray(X[:9]) * 0.1) == (
        "<speedcube.Array (9,) float16: a * 0.1; a: float16 (9,)>"
    )
    assert float(sc.asarray(np.float16([0.1])).sum()) == float(np.float16(0.1))
    assert f"{sc.asarray(np.float16(2.5)):.2f}" == "2.50"


def test_files(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", EVERY.reshape(256, 256))
    x = sc.from_npy(tmp_path / "x.npy")
    assert x.dtype == np.float16
    assert_same_bits(core(-x[::3]), -EVERY.reshape(256, 256)[::3])


def test_dask() -> None:
    data = FINITE[:3000].reshape(50, 60)
    lazy = sc.from_dask_array(da.from_array(data, chunks=(20, 25)))
    assert_same_bits(core(lazy.T / 3), data.T / np.float16(3))
    back = (lazy + 1).to_dask_array()
    assert back.dtype == np.float16
    assert_same_bits(back.compute(scheduler="sync"), data + np.float16(1))


def test_results_that_others_read() -> None:
    """Means of rows are stored as float16 and read again; persisted arrays too."""
    data = FINITE[:3000].reshape(50, 60) / np.float16(100)
    x = sc.asarray(data)
    means = np.array([reduce_row("mean", row, "float16") for row in data], "float16")
    wanted = data - means[:, None]
    assert_same_bits(core(x - x.mean(axis=1, keepdims=True)), wanted)
    twice = (x * 2).persist(on="core")
    assert_same_bits(core(twice - x), data)
    assert_same_bits((x * 2).sum(axis=1).compute(on="cores:2"), core((x * 2).sum(axis=1)))


def test_random_numbers_are_drawn_wide() -> None:
    x = sc.random.default_rng(5).normal(size=5000, dtype="float32")
    assert_same_bits(core(x.astype("float16")), core(x).astype("float16"))
    wide = sc.random.default_rng(5).normal(size=5000)
    rounded = core(wide).astype("float16")
    assert_same_bits(core(wide.astype("f2").mean()), reduce_row("mean", rounded, "float16"))
