"""scikit-learn takes our arrays: with dispatch by the Array API, and as NumPy's without."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # which scikit-learn's dispatch asks for

import sklearn
from sklearn import decomposition, linear_model, metrics, preprocessing
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import pairwise
from sklearn.model_selection import train_test_split

import speedcube as sc

X: Final = np.random.default_rng(0).normal(size=(60, 4))
Y: Final = X @ np.arange(1.0, 5.0) + 0.1 * np.random.default_rng(1).normal(size=60)
LABELS: Final = np.arange(60) % 2
FOUND: Final = (np.arange(60) % 3 == 0).astype(int)
SCALERS: Final = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Normalizer")


@pytest.mark.parametrize(
    "name",
    [
        *("accuracy_score", "f1_score", "precision_score", "recall_score", "zero_one_loss"),
        *("mean_absolute_error", "mean_squared_error", "r2_score", "median_absolute_error"),
        *("roc_auc_score", "matthews_corrcoef", "explained_variance_score"),
    ],
)
def test_metrics(name: str) -> None:
    measure: Any = getattr(metrics, name)
    is_regression = "error" in name or name in ("r2_score", "explained_variance_score")
    truth, found = (one.astype(float if is_regression else int) for one in (LABELS, FOUND))
    with sklearn.config_context(array_api_dispatch=True):
        ours = measure(sc.asarray(truth), sc.asarray(found))
    assert float(ours) == pytest.approx(measure(truth, found), rel=1e-14)


def test_a_confusion_matrix_is_ours() -> None:
    with sklearn.config_context(array_api_dispatch=True):
        ours = metrics.confusion_matrix(sc.asarray(LABELS), sc.asarray(FOUND))
    assert isinstance(ours, sc.Array)
    np.testing.assert_array_equal(ours.compute(), metrics.confusion_matrix(LABELS, FOUND))


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


@pytest.mark.parametrize(
    "name",
    [
        *("linear_kernel", "polynomial_kernel", "rbf_kernel", "sigmoid_kernel", "laplacian_kernel"),
        *("cosine_similarity", "euclidean_distances", "manhattan_distances"),
    ],
)
def test_pairwise_kernels(name: str) -> None:
    kernel: Any = getattr(pairwise, name)
    with sklearn.config_context(array_api_dispatch=True):
        ours = kernel(sc.asarray(X), sc.asarray(X[:7]))
    assert isinstance(ours, sc.Array)
    np.testing.assert_allclose(ours.compute(), kernel(X, X[:7]), rtol=1e-9, atol=1e-7)


FITS: Final[dict[str, Callable[[Callable[[Any], Any]], Any]]] = {
    "PCA": lambda a: abs(decomposition.PCA(2, svd_solver="full").fit_transform(a(X))),
    "PCA, whitened": lambda a: abs(
        decomposition.PCA(2, svd_solver="full", whiten=True).fit_transform(a(X))
    ),
    # It copies an array by asarray(copy=True), assigns to the copy, and goes on with the first.
    "PCA, as many as likely": lambda a: (
        decomposition.PCA("mle", svd_solver="full").fit(a(X)).explained_variance_
    ),
    "Ridge": lambda a: linear_model.Ridge(solver="svd").fit(a(X), a(Y)).predict(a(X)),
    # It slices by a count that is an array without axes, of a stack of matrices.
    "discriminants": lambda a: LinearDiscriminantAnalysis().fit(a(X), a(LABELS)).predict(a(X)),
}


@pytest.mark.parametrize("name", FITS)
def test_models_with_dispatch_give_arrays(name: str) -> None:
    with sklearn.config_context(array_api_dispatch=True):
        ours = FITS[name](sc.asarray)
    assert isinstance(ours, sc.Array)
    np.testing.assert_allclose(ours.compute(), FITS[name](np.asarray), rtol=1e-9)


@pytest.mark.parametrize("name", FITS)
def test_models_without_dispatch_take_values(name: str) -> None:
    np.testing.assert_allclose(FITS[name](sc.asarray), FITS[name](np.asarray), rtol=1e-12)


@pytest.mark.parametrize("dispatch", [False, True])
def test_a_split_is_ours(dispatch: bool) -> None:
    with sklearn.config_context(array_api_dispatch=dispatch):
        ours = train_test_split(
            sc.asarray(X), sc.asarray(LABELS), random_state=0, stratify=sc.asarray(LABELS)
        )
    theirs = train_test_split(X, LABELS, random_state=0, stratify=LABELS)
    for one, other in zip(ours, theirs, strict=True):
        assert isinstance(one, sc.Array)
        np.testing.assert_array_equal(one.compute(), other)


def test_clusters() -> None:
    clusters = KMeans(2, random_state=0, n_init=1)
    centers = clusters.fit(sc.asarray(X)).cluster_centers_
    np.testing.assert_allclose(centers, clusters.fit(X).cluster_centers_)
