"""Draws of every distribution to verify: parameters as numbers and arrays, at and beside edges."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

from ...api.array import Array
from ...api.namespace.ranges import arange
from ...api.reductions import mean
from ...api.take import take, take_along_axis
from ...random import (
    bootstrap,
    cross_validation,
    default_rng,
    inverse_permutation,
    jackknife,
    permutation_test,
)
from . import data
from .sources import Make

# Name, method, and its parameters; those in a list are drawn beside each other.
_ROWS: Final[tuple[tuple[str, str, tuple[Any, ...]], ...]] = (
    ("gamma", "gamma", (2.5, 3.0)),
    ("gamma-edges", "standard_gamma", ([0.0, 1e-3, 0.3, 1.0, 40.0, 1e12],)),
    ("gamma32", "standard_gamma", (0.7,)),
    ("beta", "beta", (2.0, 3.0)),
    ("beta-edges", "beta", ([0.01, 0.5, 2.0, 1e6], [0.02, 7.0, 1.0, 3e5])),
    ("f", "f", ([3.0, 0.4, 1e5], [4.0, 0.7, 8.0])),
    ("standard-t", "standard_t", ([0.5, 5.0, 1e7],)),
    ("noncentral-chisquare", "noncentral_chisquare", ([0.5, 1.0, 3.0], [1.0, 0.0, 200.0])),
    ("noncentral-f", "noncentral_f", (3.0, 20.0, 2.0)),
    ("vonmises", "vonmises", ([0.0, 1.0, 3.0, -2.0], [0.0, 1e-6, 2.0, 1e9])),
    ("wald", "wald", ([0.1, 3.0], [2.0, 0.5])),
    ("poisson-few", "poisson", (4.0,)),
    ("poisson-many", "poisson", (100.0,)),
    ("poisson-edges", "poisson", ([0.0, 1e-9, 9.99, 10.0, 1e5, 9e18],)),
    ("binomial-few", "binomial", (20, 0.3)),
    ("binomial-many", "binomial", (1000, 0.7)),
    (
        "binomial-edges",
        "binomial",
        ([0, 1, 100, 20, 2**62, 2**40], [0.5, 1.0, 0.1, 0.5, 0.3, 1e-9]),
    ),
    ("negative-binomial", "negative_binomial", ([3.5, 0.2, 800.0], [0.2, 0.9, 1.0])),
    ("geometric", "geometric", ([1.0, 0.3, 1e-12],)),
    ("hypergeometric-few", "hypergeometric", (15, 8, 9)),
    ("hypergeometric-many", "hypergeometric", (200, 300, 150)),
    (
        "hypergeometric-edges",
        "hypergeometric",
        ([0, 5, 400, 100, 10**8], [0, 3, 100, 900, 3 * 10**8], [0, 8, 450, 99, 10**7]),
    ),
    ("zipf", "zipf", ([1.0001, 2.5, 30.0, 2000.0],)),
    ("logseries", "logseries", ([0.0, 0.1, 0.999999],)),
)


def _row(method: str, parameters: tuple[Any, ...]) -> Array:
    arguments = [np.array(p) if isinstance(p, list) else p for p in parameters]
    beside = max((len(p) for p in parameters if isinstance(p, list)), default=0)
    size = (300, beside) if beside else 1500
    draws: Array = getattr(default_rng(2026), method)(*arguments, size=size)
    return draws


def _stored(dtype: str, shape: tuple[int, ...]) -> Any:
    return data.moderate(dtype, int(np.prod(shape)), 0).reshape(shape)


def _covariance() -> Any:
    return np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.3], [0.1, 0.3, 0.7]])


def _shuffled() -> Array:
    x = default_rng(2026).normal(size=(40, 30))
    default_rng(9).shuffle(x, axis=1)
    return x


_FAR: Final = slice(12345, None, 2**50)

VECTORS: Final[dict[str, Make]] = {
    "dirichlet": lambda: default_rng(2026).dirichlet([0.01, 1.0, 7.0], 300),
    "multinomial": lambda: default_rng(2026).multinomial([5, 900], [0.2, 0.0, 0.7, 0.1], (200, 2)),
    "multivariate-hypergeometric": lambda: default_rng(2026).multivariate_hypergeometric(
        [16, 0, 800], 90, 300
    ),
    "multivariate-normal": lambda: default_rng(2026).multivariate_normal(
        [1.0, 2.0, 3.0], _covariance(), 400
    ),
}

ORDERS: Final[dict[str, Make]] = {
    "permutation": lambda: default_rng(2026).permutation(2000),
    "permutation-inverse": lambda: inverse_permutation(default_rng(2026).permutation(2000)),
    "permutation-2**60": lambda: default_rng(2026).permutation(2**60)[_FAR],
    "permutation-rows": lambda: default_rng(2026).permutation(_stored("float32", (300, 7))),
    "permuted-rows": lambda: default_rng(2026).permuted(_stored("int16", (200, 6)), axis=1),
    "permuted-all": lambda: default_rng(2026).permuted(_stored("float64", (20, 60))),
    "shuffled-normals": _shuffled,
    "choice-apart": lambda: default_rng(2026).choice(10**9, 1500, replace=False),
    "choice-weighted": lambda: default_rng(2026).choice(
        _stored("float64", (5,)), (300, 4), p=[0.1, 0.0, 0.4, 0.3, 0.2]
    ),
    "take-normals": lambda: take(
        default_rng(2026).normal(size=(9, 1000), dtype="float32"), arange(1500) * 7 % 1000, 1
    ),
    "take-float16": lambda: take(_stored("float16", (50, 3))[::-1], arange(90) % 50, 0),
    "take-bool": lambda: take(_stored("bool", (64,)), arange(900) * 11 % 64),
    "take-sums": lambda: take(
        default_rng(2026).random((50, 40)).sum(axis=1), (arange(300) * 3) % 50
    ),
    "take-along": lambda: take_along_axis(
        _stored("int64", (30, 40)), (arange(30 * 9).reshape(30, 9) * 7) % 40, 1
    ),
}


def _resamples() -> Any:
    return bootstrap(_stored("float64", (3, 90)), mean, 70, axis=1, rng=2026).lazy


def _in_other_places(kind: str) -> Array:
    def statistic(x: Any, y: Any, axis: int) -> Any:
        return mean(x * y, axis=axis) - mean(y, axis=axis)

    samples = _stored("float32", (2, 60))
    return permutation_test(
        list(samples), statistic, permutation_type=kind, n_resamples=80, rng=2026
    ).lazy


RESAMPLED: Final[dict[str, Make]] = {
    "bootstrap": _resamples,
    "jackknife": lambda: jackknife(_stored("float64", (70,)), mean).lazy,
    "permuted-independent": lambda: _in_other_places("independent"),
    "permuted-samples": lambda: _in_other_places("samples"),
    "permuted-pairings": lambda: _in_other_places("pairings"),
    "cross-validation": lambda: cross_validation(2000, 3, rng=2026)[1][0],
}

DRAWS: Final[dict[str, Make]] = {
    **{name: partial(_row, method, parameters) for name, method, parameters in _ROWS},
    **VECTORS,
    **ORDERS,
    **RESAMPLED,
}
