"""Everything that orders, counts, groups, scatters and resamples: the bits of one core everywhere.

One core, two threads, and a cluster of two processes that share every line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.ordering import elements
from speedcube.plan import shares

SIZE: Final = 30_011  # elements: a prime number
RNG: Final = np.random.default_rng(23)
X: Final = np.where(RNG.random(SIZE) < 0.01, -0.0, np.round(RNG.normal(0, 1e3, SIZE), 1))
HOLES: Final = np.where(RNG.random(SIZE) < 0.1, np.nan, X)
KEYS: Final = RNG.integers(0, 40, SIZE)
FEW: Final = RNG.normal(size=50)
WIDE: Final = X[:30_000].reshape(100, 300)
GROUPS: Final = ("sum", "mean", "var", "std", "min", "max", "argmin", "argmax", "count", "first",
                 "last", "median", "prod", "any", "all")  # fmt: skip


def _drawn() -> Any:
    return sc.random.default_rng(3).normal(size=SIZE)


def _added(ufunc: Any) -> Any:
    sums = sc.zeros(40)
    ufunc.at(sums, KEYS, X)
    return sums


def _put() -> Any:
    made = sc.asarray(WIDE) + 0
    sc.put_along_axis(made, sc.argsort(sc.asarray(WIDE), axis=1), sc.asarray(WIDE), 1)
    return made


def _mean(x: Any, axis: Any = -1) -> Any:
    return np.mean(x, axis=axis)


def _difference(x: Any, y: Any, axis: Any = -1) -> Any:
    return np.mean(x, axis=axis) - np.mean(y, axis=axis)


def _folds() -> Any:
    return [one for pair in sc.random.cross_validation(_drawn(), 3, rng=2) for one in pair]


PROGRAMS: Final[dict[str, Callable[[], Any]]] = {
    "median": lambda: sc.median(_drawn()),
    "three quantiles": lambda: sc.quantile(X, [0.1, 0.5, 0.9]),
    "percentile of columns": lambda: sc.percentile(WIDE, 30, axis=0, method="hazen"),
    "nanmedian": lambda: sc.nanmedian(HOLES),
    "nanquantile": lambda: sc.nanquantile(HOLES, [0.2, 0.3], method="weibull"),
    "weighted quantile": lambda: sc.quantile(X, 0.3, weights=KEYS / 7, method="inverted_cdf"),
    "partition": lambda: sc.partition(X, 77),
    "argpartition": lambda: sc.argpartition(X, 77),
    "topk": lambda: sc.topk(HOLES, 5),
    "argtopk": lambda: sc.argtopk(X, -5),
    "sort": lambda: sc.sort(HOLES),
    "sort of columns": lambda: sc.sort(WIDE, axis=0),
    "argsort": lambda: sc.argsort(_drawn()),
    "lexsort": lambda: sc.lexsort((X, KEYS)),
    "unique": lambda: sc.unique(X, return_index=True, return_inverse=True, return_counts=True),
    "unique_counts": lambda: tuple(sc.unique_counts(sc.asarray(KEYS))),
    "sets": lambda: (sc.union1d(X, FEW), sc.intersect1d(X, X[:99]), sc.setdiff1d(X, X[:99])),
    "isin": lambda: sc.isin(X, X[:99]),
    "searchsorted": lambda: sc.searchsorted(np.sort(FEW), _drawn(), side="right"),
    "digitize": lambda: sc.digitize(X, np.sort(FEW)[::-1] * 1e3),
    "rank": lambda: sc.rank(HOLES),
    "mode": lambda: tuple(sc.mode(X)),
    "value_counts": lambda: sc.value_counts(KEYS),
    "histogram": lambda: sc.histogram(_drawn(), 50, (-3, 3)),
    "histogram, a rule": lambda: sc.histogram(X, "fd", density=True),
    "histogram, weights": lambda: sc.histogram(X, [-1e3, 5, 7, 2e3], weights=X * 1e30),
    "histogram2d": lambda: sc.histogram2d(X, HOLES, 5, ((-9, 9), (-99, 99)))[0],
    "histogramdd": lambda: sc.histogramdd((X, KEYS), 4)[0],
    "bincount": lambda: sc.bincount(KEYS),
    "bincount, weights": lambda: sc.bincount(KEYS, X * 10.0 ** (KEYS - 20)),
    "count_nonzero": lambda: sc.count_nonzero(X),
    "add.at": lambda: _added(np.add),
    "maximum.at": lambda: _added(np.maximum),
    "x.at": lambda: sc.asarray(X).at[KEYS].add(X),
    "segment_sum": lambda: sc.segment_sum(_drawn(), KEYS),
    "segment_min": lambda: sc.segment_min(X, KEYS),
    "put_along_axis": _put,
    "csr_matvec": lambda: sc.csr_matvec(X, KEYS, [0, 5, 5, 20_000, SIZE], FEW),
    **{f"group {name}": lambda name=name: getattr(sc.groupby(X, KEYS), name)() for name in GROUPS},
    "group quantile": lambda: sc.groupby(X, KEYS).quantile([0.1, 0.6]),
    "groups of rows": lambda: sc.groupby(WIDE, KEYS[:300], KEYS[:300] > 9).std(),
    "groupby_reduce": lambda: sc.groupby_reduce(HOLES, KEYS, func="nanmean"),
    "bootstrap": lambda: (
        sc.random.bootstrap(X[:500], _mean, 40, method="basic", rng=4).bootstrap_distribution
    ),
    "permutation_test": lambda: (
        sc.random.permutation_test(
            (FEW, FEW + 1), _difference, n_resamples=40, rng=4
        ).null_distribution
    ),
    "jackknife": lambda: sc.random.jackknife(FEW, _mean).jackknife_distribution,
    "cross_validation": _folds,
}


def _bits(program: Callable[[], Any], on: Any) -> list[Any]:
    with sc.on(on):
        made = program()
        many = made if isinstance(made, (tuple, list)) else (made,)
        found = [np.asarray(one) for one in many]
    return [(one.dtype, one.shape, one.tobytes()) for one in found]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.cluster
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_rung_has_the_bits_of_a_core(
    name: str, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = _bits(PROGRAMS[name], "core")
    monkeypatch.setattr(elements, "_SHARE", 1 << 10)  # few elements are worth a thread
    assert _bits(PROGRAMS[name], "cores") == wanted
    monkeypatch.setattr(shares, "LEAST", 1 << 10)  # few elements are worth a worker
    assert _bits(PROGRAMS[name], client) == wanted
