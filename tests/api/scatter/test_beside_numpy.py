"""Scattered sums and extremes beside NumPy's `ufunc.at` and SciPy's sparse matrices."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import speedcube as sc
from speedcube.engine.ordering import weighing
from speedcube.errors import (
    AxisError,
    DTypeError,
    MemoryLimitError,
    ParameterError,
    ShapeError,
    UnsupportedError,
)

DTYPES = ["float32", "float64", "int8", "int64", "uint16", "uint64"]
UFUNCS = {"add": np.add, "subtract": np.subtract, "min": np.minimum, "max": np.maximum}


def exact(x: Any, index: Any, values: Any) -> Any:
    """What exact fractions give, rounded once to float64."""
    sums = [Fraction(one) for one in x.tolist()]
    for k, value in zip(index.tolist(), values.tolist(), strict=True):
        sums[k] += Fraction(value)
    return np.array([float(one) for one in sums])


@given(
    st.sampled_from(DTYPES),
    st.sampled_from([*UFUNCS]),
    st.integers(1, 40),
    st.integers(0, 60),
    st.integers(0, 2**32 - 1),
)
def test_small_integers_are_numpys(dtype: str, name: str, n: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 9, n).astype(dtype)
    index, values = rng.integers(-n, n, m), rng.integers(0, 5, m).astype(dtype)
    expected = x.copy()
    UFUNCS[name].at(expected, index, values)
    ours = getattr(sc.asarray(x).at[index], name)(values)
    assert ours.dtype == x.dtype
    np.testing.assert_array_equal(ours.compute(on="core"), expected)
    changed = sc.asarray(x) * 1
    before = changed + 0
    UFUNCS[name].at(changed, sc.asarray(index), values)
    np.testing.assert_array_equal(changed.compute(on="core"), expected)
    np.testing.assert_array_equal(before.compute(on="core"), x)


@pytest.mark.parametrize("spread", [0, 30, 900])
@pytest.mark.parametrize("n", [1, 50, 5000])
def test_floats_are_rounded_once(spread: int, n: int) -> None:
    rng = np.random.default_rng(spread + n)
    values = np.ldexp(rng.normal(size=9000), rng.integers(-spread, spread + 1, 9000))
    index, x = rng.integers(0, n, 9000), rng.normal(size=n)
    expected = exact(x, index, values)
    for on in ("core", "cores"):
        assert sc.asarray(x).at[index].add(values).compute(on=on).tolist() == expected.tolist()
    turned = sc.asarray(x).at[index[::-1]].add(values[::-1])
    assert turned.tolist() == expected.tolist()
    sums = sc.segment_sum(values, index, n).tolist()
    assert sums == exact(np.zeros(n), index, values).tolist()


def test_weights_of_every_size_in_many_bins_are_sorted_by_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two units for each thread, as where bins are many: the others' sums are integers."""
    monkeypatch.setattr("speedcube.engine.ordering.weighing.levels_of", lambda length: 2)
    monkeypatch.setattr("speedcube.engine.ordering.weighing._APART", 500)
    rng = np.random.default_rng(3)
    values = np.ldexp(rng.normal(size=6000), rng.integers(-1070, 1015, 6000))
    values[::7] = -values[::7]
    index = rng.integers(0, 20, 6000)
    assert sc.bincount(index, values).tolist() == exact(np.zeros(20), index, values).tolist()


def test_the_greatest_doubles_overflow_only_at_the_end() -> None:
    top = np.finfo(float).max
    sums = sc.segment_sum([top, top, -top, top, top], [0, 0, 0, 1, 1], 3)
    assert sums.tolist() == [top, math.inf, 0.0]


def test_infinities_and_nan_go_to_their_bins() -> None:
    values = np.array([math.inf, 1, -math.inf, math.nan, math.inf, -math.inf, 2])
    index = np.array([0, 1, 2, 3, 4, 4, 1])
    with np.errstate(invalid="ignore"):
        expected = np.bincount(index, values)
    np.testing.assert_array_equal(sc.segment_sum(values, index).compute(), expected)
    low = sc.segment_min(values, index).compute()
    np.testing.assert_array_equal(low, [math.inf, 1, -math.inf, math.nan, -math.inf])


def test_zeros_keep_their_sign_where_nothing_is_added() -> None:
    x = sc.asarray(np.array([-0.0, -0.0, 1.0])).at[[2]].add(1.0).compute()
    assert x.tolist() == [0.0, 0.0, 2.0]
    assert np.signbit(x).tolist() == [True, True, False]


def test_the_same_bits_whatever_comes_first() -> None:
    values = np.array([0.0, -0.0, np.nan, -np.nan, -0.0, 0.0])
    index = np.array([0, 0, 1, 1, 2, 2])
    for order in (slice(None), slice(None, None, -1)):
        low = sc.segment_min(values[order], index[order]).compute()
        assert low.tobytes() == np.array([0.0, np.nan, 0.0]).tobytes()


def test_keys_of_several_axes() -> None:
    x, rng = np.arange(24.0).reshape(4, 6), np.random.default_rng(1)
    rows, columns = rng.integers(0, 4, 50), rng.integers(0, 6, 50)
    for key, shape in (((rows, columns), 50), (rows, (50, 6)), ((slice(1, 3), 2), 2), (3, 6)):
        values = rng.integers(0, 9, shape).astype(float)
        expected = x.copy()
        np.add.at(expected, key, values)
        np.testing.assert_array_equal(sc.asarray(x).at[key].add(values).compute(), expected)
    mask = x % 3 == 0
    expected = x.copy()
    np.add.at(expected, mask, 1.5)
    np.testing.assert_array_equal(sc.asarray(x).at[mask].add(1.5).compute(), expected)
    np.testing.assert_array_equal(sc.asarray(x).at[1, 2].set(-1).compute()[1, 2], -1)
    assert sc.asarray(x).at[[0, 3], [1, 1]].get().tolist() == [1.0, 19.0]


def test_the_last_value_that_is_set_stays() -> None:
    x = sc.zeros(3)
    assert x.at[[1, 1, 0]].set([4, 5, 6]).tolist() == [6.0, 5.0, 0.0]
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_an_array_of_numpys_is_changed_in_place() -> None:
    x, index = np.zeros(4), sc.asarray([1, 1, 3])
    np.add.at(x, index, sc.asarray([0.1, 0.2, 0.3]))
    assert x.tolist() == [0.0, math.fsum([0.1, 0.2]), 0.0, 0.3]


@pytest.mark.parametrize("name", ["add", "maximum", "minimum", "multiply", "logical_or",
                                  "logical_and", "bitwise_or", "bitwise_and"])  # fmt: skip
def test_bools_are_changed_as_often_as_it_takes(name: str) -> None:
    rng = np.random.default_rng(4)
    x, index, values = rng.random(50) < 0.5, rng.integers(-50, 50, 9000), rng.random(9000) < 0.01
    values = ~values if name in ("minimum", "multiply", "logical_and", "bitwise_and") else values
    ufunc, wanted, ours = getattr(np, name), x.copy(), sc.asarray(x.copy())
    ufunc.at(wanted, index, values)
    ufunc.at(ours, index, values)
    assert ours.dtype == bool
    np.testing.assert_array_equal(ours, wanted)
    assert 0 < wanted.sum() < 50


def test_bools_have_the_methods_of_places() -> None:
    x = sc.asarray(np.array([True, False, False]))
    assert x.at[[1, 1]].add([True, True]).tolist() == [True, True, False]
    assert x.at[[0, 1]].min([False, True]).tolist() == [False, False, False]
    assert x.at[[2]].max(True).tolist() == [True, False, True]


def test_integers_wrap_as_numpys() -> None:
    values = np.array([2**63 - 1, 1, 5], np.int64)
    assert sc.segment_sum(values, [0, 0, 1]).tolist() == [-(2**63), 5]
    words = np.array([2**64 - 1, 2], np.uint64)
    assert sc.segment_sum(words, [0, 0]).tolist() == [1]


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
def test_segments_of_rows(dtype: str) -> None:
    rng = np.random.default_rng(8)
    data, ids = rng.integers(0, 2, (70, 3, 2)).astype(dtype), rng.integers(0, 5, 70)
    kind = "int64" if dtype == "bool" else dtype
    expected = np.zeros((6, 3, 2), kind)
    np.add.at(expected, ids, data)
    ours = sc.segment_sum(data, ids, 6)
    assert str(ours.dtype) == kind
    np.testing.assert_array_equal(ours.compute(), expected)
    assert sc.segment_sum(np.zeros((0, 3)), [], 2).tolist() == [[0.0] * 3] * 2
    assert sc.segment_sum([], []).shape == (0,)


def test_what_is_drawn_is_scattered_without_being_stored() -> None:
    rng = sc.random.default_rng(1)
    index, values = rng.integers(0, 1000, 10**6), rng.normal(size=10**6)
    sums = sc.segment_sum(values, index, 1000)
    plan = sc.segment_sum(rng.normal(size=10**12), rng.integers(0, 1000, 10**12), 1000).plan()
    assert plan.peak_bytes < 10**9
    assert "weigh" in str(plan)
    held = index.compute(), values.compute()
    assert sums.tolist() == sc.segment_sum(held[1], held[0], 1000).tolist()


@given(st.integers(0, 30), st.integers(1, 20), st.floats(0, 0.6), st.integers(0, 2**32 - 1))
def test_sparse_matrices_are_scipys(rows: int, columns: int, share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((rows, columns)) < share, rng.integers(1, 9, (rows, columns)), 0)
    matrix, x = sparse.csr_array(dense.astype(float)), rng.integers(-9, 9, columns).astype(float)
    ours = sc.csr_matvec(matrix.data, matrix.indices, matrix.indptr, x)
    np.testing.assert_array_equal(ours.compute(on="core"), matrix @ x)


def test_rows_of_a_sparse_matrix_are_rounded_once() -> None:
    rng = np.random.default_rng(2)
    matrix = sparse.random_array((40, 300), density=0.2, rng=rng, format="csr")
    x = rng.normal(size=300) ** 9
    ours = sc.csr_matvec(matrix.data, matrix.indices, matrix.indptr, sc.asarray(x)).tolist()
    products = matrix.data * x[matrix.indices]
    ends = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    assert ours == [math.fsum(products[a:b].tolist()) for a, b in ends]


def test_what_is_refused() -> None:
    x = sc.zeros(4)
    lazy = sc.random.default_rng(1).integers(0, 9, 50)
    for index in ([4], [-5], lazy):
        with pytest.raises(AxisError, match="out of bounds for axis 0 with size 4") as caught:
            x.at[index].add(1.0)
        assert isinstance(caught.value, IndexError)
    with pytest.raises(DTypeError, match="keeps the dtype int64"):
        sc.zeros(3, dtype="int64").at[[0]].add(0.5)
    with pytest.raises(DTypeError, match="bool"):
        sc.zeros(3, dtype="bool").at[[0]].subtract(True)
    with pytest.raises(ValueError, match="broadcast"):
        x.at[[0, 1]].add([1.0, 2.0, 3.0])
    with pytest.raises(UnsupportedError, match="in a row"):
        np.multiply.at(x, [0] * 100, 2.0)
    for ids, words in (([0, -1], "and one is -1"), ([0, 7], "below 3, and one is 7")):
        with pytest.raises(AxisError, match=words):
            sc.segment_sum([1.0, 2.0], ids, 3)
    with pytest.raises(MemoryLimitError, match="needs a sum for each one below"):
        sc.segment_sum([1.0], [2**60])
    with pytest.raises(ShapeError, match="as long as the first of data"):
        sc.segment_sum([1.0, 2.0], [0])
    with pytest.raises(DTypeError, match="must be integers"):
        sc.segment_sum([1.0], [0.5])
    with pytest.raises(ParameterError, match="must not be negative"):
        sc.segment_sum([1.0], [0], -1)
    with pytest.raises(ParameterError, match="indptr must rise"):
        sc.csr_matvec([1.0], [0], [0, 2, 1], [1.0])
    with pytest.raises(AxisError, match="out of bounds"):
        sc.csr_matvec([1.0], [3], [0, 1], [1.0])
    with pytest.raises(ShapeError, match="data has 1 elements and indices 2"):
        sc.csr_matvec([1.0], [0, 0], [0, 1], [1.0])


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("count", [1, 3, 20_000])
def test_sums_of_many_and_of_few_weights_are_rounded_once(count: int, sign: int) -> None:
    """Sums whose two upper limbs are one double, and others; numbers that are far apart."""
    rng = np.random.default_rng(count)
    weights = sign * rng.uniform(1, 2, 100_000)
    weights[::5] *= 2.0**-20
    weights[7::999] *= -(2.0**-60)  # of another unit
    index = rng.integers(0, count, len(weights))
    wanted = [math.fsum(weights[index == k]) for k in range(min(count, 20))]
    for on in ("core", "cores:2"):
        found = sc.zeros(count).at[index].add(weights).compute(on=on)
        np.testing.assert_array_equal(found[:20], wanted)
        np.testing.assert_array_equal(sc.bincount(index, weights).compute(on=on)[:20], wanted)


@pytest.mark.parametrize("size", [0, 13, 14, 15, 20, 24])
def test_limbs_are_rounded_once(size: int) -> None:
    """Below 14 bits of the highest limb the two upper ones are one double, beyond they are not."""
    rng = np.random.default_rng(size)
    high, middle = rng.integers(-(2**size), 2**size, 4000), rng.integers(0, 2**38, 4000)
    middle[::2] &= -(2 ** max(0, size - 15))
    middle[::2] |= 2 ** max(0, size - 16)  # half of a double's last bit: the lowest limb decides
    low = rng.choice([0, 1, 2**37, 2**38 - 1], 4000)
    limbs = zip(high.tolist(), middle.tolist(), low.tolist(), strict=True)
    wanted = [float((((h << 38) + m) << 38) + last) for h, m, last in limbs]
    assert weighing._nearest(high, middle, low, 0).tolist() == wanted


MANY = 1 << 16  # values, from which on all in memory is read once


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "uint8"])
@pytest.mark.parametrize("kind", ["int64", "int32", "uint8"])
@pytest.mark.parametrize("low", [0, -7])
def test_many_values_in_memory_have_the_bits_of_lazy_ones(dtype: str, kind: str, low: int) -> None:
    rng = np.random.default_rng(8)
    index = rng.integers(0 if kind == "uint8" else low, 50, MANY + 5).astype(kind)
    values = (rng.normal(size=MANY + 5) * 9).astype(dtype)
    lazy = sc.zeros(50, dtype=dtype).at[index].add(values)
    wanted = lazy.compute(on="core")
    for rung in ("core", "cores"):
        with sc.on(rung):
            for key, given in ((index, values), (sc.asarray(index), sc.asarray(values))):
                ours = sc.zeros(50, dtype=dtype)
                np.add.at(ours, key, given)
                assert ours.compute().tobytes() == wanted.tobytes()
                theirs = np.zeros(50, dtype)
                np.add.at(theirs, sc.asarray(key), given)
                assert theirs.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", ["float64", "int64"])
@pytest.mark.parametrize("wrong", [50, -51, 2**62])
def test_one_place_of_many_that_is_none_is_refused(dtype: str, wrong: int) -> None:
    index, values = np.zeros(MANY, np.int64), np.ones(MANY, dtype)
    index[MANY // 2] = wrong
    ours = sc.zeros(50, dtype=dtype)
    with sc.on("core"), pytest.raises(AxisError, match="out of bounds for axis 0 with size 50"):
        np.add.at(ours, index, values)
    assert not ours.any()


def test_many_values_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_twice(*_: Any) -> None:
        raise AssertionError("places are checked by a reading of their own")

    monkeypatch.setattr("speedcube.api.scatter.at.checked", read_twice)
    index, values = np.arange(MANY) % 7, np.ones(MANY)
    for dtype in ("float64", "int64"):
        ours = sc.zeros(7, dtype=dtype)
        with sc.on("core"):
            np.add.at(ours, sc.asarray(index), sc.asarray(values.astype(dtype)))
        assert ours.tolist() == np.bincount(index).tolist()


def test_a_sparse_matrix_of_nothing_has_the_dtype_of_a_product() -> None:
    ours = sc.csr_matvec(np.empty(0, "int32"), [], [0, 0, 0], np.ones(3))
    assert (ours.dtype, ours.tolist()) == (np.float64, [0.0, 0.0])
