"""Operations on views that are read in order, as rows put together, are made where these lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine.ahead import values as ahead
from speedcube.expr.push import read_in_order, straightened

X = np.random.default_rng(3).normal(size=(40, 30))
Y = np.random.default_rng(4).normal(size=600)
Text = Callable[[Any], Any]
ONE_STAGE: dict[str, Text] = {
    "rows put together": lambda x: x[::2].ravel() + 1,
    "in another shape": lambda x: (x[::2].reshape(-1, 2) * 2.5 - 1) ** 2,
    "columns": lambda x: np.sqrt(abs(x[:, :20].reshape(4, -1))),
    "of a map": lambda x: (x[1:-1] + 0.5).ravel() * 3,
    "backwards": lambda x: x[:, ::-1].ravel() - x[0, 0],
    "a sum": lambda x: x[::2].ravel().sum(),
    "a spread": lambda x: (x[::2].ravel() * 2).std(),
    "the largest": lambda x: x.T.ravel().max(),
    "a mean of squares": lambda x: (x[:, 1:].ravel() ** 2).mean(),
    "of places": lambda x: x[::2].ravel() * np.arange(600),
    "beside another": lambda x: x[::2].ravel() * (sc.asarray(Y) if isinstance(x, sc.Array) else Y),
    "of two views": lambda x: x[::2].ravel() - x[1::2].ravel(),
}
AS_IT_WAS: dict[str, Text] = {
    "of two shapes": lambda x: x[::2].ravel() - x[:, :15].ravel(),
    "part of a view": lambda x: x[::2].ravel()[5:] + 1,
    "over an axis": lambda x: x[::2].reshape(-1, 4).sum(axis=1),
    "product": lambda x: x[::2].ravel().prod(),
    "where the largest is": lambda x: x[::2].ravel().argmax(),
    "with axes kept": lambda x: x[::2].ravel().sum(keepdims=True),
    "rolled": lambda x: np.roll(x.ravel(), 3) * x.T.ravel(),
    "at places": lambda x: x.T.ravel()[np.array([5, 3, 900])] + 1,
}


@pytest.mark.parametrize("name", ONE_STAGE)
def test_what_is_read_in_order_is_one_stage(name: str) -> None:
    array = ONE_STAGE[name](sc.asarray(X))
    assert str(array.plan(on="core")).count("stage ") == 1
    inner = read_in_order(array._expr)
    assert inner is not None
    assert straightened(array._expr).shape == array.shape
    assert name.startswith(("a ", "the ")) or inner.shape != array.shape


@pytest.mark.parametrize("name", AS_IT_WAS)
def test_others_are_left_as_they_are(name: str) -> None:
    root = AS_IT_WAS[name](sc.asarray(X))._expr
    assert read_in_order(root) is None
    assert straightened(root) is root


@pytest.mark.parametrize("rung", ["core", "cores:2"])
@pytest.mark.parametrize("name", [*ONE_STAGE, *AS_IT_WAS])
def test_both_ways_have_the_same_bits(
    name: str, rung: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = {**ONE_STAGE, **AS_IT_WAS}[name]
    ours = [np.asarray(text(sc.asarray(X)).compute(on=rung)) for _ in range(3)]
    monkeypatch.setattr(ahead, "read_in_order", lambda root: None)
    monkeypatch.setattr("speedcube.engine.foreign.planned.straightened", lambda root: root)
    monkeypatch.setattr("speedcube.engine.compute.SMALL", -1)
    other = np.asarray(text(sc.asarray(X + 0.0)).compute(on=rung))
    for one in ours:
        assert one.shape == text(X).shape
        assert_same_bits(one, other)
    np.testing.assert_allclose(ours[0], text(X), rtol=1e-12)


def test_pieces_in_another_shape_are_put_together_in_their_own() -> None:
    rolled = np.roll(sc.asarray(X), 7)
    inner = read_in_order(rolled._expr)
    assert inner is not None
    assert inner.shape == (1200,)
    assert read_in_order(inner) is None
    for rung in ("core", "cores:2"):
        assert_same_bits(rolled.compute(on=rung), np.roll(X, 7))


@pytest.mark.parametrize("rung", ["core", "cores:2"])
def test_complex_numbers_are_pairs_of_such(rung: str) -> None:
    z = X * (1 - 2j)
    for text in (
        lambda u: u[::2].ravel() + 1,
        lambda u: (u[::2].reshape(-1, 2) * 2j).sum(),
        lambda u: u.T.ravel().max(),
        lambda u: u[:, :7].ravel() - u[:, 7:14].ravel().conj(),
    ):
        lazy = text(sc.asarray(z))
        assert read_in_order(lazy._expr) is None
        assert lazy.plan(on=rung).stages
        for _ in range(3):
            np.testing.assert_allclose(lazy.compute(on=rung), text(z), rtol=1e-12)


def test_one_number_is_a_scalar() -> None:
    found = sc.asarray(X)[::2].ravel().sum().compute(on="core")
    assert type(found) is np.float64


def test_files_and_pieces_are_read_in_their_own_shape(tmp_path: Any) -> None:
    sc.save(tmp_path / "y.npy", Y)
    inner = sc.asarray(X)[::2].ravel()
    for other in (sc.open(tmp_path / "y.npy"), np.roll(sc.asarray(Y), 2)):
        array = inner * other
        assert read_in_order(array._expr) is None
        np.testing.assert_array_equal(array.compute(on="core"), X[::2].ravel() * np.asarray(other))
