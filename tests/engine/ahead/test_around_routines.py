"""Few operations around routines: the libraries first, and one kernel of what is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.ahead import look
from speedcube.engine.ahead.look import ahead_of
from speedcube.engine.ahead.values import OverArrays, over_arrays
from speedcube.engine.asked import reading
from speedcube.engine.compute import compute_all
from speedcube.engine.routines import direct, quick
from speedcube.engine.rungs import resolve
from speedcube.expr.nodes import Leaf, Stored, Through, whole

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
    "of means": lambda m, a, b, v, c: (a - a.mean(axis=0)).T @ (a - a.mean(axis=0)) / 8,
    "turned round": lambda m, a, b, v, c: m.fft.fftshift(m.fft.fft(v)),
    "two spectra": lambda m, a, b, v, c: m.fft.ifft(m.fft.fft(v) * m.fft.fft(v + 1)),
    "complex at the end": lambda m, a, b, v, c: c @ c * 2 + m.linalg.inv(c),
    "real and complex": lambda m, a, b, v, c: a @ c + 1,
    "a pseudo-inverse": lambda m, a, b, v, c: m.linalg.pinv(a),
    "lines less their sums": lambda m, a, b, v, c: (a @ b) - (a @ b).sum(axis=1, keepdims=True),
    "put together": lambda m, a, b, v, c: m.concatenate([a @ v, v]) * 2,
    "without elements": lambda m, a, b, v, c: (a[:0] @ b) + 1,
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
    monkeypatch.setattr(look, "AROUND", 0)  # without
    monkeypatch.setattr(look, "NODES", 0)
    np.testing.assert_array_equal(_ours(name).compute(on="core"), made)


def _found(*arrays: Any) -> OverArrays | None:
    """``arrays`` without routines; None where they are left to others."""
    roots = [array._expr for array in arrays]
    needed = ahead_of(roots, everything=False)
    make = lambda one: sc.api.array.Array(one).compute(on="core")  # noqa: E731
    return None if needed is None else over_arrays(roots, needed, make)


@pytest.mark.parametrize("name", PROGRAMS)
def test_arrays_take_the_place_of_routines(name: str) -> None:
    found = _found(_ours(name))
    assert found is not None
    sources = [node.source for node in sc.expr.graph.below(*found.roots) if type(node) is Leaf]
    assert not any(isinstance(source, Through) for source in sources)
    assert any(isinstance(source, Stored) for source in sources)


def test_each_routine_is_called_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = _watch(monkeypatch)
    p = sc.asarray(A) @ sc.asarray(V)
    (p * p + p).compute(on="core")
    assert calls == ["matmul"]


def test_what_is_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "run", _not_asked)
    a, v, large = sc.asarray(A), sc.asarray(V), sc.zeros((1025, 1024))
    small = sc.random.default_rng(1).normal(size=8)
    long = v
    for _ in range(20):
        long = a @ long * 0.1
    scanned = (a @ v).cumsum() + 1
    for left in (v + 1, v * 2, large @ large.T + 1, a @ v + small, long, sc.arange(3), scanned):
        assert _found(left) is None
    assert _found(a @ v + scanned) is None  # nor is one called
    assert _found((a @ v * 0.5).prod()) is None


def test_what_is_kept_for_loops_is_longer() -> None:
    assert min(reading.LONG["core"], reading.LONG["cores"]) > look.AROUND


def test_results_are_given_as_they_are_but_once() -> None:
    values, vectors = sc.linalg.eigh(sc.asarray(A) + sc.asarray(A).T)
    found = _found(values, vectors, vectors, values + 1)
    assert found is not None
    asked: list[Any] = []

    def make(some: list[Any]) -> list[Any]:
        asked.extend(some)
        return [sc.api.array.Array(one).compute(on="core") for one in some]

    made = found.values(make)
    assert asked == found.roots[2:]
    want = np.linalg.eigh(A + A.T)
    np.testing.assert_array_equal(made[0], want[0])
    np.testing.assert_array_equal(made[2], want[1])
    np.testing.assert_array_equal(made[3], want[0] + 1)
    assert not np.may_share_memory(made[1], made[2])


def test_one_of_several_results_takes_less(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = _watch(monkeypatch)
    a = sc.asarray(A)
    made = (sc.linalg.svd(a * 2)[1] + 1).compute(on="core")
    assert calls == ["svdvals"]
    np.testing.assert_array_equal(made, np.linalg.svd(A * 2, compute_uv=False) + 1)
    u, s, vt = sc.linalg.svd(a * 2)
    made = ((u * s) @ vt).compute(on="core")
    assert calls == ["svdvals", "svd", "matmul"]
    np.testing.assert_allclose(made, A * 2)


def test_what_routines_take_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    x = sc.asarray(B) - sc.asarray(B).mean(axis=0)
    roots = [(sc.linalg.solve(x.T @ x, x.T @ sc.asarray(V)) + (x * x).sum())._expr]
    needed = ahead_of(roots, everything=False)
    assert needed is not None

    def make(one: Any) -> Any:
        made.append(one)
        return sc.api.array.Array(one).compute(on="core")

    found = over_arrays(roots, needed, make)
    assert found is not None
    assert made == [x._expr]
    centred = B - B.mean(axis=0)
    want = np.linalg.solve(centred.T @ centred, centred.T @ V) + (centred**2).sum()
    got = sc.api.array.Array(found.roots[0]).compute(on="core")
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_what_is_written_twice_is_made_once() -> None:
    asked: list[Any] = []
    a = sc.asarray(A)
    roots = [((a - a.mean(axis=0)).T @ (a - a.mean(axis=0)) + (a * -0.0) @ (a * 0.0))._expr]
    needed = ahead_of(roots, everything=False)
    assert needed is not None

    def make(one: Any) -> Any:
        asked.append(one)
        return sc.api.array.Array(one).compute(on="core")

    assert over_arrays(roots, needed, make) is not None
    assert [one.op for one in asked] == ["subtract", "multiply", "multiply"]


def _watch(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the routines that are called from now on."""
    calls: list[str] = []
    run = quick.run
    monkeypatch.setattr(
        quick,
        "run",
        lambda call, threads: calls.append(call.source.op) or run(call, threads),
    )
    return calls


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


def test_results_that_are_read_as_one_array_are_left_to_others() -> None:
    u, _, _ = sc.linalg.svd(sc.asarray(B), full_matrices=False)
    source = u._expr.source  # type: ignore[union-attr]
    every = whole(source, source.shape)
    (made,) = compute_all([every], resolve("core", None, 1, False))
    want = np.concatenate([part.reshape(-1) for part in np.linalg.svd(B, full_matrices=False)])
    np.testing.assert_allclose(made, want, atol=1e-12)
    both = compute_all([every, u._expr], resolve("core", None, 1, False))
    np.testing.assert_allclose(both[0][: u.size].reshape(u.shape), both[1])


def test_gathers_of_one_of_several_results() -> None:
    for matrix in (A, B):
        u, s, vt = sc.linalg.svd(sc.asarray(matrix), full_matrices=False)
        places = abs(vt).argmax(axis=1)
        signs = sc.sign(sc.take_along_axis(vt, places[:, None], axis=1))
        want = np.linalg.svd(matrix, full_matrices=False)
        most = abs(want[2]).argmax(axis=1)[:, None]
        np.testing.assert_allclose(
            (vt * signs + 1).compute(on="core"),
            want[2] * np.sign(np.take_along_axis(want[2], most, axis=1)) + 1,
            atol=1e-12,
        )
        rank = int((s > 1e-4).sum())
        np.testing.assert_allclose(
            abs(vt[:rank].T / s[:rank]).compute(on="core"), abs(want[2].T / want[1]), atol=1e-12
        )
        assert u.shape == want[0].shape


def test_what_lies_turned_is_made_around_its_routines() -> None:
    """Few elements in another order than C's are not made first, but what libraries give is."""
    a, v = sc.asarray(A), sc.asarray(V)
    turned = (a.T @ v)[:, None] * (sc.asarray(np.asfortranarray(B)) * 2)[:, ::-1]
    ahead = ahead_of([turned._expr])
    assert ahead is not None
    assert not ahead.everything
    want = (A.T @ V)[:, None] * (np.asfortranarray(B) * 2)[:, ::-1]
    np.testing.assert_array_equal(turned.compute(on="core"), want)


def test_a_scan_beside_a_routine_is_made_first_alone_or_not_at_all() -> None:
    scanned = sc.floor(sc.asarray(V)).cumsum() + sc.asarray(A) @ sc.asarray(V)
    assert ahead_of([scanned._expr]) is not None
    assert ahead_of([scanned._expr, scanned._expr]) is None
    np.testing.assert_allclose(scanned.compute(on="core"), np.floor(V).cumsum() + A @ V)
