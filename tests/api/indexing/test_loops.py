"""Loops that assign: what is computed on the way, and that the values are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.api.indexing.assigning import assignment
from speedcube.api.indexing.assigning.own_memory import own_memory
from speedcube.api.indexing.items import DEPTH, STEPS
from speedcube.expr.graph import below


def _recurrence(m: Any) -> Any:
    x = m.zeros(200)
    for k in range(1, 200):
        x[k] = 0.9 * x[k - 1] + k
    return x


def _rows(m: Any) -> Any:
    x, line = m.zeros((60, 7)), m.arange(7.0)
    for k in range(60):
        x[k] = line * k
        x[k, ::3] = -1
    return x


def _rows_of_rows(m: Any) -> Any:
    x = m.ones((50, 5))
    for k in range(1, 50):
        x[k] = x[k - 1] * 0.5 + x[k].sum()
    return x


def _sieve(m: Any) -> Any:
    prime = m.ones(500, dtype=bool)
    prime[:2] = False
    for k in range(2, 23):
        if prime[k]:
            prime[k * k :: k] = False
    return prime


def _kept(m: Any) -> Any:
    """What is made of the array on the way keeps what it had."""
    x = m.zeros(5)
    kept = []
    for k in range(50):
        kept.append(x[k % 5] + 1)
        x[(k + 1) % 5] = kept[-1] * 0.5
    return m.stack([*kept, *x])


LOOPS: dict[str, Callable[[Any], Any]] = {
    one.__name__: one for one in (_recurrence, _rows, _rows_of_rows, _sieve, _kept)
}


@pytest.mark.parametrize("name", LOOPS)
def test_values(name: str) -> None:
    wanted, found = LOOPS[name](np), LOOPS[name](sc)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-14)


@pytest.mark.parametrize("name", ["_recurrence", "_rows", "_rows_of_rows", "_sieve"])
def test_the_array_is_written_in_place(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes to memory once, and not after each so many assignments again."""
    moved = []
    whole = assignment._to_memory

    def counted(array: Any) -> None:
        moved.append(array._writes <= DEPTH)
        whole(array)

    monkeypatch.setattr(assignment, "_to_memory", counted)
    monkeypatch.setattr(assignment, "wrote_at_once", lambda *_: False)  # as of many elements
    array = LOOPS[name](sc)
    assert sum(moved) == 1
    assert own_memory(array) is not None


def test_little_is_computed_only_for_what_is_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def computed(*_: Any, **__: Any) -> Any:
        raise AssertionError("this was to stay lazy")

    monkeypatch.setattr(assignment, "numbers_of", computed)
    x = sc.zeros((DEPTH + 8, 3))
    for k in range(DEPTH - 1):
        x[k] = sc.arange(3) * k
    large = sc.zeros(1 << 18)
    for k in range(6):
        large[1:] = large[:-1] + k
    assert large[6].compute() == 15


def test_few_elements_are_computed_after_some_operations_in_place() -> None:
    given = np.arange(5.0)
    x, y = sc.asarray(given), given.copy()
    before = x * 2
    for k in range(40):
        x += given * k
        y += given * k
        assert len(below(x._expr)) <= 3 * STEPS
    assert x.tolist() == y.tolist()
    assert (given.tolist(), before.tolist()) == ([0, 1, 2, 3, 4], [0, 2, 4, 6, 8])


def test_many_elements_stay_lazy_in_place() -> None:
    x = sc.zeros(1 << 17)
    for _ in range(3 * STEPS):
        x += 1
    assert len(below(x._expr)) > 3 * STEPS
    assert x[5].compute() == 3 * STEPS


@pytest.mark.parametrize("step", [2, 3, 5, 6, 7, 11, 100])
@pytest.mark.parametrize("length", [1, 2, 30, 101])
def test_strided_places(step: int, length: int) -> None:
    theirs = np.arange(length * 4.0).reshape(length, 4)
    ours = sc.asarray(theirs.copy())
    for m, x in ((np, theirs), (sc, ours)):
        x[::step] = -1
        x[1::step] = m.arange(4.0)
        x[:, ::3] = 7
        x[::-step] = -x[::-step]
        x[::step, 1::2] = x[0, 1::2] + 1
        x[::step] = m.asarray(np.arange(4.0 * len(range(0, length, step))).reshape(-1, 4))
    np.testing.assert_array_equal(ours.compute(), theirs)
