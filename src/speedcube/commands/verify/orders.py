"""Elements in their order and counted: ties, zeros of both signs, NaN, weights."""

from __future__ import annotations

from typing import Any, Final

from ...api.elementwise import rint, where
from ...api.order import (
    argsort,
    bincount,
    histogram,
    median,
    nanquantile,
    partition,
    quantile,
    searchsorted,
    sort,
    unique,
)
from ...api.scatter import csr_matvec, segment_min, segment_sum
from .sources import Make, rng, stored


def _ties() -> Any:
    """Few values, zeros of both signs and NaN among them."""
    x = rng().normal(size=(40, 60))
    return where(x > 1.5, float("nan"), rint(x))


def _added() -> Any:
    x = stored("float64", (50, 40))
    index = rng().integers(-50, 50, 3000)
    return x.at[index, index % 40].add(rng().normal(size=3000) ** 7)


def _sparse() -> Any:
    draws = rng()
    rows = [0, 100, 100, 1500, 2000]
    return csr_matvec(draws.normal(size=2000), draws.integers(0, 90, 2000), rows, draws.random(90))


ORDERS: Final[dict[str, Make]] = {
    "order-sort": lambda: sort(_ties(), axis=0),
    "order-argsort": lambda: argsort(_ties()),
    "order-sort-stored": lambda: sort(stored("float32", (50, 70)), axis=None),
    "order-median": lambda: median(rng().normal(size=400_000)),
    "order-quantiles": lambda: quantile(rng().normal(size=(60, 90)), [0.1, 0.75], axis=0),
    "order-nanquantile": lambda: nanquantile(_ties(), 0.3, axis=1, method="hazen"),
    "order-partition": lambda: partition(rng().integers(0, 50, 3000), 700),
    "order-searchsorted": lambda: searchsorted(sort(rng().random(300)), rng().random((30, 40))),
    "order-searchsorted-right": lambda: searchsorted(
        sort(rng().integers(0, 99, size=300)), rng().integers(0, 99, size=(30, 40)), "right"
    ),
    "order-unique": lambda: unique(_ties()),
    "order-histogram": lambda: histogram(rng().normal(size=50_000), 60, (-4, 4))[0],
    "order-weights": lambda: bincount(
        rng().integers(0, 300, 40_000), weights=rng().normal(size=40_000) ** 5
    ),
    "scatter-add": _added,
    "scatter-integers": lambda: segment_sum(
        rng().integers(-(2**63), 2**63, 5000), rng().integers(0, 70, 5000), 70
    ),
    "scatter-min": lambda: segment_min(_ties(), rng().integers(0, 6, 40), 7),
    "scatter-sparse": _sparse,
}
