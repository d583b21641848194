"""Groups and scattered values on workers that share no memory: one worker's bits, and plans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.plan import shares

from .test_shares import WORKERS, _planned, _same_bits

SIZE: Final = 6_001
FUNCS: Final = ("sum", "mean", "var", "std", "min", "max", "argmin", "argmax", "first", "last")
_RNG = np.random.default_rng(9)
_KEYS = _RNG.integers(0, 40, SIZE)
_X = _RNG.normal(size=SIZE)
_SPECIAL = np.where(_RNG.random(SIZE) < 0.01, np.nan, _X)
_SPECIAL[:50] = np.repeat([np.inf, -np.inf, -0.0, 0.0, 1e308], 10)

LINES: Final[dict[str, Any]] = {
    "normals": _X,
    "all sizes": _X * 10.0 ** _RNG.integers(-300, 300, SIZE),
    "special": _SPECIAL,
    "equal": np.full(SIZE, 0.1),
    "ties": np.where(_KEYS % 2, 1.0, 2.0**-53) * _RNG.choice([-1, 1], SIZE),
    "float32": _X.astype(np.float32),
    "small integers": _RNG.integers(-9, 9, SIZE).astype(np.int16),
    "large integers": _RNG.integers(-(2**63), 2**63 - 1, SIZE),
    "bools": _X > 1,
}


@pytest.fixture(autouse=True)
def few_elements_are_worth_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "LEAST", 1 << 10)


def _join(made: Any) -> list[str]:
    return [s.join for s in _planned(made).stages if isinstance(s.source, shares.Through)]


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("skip", [False, True])
def test_one_line(name: str, skip: bool) -> None:
    groups = sc.groupby(sc.asarray(LINES[name]), _KEYS, expected_groups=np.arange(42))
    for func in FUNCS:
        made = getattr(groups, func)(skipna=skip)
        assert "rounds" in _join(made), func
        _same_bits(made)
    for made in (groups.count(), groups.any(), groups.all()):
        _same_bits(made)


@pytest.mark.parametrize("func", [*FUNCS, "prod", "median"])
def test_rows_and_lines_are_dealt_out(func: str) -> None:
    rows = sc.asarray(_X[:6000].reshape(60, 100))
    lines = sc.asarray(_X[:6000].reshape(20, 300))
    drawn = sc.random.default_rng(2).normal(size=(20, 300))
    for x, keys, axis in (
        (rows, np.arange(60) % 7, 0),
        (lines, np.arange(300) % 7, 1),
        (drawn, np.arange(300) % 7, 1),
    ):
        made = getattr(sc.groupby(x, keys, axis=axis), func)()
        assert "concatenate" in _join(made)
        _same_bits(made)


def test_two_lines_are_shares_too() -> None:
    x = sc.asarray(_SPECIAL[:6000].reshape(2, 3000))
    for func in FUNCS:
        made = getattr(sc.groupby(x, _KEYS[:3000], axis=1), func)()
        assert "rounds" in _join(made)
        _same_bits(made)


SCATTERED: Final[dict[str, Callable[[], Any]]] = {
    "integers": lambda: sc.zeros(50, dtype="int64").at[sc.asarray(_KEYS)].add(_KEYS * 2**60),
    "floats": lambda: sc.zeros(50).at[sc.asarray(_KEYS)].add(LINES["all sizes"]),
    "least": lambda: sc.segment_min(sc.asarray(_SPECIAL), _KEYS, 50),
    "greatest": lambda: sc.segment_max(LINES["small integers"], sc.asarray(_KEYS), 50),
    "counts of groups": lambda: sc.groupby(sc.asarray(LINES["small integers"]), _KEYS).count(),
}


@pytest.mark.parametrize("name", SCATTERED)
def test_scattered(name: str) -> None:
    made = SCATTERED[name]()
    assert _join(made) == ["rounds"]
    assert f"{WORKERS} parts, rounds" in repr(_planned(made))
    _same_bits(made)


def test_ranks_and_modes_of_lines_are_dealt_out() -> None:
    lines = sc.asarray(_RNG.integers(0, 5, (30, 200)).astype(float))
    for made in (sc.rank(lines, axis=1), sc.rank(lines, axis=0), sc.mode(lines, axis=1).mode):
        assert "concatenate" in _join(made)
        _same_bits(made)
