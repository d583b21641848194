"""Routines of a few numbers in memory are called at once: no plan, no walk, and no call twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import speedcube as sc
from speedcube.engine import compute as engine
from speedcube.engine.routines import direct

RNG: Final = np.random.default_rng(17)
Call = Callable[[Any, Any], Any]
SEVERAL: Final[dict[str, Call]] = {
    "qr": lambda xp, a: xp.linalg.qr(a),
    "eigh": lambda xp, a: xp.linalg.eigh(a + a.T),
    "svd": lambda xp, a: xp.linalg.svd(a),
    "slogdet": lambda xp, a: xp.linalg.slogdet(a),
}
CHAINS: Final[dict[str, Call]] = {
    "power": lambda xp, a: xp.linalg.matrix_power(a, 5),
    "product of products": lambda xp, a: (a @ a) @ (a.T @ a),
    "inverse of a product": lambda xp, a: xp.linalg.inv(a @ a.T),
    "back": lambda xp, a: xp.fft.irfft(xp.fft.rfft(a.real)),
    "there and there": lambda xp, a: xp.fft.fft(xp.fft.ifft(a, axis=0), axis=1),
    "product of spectra": lambda xp, a: xp.fft.fft(a) @ xp.fft.fft(a.T),
}


def _refused(*_: Any, **__: Any) -> Any:
    raise AssertionError("this is not to be asked")


@pytest.fixture
def only_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither plans, nor steps, nor what shares memory between several routines."""
    for name in ("planned_on", "small_value", "_steps"):
        monkeypatch.setattr(engine, name, _refused)
    monkeypatch.setattr(direct, "values", _refused)


def _data(kind: str, size: int = 6) -> Any:
    x = RNG.normal(size=(size, size))
    return (x + 1j * RNG.normal(size=(size, size)) if kind == "c" else x).astype(
        {"c": "complex128", "f": "float32", "d": "float64"}[kind]
    )


@pytest.mark.usefixtures("only_calls")
@pytest.mark.parametrize("kind", "cfd")
@pytest.mark.parametrize("name", ["qr", "svd", "slogdet"])
def test_results_of_one_routine_are_one_call(name: str, kind: str) -> None:
    a = _data(kind)
    wanted = SEVERAL[name](np, a)
    lazy = SEVERAL[name](np, sc.asarray(a))
    for got, right in zip(sc.compute(*lazy, on="core"), wanted, strict=True):
        assert (got.dtype, np.shape(got)) == (right.dtype, np.shape(right))
        np.testing.assert_array_equal(got, right)
    for k, right in enumerate(wanted):  # and each of them alone, perhaps with less work
        got = SEVERAL[name](np, sc.asarray(a))[k].compute(on="core")
        assert (got.dtype, np.shape(got)) == (right.dtype, np.shape(right))
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("only_calls")
@pytest.mark.parametrize("kind", "cfd")
@pytest.mark.parametrize("name", CHAINS)
def test_routines_of_routines_are_calls_one_after_the_other(name: str, kind: str) -> None:
    a = _data(kind)
    got, right = (CHAINS[name](np, x) for x in (sc.asarray(a), a))
    found = got.compute(on="core")
    assert (found.dtype, found.shape) == (right.dtype, right.shape)
    np.testing.assert_allclose(found, right, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", SEVERAL)
def test_results_are_arrays_of_their_own(name: str) -> None:
    lazy = SEVERAL[name](np, sc.asarray(_data("d")))
    first = sc.compute(*lazy, *lazy, on="core")
    arrays = [one for one in first if np.ndim(one)]
    for k, one in enumerate(arrays):
        assert one.flags.writeable
        assert not any(np.shares_memory(one, other) for other in arrays[:k])


@pytest.mark.parametrize("size", [1, 4, 30])
def test_eigenvalues_of_any_matrix_are_one_call(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    a, calls = RNG.normal(size=(size, size)), []
    known = np.linalg.eig
    monkeypatch.setattr(np.linalg, "eig", lambda *given: calls.append(1) or known(*given))
    values, vectors = sc.linalg.eig(sc.asarray(a))
    assert len(calls) == 1
    np.testing.assert_allclose(
        a @ vectors.compute(), vectors.compute() * values.compute(), atol=1e-10
    )


def test_what_reads_a_routine_is_not_taken_for_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    small_value = engine.small_value

    def of_arrays(root: Any, *rest: Any) -> Any:
        assert not direct.reads_routine(root)
        return small_value(root, *rest)

    monkeypatch.setattr(engine, "small_value", of_arrays)
    a = _data("d")
    got = ((sc.asarray(a) @ sc.asarray(a) + 1) * 2).compute(on="core")
    np.testing.assert_array_equal(got, (a @ a + 1) * 2)


@given(
    shape=st.sampled_from([(6, 4), (4, 6), (5, 5)]),
    at=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    step=st.tuples(*[st.sampled_from([1, 2, -1, -2])] * 2),
    turned=st.booleans(),
    kind=st.sampled_from("cfd"),
)
def test_arguments_may_be_any_view(
    shape: tuple[int, int], at: tuple[int, int], step: tuple[int, int], turned: bool, kind: str
) -> None:
    """Complex parts that lie apart, reversed, strided and turned ones: the library takes each."""
    base = RNG.normal(size=shape)
    data = (base + 1j * base[::-1] if kind == "c" else base).astype(
        {"c": "complex64", "f": "float32", "d": "float64"}[kind]
    )

    def seen(x: Any) -> Any:
        x = x[:: step[0], :: step[1]][at[0] :, at[1] :]
        return x.T if turned else x

    a, x = seen(data), seen(sc.asarray(data))
    if not a.size:
        return
    pairs = {
        "product": (x @ np.conj(x).T, a @ np.conj(a).T),
        "fft": (np.fft.fft(x, axis=0), np.fft.fft(a, axis=0)),
        "there and back": (np.fft.ifft(np.fft.fft(x)), np.fft.ifft(np.fft.fft(a))),
        "r": (np.linalg.svd(x, compute_uv=False), np.linalg.svd(a, compute_uv=False)),
    }
    for name, (lazy, right) in pairs.items():
        found = lazy.compute(on="core")
        assert (found.dtype, found.shape) == (right.dtype, right.shape), name
        np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-4, err_msg=name)
