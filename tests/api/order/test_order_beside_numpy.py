"""Sorting, selecting and counting beside NumPy: values, bits of zeros, dtypes, kinds of errors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import speedcube as sc
from speedcube.api.order.quantiles import METHODS

FLOATS: Final = ("float16", "float32", "float64")
ALL: Final = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *FLOATS,
)
SHAPES: Final = ((1,), (7,), (3, 4), (2, 3, 5), (70,), (0, 3), (0,))
SPECIAL: Final = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.5, 100.0)


def values_of(seed: int, shape: tuple[int, ...], dtype: str, nan: bool = True) -> Any:
    rng = np.random.default_rng(seed)
    if dtype in FLOATS:
        some = rng.choice(SPECIAL if nan else SPECIAL[1:], shape)
        x = np.where(rng.random(shape) < 0.5, some, np.round(rng.normal(0, 3, shape), 1))
        return x.astype(dtype)
    wide = 2 if dtype == "bool" else 2 ** (8 * np.dtype(dtype).itemsize - int(rng.choice([1, 5])))
    low = 0 if dtype[0] in "bu" else -(wide // 2)
    return rng.integers(low, low + wide, shape, dtype="uint64" if low == 0 else "int64").astype(
        dtype
    )


def equal(ours: Any, numpys: Any, signs: bool = False) -> None:
    if isinstance(numpys, (tuple, list)):
        assert len(ours) == len(numpys)
        for one, other in zip(ours, numpys, strict=True):
            equal(one, other)
        return
    found, numpys = np.asarray(ours), np.asarray(numpys)
    assert (found.dtype, found.shape) == (numpys.dtype, numpys.shape)
    np.testing.assert_array_equal(found, numpys)
    if signs and found.dtype.kind == "f":
        known = ~np.isnan(found)
        np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(numpys)[known])
        assert not np.signbit(found[~known]).any()


SEEDS: Final = st.integers(0, 10_000)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, shape=st.sampled_from(SHAPES), dtype=st.sampled_from(ALL))
def test_sorts(seed: int, shape: tuple[int, ...], dtype: str) -> None:
    x = values_of(seed, shape, dtype)
    axis: Any = seed % (len(shape) + 1) - 1
    a = sc.asarray(x)
    equal(np.sort(a, axis), np.sort(x, axis, kind="stable"), signs=True)
    equal(np.argsort(a, axis), np.argsort(x, axis, kind="stable"))
    equal(sc.sort(a, None), np.sort(x, None, kind="stable"), signs=True)
    equal(sc.lexsort((a[::-1], a), axis), np.lexsort((x[::-1], x), axis))
    if not x.shape[axis]:
        return
    kth = [0, seed % x.shape[axis], -1]
    parted = np.asarray(np.partition(a, kth, axis))
    sorted_ = np.sort(x, axis)
    np.testing.assert_array_equal(np.take(parted, kth, axis), np.take(sorted_, kth, axis))
    np.testing.assert_array_equal(np.sort(parted, axis), sorted_)
    places = np.asarray(sc.argpartition(a, kth[1], axis))
    np.testing.assert_array_equal(np.sort(places, axis), np.argsort(np.argsort(x, axis), axis) * 0
                                  + np.sort(np.argsort(x, axis), axis))  # fmt: skip
    equal(sc.topk(a, 2, axis), np.flip(sorted_, axis).take(range(min(2, x.shape[axis])), axis))
    equal(np.take_along_axis(a, sc.argtopk(a, -2, axis), axis), sc.topk(a, -2, axis).compute())


def test_a_partition_keeps_the_order_of_positions() -> None:
    x = np.array([5, 1, 4, 2, 4, 9, 0, 4])
    np.testing.assert_array_equal(sc.partition(x, 3).compute(), [1, 2, 0, 4, 4, 4, 5, 9])
    np.testing.assert_array_equal(sc.argpartition(x, 3).compute(), [1, 3, 6, 2, 4, 7, 0, 5])


def test_methods_sort_in_place_and_leave_others() -> None:
    a = sc.asarray([3.0, -0.0, 0.0, np.nan, 1.0])
    twice = a * 2
    assert a.argsort().tolist() == [1, 2, 4, 0, 3]
    assert a.argpartition(0).tolist()[0] == 1
    a.sort()
    assert str(a.tolist()) == "[-0.0, 0.0, 1.0, 3.0, nan]"
    assert twice.tolist()[0] == 6.0
    assert a.searchsorted([0.5, np.nan]).tolist() == [2, 4]
    b = sc.asarray([3, 1, 2])
    b.partition(0)
    assert b.tolist() == [1, 3, 2]


@settings(max_examples=60, deadline=None)
@given(
    seed=SEEDS,
    shape=st.sampled_from(SHAPES[:5]),
    dtype=st.sampled_from(ALL[1:]),
    method=st.sampled_from(sorted(METHODS)),
)
def test_quantiles(seed: int, shape: tuple[int, ...], dtype: str, method: str) -> None:
    x = values_of(seed, shape, dtype, nan=seed % 3 == 0)
    a = sc.asarray(x)
    axes: list[Any] = [None, 0, -1, tuple(range(len(shape)))]
    axis, keep = axes[seed % 4], bool(seed % 2)
    q: Any = [0.3, [0.1, 0.5, 0.99], [[0.25, 1.0]], 0, np.float32(0.6)][seed % 5]
    # NumPy's one quantile is float32 then, but float16 where it is NaN.
    assume(not (dtype == "float16" and seed % 5 == 4 and np.isnan(x).any()))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        equal(np.quantile(a, q, axis, method=method, keepdims=keep),
              np.quantile(x, q, axis, method=method, keepdims=keep))  # fmt: skip
        equal(np.nanquantile(a, q, axis, method=method, keepdims=keep),
              np.nanquantile(x, q, axis, method=method, keepdims=keep))  # fmt: skip
        percent = np.multiply(q, 100).tolist()
        equal(sc.percentile(a, percent, axis, method=method),
              np.percentile(x, percent, axis, method=method))  # fmt: skip
        # NumPy rounds the mean of two more than once.
        near = {"float16": 1e-2, "int64": 1e-15, "uint64": 1e-15}.get(dtype, 0)
        for name in ("median", "nanmedian"):
            ours = getattr(sc, name)(a, axis, keepdims=keep).compute()
            numpys = getattr(np, name)(x, axis, keepdims=keep)
            assert (ours.dtype, ours.shape) == (numpys.dtype, numpys.shape)
            np.testing.assert_allclose(ours, numpys, rtol=near)


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, skips=st.booleans())
def test_weighted_quantiles(seed: int, skips: bool) -> None:
    x = values_of(seed, (4, 9), "float64", nan=False)
    weights = np.random.default_rng(seed).integers(0, 5, x.shape) + 0.0
    weights[:, 3] = weights[0] = 1
    numpys, ours = (np.nanquantile, sc.nanquantile) if skips else (np.quantile, sc.quantile)
    for axis in (None, 0, 1):
        options: Any = {"method": "inverted_cdf", "weights": weights}
        equal(
            ours(x, [0, 0.2, 0.5, 1], axis, **options), numpys(x, [0, 0.2, 0.5, 1], axis, **options)
        )
    equal(sc.quantile(x, 0.5, 1, method="inverted_cdf", weights=np.arange(9.0)),
          np.quantile(x, 0.5, 1, method="inverted_cdf", weights=np.arange(9.0)))  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, count=st.integers(0, 40), dtype=st.sampled_from(ALL))
def test_places_in_a_sorted_line(seed: int, count: int, dtype: str) -> None:
    line = np.sort(values_of(seed, (count,), dtype))
    wanted = values_of(seed + 1, (3, 5), dtype)
    for side in ("left", "right"):
        equal(np.searchsorted(sc.asarray(line), wanted, side), np.searchsorted(line, wanted, side))
    order = np.random.default_rng(seed).permutation(count)
    back = np.argsort(order)
    equal(sc.searchsorted(line[order], wanted[0, 0], sorter=back),
          np.searchsorted(line[order], wanted[0, 0], sorter=back))  # fmt: skip
    equal(np.isin(sc.asarray(wanted), line), np.isin(wanted, line))
    equal(sc.isin(wanted, line, invert=True), np.isin(wanted, line, invert=True))
    if not np.isnan(line.astype(float)).any() and dtype != "bool":
        equal(np.digitize(sc.asarray(wanted), line), np.digitize(wanted, line))
        equal(sc.digitize(wanted, line[::-1], True), np.digitize(wanted, line[::-1], True))


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, shape=st.sampled_from(SHAPES), dtype=st.sampled_from(ALL))
def test_sets(seed: int, shape: tuple[int, ...], dtype: str) -> None:
    x = values_of(seed, shape, dtype, nan=seed % 2 == 0)
    a, y = sc.asarray(x), values_of(seed + 1, (6,), dtype, nan=False)
    equal(np.unique(a), np.unique(x))
    equal(sc.unique(a, True, True, True), np.unique(x, True, True, True))
    equal(sc.unique_counts(a), np.unique_counts(x))
    equal(sc.unique_values(a), np.sort(np.unique_values(x)))
    equal(np.union1d(a, y), np.union1d(x, y))
    equal(np.intersect1d(a, y), np.intersect1d(x, y))
    equal(sc.intersect1d(a, y, return_indices=True)[0], np.intersect1d(x, y))
    equal(np.setdiff1d(a, y), np.setdiff1d(x, y))
    equal(np.setxor1d(a, y), np.setxor1d(x, y))
    if not np.isnan(x.astype(float)).any():
        equal(sc.unique_all(a), np.unique_all(x))
        equal(sc.unique_inverse(a), np.unique_inverse(x))
        if x.ndim > 1 and x.size:
            equal(sc.unique(a, axis=-1), np.unique(x, axis=-1))


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, dtype=st.sampled_from(ALL), shape=st.sampled_from(((0,), (40,), (5, 60))))
def test_histograms(seed: int, dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(0, 9, shape) * 4) / 4
    x = (x % 50 if dtype[0] in "ub" else x).astype(dtype)
    a, weights = sc.asarray(x), rng.integers(-5, 9, shape)
    bins: Any = [10, 1, 33, [0, 1, 1, 4.5], np.arange(-9, 9)][seed % 5]
    ends: Any = [None, (-4, 4), (0.5, 3)][seed % 3]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for density in (None, True):
            equal(np.histogram(a, bins, ends, density), np.histogram(x, bins, ends, density))
        equal(np.histogram(a, bins, ends, weights=weights),
              np.histogram(x, bins, ends, weights=weights))  # fmt: skip
        rule = ["auto", "fd", "doane", "scott", "sturges", "rice", "sqrt", "stone"][seed % 8]
        if dtype in ("float32", "float64", "int64", "uint8"):
            equal(np.histogram_bin_edges(a, rule, ends), np.histogram_bin_edges(x, rule, ends))


@pytest.mark.parametrize(
    "bins", [5, [5, 7], [0, 1, 2, 3.0], [[0, 1, 2], [-1, 0, 1, 2]], [4, [0, 2.0]]]
)
def test_histograms_of_points(bins: Any) -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 3000))
    a = sc.asarray(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        equal(np.histogram2d(a, y, bins), np.histogram2d(x, y, bins))
        equal(sc.histogram2d(x, y, bins, density=True), np.histogram2d(x, y, bins, density=True))
    points = np.stack([x, y, x + y], axis=1)
    ends = [(-1, 1), (-2, 2), None]
    ours = np.histogramdd(sc.asarray(points), 4, ends, weights=np.arange(3000))
    numpys = np.histogramdd(points, 4, ends, weights=np.arange(3000))
    equal(ours[0], numpys[0])
    equal(ours[1], numpys[1])


@pytest.mark.parametrize("scale", [1.0, 1e-320, 1e303, "wide"])
def test_sums_of_weights_are_exact(scale: Any) -> None:
    rng = np.random.default_rng(3)
    index = rng.integers(0, 30, 70_000)
    weights = rng.normal(size=70_000)
    if scale == "wide":
        weights = weights * 10.0 ** rng.integers(-300, 300, 70_000)
    else:
        weights = weights * scale
    exact = [math.fsum(weights[index == k]) for k in range(30)]
    for on in ("core", "cores"):
        equal(sc.bincount(index, weights).compute(on=on), np.array(exact))
    if scale == "wide":  # more numbers than elements of a block
        many = rng.integers(0, 70_000, 9000)
        sums: dict[int, Any] = {}
        for k, w in zip(many.tolist(), weights.tolist(), strict=False):
            sums[k] = sums.get(k, 0) + Fraction(w)
        far = np.zeros(70_000)
        far[list(sums)] = [float(one) for one in sums.values()]
        equal(sc.bincount(many, weights[:9000], 70_000).compute(), far)
    weights[:3] = np.inf, -np.inf, np.nan
    index[:3] = 1, 1, 2
    found = sc.bincount(index, weights, minlength=40).compute()
    assert np.isnan(found[1:3]).all()
    assert found[0] == exact[0]
    assert (found[30:] == 0).all()


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, dtype=st.sampled_from(ALL[:8]), least=st.integers(0, 300))
def test_bincount(seed: int, dtype: str, least: int) -> None:
    x = np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 100, seed % 200)
    x = x.astype(dtype)
    equal(np.bincount(sc.asarray(x), minlength=least), np.bincount(x, minlength=least))


BAD: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "sort of a number": lambda np_, a: np_.sort(a[0]),
    "an axis": lambda np_, a: np_.sort(a, axis=1),
    "a kind": lambda np_, a: np_.sort(a, kind="bubble"),
    "no keys": lambda np_, a: np_.lexsort(()),
    "keys of two lengths": lambda np_, a: np_.lexsort((a, a[1:])),
    "a place": lambda np_, a: np_.partition(a, 4),
    "a place that is none": lambda np_, a: np_.partition(a, 1.5),
    "a probability": lambda np_, a: np_.quantile(a, 1.5),
    "NaN for one": lambda np_, a: np_.quantile(a, np.nan),
    "a percentage": lambda np_, a: np_.percentile(a, [50, -1]),
    "a method": lambda np_, a: np_.quantile(a, 0.5, method="best"),
    "a method with weights": lambda np_, a: np_.quantile(a, 0.5, weights=a),
    "weights of another shape": lambda np_, a: np_.quantile(
        a, 0.5, axis=0, weights=a[1:], method="inverted_cdf"
    ),
    "weights and no axis": lambda np_, a: np_.quantile(
        a, 0.5, weights=a[1:], method="inverted_cdf"
    ),
    "weights below 0": lambda np_, a: np_.quantile(a, 0.5, weights=-a, method="inverted_cdf"),
    "no weights at all": lambda np_, a: np_.quantile(a, 0.5, weights=a * 0, method="inverted_cdf"),
    "a quantile of nothing": lambda np_, a: np_.quantile(a[:0], 0.5),
    "differences of bool": lambda np_, a: np_.quantile(a > 2, 0.5),
    "a side": lambda np_, a: np_.searchsorted(a, 1, side="up"),
    "a line of two axes": lambda np_, a: np_.searchsorted(a.reshape(2, 2), 1),
    "a sorter of another length": lambda np_, a: np_.searchsorted(a, 1, sorter=[0]),
    "a sorter of floats": lambda np_, a: np_.searchsorted(a, 1, sorter=a * 1.5),
    "edges up and down": lambda np_, a: np_.digitize(a, [1, 3, 2]),
    "complex numbers in bins": lambda np_, a: np_.digitize(a * 1j, [1, 2]),
    "a kind of isin": lambda np_, a: np_.isin(a, [1], kind="hash"),
    "negative numbers": lambda np_, a: np_.bincount(a - 3),
    "counted floats": lambda np_, a: np_.bincount(a * 1.0),
    "a square of counts": lambda np_, a: np_.bincount(a.reshape(2, 2)),
    "weights of another length": lambda np_, a: np_.bincount(a, weights=a[1:]),
    "a length below 0": lambda np_, a: np_.bincount(a, minlength=-1),
    "no bins": lambda np_, a: np_.histogram(a, 0),
    "half a bin": lambda np_, a: np_.histogram(a, 1.5),
    "bins that fall": lambda np_, a: np_.histogram(a, [3, 2]),
    "bins of two axes": lambda np_, a: np_.histogram(a, [[3, 2]]),
    "ends that fall": lambda np_, a: np_.histogram(a, range=(3, 1)),
    "infinite ends": lambda np_, a: np_.histogram(a, range=(0, np.inf)),
    "NaN among what is counted": lambda np_, a: np_.histogram(a * np.nan),
    "more bins than numbers": lambda np_, a: np_.histogram(a, 100, range=(1, 1 + 1e-15)),
    "a rule": lambda np_, a: np_.histogram(a, "best"),
    "a rule with weights": lambda np_, a: np_.histogram(a, "fd", weights=a),
    "other weights": lambda np_, a: np_.histogram(a, weights=a[1:]),
    "lines of two lengths": lambda np_, a: np_.histogram2d(a, a[1:]),
    "bins for another grid": lambda np_, a: np_.histogramdd(a.reshape(2, 2), [1, 2, 3]),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_gives_numpys_kind_of_error(what: str) -> None:
    x = np.array([4, 1, 3, 2])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as numpys:  # noqa: PT011
            BAD[what](np, x)
        with pytest.raises(sc.errors.SpeedcubeError) as ours:
            BAD[what](sc, sc.asarray(x))
    kinds = ValueError, TypeError, IndexError
    wanted = [kind for kind in kinds if isinstance(numpys.value, kind)]
    assert any(isinstance(ours.value, kind) for kind in wanted), (numpys.value, ours.value)


@pytest.mark.parametrize("method", ["linear", "weibull", "lower", "inverted_cdf"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "float16"])
def test_quantiles_of_no_probability_have_numpys_dtype(method: str, dtype: str) -> None:
    x = np.ones((3, 4), dtype)
    for name in ("quantile", "nanquantile", "percentile"):
        for q in ([], np.empty(0, "float32")):
            ours = getattr(sc, name)(x, q, axis=1, method=method)
            equal(ours, getattr(np, name)(x, q, axis=1, method=method))


@pytest.mark.filterwarnings("ignore")
def test_quantiles_of_nothing_have_numpys_dtype() -> None:
    for dtype in ("float16", "float32", "int8"):
        for x in (np.empty((0, 3), dtype), np.empty((3, 0), dtype)):
            for axis in (None, 0, 1, (0, 1)):
                equal(sc.median(x, axis), np.median(x, axis))
                equal(sc.nanmedian(x, axis), np.nanmedian(x, axis))
                equal(
                    sc.nanquantile(x, 0.5, axis, method="lower"),
                    np.nanquantile(x, 0.5, axis, method="lower"),
                )
                options = {"axis": axis, "weights": np.empty(x.shape), "method": "inverted_cdf"}
                equal(sc.nanquantile(x, 0.5, **options), np.nanquantile(x, 0.5, **options))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float32", "int16", "bool"])
@pytest.mark.parametrize("keepdims", [False, True])
def test_several_quantiles_of_nothing_are_numpys_mean_of_it(dtype: str, keepdims: bool) -> None:
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 3)):
        x = np.empty(shape, dtype)
        for q in (0.5, [0.5, 0.25], []):
            for axis in (None, 0, -1):
                options = {"axis": axis, "keepdims": keepdims, "method": "lower"}
                equal(sc.nanquantile(x, q, **options), np.nanquantile(x, q, **options))
                equal(sc.nanpercentile(x, q, **options), np.nanpercentile(x, q, **options))
    with pytest.raises(ValueError, match=r"range \[0, 1\]"):
        sc.nanquantile(np.empty(0), 2)


def test_counts_of_nothing_are_integers_whatever_its_weights_are() -> None:
    nothing = np.empty(0, np.int64)
    for weights in (None, np.empty(0), np.empty(0, "float32"), [1.0, 2.0]):
        for least in (0, 3):
            equal(sc.bincount(nothing, weights, least), np.bincount(nothing, weights, least))
    with pytest.raises(TypeError, match="Cannot cast"):
        sc.bincount(nothing, np.empty(0, complex))
