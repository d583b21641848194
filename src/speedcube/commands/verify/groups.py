"""Results of groups: of keys that are found and known, rows and lines, NaN, ranks."""

from __future__ import annotations

from typing import Any, Final

from ...api.elementwise import rint, where
from ...api.grouping import groupby, groupby_reduce, mode, rank
from .sources import Make, rng, stored


def _keys(count: int, size: int) -> Any:
    return rng().integers(0, count, size)


def _holes() -> Any:
    """Ties and NaN."""
    x = rng().normal(size=(6, 500))
    return where(x > 1.5, float("nan"), rint(x * 4))


GROUPS: Final[dict[str, Make]] = {
    "group-sum": lambda: groupby(rng().normal(size=60_000) ** 7, _keys(300, 60_000)).sum(),
    "group-mean-rows": lambda: groupby(stored("float32", (50, 70)), _keys(7, 50), axis=0).mean(),
    "group-std": lambda: groupby(rng().normal(100, 1, size=30_000), _keys(99, 30_000)).std(ddof=1),
    "group-nanvar": lambda: groupby(_holes(), _keys(11, 500)).var(skipna=True),
    "group-argmin": lambda: groupby(_holes(), _keys(11, 500)).argmin(),
    "group-max-rows": lambda: groupby(stored("float32", (50, 70)), _keys(7, 50), axis=0).max(),
    "group-prod": lambda: groupby(rng().normal(size=9_000), _keys(5, 9_000)).prod(),
    "group-median": lambda: groupby(rng().normal(size=9_000), _keys(50, 9_000)).median(),
    "group-quantile": lambda: groupby(_holes(), _keys(11, 500)).quantile(0.3, skipna=True),
    "group-two-keys": lambda: groupby_reduce(
        rng().normal(size=8_000), _keys(4, 8_000), _keys(9, 8_000) % 5, func="mean",
        expected_groups=(range(4), [4, 2, 9]), fill_value=-1.0,
    )[0],
    "rank": lambda: rank(_holes(), axis=1),
    "mode": lambda: mode(_holes(), axis=1).mode,
}  # fmt: skip
