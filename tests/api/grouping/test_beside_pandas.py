"""Groups beside pandas and SciPy, over dtypes and data that are tied, odd or nothing."""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import speedcube as sc

FLOATS: Final = ("float32", "float64")
DTYPES: Final = ("int8", "int32", "int64", "uint16", "uint64", "bool", *FLOATS)
SEEDS: Final = st.integers(0, 10_000)
EXACT: Final = ("min", "max", "first", "last", "count", "median")
ROUNDED: Final = ("sum", "mean", "var", "std", "prod")


def elements(seed: int, size: int, dtype: str) -> Any:
    """Few values, many of them alike; of floats some NaN and zeros of both signs."""
    rng = np.random.default_rng(seed)
    if dtype in FLOATS:
        some = rng.choice([np.nan, 0.0, -0.0, 0.1, -2.5, 3.0], size)
        return np.where(rng.random(size) < 0.5, some, np.round(rng.normal(0, 9, size), 1)).astype(
            dtype
        )
    info = np.iinfo("int8" if dtype == "bool" else dtype)
    ends = rng.choice(np.array([info.min, info.max, 0, 1], info.dtype), size)
    return np.where(rng.random(size) < 0.2, ends, ends // 3 + 1).astype(dtype)


@settings(max_examples=80, deadline=None)
@given(
    seed=SEEDS,
    size=st.sampled_from((1, 2, 17, 300)),
    dtype=st.sampled_from(DTYPES),
    func=st.sampled_from((*EXACT, *ROUNDED)),
)
def test_results_are_those_of_pandas(seed: int, size: int, dtype: str, func: str) -> None:
    x = elements(seed, size, dtype)
    keys = np.random.default_rng(seed + 1).integers(-3, 4, size)
    if dtype == "bool" and func in ("median", *ROUNDED):
        x = x.astype("uint8")
    if func not in EXACT and x.dtype.kind in "iu":
        x = (x % 7).astype(x.dtype)  # products and squares of whole numbers that pandas has exactly
        keys = np.arange(size) // 9  # and few of them
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"ddof": 0} if func in ("var", "std") else {}
        wanted = getattr(pd.Series(x).groupby(keys), func)(**options)
    skip = {} if func == "count" else {"skipna": True}
    groups = sc.groupby(sc.asarray(x), keys)
    found = np.asarray(getattr(groups, func)(**skip, **options))
    assert groups.labels.tolist() == wanted.index.tolist()
    if func in EXACT:
        np.testing.assert_array_equal(found, wanted.to_numpy())
    else:
        np.testing.assert_allclose(found, wanted.to_numpy(), 2e-5, 1e-12)


@settings(max_examples=40, deadline=None)
@given(
    seed=SEEDS, q=st.sampled_from((0.0, 0.25, 0.5, 1.0)), dtype=st.sampled_from(("int32", *FLOATS))
)
def test_quantiles_are_those_of_pandas(seed: int, q: float, dtype: str) -> None:
    x, keys = elements(seed, 90, dtype), np.arange(90) % 7
    wanted = pd.Series(x.astype("float64")).groupby(keys).quantile(q)
    found = sc.groupby(sc.asarray(x).astype("float64"), keys).quantile(q, skipna=True)
    np.testing.assert_allclose(found, wanted.to_numpy(), 1e-14)


@settings(max_examples=40, deadline=None)
@given(
    seed=SEEDS,
    shape=st.sampled_from(((30,), (4, 25), (2, 3, 8))),
    dtype=st.sampled_from(("int8", "uint64", *FLOATS)),
    method=st.sampled_from(("average", "min", "max", "dense", "ordinal")),
)
def test_ranks_and_modes_are_those_of_scipy(
    seed: int, shape: tuple[int, ...], dtype: str, method: str
) -> None:
    stats = pytest.importorskip("scipy.stats")
    x = np.nan_to_num(elements(seed, int(np.prod(shape)), dtype)).reshape(shape)
    for axis in range(-1, len(shape) - 1):
        wanted = stats.rankdata(x, method, axis=axis)
        np.testing.assert_array_equal(sc.rank(x, method, axis=axis), wanted)
        for ours, theirs in zip(sc.mode(x, axis), stats.mode(x, axis), strict=True):
            np.testing.assert_array_equal(ours, theirs)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, dtype=st.sampled_from(DTYPES), drop=st.booleans(), share=st.booleans())
def test_counts_of_values_are_those_of_pandas(
    seed: int, dtype: str, drop: bool, share: bool
) -> None:
    x = elements(seed, 120, dtype)
    wanted = pd.Series(x).value_counts(sort=False, dropna=drop, normalize=share).sort_index()
    values, counts = sc.value_counts(x, sort=False, dropna=drop, normalize=share)
    np.testing.assert_array_equal(values, wanted.index.to_numpy().astype(x.dtype))
    np.testing.assert_array_equal(counts, wanted.to_numpy())
    values, counts = sc.value_counts(x, dropna=drop)
    assert (np.diff(np.asarray(counts)) <= 0).all()
