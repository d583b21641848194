"""Folds of many results that their kernel finishes: NumPy's values, and the bits of records.

Every kind of data is folded down columns and along rows, so that both kernels see it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine.finished import at_once
from speedcube.engine.prepare import prepare_folded
from speedcube.kernel.llvm import simd
from speedcube.plan.stages import make_stage

FLOATS = ("float16", "float32", "float64")
INTEGERS = tuple(f"{s}int{n}" for s in ("", "u") for n in (8, 16, 32, 64))
EXTREMES = ("min", "max", "argmin", "argmax")
SHAPES = ((3, 41), (75, 9), (2, 3, 150))


def data(dtype: str, shape: tuple[int, ...], seed: int = 1) -> np.ndarray:
    """Numbers of all sizes, with ties: those of two rows are the same, and the ends of a dtype."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.2
    if dtype in FLOATS:
        x = (rng.standard_normal(shape) * 50).astype(dtype)
        x[-1] = x[0]
        return x
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    x.flat[::7] = rng.choice(np.array([info.min, info.max, 0], dtype), x.flat[::7].shape)
    x[-1] = x[0]
    return x


def by_records(monkeypatch: pytest.MonkeyPatch, y: Any) -> np.ndarray:
    with monkeypatch.context() as patch:
        patch.setattr(at_once, "prepare_folded", lambda *_: None)
        return np.asarray(y.compute(on="core"))


def check(x: np.ndarray, op: str, axis: Any, array: Any = None, **options: Any) -> None:
    """``op`` of ``x`` is NumPy's."""
    y = sc.asarray(x) if array is None else array
    result = getattr(y, op)(axis=axis, **options).compute(on="core")
    wanted = getattr(x, op)(axis=axis, **options)
    if op in ("min", "max") and x.dtype.name in FLOATS:  # NaN and zeros: see below
        wanted = np.where(np.isnan(wanted), np.array(np.nan, x.dtype), wanted)
    assert_same_bits(result, wanted, (op, axis, x.dtype, x.shape))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "bool"])
def test_extremes_and_places(dtype: str) -> None:
    for shape in SHAPES:
        x = data(dtype, shape)
        for axis in range(len(shape)):
            for op in (*EXTREMES, "any", "all"):
                check(x, op, axis)


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool"])
def test_sums_wrap(dtype: str) -> None:
    for shape in SHAPES:
        x = data(dtype, shape)
        for axis in range(len(shape)):
            check(x, "sum", axis)
            check(x, "sum", axis, dtype="int16")
            check(x, "sum", axis, dtype=bool)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint32", "bool"])
def test_means_are_sums_divided_once(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for shape in SHAPES:
        x = data(dtype, shape)
        for axis in range(len(shape)):
            check(x, "mean", axis)
    for x in (data(dtype, (7, 30)) == 0, data(dtype, (7, 30))):
        y = sc.asarray(x).mean(axis=0)
        assert_same_bits(y.compute(on="core"), by_records(monkeypatch, y), dtype)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "bool"])
def test_one_result(dtype: str) -> None:
    """A line is one row; of several loops places have records."""
    x = data(dtype, (2063, 1033))  # more than what has a kernel for every length
    for view in (x, x[:, ::2], x.T[::-1]):
        for op in (*EXTREMES, "any", "all"):
            check(view, op, None, sc.asarray(view))
        if dtype not in FLOATS:
            check(view, "sum", None, sc.asarray(view))
        if dtype in ("int8", "uint16", "bool"):
            check(view, "mean", None, sc.asarray(view))
    for axis in (0, 1):
        assert sc.count_nonzero(sc.asarray(x), axis=axis).compute().sum() == np.count_nonzero(x)
    assert sc.count_nonzero(sc.asarray(x)).compute() == np.count_nonzero(x)


@pytest.mark.parametrize("target", simd.runnable())
def test_every_target(target: str) -> None:
    with simd.limited(target):
        for dtype in ("float32", "float64", "int8", "uint64"):
            x = data(dtype, (70, 90))
            for op in EXTREMES if dtype in FLOATS else (*EXTREMES, "sum"):
                check(x, op, 0)
                check(x, op, 1)


# Floats that are not numbers, or equal and not the same -------------------------------------------


def odd_floats(dtype: str) -> np.ndarray:
    """Columns of zeros of both signs, infinities, and NaNs of both signs with payloads."""
    rng = np.random.default_rng(5)
    word = f"uint{8 * np.dtype(dtype).itemsize}"
    nan = np.array(np.nan, dtype).view(word)
    sign = nan.dtype.type(1 << (8 * nan.itemsize - 1))
    nans = np.array([nan, nan | sign, nan + 1, nan | sign | 1], word).view(dtype)
    values = np.array([0.0, -0.0, np.inf, -np.inf, 1.0, -1.0], dtype)
    x = rng.choice(values, (40, 67))
    x[:, :20] = rng.choice(values[:2], (40, 20))
    x[:, 20:40] = np.where(rng.random((40, 20)) < 0.1, rng.choice(nans, (40, 20)), x[:, 20:40])
    x[:, 40] = np.inf
    x[:, 41] = -np.inf
    return x


@pytest.mark.parametrize("dtype", FLOATS)
def test_odd_floats(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = odd_floats(dtype)
    plain = np.where(x == 0, np.array(0, dtype), x)
    for op in EXTREMES:
        for axis, numbers in ((0, x), (1, np.ascontiguousarray(x.T))):
            y = getattr(sc.asarray(numbers), op)(axis=axis)
            result = y.compute(on="core")
            assert_same_bits(result, by_records(monkeypatch, y), (op, axis))
            if op in ("min", "max"):  # (places of zeros: -0 comes before +0 here)
                np.testing.assert_array_equal(result, getattr(numbers, op)(axis=axis))
        check(plain, op, 0)
        check(np.ascontiguousarray(plain.T), op, 1)


# Where the elements lie ------------------------------------------------------------------------


def _views(x: Any) -> list[Any]:
    return [
        x[::-1],
        x[:, ::3],
        x[..., ::-2],
        x.transpose(2, 0, 1),
        x.transpose(1, 2, 0)[::2, ::-1],
        x[:, :1],
        x[:, :, 4:5],
    ]


@pytest.mark.parametrize("op", ["max", "argmin", "sum", "std"])
@pytest.mark.parametrize("rows", [511, 512, 1100])
def test_rows_that_lie_one_before_the_other(op: str, rows: int) -> None:
    """They are taken last row first, in batches of 512; results stay where they belong."""
    stored = data("float64", (2, rows, 40))
    for view in (stored[:, ::-1], stored[::-1, ::-1], stored[::-1], stored[:, ::-1, ::-1]):
        ours = getattr(sc.asarray(view), op)(axis=2).compute(on="core")
        copied = getattr(sc.asarray(view.copy()), op)(axis=2).compute(on="core")
        assert_same_bits(ours, copied, op)
        two = getattr(sc.asarray(view) + sc.asarray(stored), op)(axis=2)
        assert_same_bits(
            two.compute(on="core"),
            getattr(sc.asarray(view + stored), op)(axis=2).compute(on="core"),
            op,
        )


@pytest.mark.parametrize("dtype", ["float64", "int16"])
def test_views_and_axes(dtype: str) -> None:
    stored = data(dtype, (12, 9, 20))
    for x, y in zip(_views(stored), _views(sc.asarray(stored)), strict=True):
        for axis in range(3):
            check(x, "max", axis, y)
            check(x, "argmin", axis, y)


def test_two_axes_at_once() -> None:
    x = data("int32", (6, 7, 8, 9))
    y = sc.asarray(x)
    for axes in ((0, 2), (1, 3), (0, 3), (1, 2), (0, 1, 3)):
        for op in ("sum", "min", "max"):
            check(x, op, axes, y)
            check(x, op, axes, y, keepdims=True)


@pytest.mark.parametrize("axis", [0, 1])
def test_expressions_and_generated(axis: int) -> None:
    a = data("float64", (50, 80))
    y = sc.exp(sc.asarray(a) / 20) > sc.asarray(a.T.copy()).T
    rng = sc.random.default_rng(5)
    many = [y, y.astype("int8") - 1, rng.normal(size=(20, 1100)), rng.random((300, 20))]
    many += [rng.integers(0, 9, size=(70, 90)), rng.gamma(2.0, size=(20, 30))]
    many += [sc.asarray(a).astype("float16") * 2]
    for array in many:
        x = array.compute()
        for op in EXTREMES:
            check(x, op, axis, array)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("op", ["argmin", "argmax"])
def test_of_two_zeros_the_first_is_the_place(op: str, dtype: str) -> None:
    """As NumPy has it, of rows, columns, lines, and what is computed."""
    rest = 1.0 if op == "argmin" else -1.0
    drawn = np.random.default_rng(3).choice([0.0, -0.0, rest, rest], (40, 700)).astype(dtype)
    for x in (drawn, drawn[:, ::3], drawn[::-1], drawn[:3], drawn[0]):
        for axis in (None, *range(x.ndim)):
            wanted = getattr(x, op)(axis=axis)
            for lazy in (sc.asarray(x), sc.asarray(x) * 2):
                found = getattr(lazy, op)(axis=axis)
                assert_same_bits(found.compute(on="core"), wanted)
                assert_same_bits(found.compute(on="cores"), wanted)


def test_more_results_than_a_tile_and_two_workers() -> None:
    for dtype in ("int8", "float32", "float64"):
        x = data(dtype, (9, 9001))
        for op in ("max", "argmax"):
            for numbers, axis in ((x, 0), (np.ascontiguousarray(x.T), 1)):
                check(numbers, op, axis)
                y = getattr(sc.asarray(numbers), op)(axis=axis)
                assert_same_bits(y.compute(on="cores"), getattr(numbers, op)(axis=axis))


# The rule --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "op", "axes", "rows"),
    [
        ((20, 300, 600), "max", (0,), False),
        ((1000, 3), "argmax", (1,), False),  # short rows: side by side
        ((1000, 2000), "min", (1,), True),
        ((1000, 2000), "argmin", (0,), False),
        ((1000, 1000), "max", (0, 1), True),  # one result: a row
        ((100, 100), "max", (0, 1), None),  # of few elements: a kernel for every length
        ((1000, 1000), "sum", (1,), None),  # of floats: another kernel
    ],
)
def test_which_folds_have_records(
    shape: tuple[int, ...], op: str, axes: tuple[int, ...], rows: bool | None
) -> None:
    y = getattr(sc.asarray(np.zeros(shape)), op)
    source = y(axis=axes if len(axes) > 1 else axes[0])._expr.source
    stage = make_stage(source.arg, source, 1)
    prepared = prepare_folded(stage, stage.parts[0])
    assert (None if prepared is None else prepared.program.sink.folded.rows) is rows


@pytest.mark.parametrize("target", simd.runnable())
@pytest.mark.parametrize("size", [40_000, 65_537, 100_003])
def test_what_is_true_is_counted_by_bits(target: str, size: int) -> None:
    with simd.limited(target):
        counted_by_bits(size)


def counted_by_bits(size: int) -> None:
    a, b = data("bool", (size,), 2), data("bool", (size,), 3)
    x, y = sc.asarray(a), sc.asarray(b)
    counted = prepare_folded(stage := make_stage(x._expr, x.sum()._expr.source, 1), stage.parts[0])
    assert counted is not None
    assert counted.program.sink.folded.op == "count"
    assert_same_bits(x.sum().compute(on="core"), a.sum(), size)
    assert_same_bits((x & ~y).sum().compute(on="core"), (a & ~b).sum(), size)
    assert_same_bits(x[::-3].mean().compute(on="core"), a[::-3].mean(), size)
    rows = data("bool", (75, size // 75), 4)
    odd = (rows.view(np.uint8) * 7).view(bool)  # true, too
    assert_same_bits(sc.asarray(rows)[::-1, 1:].sum(axis=1).compute(), rows[::-1, 1:].sum(axis=1))
    assert_same_bits(sc.count_nonzero(odd).compute(), np.int64(np.count_nonzero(odd)))


def of_keys(x: np.ndarray, op: str, axis: int | None) -> np.ndarray:
    """The law of extremes of floats by integers: -0 below +0, NaN before all, or behind them."""
    info, skips = np.iinfo(f"int{8 * x.itemsize}"), op.startswith("nan")
    bits = x.view(info.dtype)
    high = op.endswith("max")
    nan = info.max if high is not skips else info.min
    keys = np.where(np.isnan(x), nan, np.where(bits < 0, bits ^ info.max, bits))
    found = np.asarray(keys.max(axis=axis) if high else keys.min(axis=axis))
    values = np.where(found < 0, found ^ info.max, found).astype(info.dtype).view(x.dtype)
    return np.where(found == nan, np.array(np.nan, x.dtype), values)


def odd_data(dtype: str) -> list[np.ndarray]:
    """Long rows of one sign, of both zeros, of infinities, of some NaN, and of nothing else."""
    rng, shape = np.random.default_rng(5), (3, 1029)
    below = -np.abs(rng.standard_normal(shape)) - 1
    zeros = rng.choice([0.0, -0.0], shape)
    one_zero = np.full(shape, -0.0)
    one_zero[1, 700] = 0.0
    some = rng.standard_normal(shape)
    some[0, 3] = some[2, -1] = np.nan
    ends = rng.choice([np.nan, -np.nan, -np.inf, np.inf, -0.0], shape)
    none = np.full(shape, -np.nan)
    half = np.where(np.arange(3)[:, None] == 1, none, -np.inf)
    half[2, 1] = np.nan
    each = (below, zeros, one_zero, -one_zero, some, ends, none, half)
    return [one.astype(dtype) for one in each]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["min", "max", "nanmin", "nanmax"])
def test_long_rows_of_floats_follow_the_order_of_their_keys(dtype: str, op: str) -> None:
    for k, x in enumerate(odd_data(dtype)):
        for axis in (0, 1, None):
            result = getattr(sc, op)(sc.asarray(x), axis=axis).compute(on="core")
            assert_same_bits(result, of_keys(x, op, axis), (op, dtype, k, axis))
        for n in (511, 512, 65):  # of a row that ends within a vector
            some = np.ascontiguousarray(x[:, :n])
            result = getattr(sc, op)(sc.asarray(some), axis=1).compute(on="core")
            assert_same_bits(result, of_keys(some, op, 1), (op, dtype, k, n))


@pytest.mark.parametrize("op", ["nanmin", "nanmax"])
def test_extremes_without_nan_are_one_fold(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for x in odd_data("float64"):
        y = getattr(sc, op)(sc.asarray(x), axis=1)
        assert [stage.op for stage in y.plan().stages] == [op]
        assert_same_bits(by_records(monkeypatch, y), of_keys(x, op, 1))
        parts = getattr(sc, op)(sc.asarray(x).reshape(-1)).compute(on="cores")
        assert_same_bits(parts, of_keys(x, op, None))
    assert "NaN last" in str(y.explain())


@pytest.mark.parametrize("op", EXTREMES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_parts_that_are_one_matrix_each(op: str, dtype: str) -> None:
    """Their axes are fewer than those of the whole, and a leaf is another one."""
    a = data(dtype, (2, 20_000, 8))[::-1]
    y = getattr(sc.asarray(a), op)(axis=-1)
    for on in ("core", "cores:2"):
        assert np.array_equal(y.compute(on=on), getattr(a, op)(axis=-1))
