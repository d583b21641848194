"""Exact sums whatever the shape, axes, view, tiling, number of workers and source.

`engine/test_exact.py` has the adversarial lists; here hypothesis puts wild numbers everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import assert_same_bits, elements, numpy_elements, reduce_row, rounded

import speedcube as sc
from speedcube import dtypes
from speedcube.plan import costs

# Building blocks that cancel, tie, overflow on the way, and lie at the ends of the range.
_ODD = [0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 1.0, -1.0, 2.0**-53, -(2.0**-53), 1 + 2.0**-52]
_ODD += [1e16, -1e16, 1e308, -1e308, 1.7976931348623157e308, -1.7976931348623157e308]
WILD = st.one_of(
    st.sampled_from(_ODD),
    st.floats(allow_nan=False, allow_infinity=False),
    st.builds(math.ldexp, st.sampled_from([1.0, -1.0]), st.integers(-1074, 1023)),
)
SPECIAL = st.one_of(WILD, WILD, WILD, st.sampled_from([math.inf, -math.inf, math.nan]))
OPS = ("sum", "mean", "var", "std")
SHAPES = [
    (1,),
    (7,),
    (1500,),
    (2, 3),
    (40, 60),
    (60, 40),
    (3, 1, 500),
    (5, 1200),
    (1200, 2),
    (0, 3),
]


@st.composite
def problems(drawn: Any, numbers: st.SearchStrategy[float]) -> tuple[np.ndarray, Any, Any, str]:
    """Data (few numbers, repeated), a view of it, axes, and a dtype."""
    shape = drawn(st.sampled_from(SHAPES))
    dtype = drawn(st.sampled_from(dtypes.FLOATS))
    few = drawn(st.lists(numbers, min_size=1, max_size=9))
    with np.errstate(over="ignore"):
        data = np.resize(np.array(few), shape).astype(dtype)
    if drawn(st.booleans()) and data.size:  # all of it again with the other sign, save one element
        data = np.concatenate([data, -data[::-1]])
        data[(0,) * data.ndim] = few[0] if dtype == "float64" else 1.0
    step = drawn(st.sampled_from([1, 2, -1, -3]))
    view = drawn(st.sampled_from([np.s_[...], np.s_[::step], np.s_[..., ::step], "T"]))
    axes = st.sets(st.integers(0, data.ndim - 1))
    axis = drawn(st.one_of(st.none(), axes.map(lambda s: tuple(sorted(s)))))
    return data, view, axis, drawn(st.sampled_from(OPS))


def seen(a: Any, view: Any) -> Any:
    return a.T if isinstance(view, str) else a[view]


def answer(data: np.ndarray, axis: Any, op: str, dtype: str) -> np.ndarray:
    axes = tuple(range(data.ndim)) if axis is None else axis
    kept_axes = [k for k in range(data.ndim) if k not in axes]
    shape = tuple(data.shape[k] for k in kept_axes)
    count = math.prod(data.shape[k] for k in axes)
    rows = data.transpose(*kept_axes, *axes).reshape(math.prod(shape), count)
    return np.array([reduce_row(op, row, dtype) for row in rows], dtype).reshape(shape)


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small arrays too are shared by the workers."""
    monkeypatch.setattr(costs, "FEW", 1)


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("rung", ["core", "cores:3"])
def test_stored_numbers(rung: str) -> None:
    @settings(max_examples=40, deadline=None)
    @given(problems(SPECIAL))
    def check(problem: tuple[np.ndarray, Any, Any, str]) -> None:
        data, view, axis, op = problem
        lazy = getattr(seen(sc.asarray(data), view), op)(axis=axis)
        wanted = answer(seen(data, view), axis, op, data.dtype.name)
        assert_same_bits(lazy.compute(on=rung), wanted, problem)

    check()


@settings(max_examples=60, deadline=None)
@given(st.lists(WILD, max_size=30))
def test_fsum(values: list[float]) -> None:
    computed = sc.asarray(np.array(values, np.float64)).sum().compute(on="core")
    try:
        wanted = math.fsum(values)
    except OverflowError:  # of a partial, or of the sum
        wanted = float(rounded(sum(map(Fraction, values)), "float64"))
    assert_same_bits(computed, np.float64(wanted), values)


# Generated: the same numbers by position, through every kind of bins -----------------------------

GENERATED: dict[str, Callable[[Any], Any]] = {
    "constant": lambda g: sc.full((40, 60), 0.1),
    "constants that cancel": lambda g: sc.where(
        sc.arange(2400).reshape(40, 60) % 2 == 0, 0.1, -0.1
    ),
    "broadcast": lambda g: sc.broadcast_to(g.normal(size=60), (40, 60)),
    "normals": lambda g: g.normal(1e5, 1e-3, size=(40, 60)),
    "powers": lambda g: g.normal(size=(40, 60)) ** 41 * 1e250,
    "quotients": lambda g: 1 / g.normal(size=(40, 60)) ** 39,
    "tiny and ordinary": lambda g: sc.where(g.random((40, 60)) < 0.5, 1e-280, g.normal(size=60)),
    "subnormal": lambda g: g.normal(size=(40, 60)) * 1e-310,
    "overflowing": lambda g: g.normal(size=(40, 60)) * 1e308,
    "infinite": lambda g: 1 / sc.floor(g.normal(size=(40, 60))),
}


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("name", GENERATED)
def test_generated_numbers(name: str, op: str) -> None:
    array = GENERATED[name](sc.random.default_rng(3))
    values = elements(array._expr)
    for axis in (None, (0,), (1,)):
        lazy = getattr(array, op)(axis=axis)
        wanted = answer(values, axis, op, "float64")
        for rung in ("core", "cores:3"):
            assert_same_bits(lazy.compute(on=rung), wanted, (axis, rung))


@pytest.mark.usefixtures("cut")
def test_reductions_of_reductions() -> None:
    x = sc.random.default_rng(0).normal(size=(30, 50)) ** 21
    y = ((x - x.mean(axis=0)) / x.std(axis=0)).var(axis=1) @ x.sum(axis=1)
    assert_same_bits(y.compute(on="cores:3"), numpy_elements(y._expr))


# By hand -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["sum", "mean"])
@pytest.mark.parametrize("dtype", dtypes.FLOATS)
def test_an_exact_zero_is_positive(op: str, dtype: str) -> None:
    """Of negative zeros, and of what cancels: `math.fsum`'s answer."""
    assert math.copysign(1, math.fsum([-0.0, -0.0])) == 1
    for values in ([-0.0], [-0.0] * 5, [1.0, -1.0], [-1e308, 1e308, -0.0]):
        with np.errstate(over="ignore"):
            data = np.array(values).astype(dtype)
        computed = getattr(sc.asarray(data[np.isfinite(data)]), op)().compute(on="core")
        assert_same_bits(computed, np.dtype(dtype).type(0.0), values)


def test_one_element_is_itself() -> None:
    data = np.array([0.1, 5e-324, -1.7e308, math.inf, -math.inf, math.nan])
    for op in ("sum", "mean", "min", "max"):
        assert_same_bits(getattr(sc.asarray(data[:, None]), op)(axis=1).compute(on="core"), data)
    finite = sc.asarray(data[:3, None])
    assert_same_bits(finite.var(axis=1).compute(on="core"), np.zeros(3))
    assert np.isnan(finite.std(axis=1, ddof=1).compute(on="core")).all(), "0 / 0"


def test_ten_billion_equal_terms() -> None:
    """Each term is rounded 0.1; a loop of additions is wrong in the eleventh digit."""
    n = 10**10
    x = sc.full((n,), 0.1)
    assert_same_bits(x.sum().compute(on="core"), rounded(Fraction(0.1) * n, "float64"))
    assert_same_bits(x.mean().compute(on="core"), np.float64(0.1))


def test_partial_sums_overflow_and_the_total_does_not() -> None:
    data = np.array([1e308] * 3 + [-1e308] * 3 + [2.5])
    for order in (data, data[::-1], data[[0, 3, 1, 4, 2, 5, 6]]):
        assert sc.asarray(order).sum().compute(on="core") == 2.5
    largest = np.full(1000, 1.7976931348623157e308)
    assert sc.asarray(largest).mean().compute(on="core") == largest[0]
    assert sc.asarray(largest).sum().compute(on="core") == math.inf


# Integers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [d for d in dtypes.ALL if not dtypes.is_float(d)])
@pytest.mark.parametrize("dtype", [d for d in dtypes.ALL if not dtypes.is_float(d)])
def test_integer_sums_to_any_dtype_are_numpys(dtype: str, target: str) -> None:
    rng = np.random.default_rng(5)
    data = rng.integers(0, 2**64, (50, 7), np.uint64, endpoint=False).astype(dtype)
    computed = sc.asarray(data).sum(axis=0, dtype=target).compute(on="core")
    assert_same_bits(computed, data.sum(axis=0, dtype=target))


@pytest.mark.parametrize("dtype", dtypes.ALL)
def test_default_dtypes_are_numpys(dtype: str) -> None:
    data = np.ones((3, 4)).astype(dtype)
    x = sc.asarray(data)
    for op in OPS:
        assert getattr(x, op)().dtype == getattr(data, op)().dtype
    assert x.sum(axis=1).compute(on="core").tolist() == data.sum(axis=1).tolist()
    assert_same_bits(x[:0].sum(axis=0).compute(on="core"), data[:0].sum(axis=0))


@pytest.mark.parametrize("dtype", ["float64", "int32", "bool"])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (1, 0, 2), ()], ids=str)
def test_count_nonzero_is_numpys(dtype: str, axis: Any, keepdims: bool) -> None:
    values = [0, 1, -0.0, math.nan, 5e-324, -3] if dtype == "float64" else [0, 1, 0, 2, 0]
    data = np.resize(np.array(values), (4, 5, 6)).astype(dtype)
    computed = sc.count_nonzero(sc.asarray(data), axis=axis, keepdims=keepdims).compute(on="core")
    assert_same_bits(computed, np.asarray(np.count_nonzero(data, axis=axis, keepdims=keepdims)))
