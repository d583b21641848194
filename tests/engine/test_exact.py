"""Sums are exact and rounded once; means and variances are the exact quotients, rounded once."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import assert_same_bits, exact_sum, reduce_row, rounded

import speedcube as sc
from speedcube import dtypes
from speedcube.engine import cpu
from speedcube.engine.boxes import column_boxes
from speedcube.expr.space import TILE
from speedcube.kernel.exact import integers
from speedcube.kernel.program import LIMBS

_rng = np.random.default_rng(1)


def _mixed(count: int) -> np.ndarray:
    """Every exponent of float64, both signs."""
    raw = _rng.integers(0, 2**64, count, np.uint64, endpoint=False).view(np.float64)
    return raw[np.isfinite(raw)]


def _cancelling(count: int) -> np.ndarray:
    values = _rng.normal(size=count) * 10.0 ** _rng.integers(-200, 200, count)
    both = np.concatenate([values, -values, [1e-300]])
    return both[_rng.permutation(len(both))]


ADVERSARIAL: dict[str, np.ndarray] = {
    "empty": np.array([]),
    "one": np.array([0.1]),
    "tenths": np.full(1000, 0.1),
    "textbook-cancellation": np.array([1e100, 1.0, -1e100]),
    "1e308-and-back": np.array([1e308, 1e308, -1e308, -1e308, 1.0]),
    "overflow-in-passing": np.array([1.7e308] * 5 + [-1.7e308] * 5 + [3.0]),
    "sum-is-the-largest": np.array([1.7976931348623157e308, 9.979201547673597e291]),
    "subnormals": np.array([5e-324] * 1001 + [-5e-324]),
    "subnormal-beside-one": np.array([1.0, 5e-324]),
    "halfway-then-a-grain": np.array([1.0, 2.0**-53, 5e-324]),
    "halfway-exactly": np.array([1.0, 2.0**-53]),
    "halfway-odd": np.array([1.0 + 2.0**-52, 2.0**-53]),
    "minus-a-grain": np.array([1.0, 2.0**-53, -5e-324]),
    "all-exponents": np.ldexp(1.0, np.arange(-1074, 1023)),
    "all-exponents-alternating": np.ldexp(1.0, np.arange(-1074, 1024)) * (-1.0) ** np.arange(2098),
    "random-bits": _mixed(800),
    "cancelling": _cancelling(500),
    "normals": _rng.normal(size=2500),
    "zeros": np.zeros(77),
    "negative-zeros": np.full(5, -0.0),
    "tile-boundaries": np.concatenate([np.full(1023, 1e16), [1.0], np.full(1024, -1e16)]),
    "wide-in-one-tile": np.tile([1e300, 1e-300, -1e300], 700),
}
SPECIAL: dict[str, np.ndarray] = {
    "inf": np.array([1.0, np.inf, 2.0]),
    "minus-inf": np.array([1.0, -np.inf, 1e308, 1e308]),
    "both-infs": np.array([np.inf, -np.inf]),
    "nan": np.array([1.0, np.nan, 2.0]),
    "nan-beside-inf": np.array([np.inf, np.nan]),
    "inf-twice": np.array([np.inf, np.inf]),
    "late-nan": np.concatenate([np.ones(5000), [np.nan]]),
    "late-inf": np.concatenate([np.ones(5000), [-np.inf]]),
}
OVERFLOWING = {
    "just-over": np.array([1.7976931348623157e308, 9.9792015476736e291]),
    "twice-the-largest": np.array([1.7976931348623157e308] * 2),
    "minus": np.full(9, -1.7e308),
}


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_sum_is_fsum(name: str) -> None:
    data = ADVERSARIAL[name]
    computed = sc.asarray(data).sum().compute(on="core")
    wanted = rounded(exact_sum(data.tolist()) if len(data) else Fraction(0), "float64")
    assert_same_bits(computed, wanted)
    try:
        assert computed == math.fsum(data)
    except OverflowError:
        assert name in ("overflow-in-passing", "1e308-and-back")


@pytest.mark.parametrize("name", OVERFLOWING)
@pytest.mark.parametrize("op", ["sum", "mean", "var", "std"])
def test_results_beyond_the_largest_number(name: str, op: str) -> None:
    """A sum above the largest float is an infinity; a mean of the same data is not."""
    data = OVERFLOWING[name]
    computed = getattr(sc.asarray(data), op)().compute(on="core")
    assert_same_bits(computed, reduce_row(op, data, "float64"))


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("op", ["sum", "mean", "var", "std"])
def test_specials_decide(name: str, op: str) -> None:
    data = SPECIAL[name]
    computed = getattr(sc.asarray(data), op)().compute(on="core")
    assert_same_bits(computed, reduce_row(op, data, "float64"))


@pytest.mark.parametrize("op", ["mean", "var", "std"])
@pytest.mark.parametrize("name", ADVERSARIAL)
def test_mean_and_variance_are_rational(name: str, op: str) -> None:
    data = ADVERSARIAL[name]
    for ddof in (0,) if op == "mean" else (0, 1):
        options = {} if op == "mean" else {"ddof": ddof}
        computed = getattr(sc.asarray(data), op)(**options).compute(on="core")
        assert_same_bits(computed, reduce_row(op, data, "float64", ddof), f"ddof {ddof}")


def test_variance_of_a_large_mean() -> None:
    """The textbook failure of one-pass formulas: mean 1e9, variance 30."""
    data = np.array([4.0, 7.0, 13.0, 16.0]) + 1e9
    assert sc.asarray(data).var(ddof=1).compute() == 30.0
    assert sc.asarray(data).std().compute() == math.sqrt(22.5)


def test_a_deviation_just_above_a_tie_is_rounded_up() -> None:
    """The root is 1 + 2**-24 and 2**-201 more: a root cut to a few words looks like the tie."""
    x, grain = 1 + 2.0**-24, 2.0**-100
    data = np.array([x, -x, grain, -grain])
    computed = sc.asarray(data).std(ddof=2, dtype="float32").compute(on="core")
    assert_same_bits(computed, np.float32(1 + 2.0**-23))


@pytest.mark.parametrize("ddof", [0, 0.5, 1, 3, 4, 10])
def test_ddof(ddof: float) -> None:
    data = np.array([1.0, 2.0, 4.0])
    for values in (data, np.ones(3)):
        computed = sc.asarray(values).var(ddof=ddof).compute()
        assert_same_bits(computed, reduce_row("var", values, "float64", ddof))


# float32 ----------------------------------------------------------------------------------------


def test_float32_is_rounded_once() -> None:
    """Through float64 first, the tail would be lost and the tie would go down to 1."""
    data = np.array([1.0, 2.0**-24, 2.0**-60], np.float32)
    computed = sc.asarray(data).sum().compute()
    assert computed.dtype == np.float32
    assert computed == np.float32(1.0 + 2.0**-23)
    assert np.float32(math.fsum(data)) == np.float32(1.0), "rounding twice is wrong here"


FLOAT32: dict[str, np.ndarray] = {
    "tenths": np.full(4097, 0.1, np.float32),
    "overflow-in-passing": np.array([3.4e38] * 3 + [-3.4e38] * 3 + [1.0], np.float32),
    "overflow": np.array([3.4e38, 3.4e38], np.float32),
    "just-overflows": np.array([3.4028235e38, 1.0141205e31], np.float32),
    "just-does-not": np.array([3.4028235e38, 1.0141204e31], np.float32),
    "subnormals": np.array([1e-45] * 7, np.float32),
    "tie-below-smallest-normal": np.array([1.1754942e-38, 1e-45], np.float32),
    "normals": _rng.normal(size=3000).astype(np.float32),
    "inf": np.array([1, np.inf], np.float32),
    "nan": np.array([1, np.nan], np.float32),
}
_bits32 = _rng.integers(0, 2**32, 1500, np.uint32, endpoint=False).view(np.float32)
FLOAT32["random-bits"] = _bits32[np.isfinite(_bits32)]


@pytest.mark.parametrize("op", ["sum", "mean", "var", "std"])
@pytest.mark.parametrize("name", FLOAT32)
def test_float32_reductions(name: str, op: str) -> None:
    data = FLOAT32[name]
    computed = getattr(sc.asarray(data), op)().compute(on="core")
    assert_same_bits(computed, reduce_row(op, data, "float32"))


def test_float32_summed_as_float64() -> None:
    data = np.array([1.0, 2.0**-24, 2.0**-60], np.float32)
    computed = sc.asarray(data).sum(dtype="float64").compute()
    assert computed.dtype == np.float64
    assert computed == 1.0 + 2.0**-24


# Axes and shapes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "axis", [0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2), None, -1, ()], ids=str
)
@pytest.mark.parametrize("op", ["sum", "mean", "var", "std"])
@pytest.mark.parametrize("keepdims", [False, True], ids=["drop", "keep"])
def test_axes(op: str, axis: Any, keepdims: bool) -> None:
    data = (_rng.normal(size=(5, 7, 11)) * 10.0 ** _rng.integers(-20, 20, (5, 7, 11))).round(3)
    computed = getattr(sc.asarray(data), op)(axis=axis, keepdims=keepdims).compute(on="core")
    axes = range(3) if axis is None else axis if isinstance(axis, tuple) else (axis % 3,)
    kept_axes = [k for k in range(3) if k not in axes]
    rows = data.transpose(*kept_axes, *axes).reshape(*(data.shape[k] for k in kept_axes), -1)
    wanted = np.apply_along_axis(lambda r: reduce_row(op, r, "float64"), -1, rows)
    shape = [1 if k in axes else n for k, n in enumerate(data.shape) if keepdims or k not in axes]
    assert_same_bits(computed, wanted.reshape(shape))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)], ids=str)
def test_sums_of_nothing(shape: tuple[int, ...]) -> None:
    data = sc.asarray(np.empty(shape))
    assert_same_bits(data.sum().compute(), np.float64(0.0))
    assert math.isnan(data.mean().compute())
    assert math.isnan(data.var().compute())
    if len(shape) == 2:
        assert_same_bits(data.sum(axis=0).compute(), np.zeros(shape[1]))
        assert_same_bits(data.sum(axis=1).compute(), np.zeros(shape[0]))


# Sources whose range is known take other bins ----------------------------------------------------

KNOWN = {
    "normal": lambda g: g.normal(size=3_000),
    "normal-large-mean": lambda g: g.normal(1e8, 1e-3, size=3_000),
    "normal-plus-one-strided": lambda g: (g.normal(10, 1, size=(300, 200)) + 1)[::2, ::2],
    "normal32": lambda g: g.normal(size=3_000, dtype="float32"),
    "normal-squared": lambda g: g.normal(size=3_000) ** 2,
    "normal-times-tiny": lambda g: g.normal(size=3_000) * 1e-290,
    "normal-times-huge": lambda g: g.normal(size=3_000) * 1e290,
    "normal-over-three": lambda g: g.normal(size=3_000) / 3,
    "uniform": lambda g: g.random(3_000),
    "uniform32": lambda g: g.random(3_000, dtype="float32"),
    "uniform-shifted": lambda g: g.uniform(-1e6, 1e-6, 3_000),
    "exponential": lambda g: g.exponential(size=3_000),
    "exp-of-normal": lambda g: sc.exp(g.normal(size=3_000)),
    "exp-overflows": lambda g: sc.exp(g.normal(0, 400, size=5_000)),
    "sqrt-of-uniform": lambda g: sc.sqrt(g.random(3_000)),
    "sqrt-of-normal": lambda g: sc.sqrt(g.normal(size=2_000)),
    "one-over-normal": lambda g: 1 / g.normal(size=3_000),
    "position": lambda g: sc.arange(3_000) * 0.1,
    "where": lambda g: sc.where(g.random(3_000) < 0.5, 1e-20, g.normal(size=3_000)),
    "clip": lambda g: sc.clip(g.normal(size=3_000), -1, 1),
    "floor": lambda g: sc.floor(g.normal(0, 100, size=3_000)),
    "remainder": lambda g: g.normal(size=3_000) % 0.3,
    "integers-as-float": lambda g: g.integers(-(2**62), 2**62, 3_000).astype("float64"),
    "integers": lambda g: g.integers(-(2**62), 2**62, 3_000),
    "bool": lambda g: g.random(3_000) < 0.25,
}


@pytest.mark.parametrize("op", ["sum", "mean", "var"])
@pytest.mark.parametrize("name", KNOWN)
def test_sums_of_generated_arrays_are_exact(name: str, op: str) -> None:
    array = KNOWN[name](sc.random.default_rng(31))
    data = array.compute(on="core").ravel()
    lazy = getattr(array, op)()
    assert_same_bits(lazy.compute(on="core"), reduce_row(op, data, lazy.dtype.name))
    assert_same_bits(lazy.compute(on="cores:3"), lazy.compute(on="core"))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(width=64), max_size=40))
def test_any_floats(values: list[float]) -> None:
    data = np.array(values, np.float64)
    for op in ("sum", "mean", "var"):
        computed = getattr(sc.asarray(data), op)().compute(on="core")
        assert_same_bits(computed, reduce_row(op, data, "float64"), f"{op} of {values}")


# Integers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [d for d in dtypes.ALL if not dtypes.is_float(d)])
def test_integer_sums_wrap_in_64_bits(dtype: str) -> None:
    if dtype == "bool":
        data = _rng.random(3000) < 0.5
    else:
        info = np.iinfo(dtype)
        data = _rng.integers(info.min, info.max, 3000, dtype, endpoint=True)
    computed = sc.asarray(data).sum().compute(on="core")
    assert computed.dtype == (np.uint64 if dtype.startswith("u") else np.int64)
    assert_same_bits(computed, reduce_row("sum", data, computed.dtype.name))


def test_integer_sum_overflows_to_the_other_end() -> None:
    top = np.array([2**63 - 1, 1], np.int64)
    assert sc.asarray(top).sum().compute() == -(2**63)
    assert sc.asarray(np.array([2**64 - 1, 2], np.uint64)).sum().compute() == 1


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16", "float64", "float32"])
def test_integer_sum_to_a_dtype(dtype: str) -> None:
    data = np.array([100, 100, 57], np.int8)
    computed = sc.asarray(data).sum(dtype=dtype).compute()
    assert computed.dtype == dtype
    assert computed == np.array(257).astype(dtype)


@pytest.mark.parametrize("op", ["mean", "var", "std"])
@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64"])
def test_means_of_integers_are_exact(op: str, dtype: str) -> None:
    """Also of 64-bit integers that float64 cannot hold."""
    info = np.iinfo(dtype)
    data = np.array([info.max, info.max - 1, info.max - 5, info.min], dtype)
    computed = getattr(sc.asarray(data), op)().compute()
    assert computed.dtype == np.float64
    assert_same_bits(computed, reduce_row(op, data, "float64"))


@pytest.mark.parametrize("rung", ["core", "cores:2"])
@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_spreads_of_integers_that_float64_cannot_tell_apart(dtype: str, rung: str) -> None:
    near = np.array([2**53 + 1, 2**53 + 3], dtype)
    assert sc.asarray(near).var().compute(on=rung) == 1.0
    many = _rng.integers(0, 2**64, 40_000, np.uint64, endpoint=False).view(dtype)
    for op in ("var", "std"):
        computed = getattr(sc.asarray(many), op)().compute(on=rung)
        assert_same_bits(computed, reduce_row(op, many, "float64"), op)


def test_mean_of_wrapping_integers() -> None:
    data = np.full(1000, 2**62, np.int64)
    assert sc.asarray(data).mean().compute() == 2.0**62


# Extremes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["min", "max", "argmin", "argmax"])
@pytest.mark.parametrize("name", [n for n in {**ADVERSARIAL, **SPECIAL} if n != "empty"])
def test_extremes(name: str, op: str) -> None:
    data = {**ADVERSARIAL, **SPECIAL}[name]
    computed = getattr(sc.asarray(data), op)().compute(on="core")
    assert_same_bits(computed, reduce_row(op, data, "float64"))


@pytest.mark.parametrize("op", ["min", "max", "argmin", "argmax"])
@pytest.mark.parametrize("axis", [0, 1, None], ids=str)
def test_extremes_over_axes_with_nans_ties_and_zeros(op: str, axis: int | None) -> None:
    data = np.array([[0.0, -0.0, 1, np.nan], [-0.0, 0.0, 1, 2], [0.0, 5, 1, np.nan]])
    computed = getattr(sc.asarray(data), op)(axis=axis).compute()
    rows = data.ravel() if axis is None else np.moveaxis(data, axis, -1)
    dtype = "int64" if op.startswith("arg") else "float64"
    wanted = [reduce_row(op, row, dtype) for row in np.atleast_2d(rows)]
    assert_same_bits(computed, np.array(wanted, dtype).reshape(computed.shape))


# Limbs ------------------------------------------------------------------------------------------


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=12))
def test_carry_keeps_the_number(words: list[int]) -> None:
    record = np.zeros(LIMBS, np.int64)
    record[: len(words)] = words
    before = integers.read(record)
    integers.carry(record)
    assert integers.read(record) == before
    low = record[:67]
    assert (low >= 0).all()
    assert (low < 2**32).all(), "there is room for 2**30 more additions"


def test_carry_works_on_many_records_and_leaves_the_counts() -> None:
    records = _rng.integers(-(2**60), 2**60, (3, 2, LIMBS))
    wanted = [[integers.read(g) for g in r] for r in records]
    counts = records[..., 68:].copy()
    integers.carry(records)
    assert [[integers.read(g) for g in r] for r in records] == wanted
    assert (records[..., 68:] == counts).all()


def test_columns_are_read_some_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """All columns of some rows before more rows; here in boxes of two columns."""
    data = np.random.default_rng(3).standard_normal((3001, 7))
    data *= np.exp(9 * data[::-1])
    monkeypatch.setattr("speedcube.engine.compute.SMALL", -1)  # by the planner, not in one call
    monkeypatch.setattr(cpu, "CALL", 2 * TILE)
    x = sc.asarray(data)
    expected = np.array([math.fsum(column) for column in data.T])
    for on in ("core", "cores:2"):
        assert_same_bits(x.sum(axis=0).compute(on=on), expected)
        assert_same_bits(x[::-1].sum(axis=0).compute(on=on), expected)
        assert_same_bits(x.max(axis=0).compute(on=on), data.max(axis=0))
        assert_same_bits(x.argmin(axis=0).compute(on=on), data.argmin(axis=0))
    boxes = list(column_boxes((7, 1, 3001), cpu.CALL))
    assert boxes[:2] == [(0, 2, 0, 1, 0, TILE), (2, 4, 0, 1, 0, TILE)]
    assert len(boxes) == 4 * 3


def test_carrying_often_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.concatenate([ADVERSARIAL["cancelling"], ADVERSARIAL["random-bits"]])
    once = sc.asarray(data).sum().compute(on="core")
    monkeypatch.setattr("speedcube.engine.compute.SMALL", -1)  # by the planner, not in one call
    monkeypatch.setattr(cpu, "CALL", 64)
    monkeypatch.setattr(cpu, "CARRY_AFTER", 6400)
    assert_same_bits(sc.asarray(data).sum().compute(on="core"), once)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@given(
    numerator=st.integers(-(2**80), 2**80),
    power=st.integers(-1150, 1050),
    denominator=st.integers(1, 2**40),
)
@settings(max_examples=120)
def test_round_once(dtype: str, numerator: int, power: int, denominator: int) -> None:
    value = Fraction(numerator, denominator) * Fraction(2) ** power
    computed = integers.round_once(value.numerator, value.denominator, dtype)
    word = {"float32": np.uint32, "float64": np.uint64}[dtype]
    assert_same_bits(np.array(computed, word).view(dtype), np.asarray(rounded(value, dtype)))
