"""Resampling beside SciPy: exactly where the data decide the result, by its distribution else."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import speedcube as sc
from speedcube.errors import MemoryLimitError

X = np.random.default_rng(5).normal(size=60)
Y = np.random.default_rng(6).normal(0.3, 1.5, size=45)
LINES = np.random.default_rng(7).gamma(2.0, size=(3, 40))
STATISTICS: list[Callable[..., Any]] = [np.mean, np.sum, np.var, np.std, np.median]


def difference(x: Any, y: Any, axis: int) -> Any:
    return np.mean(x, axis=axis) - np.mean(y, axis=axis)


def correlation(x: Any, y: Any, axis: int) -> Any:
    a, b = x - x.mean(axis=axis, keepdims=True), y - y.mean(axis=axis, keepdims=True)
    lengths = np.sqrt((a * a).sum(axis=axis) * (b * b).sum(axis=axis))
    return (a * b).sum(axis=axis) / lengths


def same_interval(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours.confidence_interval.low, theirs.confidence_interval.low, 1e-11)
    np.testing.assert_allclose(
        ours.confidence_interval.high, theirs.confidence_interval.high, 1e-11
    )
    np.testing.assert_allclose(ours.standard_error, theirs.standard_error, 1e-11)


@pytest.mark.parametrize("method", ["percentile", "basic", "BCa"])
@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_the_interval_of_a_distribution_is_scipys(method: str, alternative: str) -> None:
    options: dict[str, Any] = {"method": method, "alternative": alternative, "axis": 1}
    for statistic in STATISTICS:
        ours = sc.random.bootstrap(LINES, statistic, 300, rng=1, **options)
        assert ours.bootstrap_distribution.shape == (3, 300)
        theirs = stats.bootstrap(
            (LINES,), statistic, n_resamples=0, bootstrap_result=ours, **options
        )
        same_interval(ours, theirs)


def test_pairs_and_two_samples_have_scipys_interval() -> None:
    paired = sc.random.bootstrap((X[:45], Y), correlation, 400, paired=True, rng=2)
    same_interval(
        paired,
        stats.bootstrap(
            (X[:45], Y),
            correlation,
            paired=True,
            n_resamples=0,
            bootstrap_result=paired,
        ),
    )
    two = sc.random.bootstrap((X, Y), difference, 400, confidence_level=0.8, rng=2)
    same_interval(
        two,
        stats.bootstrap(
            (X, Y), difference, confidence_level=0.8, n_resamples=0, bootstrap_result=two
        ),
    )


@pytest.mark.parametrize("statistic", STATISTICS)
def test_the_distribution_is_scipys(statistic: Callable[..., Any]) -> None:
    ours = sc.random.bootstrap(X, statistic, 4000, method="basic", rng=11).bootstrap_distribution
    theirs = stats.bootstrap(
        (X,), statistic, n_resamples=4000, method="basic", rng=12
    ).bootstrap_distribution
    assert stats.ks_2samp(ours, theirs).pvalue > 1e-4


def test_a_resample_is_what_the_generator_draws() -> None:
    """Each index is the integer of its place: the mean of these is the distribution, bit by bit."""
    index = sc.random.default_rng(9).integers(0, len(X), size=(50, len(X))).compute()
    ours = sc.random.bootstrap(X, np.mean, 50, method="basic", rng=9).bootstrap_distribution
    assert ours.tolist() == [float(sum(map(Fraction, X[row].tolist())) / len(X)) for row in index]
    more = sc.random.bootstrap(X, np.mean, 80, method="basic", rng=9).bootstrap_distribution
    assert more[:50].tolist() == ours.tolist()


def test_an_earlier_distribution_is_added_to() -> None:
    first = sc.random.bootstrap(X, np.mean, 30, method="basic", rng=1)
    both = sc.random.bootstrap(X, np.mean, 20, method="basic", rng=2, bootstrap_result=first)
    assert both.bootstrap_distribution[:30].tolist() == first.bootstrap_distribution.tolist()
    assert len(both.bootstrap_distribution) == 50


def test_a_statistic_without_axis_is_called_for_each_resample() -> None:
    seen = []

    def mean(values: Any) -> float:
        seen.append(type(values))
        return float(np.mean(values))

    ours = sc.random.bootstrap(X, mean, 25, batch=4, method="basic", rng=3)
    whole = sc.random.bootstrap(X, np.mean, 25, method="basic", rng=3)
    np.testing.assert_allclose(ours.bootstrap_distribution, whole.bootstrap_distribution, 1e-13)
    assert seen == [np.ndarray] * 25


def test_resamples_are_not_stored() -> None:
    x = np.arange(100_000.0)
    found = sc.random.bootstrap(x, np.mean, 10**6, method="percentile", rng=1)
    assert repr(found) == "BootstrapResult(not computed yet)"
    plan = found.plan()
    assert plan.peak_bytes < 200e6  # of 8e11 bytes of indices
    assert "integers(0, 100000)" in str(plan)


PERMUTED = [
    ("independent", (X[:5], Y[:4]), difference),
    ("independent", (LINES[:, :3], LINES[:, 3:7]), difference),
    ("independent", (X[:3], Y[:3], X[9:11]), lambda x, y, z, axis: difference(x, z, axis)),
    ("samples", (X[:7], Y[:7]), difference),
    ("samples", (X[:7],), np.mean),
    ("samples", (X[:4], Y[:4], X[8:12]), lambda x, y, z, axis: difference(x, z, axis)),
    ("pairings", (X[:4], Y[:4]), correlation),
    ("pairings", (X[:5],), lambda x, axis: x[..., 0] - x[..., 1]),
]


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize(("kind", "samples", "statistic"), PERMUTED)
def test_all_permutations_are_scipys_in_its_order(
    kind: str, samples: Any, statistic: Any, alternative: str
) -> None:
    options: dict[str, Any] = {"permutation_type": kind, "alternative": alternative}
    options["axis"] = samples[0].ndim - 1
    ours = sc.random.permutation_test(samples, statistic, n_resamples=math.inf, **options)
    theirs = stats.permutation_test(samples, statistic, n_resamples=np.inf, **options)
    np.testing.assert_allclose(ours.null_distribution, theirs.null_distribution, 1e-12, 1e-14)
    np.testing.assert_allclose(ours.statistic, theirs.statistic, 1e-12)
    np.testing.assert_array_equal(ours.pvalue, theirs.pvalue)


@pytest.mark.parametrize(("kind", "samples", "statistic"), PERMUTED)
def test_drawn_permutations_are_among_all(kind: str, samples: Any, statistic: Any) -> None:
    options: dict[str, Any] = {"permutation_type": kind, "axis": samples[0].ndim - 1}
    every = sc.random.permutation_test(samples, statistic, n_resamples=math.inf, **options)
    drawn = sc.random.permutation_test(samples, statistic, n_resamples=20, rng=4, **options)
    known, some = every.null_distribution, drawn.null_distribution
    assert some.shape == (20, *known.shape[1:])
    near = np.abs(some[:, None] - known[None]) < 1e-12
    assert near.any(axis=1).all()
    assert len(np.unique(some.round(12), axis=0)) > 10


def test_drawn_permutations_are_distributed_as_scipys() -> None:
    for kind, samples in (("independent", (X, Y)), ("samples", (X[:45], Y))):
        options: dict[str, Any] = {"permutation_type": kind, "n_resamples": 3000}
        ours = sc.random.permutation_test(samples, difference, rng=1, **options)
        theirs = stats.permutation_test(samples, difference, rng=2, **options)
        assert stats.ks_2samp(ours.null_distribution, theirs.null_distribution).pvalue > 1e-4
        assert abs(ours.pvalue - theirs.pvalue) < 0.06


def test_a_table_of_permutations_is_refused_where_it_is_large() -> None:
    with pytest.raises(MemoryLimitError, match="a smaller n_resamples draws"):
        sc.random.permutation_test((X[:20], Y[:20]), difference, n_resamples=math.inf)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_the_jackknife_leaves_out_one_after_another(statistic: Callable[..., Any]) -> None:
    found = sc.random.jackknife(X, statistic)
    left = np.array([statistic(np.delete(X, k)) for k in range(len(X))])
    np.testing.assert_allclose(found.jackknife_distribution, left, 1e-12)
    n, observed = len(X), statistic(X)
    np.testing.assert_allclose(found.bias, (n - 1) * (left.mean() - observed), 1e-8, 1e-12)
    error = math.sqrt((n - 1) * left.var())
    np.testing.assert_allclose(found.standard_error, error, 1e-10)
    np.testing.assert_allclose(found.estimate, observed - found.bias, 1e-12)
    low, high = stats.norm.interval(0.95, found.estimate, error)
    np.testing.assert_allclose(found.confidence_interval, (low, high), 1e-10)


def test_the_jackknife_takes_the_bias_from_a_variance() -> None:
    found = sc.random.jackknife(LINES, np.var, axis=1)
    np.testing.assert_allclose(found.estimate, LINES.var(axis=1, ddof=1), 1e-11)


@pytest.mark.parametrize("shuffle", [False, True])
def test_each_observation_is_tested_once(shuffle: bool) -> None:
    folds = sc.random.cross_validation(23, 4, shuffle=shuffle, rng=8)
    tests = [test.compute() for _, test in folds]
    assert [len(test) for test in tests] == [6, 6, 6, 5]
    assert sorted(np.concatenate(tests).tolist()) == list(range(23))
    for (train, _), test in zip(folds, tests, strict=True):
        assert sorted([*train.tolist(), *test.tolist()]) == list(range(23))
    in_order = np.concatenate(tests).tolist() == list(range(23))
    assert in_order is not shuffle
    order = sc.random.default_rng(8).permutation(23).compute()
    assert not shuffle or np.concatenate(tests).tolist() == order.tolist()


def test_folds_of_many_observations_take_no_memory() -> None:
    train, test = sc.random.cross_validation(10**15, 10, rng=1)[3]
    assert train.shape == (9 * 10**14,)
    assert len(set(test[:: 10**13].tolist()) & set(train[:: 10**13].tolist())) == 0
