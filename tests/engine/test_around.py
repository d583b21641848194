"""Few operations around routines: the libraries first, and one kernel of what is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.ahead import around
from speedcube.engine.ahead import worth as ahead
from speedcube.engine.ahead.around import over_arrays
from speedcube.engine.routines import direct
from speedcube.expr.nodes import Leaf, Stored, Through

RNG = np.random.default_rng(3)
A, B = RNG.normal(size=(8, 8)) + 8 * np.eye(8), RNG.normal(size=(8, 5))
V, C = RNG.normal(size=8), RNG.normal(size=(8, 8)) + 1j * RNG.normal(size=(8, 8))

PROGRAMS: dict[str, Callable[[Any, Any, Any, Any, Any], Any]] = {
    "around a product": lambda m, a, b, v, c: (a @ b + 1) * 2,
    "a step downhill": lambda m, a, b, v, c: v - 0.1 * (a.T @ (a @ v - 1)),
    "of what is computed": lambda m, a, b, v, c: m.exp(a / 9) @ (b * 2) - 1,
    "of columns": lambda m, a, b, v, c: (a @ b)[:, 1] + v,
    "twice the same": lambda m, a, b, v, c: (lambda p: p * p + p)(a @ v),
    "a square of a distance": lambda m, a, b, v, c: ((a @ v - v) ** 2).sum(),
    "the greatest": lambda m, a, b, v, c: abs(a @ b).max(axis=1),
    "a solution": lambda m, a, b, v, c: m.linalg.solve(a, v) + v,
    "a spectrum": lambda m, a, b, v, c: abs(m.fft.rfft(v)),
    "of complex numbers": lambda m, a, b, v, c: abs(c @ c) + 1,
    "of rows for columns": lambda m, a, b, v, c: (c.T @ c.conj()).real,
    "of columns for rows": lambda m, a, b, v, c: (a.T + 1) @ b,
    "of integers": lambda m, a, b, v, c: (a * 4).astype("int32") @ (b * 4).astype("int32") + 1,
    "of float32": lambda m, a, b, v, c: a.astype("float32") @ b.astype("float32") * 2,
    "a filter": lambda m, a, b, v, c: m.fft.irfft(m.fft.rfft(v) * (m.arange(5) < 3)),
    "of sums and more": lambda m, a, b, v, c: m.linalg.inv(a + 1),
    "a comparison": lambda m, a, b, v, c: a @ v > 0,
}


def _not_asked(one: Any) -> Any:
    raise AssertionError(one)


def _ours(name: str) -> Any:
    return PROGRAMS[name](sc, *map(sc.asarray, (A, B, V, C)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_the_steps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    want = PROGRAMS[name](np, A, B, V, C)
    made = _ours(name).compute(on="core")
    assert (np.shape(made), made.dtype) == (np.shape(want), want.dtype)
    np.testing.assert_allclose(made, want, rtol=1e-5 if made.dtype == "float32" else 1e-12)
    monkeypatch.setattr(ahead, "NODES", 0)  # without
    np.testing.assert_array_equal(_ours(name).compute(on="core"), made)


@pytest.mark.parametrize("name", PROGRAMS)
def test_arrays_take_the_place_of_routines(name: str) -> None:
    root = _ours(name)._expr
    found = over_arrays(root, 1, lambda one: sc.api.array.Array(one).compute(on="core"))
    assert found is not None
    sources = [node.source for node in sc.expr.graph.below(found) if type(node) is Leaf]
    assert not any(isinstance(source, Through) for source in sources)
    assert any(isinstance(source, Stored) for source in sources)


def test_each_routine_is_called_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    run = around.quick.run
    monkeypatch.setattr(
        around.quick,
        "run",
        lambda call, threads: calls.append(call.source.op) or run(call, threads),
    )
    p = sc.asarray(A) @ sc.asarray(V)
    (p * p + p).compute(on="core")
    assert calls == ["matmul"]


def test_what_is_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(around.quick, "run", _not_asked)
    a, v, large = sc.asarray(A), sc.asarray(V), sc.asarray(RNG.normal(size=(300, 300)))
    small = sc.random.default_rng(1).normal(size=8)
    values, _ = sc.linalg.eigh(a)
    long = v
    for _ in range(20):
        long = a @ long * 0.1
    for left in (v + 1, v * 2, large @ large + 1, a @ v + small, values + 1, long, sc.arange(3)):
        assert over_arrays(left._expr, 1, lambda one: None) is None
    assert over_arrays((a @ v + values)._expr, 1, _not_asked) is None  # nor is one called
    assert over_arrays((a @ v * 0.5).prod()._expr, 1, _not_asked) is None
    slow = sc.linalg.inv(sc.asarray(np.eye(150))) + 1  # a loop that asks for it again keeps it
    assert over_arrays(slow._expr, 1, lambda one: None) is None


def test_errors_are_those_of_the_routine() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        (sc.linalg.inv(sc.zeros((3, 3))) + 1).compute(on="core")
    with (
        sc.on("core", strict=True),
        pytest.raises(sc.errors.SpeedcubeError, match="this block is strict"),
    ):
        (sc.asarray(A) @ sc.asarray(V) + 1).compute()


def test_what_is_written_later_is_seen() -> None:
    data = V.copy()
    x = sc.asarray(A) @ sc.asarray(data) + 1
    before = x.compute(on="core")
    data[:] = 0
    np.testing.assert_array_equal(x.compute(on="core"), np.ones(8))
    assert not np.array_equal(before, np.ones(8))


def test_the_work_of_a_matrix_is_that_of_its_cube() -> None:
    inverse = sc.linalg.inv(sc.asarray(np.eye(400)))
    assert direct.elements(inverse._expr) == 4 * 400**3 // 64
    assert inverse.plan().rung == "cores"
