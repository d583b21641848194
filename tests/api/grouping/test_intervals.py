"""Bins and intervals as labels, beside flox."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc

flox = pytest.importorskip("flox")
pd = pytest.importorskip("pandas")

SIZE: Final = 500
_RNG = np.random.default_rng(4)
_X = _RNG.normal(size=SIZE)
_KEYS = np.where(_RNG.random(SIZE) < 0.1, np.nan, np.round(_RNG.normal(size=SIZE), 1))
_EDGES = np.array([-1.0, -0.5, 0.0, 0.7, 2.0])

INTERVALS: Final[dict[str, Any]] = {
    **{closed: pd.IntervalIndex.from_breaks(_EDGES, closed=closed) for closed in ("left", "right")},
    "whole numbers": pd.IntervalIndex.from_breaks([-2, 0, 2]),
}


@pytest.mark.parametrize("name", INTERVALS)
def test_intervals_are_floxs(name: str) -> None:
    index = INTERVALS[name]
    for func in ("count", "max", "nanmean"):
        given: dict[str, Any] = {"func": func, "expected_groups": index, "isbin": True}
        wanted, theirs = flox.groupby_reduce(_X, _KEYS, **given)
        found, labels = sc.groupby_reduce(_X, _KEYS, **given)
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-14)
        assert labels.tolist() == theirs.tolist()
    found, _ = sc.groupby_reduce(_X, sc.asarray(_KEYS) + 0, func="count", expected_groups=index)
    assert found.tolist() == flox.groupby_reduce(_X, _KEYS, **given | {"func": "count"})[0].tolist()


def test_what_lies_between_intervals_is_in_none() -> None:
    """(flox takes intervals for adjacent ones.)"""
    index = pd.IntervalIndex.from_tuples([(0.9, 1.1), (-1, -0.5), (0, 0.7)])
    found, _ = sc.groupby_reduce(_X, _KEYS, func="count", expected_groups=index)
    codes = index.get_indexer(_KEYS)
    assert found.tolist() == [int((codes == k).sum()) for k in range(3)]


def test_edges_are_bins_that_hold_the_upper_one() -> None:
    wanted, theirs = flox.groupby_reduce(
        _X, _KEYS, func="sum", expected_groups=_EDGES, isbin=True, fill_value=0
    )
    found, labels = sc.groupby_reduce(_X, _KEYS, func="sum", expected_groups=_EDGES, isbin=True)
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-13)
    assert labels.tolist() == [(one.left, one.right) for one in theirs]
    found, labels = sc.groupby_reduce(_X, _KEYS > 0, func="count", isbin=True)
    assert labels.tolist() == [False, True]  # without labels there are no bins


def test_bins_beside_other_keys() -> None:
    others = _RNG.integers(0, 3, SIZE)
    given: dict[str, Any] = {
        "func": "count",
        "expected_groups": (INTERVALS["left"], np.arange(3)),
        "isbin": (True, False),
    }
    wanted = flox.groupby_reduce(_X, _KEYS, others, **given)[0]
    assert sc.groupby_reduce(_X, _KEYS, others, **given)[0].tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"expected_groups": [2.0, 1.0], "isbin": True}, ValueError, "increase monotonically"),
        ({"expected_groups": [1.0, np.nan], "isbin": True}, ValueError, "increase monotonically"),
        ({"expected_groups": [2.0], "isbin": True}, ValueError, "two edges or more"),
        ({"expected_groups": 3, "isbin": True}, ValueError, "two edges or more"),
        ({"expected_groups": [0, 1], "isbin": (True, False)}, ValueError, "isbin has 2 values"),
        (
            {"expected_groups": pd.IntervalIndex.from_tuples([(0, 2), (1, 3)])},
            ValueError,
            "intervals overlap",
        ),
        (
            {"expected_groups": pd.IntervalIndex.from_breaks([0, 1, 2], closed="both")},
            ValueError,
            "intervals overlap",
        ),
    ],
)
def test_bins_that_are_none(options: dict[str, Any], error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        sc.groupby_reduce(_X, _KEYS, func="sum", **options)
