"""scikit-learn takes our arrays: with dispatch by the Array API, and as NumPy's without."""

from __future__ import annotations

import os
from typing import Any, Final

import numpy as np
import pytest

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # which scikit-learn's dispatch asks for

sklearn = pytest.importorskip("sklearn")

from sklearn import metrics, preprocessing  # noqa: E402
from sklearn.cluster import KMeans  # noqa: E402
from sklearn.model_selection import train_test_split  # noqa: E402

import speedcube as sc  # noqa: E402

X: Final = np.random.default_rng(0).normal(size=(60, 4))
LABELS: Final = np.arange(60) % 2
FOUND: Final = (np.arange(60) % 3 == 0).astype(int)
SCALERS: Final = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler")


@pytest.mark.parametrize(
    "name",
    [
        *("accuracy_score", "f1_score", "precision_score", "recall_score", "zero_one_loss"),
        *("mean_absolute_error", "mean_squared_error", "r2_score"),
    ],
)
def test_metrics(name: str) -> None:
    measure: Any = getattr(metrics, name)
    is_regression = "error" in name or name == "r2_score"
    truth, found = (one.astype(float if is_regression else int) for one in (LABELS, FOUND))
    with sklearn.config_context(array_api_dispatch=True):
        ours = measure(sc.asarray(truth), sc.asarray(found))
    assert float(ours) == pytest.approx(measure(truth, found), rel=1e-15)


@pytest.mark.parametrize("name", SCALERS)
def test_scalers_with_dispatch_give_arrays(name: str) -> None:
    scaler: Any = getattr(preprocessing, name)
    with sklearn.config_context(array_api_dispatch=True):
        scaled = scaler().fit_transform(sc.asarray(X))
    assert isinstance(scaled, sc.Array)
    np.testing.assert_allclose(scaled.compute(), scaler().fit_transform(X), rtol=1e-12)


@pytest.mark.parametrize("name", SCALERS)
def test_scalers_without_dispatch_take_values(name: str) -> None:
    scaler: Any = getattr(preprocessing, name)
    right = scaler().fit_transform(X)
    np.testing.assert_allclose(scaler().fit_transform(sc.asarray(X)), right, rtol=1e-12)


def test_a_split_and_clusters() -> None:
    ours = train_test_split(sc.asarray(X), sc.asarray(LABELS), random_state=0)
    theirs = train_test_split(X, LABELS, random_state=0)
    for one, other in zip(ours, theirs, strict=True):
        assert isinstance(one, sc.Array)
        np.testing.assert_array_equal(one.compute(), other)
    clusters = KMeans(2, random_state=0, n_init=1)
    centers = clusters.fit(sc.asarray(X)).cluster_centers_
    np.testing.assert_allclose(centers, clusters.fit(X).cluster_centers_)
