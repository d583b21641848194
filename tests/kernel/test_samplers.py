"""Variates by attempts and by inversion: what they mean, their bits, their ends."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import speedcube as sc
from speedcube.commands.verify.draws import DRAWS
from speedcube.expr import samplers
from speedcube.expr.graph import below
from speedcube.expr.interpret import interpret
from speedcube.expr.nodes import Map
from speedcube.expr.push import in_place
from speedcube.kernel.lower import reference
from speedcube.kernel.math.samplers.rejection import DELTA_SERIES, DELTA_TABLE
from speedcube.ops import SAMPLERS

# Means so large that `math.lgamma`, and an exponential, leave whole numbers open: not compared.
LARGE: Final = 1e9
# Of 2**40 trials it leaves open, now and then, whether an attempt is accepted.
OPEN: Final = {"binomial-edges": 0.01}


def rng(seed: int = 5) -> sc.random.Generator:
    return sc.random.default_rng(seed)


@pytest.mark.parametrize("name", DRAWS)
def test_numpy_gives_the_same_numbers(name: str) -> None:
    """The interpreter's samplers are written from the formulas, not from the kernels."""
    array = DRAWS[name]()
    values = np.asarray(array.compute(on="core"))
    wanted = interpret(in_place(array._expr), reference.draw)  # of a large permutation a part
    assert values.dtype == wanted.dtype
    if values.dtype.kind == "f":
        # NumPy adds up float32 in float32.
        np.testing.assert_allclose(values, wanted, rtol=1e-12 if values.itemsize == 8 else 1e-4)
    else:
        compared = (wanted < LARGE) | name.startswith(("permut", "choice", "geometric"))
        assert (values != wanted)[compared].mean() <= OPEN.get(name, 0)


# Numbers at the ends of what an attempt may give: a draw in 20,000 or fewer, or refused by NumPy's
# int64.
ENDS: Final[dict[str, tuple[str, tuple[float, ...], float]]] = {
    "poisson-0": ("poisson", (10.0,), 0),
    "binomial-0": ("binomial", (1000, 0.01), 0),
    "hypergeometric-0": ("hypergeometric", (100, 900, 100), 0),
    "zipf-beyond-int64": ("zipf", (1.01,), 1),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_ends_of_a_range_are_drawn(name: str) -> None:
    method, parameters, end = ENDS[name]
    array = getattr(rng(), method)(*parameters, size=200_000)
    values, wanted = array.compute(on="core"), interpret(array._expr, reference.draw)
    assert (wanted == end).any()
    compared = wanted < LARGE
    np.testing.assert_array_equal(values[compared], wanted[compared])


def test_every_sampler_is_among_them() -> None:
    used = {node.op for make in DRAWS.values() for node in below(make()._expr)
            if isinstance(node, Map)}  # fmt: skip
    counted = {"binomial_counted", "binomial_tried", "log_binomial"}  # stages of the multinomial
    assert used | counted >= set(SAMPLERS) == set(samplers.MEANING)


# Numbers, arrays and lazy arrays as parameters: the same bits.
SAME: Final[dict[str, tuple[float, ...]]] = {
    "standard_gamma": (0.4,),
    "gamma": (2.5, 2.0),
    "beta": (2.0, 3.0),
    "chisquare": (3.0,),
    "f": (1.0, 5.0),
    "standard_t": (3.0,),
    "noncentral_chisquare": (0.5, 2.0),
    "noncentral_f": (3.0, 5.0, 1.0),
    "vonmises": (1.0, 2.0),
    "poisson": (30.0,),
    "binomial": (100, 0.8),
    "negative_binomial": (3.0, 0.3),
    "hypergeometric": (10, 20, 5),
    "zipf": (2.5,),
    "logseries": (0.7,),
}


@pytest.mark.parametrize("name", SAME)
def test_arrays_of_parameters_give_the_bits_of_numbers(name: str) -> None:
    def drawn(*parameters: Any) -> Any:
        return getattr(rng(), name)(*parameters, size=(301, 1)).compute(on="core")

    wanted = drawn(*SAME[name])
    arrays = [np.array([value]) for value in SAME[name]]
    assert drawn(*arrays).tobytes() == wanted.tobytes()
    assert drawn(*map(sc.asarray, arrays)).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", ["gamma", "poisson-many", "permutation", "zipf"])
def test_a_slice_has_the_numbers_of_its_places(name: str) -> None:
    whole = DRAWS[name]().compute(on="core")
    item = np.s_[::-3] if whole.ndim == 1 else np.s_[7::2, ::-1]
    assert DRAWS[name]()[item].compute(on="core").tobytes() == whole[item].tobytes()
    assert DRAWS[name]().compute(on="cores:2").tobytes() == whole.tobytes()


# What they rest on -------------------------------------------------------------------------------


def test_the_rest_of_a_factorial() -> None:
    """The table, and the series where it ends, against a hundred digits."""
    with mpmath.workdps(100):
        for k in (*range(40), 10**6):
            h = mpmath.mpf(k) + mpmath.mpf(1) / 2
            exact = mpmath.loggamma(k + 1) - (h * mpmath.log(h) - h + mpmath.log(2 * mpmath.pi) / 2)
            if k < len(DELTA_TABLE):
                assert float(exact) == DELTA_TABLE[k]
            else:
                series = sum(c / h ** (2 * i + 1) for i, c in enumerate(DELTA_SERIES))
                assert abs(series - exact) < 1e-16


@pytest.mark.parametrize(("n", "p"), [(25, 0.5), (1000, 0.01), (10**6, 0.3), (10**12, 1e-7)])
def test_log_binomial_differs_as_probabilities_do(n: int, p: float) -> None:
    mode = math.floor((n + 1) * p)
    spread = math.ceil(9 * math.sqrt(n * p * (1 - p)))
    ks = np.unique(np.clip(np.linspace(mode - spread, mode + spread, 41).round(), 0, n))
    given_ = ks, float(n), (n + 1.0) * p, (n + 1.0) * (1 - p)
    from_array = sc.random.draws.sampled("log_binomial", sc.asarray(ks), *given_[1:])
    values = from_array.compute(on="core")
    with mpmath.workdps(60):
        q = 1 - mpmath.mpf(p)

        def exact(k: float) -> Any:
            log = mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)
            return log + k * mpmath.log(p) + (n - k) * mpmath.log(q)

        wanted = [float(exact(k) - exact(ks[20])) for k in ks]
    np.testing.assert_allclose(values - values[20], wanted, atol=1e-9)


# Ends and edges ----------------------------------------------------------------------------------


def test_degenerate_parameters_give_what_numpy_gives() -> None:
    g = rng()
    size = 50
    assert (g.gamma(0.0, 3.0, size).compute() == 0).all()
    assert (g.gamma(2.0, 0.0, size).compute() == 0).all()
    assert (g.poisson(0.0, size).compute() == 0).all()
    assert (g.binomial(0, 0.5, size).compute() == 0).all()
    assert (g.binomial(9, 1.0, size).compute() == 9).all()
    assert (g.binomial(2**62, 1.0, size).compute() == 2**62).all()
    assert (g.negative_binomial(5, 1.0, size).compute() == 0).all()
    assert (g.hypergeometric(0, 5, 3, size).compute() == 0).all()
    assert (g.hypergeometric(5, 0, 3, size).compute() == 3).all()
    assert (g.hypergeometric(7, 9, 16, size).compute() == 7).all()
    assert (g.logseries(0.0, size).compute() == 1).all()
    assert (g.zipf(5000.0, size).compute() == 1).all()


def test_parameters_that_mean_nothing_do_not_hang() -> None:
    """Lazy arrays are not checked: attempts end all the same."""
    nothing = sc.asarray(np.array([np.nan, -1.0, np.inf, -np.inf]))
    for name in ("standard_gamma", "poisson", "zipf", "standard_t"):
        assert getattr(rng(), name)(nothing).compute(on="core").shape == (4,)
    assert rng().binomial(10, nothing).compute(on="core").shape == (4,)
    assert rng().vonmises(0.0, nothing).compute(on="core").shape == (4,)


def test_beta_of_tiny_shapes_stays_inside() -> None:
    values = rng().beta(1e-3, 2e-3, 20_000).compute()
    assert ((values >= 0) & (values <= 1)).all()
    assert abs(values.mean() - 1 / 3) < 0.02


def test_vonmises_of_any_kappa_has_its_circle() -> None:
    for kappa in (0.0, 1e-300, 1e-9, 0.5, 1e3, 1e12, 1e300):
        values = rng().vonmises(3.0, kappa, 4000).compute()
        assert (np.abs(values) <= np.pi).all()
        if kappa >= 1e12:
            assert np.abs(values - 3.0).max() < 10 / math.sqrt(kappa)


@pytest.mark.parametrize("lam", [1e9, 1e15, 9e18])
def test_poisson_of_large_means_is_normal(lam: float) -> None:
    values = rng().poisson(lam, 200_000).compute().astype(float)
    assert stats.kstest((values - lam) / math.sqrt(lam), "norm").pvalue > 1e-6


@given(
    good=st.integers(0, 60), bad=st.integers(0, 60), part=st.floats(0, 1), seed=st.integers(0, 99)
)
@settings(max_examples=40, deadline=None)
def test_hypergeometric_stays_possible(good: int, bad: int, part: float, seed: int) -> None:
    sample = int(part * (good + bad))
    values = rng(seed).hypergeometric(good, bad, sample, 400).compute(on="core")
    assert values.min() >= max(0, sample - bad)
    assert values.max() <= min(good, sample)


# Vectors -----------------------------------------------------------------------------------------


def test_counts_of_a_vector_add_up() -> None:
    counts = rng().multinomial([[7], [900]], [0.2, 0.0, 0.5, 0.3], (2, 500)).compute()
    assert counts.shape == (2, 500, 4)
    assert (counts.sum(axis=-1) == [[7], [900]]).all()
    assert (counts[..., 1] == 0).all()
    drawn = rng().multivariate_hypergeometric([5, 0, 9, 3], 11, (40, 30)).compute()
    assert (drawn.sum(axis=-1) == 11).all()
    assert (drawn <= [5, 0, 9, 3]).all()


def test_each_count_of_a_multinomial_is_binomial() -> None:
    chances = [0.1, 0.25, 0.65]
    counts = rng().multinomial(12, chances, 200_000).compute()
    for k, p in enumerate(chances):
        observed = np.bincount(counts[:, k], minlength=13)
        expected = stats.binom(12, p).pmf(np.arange(13)) * len(counts)
        keep = expected > 10
        cells = (np.append(x[keep], x[~keep].sum()) for x in (observed, expected))
        assert stats.chisquare(*cells).pvalue > 1e-6


def test_dirichlet_lies_on_the_simplex() -> None:
    alpha = np.array([0.02, 1.0, 7.0])
    values = rng().dirichlet(alpha, 100_000).compute()
    assert np.abs(values.sum(axis=-1) - 1).max() < 1e-15
    first = stats.beta(alpha[2], alpha[0] + alpha[1])
    assert stats.kstest(values[:, 2], first.cdf).pvalue > 1e-6


@pytest.mark.parametrize("k", [1, 3, 20])
def test_normals_have_the_covariance(k: int) -> None:
    a = np.random.default_rng(k).normal(size=(k, k))
    cov, mean = a @ a.T, np.arange(k) * 1.0
    values = rng().multivariate_normal(mean, cov, 20_000).compute()
    assert values.shape == (20_000, k)
    white = np.linalg.solve(np.linalg.cholesky(cov), (values - mean).T)
    assert np.abs(np.atleast_2d(np.cov(white)) - np.eye(k)).max() < 0.06
    assert stats.kstest(white.ravel()[:100_000], "norm").pvalue > 1e-6


def test_a_singular_covariance_is_kept() -> None:
    values = rng().multivariate_normal([1.0, 2.0], [[4.0, 2.0], [2.0, 1.0]], 1000).compute()
    np.testing.assert_allclose(values[:, 0] - 1, 2 * (values[:, 1] - 2), atol=1e-12)


def test_a_covariance_that_is_none_is_told() -> None:
    bad = [[1.0, 2.0], [2.0, 1.0]]
    words = "covariance is not symmetric positive-semidefinite"
    with pytest.warns(RuntimeWarning, match=words):
        rng().multivariate_normal([0, 0], bad)
    with pytest.raises(ValueError, match=words):
        rng().multivariate_normal([0, 0], bad, check_valid="raise")
    rng().multivariate_normal([0, 0], bad, check_valid="ignore")


# Constants are folded ----------------------------------------------------------------------------


def test_what_constants_go_into_is_computed_once() -> None:
    array = sc.arange(9.0) * sc.log(sc.full((), 10.0)) + sc.exp(sc.full((9,), 2.0))
    text = array.source("ir")
    assert "table" not in text
    assert text.count("param") == 4  # two of them the start and the step of arange
    assert array.compute(on="core")[1] == np.log(10.0) + np.exp(2.0)
    assert Fraction(float(array.compute(on="core")[0])) == Fraction(math.exp(2.0))
