"""Few elements that lie in memory: what is asked of them is read there, and built of few nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import compute as engine
from speedcube.expr import gather

_RNG = np.random.default_rng(11)
_X = _RNG.normal(size=700)
_I = _RNG.integers(0, 700, 900)


def _refused(*_: Any, **__: Any) -> Any:
    raise AssertionError("nothing is computed")


def test_an_index_in_memory_is_looked_at_where_it_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    x, index = sc.asarray(_X), sc.asarray(_I)
    with monkeypatch.context() as without:
        without.setattr(engine, "compute_all", _refused)
        without.setattr(engine, "compute", _refused)
        taken, counts = x[index], sc.bincount(index)
        with pytest.raises(IndexError, match="index 700 is out of bounds for axis 0 with size 700"):
            x[sc.asarray(np.array([3, 700]))]
        with pytest.raises(ValueError, match="no negative elements: there is -2"):
            sc.bincount(sc.asarray(np.array([3, -2])))
    assert np.asarray(taken).tobytes() == _X[_I].tobytes()
    assert counts.tolist() == np.bincount(_I).tolist()


def test_an_index_in_memory_is_not_copied_when_something_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gather, "_at_hand", _refused)
    x, table = sc.asarray(_X), sc.asarray(_X.reshape(70, 10))
    for given, held in ((x, _X), (x[::-2], _X[::-2]), (table, _X.reshape(70, 10))):
        index = _I % len(held)
        taken = sc.take(given, sc.asarray(index), axis=0)
        assert np.asarray(taken).tobytes() == held.take(index, axis=0).tobytes()
