"""What resampling refuses, in SciPy's kinds of exception."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import ParameterError, ParameterTypeError

X = np.arange(6.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"data": [1.0]}, "two or more observations"),
        ({"data": ()}, "at least 1 sample"),
        ({"data": np.zeros((4, 1)), "axis": 1}, "two or more observations"),
        ({"axis": 1.5}, "axis must be an integer"),
        ({"data": (X, X[:4]), "paired": True}, "must have the same length"),
        ({"paired": 3}, "paired must be True or False"),
        ({"n_resamples": -1}, "n_resamples must be a non-negative integer"),
        ({"n_resamples": 2.5}, "n_resamples must be a non-negative integer"),
        ({"n_resamples": 0}, "n_resamples must be positive"),
        ({"batch": 0}, "batch must be a positive integer"),
        ({"vectorized": "no"}, "vectorized must be"),
        ({"method": "ekki"}, "method must be one of"),
        ({"alternative": "ekki"}, "alternative must be one of"),
        ({"confidence_level": 1.5}, "confidence_level must lie between 0 and 1"),
        ({"confidence_level": float("nan")}, "confidence_level must lie between 0 and 1"),
        ({"bootstrap_result": 3}, "must have the attribute"),
    ],
)
def test_bootstrap_refuses(options: dict[str, Any], words: str) -> None:
    given = {"data": X, "statistic": np.mean} | options
    with pytest.raises(ParameterError, match=words) as caught:
        sc.random.bootstrap(**given)
    assert isinstance(caught.value, ValueError)


def test_a_statistic_is_callable() -> None:
    with pytest.raises(ParameterTypeError, match="statistic must be callable"):
        sc.random.bootstrap(X, "mean")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"data": (X,)}, "at least 2 samples"),
        ({"permutation_type": "ekki"}, "permutation_type must be one of"),
        ({"data": (X, X[:3]), "permutation_type": "pairings"}, "must have the same length"),
        ({"n_resamples": 0}, "n_resamples must be a positive integer"),
        ({"alternative": "ekki"}, "alternative must be one of"),
    ],
)
def test_permutation_test_refuses(options: dict[str, Any], words: str) -> None:
    given = {"data": (X, X), "statistic": lambda x, y, axis: np.mean(x, axis=axis)} | options
    with pytest.raises(ParameterError, match=words):
        sc.random.permutation_test(**given)


def test_jackknife_and_folds_refuse() -> None:
    with pytest.raises(ParameterError, match="one sample, not 2"):
        sc.random.jackknife((X, X), np.mean)
    with pytest.raises(ParameterError, match="below 1"):
        sc.random.jackknife(X, np.mean, confidence_level=1)
    with pytest.raises(ParameterError, match="between 2 and the number of observations, 6, not 7"):
        sc.random.cross_validation(X, 7)
    with pytest.raises(ParameterError, match="not 1"):
        sc.random.cross_validation(6, 1)


def test_a_distribution_that_is_degenerate_is_told() -> None:
    found = sc.random.bootstrap(np.ones(5), np.mean, 50, rng=1)
    with pytest.warns(RuntimeWarning, match="degenerate"):
        assert np.isnan(found.confidence_interval.low)
