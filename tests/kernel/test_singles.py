"""Sums of float32, of which tiles are tried in doubles: exact whatever their magnitudes are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import tiers
from speedcube.engine.known.text import source_of
from speedcube.expr.space import TILE
from speedcube.kernel.exact.integers import round_once
from speedcube.kernel.llvm import simd

SIZE: Final = 20_011
DRAW: Final = np.random.default_rng(9)
NORMALS: Final = DRAW.normal(size=SIZE).astype("float32")


def with_others(*others: float) -> Any:
    """Normals, some of which are ``others``."""
    data = NORMALS.copy()
    data[5000 : 5000 + 3001 * len(others) : 3001] = others
    return data


def in_one_lane(small: float) -> Any:
    """Large numbers that cancel, and between them one of which a bit would be lost beside them."""
    data = np.zeros(SIZE)
    data[0], data[1000] = 1.75, -1.75  # the first tile is added again: it has no unit yet
    tile = data[3 * TILE :]
    tile[: 15 * 32 : 32], tile[15 * 32], tile[16 * 32 : 31 * 32 : 32] = 1.75, small, -1.75
    return data


DATA: Final[dict[str, Any]] = {
    **{f"beside 2**-{k}": in_one_lane(2.0**-k - 2.0 ** (-k - 23)) for k in (22, 24, 26, 27, 28)},
    "normals": NORMALS,
    "zeros": np.where(np.arange(SIZE) % 3, np.float32(0), np.float32(-0.0)),
    "wide": NORMALS * 10.0 ** DRAW.integers(-30, 30, SIZE),
    "denormal": NORMALS * 1e-42,
    "a few small ones": with_others(1e-20, -1e-38, 1e-45),
    "what cancels": with_others(1e30, -1e30, 3e38, -3e38),
    "the largest": np.where(np.arange(SIZE) % 2, 3.4e38, -3.4e38),
}


@pytest.mark.parametrize("target", simd.runnable())
@pytest.mark.parametrize("name", DATA)
def test_sums_are_exact(name: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "FULL_PAYS", 0)
    data = DATA[name].astype("float32")
    exact = sum(map(Fraction, data.tolist()))
    wanted = round_once(exact.numerator, exact.denominator, "float32")
    x = sc.asarray(data)
    with simd.limited(target):
        for some in (x, x[::-1], sc.stack([x, x], axis=1)[:, 1]):
            assert some.sum().compute(on="core").view("uint32") == wanted
        assert (x.reshape(-1) * 1).sum().compute(on="cores:2").view("uint32") == wanted


@pytest.mark.parametrize("others", [(np.inf,), (-np.inf, 1e-30), (np.inf, -np.inf), (np.nan,)])
def test_what_is_no_number(others: tuple[float, ...]) -> None:
    data = with_others(*others)
    with np.errstate(invalid="ignore"):
        wanted = data.sum()
    assert np.array_equal(sc.asarray(data).sum().compute(on="core"), wanted, equal_nan=True)


def test_tiles_are_tried_in_doubles() -> None:
    """Ten million float32 took 2.6 ms, 1.6 so; float64 and squares are added as ever."""
    x = sc.asarray(NORMALS)
    assert "umin" in source_of(x.sum()._expr, "cpu")
    assert "umin" in source_of((x * 2 + 1).mean()._expr, "cpu")
    assert "umin" not in source_of(sc.asarray(NORMALS.astype("float64")).sum()._expr, "cpu")
    assert "umin" not in source_of(x.std()._expr, "cpu")
