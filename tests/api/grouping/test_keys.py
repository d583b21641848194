"""Keys of any dtype, found and known, beside pandas, flox and NumPy; what is refused."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import speedcube as sc

flox = pytest.importorskip("flox")  # the reference

RNG = np.random.default_rng(5)
FUNCS: Final = (
    *("sum", "nansum", "mean", "nanmean", "var", "nanvar", "std", "nanstd", "min", "nanmin"),
    *("max", "nanmax", "count", "median", "nanmedian", "first", "last", "any", "all", "prod"),
    *("argmax", "quantile", "nanquantile"),
)
X: Final = RNG.normal(size=60)
_NUMBERS = RNG.integers(-4, 5, 60)
_DATES = np.datetime64("2020-01-01") + _NUMBERS.astype("timedelta64[D]")
KEYS: Final[dict[str, Any]] = {
    "integers": _NUMBERS,
    "far apart": _NUMBERS * 10**12,
    "with gaps": _NUMBERS * 7,
    "int8": _NUMBERS.astype("int8"),
    "bool": _NUMBERS > 0,
    "above 2**63": (_NUMBERS + 10).astype("uint64") + np.uint64(2**63),
    "wide unsigned": np.where(_NUMBERS > 0, np.uint64(2**64 - 1), np.uint64(3)),
    "floats": _NUMBERS / 2,
    "NaN": np.where(_NUMBERS == 2, np.nan, _NUMBERS / 2),
    "zeros": np.where(_NUMBERS > 0, -0.0, 0.0),
    "strings": np.array([f"k{n}" for n in _NUMBERS]),
    "objects": np.array([f"k{n}" for n in _NUMBERS], object),
    "dates": _DATES,
    "NaT": np.where(_NUMBERS == 2, np.datetime64("NaT", "D"), _DATES),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_are_found_as_by_pandas(name: str) -> None:
    keys = KEYS[name]
    wanted = pd.Series(X).groupby(keys).max()
    groups = sc.groupby(X, keys)
    assert groups.labels.tolist() == wanted.index.to_numpy().astype(groups.labels.dtype).tolist()
    assert groups.labels.dtype == keys.dtype
    np.testing.assert_array_equal(groups.max(), wanted)


@pytest.mark.parametrize("name", KEYS)
def test_labels_in_the_order_they_come(name: str) -> None:
    keys = KEYS[name]
    wanted = pd.Series(X).groupby(keys, sort=False).min()
    groups = sc.groupby(X, keys, sort=False)
    assert groups.labels.tolist() == wanted.index.to_numpy().astype(groups.labels.dtype).tolist()
    np.testing.assert_array_equal(groups.min(), wanted)


@pytest.mark.parametrize("name", KEYS)
def test_known_labels(name: str) -> None:
    keys = KEYS[name]
    labels = sc.groupby(X, keys).labels[::2]
    result, same = sc.groupby_reduce(X, keys, func="sum", expected_groups=labels)
    assert same.tolist() == labels.tolist()
    for k, label in enumerate(labels):
        assert float(result[k]) == float(sc.sum(X[keys == label]))


def test_known_labels_are_lazy_and_others_are_no_group() -> None:
    drawn = sc.random.default_rng(3).integers(0, 10, 1000)
    result = sc.groupby(drawn, drawn, expected_groups=[8, 2, 30], sort=False).sum()
    assert "group_sum" in repr(result.plan())
    counts = np.bincount(drawn)
    assert result.tolist() == [8 * counts[8], 2 * counts[2], 0]
    far = sc.groupby(X, KEYS["wide unsigned"], expected_groups=range(5)).count()
    assert far.tolist() == [0, 0, 0, int((KEYS["wide unsigned"] == 3).sum()), 0]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 9999),
    func=st.sampled_from(FUNCS),
    shape=st.sampled_from([(30,), (2, 30), (3, 2, 30), (20, 30)]),
    dtype=st.sampled_from(["float64", "float32", "int64", "int16"]),
)
def test_groupby_reduce_beside_flox(seed: int, func: str, shape: Any, dtype: str) -> None:
    r = np.random.default_rng(seed)
    x = np.round(r.normal(size=shape) * 8, 1).astype(dtype)
    keys = np.append(np.arange(4), r.integers(0, 4, 26))
    if dtype[0] == "f" and func.startswith("nan"):
        x[..., 4:] = np.where(r.random((*shape[:-1], 26)) < 0.2, np.nan, x[..., 4:])
    more: Any = {"finalize_kwargs": {"q": [0.1, 0.6]}} if "quantile" in func else {}
    wanted, *labels = flox.groupby_reduce(x, keys, func=func, **more)
    result, *ours = sc.groupby_reduce(x, keys, func=func, **more)
    assert result.shape == wanted.shape
    np.testing.assert_array_equal(ours[0], labels[0])
    close = 2e-3 if result.dtype == "float32" else 1e-9
    np.testing.assert_allclose(np.asarray(result), wanted, rtol=close, atol=close)


def test_several_keys_beside_flox() -> None:
    x, a, b = RNG.normal(size=(3, 4, 50)), RNG.integers(0, 3, 50), RNG.integers(5, 9, (4, 50))
    for axis in (None, -1, (-2, -1)):
        wanted, *_ = flox.groupby_reduce(x, b, func="mean", axis=axis)
        result, labels = sc.groupby_reduce(x, b, func="mean", axis=axis)
        assert labels.tolist() == [5, 6, 7, 8]
        np.testing.assert_allclose(np.asarray(result), wanted)
    wanted, *labels = flox.groupby_reduce(x[:, 0], a, b[0], func="max")
    result, *ours = sc.groupby_reduce(x[:, 0], a, b[0], func="max")
    assert [one.tolist() for one in ours] == [one.tolist() for one in labels]
    np.testing.assert_array_equal(result, wanted)


def test_places_count_along_the_folded_axes() -> None:
    x, keys = RNG.normal(size=(3, 50)), RNG.integers(0, 3, (3, 50))
    result, _ = sc.groupby_reduce(x, keys, func="argmin", axis=-1)
    for row in range(3):
        for group in range(3):
            places = np.flatnonzero(keys[row] == group)
            assert int(result[row, group]) == places[np.argmin(x[row, places])]


def test_fill_values_and_least_counts() -> None:
    x, keys = [1.0, 2.0, np.nan, 5.0], [0, 0, 1, 3]
    more: Any = {"expected_groups": range(5)}
    means, _ = sc.groupby_reduce(x, keys, func="nanmean", fill_value=-9.0, **more)
    np.testing.assert_array_equal(means, [1.5, np.nan, -9, 5, -9])
    sums, _ = sc.groupby_reduce(x, keys, func="nansum", min_count=1, **more)
    np.testing.assert_array_equal(sums, [3, np.nan, np.nan, 5, np.nan])
    whole, _ = sc.groupby_reduce([4, 5], [0, 1], func="max", expected_groups=range(3))
    assert whole.tolist() == [4, 5, np.iinfo("int64").min]
    filled, _ = sc.groupby_reduce([4, 5], [0, 1], func="max", fill_value=7, **more)
    assert filled.tolist() == [4, 5, 7, 7, 7]
    assert filled.dtype == np.int64


REFUSED: Final[list[tuple[Any, type[Exception], str]]] = [
    (lambda: sc.groupby(X, KEYS["integers"][:9]), ValueError, "do not lie beside"),
    (lambda: sc.groupby(X), ValueError, "groups need keys"),
    (lambda: sc.groupby(X, np.array([1, "a"] * 30, object)), TypeError, "have no order"),
    (lambda: sc.groupby(X, _NUMBERS, expected_groups=[1, 1]), ValueError, "twice"),
    (lambda: sc.groupby(X, _NUMBERS / 2, expected_groups=[1, np.nan]), ValueError, "NaN"),
    (lambda: sc.groupby(X, _NUMBERS, expected_groups=([1], [2])), ValueError, "tuple of 1"),
    (lambda: sc.groupby(X, _NUMBERS, axis=3), np.exceptions.AxisError, "3"),
    (lambda: sc.groupby_reduce(X, _NUMBERS, func="middle"), ValueError, "not a function of groups"),
    (lambda: sc.groupby_reduce(X, _NUMBERS, func="quantile"), ValueError, "finalize_kwargs"),
    (lambda: sc.groupby(X, _NUMBERS).quantile(1.5), ValueError, "range"),
    (lambda: sc.groupby(X, _NUMBERS).var(ddof=-1), ValueError, "ddof"),
    (lambda: sc.groupby(X > 0, _NUMBERS).median(), TypeError, "bool"),
    (lambda: sc.groupby(X, _NUMBERS).mean(dtype="int64"), TypeError, "fraction"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_refused(number: int) -> None:
    work, kind, text = REFUSED[number]
    with pytest.raises(kind, match=text):
        work()


def test_groups_of_nothing() -> None:
    none: Any = np.empty(0)
    assert len(sc.groupby(none, none)) == 0
    assert sc.groupby(none, none).sum().shape == (0,)
    known = sc.groupby(none, np.empty(0, int), expected_groups=[1, 2])
    assert known.sum().tolist() == [0, 0]
    assert np.isnan(known.mean()).all()
    assert known.count().tolist() == [0, 0]
    assert known.prod().tolist() == [1, 1]
    assert sc.groupby(np.empty((0, 4)), [0, 1, 0, 1]).max().shape == (0, 2)
    assert sc.groupby(X, np.full(60, np.nan)).mean().shape == (0,)


def test_ranks_modes_and_counts_beside_scipy_and_pandas() -> None:
    stats = pytest.importorskip("scipy.stats")
    ties = RNG.integers(0, 7, (5, 40))
    for method in ("average", "min", "max", "dense", "ordinal"):
        for axis in (None, 0, 1):
            wanted = stats.rankdata(ties, method, axis=axis)
            np.testing.assert_array_equal(sc.rank(ties, method, axis=axis), wanted.reshape(5, 40))
    for axis in (None, 0, 1):
        for found, wanted in zip(sc.mode(ties, axis), stats.mode(ties, axis), strict=True):
            np.testing.assert_array_equal(found, wanted)
    holes = pd.Series([2.0, np.nan, 1.0, 2.0, np.nan, 3.0])
    np.testing.assert_array_equal(sc.rank(holes), holes.rank())
    for drop in (True, False):
        values, counts = sc.value_counts(holes, dropna=drop)
        wanted = holes.value_counts(dropna=drop, sort=False).sort_index()
        wanted = wanted.sort_values(ascending=False, kind="stable")
        np.testing.assert_array_equal(values, wanted.index)
        np.testing.assert_array_equal(counts, wanted)
    words, counts = sc.value_counts(["b", "a", "b"], normalize=True)
    assert (words.tolist(), counts.tolist()) == (["b", "a"], [2 / 3, 1 / 3])
    with pytest.raises(ValueError, match="methods"):
        sc.rank(ties, "first")
    with pytest.raises(ValueError, match="mode of no elements"):
        sc.mode([])
