"""Matrices of complex numbers beside NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.expr.pairs import dots

RNG = np.random.default_rng(4)
A: Any = RNG.normal(size=(5, 5)) + 1j * RNG.normal(size=(5, 5))
B: Any = RNG.normal(size=(5, 3)) - 1j * RNG.normal(size=(5, 3))
REAL: Any = RNG.normal(size=(5, 5))
STACK: Any = A + np.arange(4)[:, None, None]
HERMITIAN: Any = A @ A.conj().T + 5 * np.eye(5)
V: Any = A[0]

CALLS: dict[str, Any] = {
    "product": lambda m, a: a(A) @ a(B),
    "with-real": lambda m, a: a(A) @ a(REAL),
    "real-with": lambda m, a: a(REAL) @ a(B),
    "integers-with": lambda m, a: a(np.arange(25).reshape(5, 5)) @ a(A),
    "adjoint": lambda m, a: a(A).conj().T @ a(A)[::-1],
    "stacks": lambda m, a: m.matmul(a(STACK), a(A)),
    "vectors": lambda m, a: m.dot(a(V), a(V)),
    "of-vectors": lambda m, a: a(V) @ a(V),
    "vdot": lambda m, a: m.vdot(a(V), a(V)),
    "inner": lambda m, a: m.inner(a(A), a(V)),
    "tensordot": lambda m, a: m.tensordot(a(STACK), a(A), axes=([1, 2], [0, 1])),
    "einsum": lambda m, a: m.einsum("kij,jl->kil", a(STACK), a(B)),
    "trace": lambda m, a: m.einsum("ii", a(A)),
    "solve": lambda m, a: m.linalg.solve(a(A), a(B)),
    "inv": lambda m, a: m.linalg.inv(a(STACK)),
    "det": lambda m, a: m.linalg.det(a(STACK)),
    "slogdet": lambda m, a: m.linalg.slogdet(a(A)),
    "cholesky": lambda m, a: m.linalg.cholesky(a(HERMITIAN)),
    "qr": lambda m, a: m.linalg.qr(a(B)),
    "eigh": lambda m, a: m.linalg.eigh(a(HERMITIAN))[0],
    "eigvalsh": lambda m, a: m.linalg.eigvalsh(a(HERMITIAN)),
    "eigvals": lambda m, a: m.linalg.eigvals(a(A)),
    "eigvals-of-real": lambda m, a: m.linalg.eigvals(a(REAL)),
    "svdvals": lambda m, a: m.linalg.svdvals(a(B)),
    "power": lambda m, a: m.linalg.matrix_power(a(A), 3),
    "norm": lambda m, a: m.linalg.norm(a(A)),
    "norm-of-vector": lambda m, a: m.linalg.norm(a(V)),
    "norm-1": lambda m, a: m.linalg.norm(a(A), 1, axis=0),
    "norm-2": lambda m, a: m.linalg.norm(a(A), 2),
    "pinv": lambda m, a: m.linalg.pinv(a(B)),
    "rank": lambda m, a: m.linalg.matrix_rank(a(A)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_as_numpy_has_them(name: str, dtype: str) -> None:
    def narrow(value: Any) -> Any:
        kinds = {"c": dtype, "f": "float64" if dtype == "complex128" else "float32"}
        return value.astype(kinds.get(value.dtype.kind, value.dtype))

    want = CALLS[name](np, narrow)
    got = CALLS[name](sc, lambda value: sc.asarray(narrow(value)))
    pairs = zip(want, got, strict=True) if isinstance(want, tuple) else [(want, got)]
    for theirs, ours in pairs:
        ours = np.asarray(ours)
        assert (ours.dtype, ours.shape) == (np.asarray(theirs).dtype, np.shape(theirs))
        tolerance = 1e-10 if dtype == "complex128" else 2e-3
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def test_decompositions_give_their_matrices() -> None:
    u, s, vh = sc.linalg.svd(sc.asarray(B), full_matrices=False)
    assert s.dtype == np.float64
    assert np.allclose(((u * s) @ vh).compute(), B)
    values, vectors = sc.linalg.eigh(sc.asarray(HERMITIAN))
    assert np.allclose(((vectors * values) @ vectors.conj().T).compute(), HERMITIAN)
    values, vectors = sc.linalg.eig(sc.asarray(REAL))
    assert np.allclose((sc.asarray(REAL) @ vectors).compute(), (vectors * values).compute())


def test_they_have_no_law() -> None:
    assert "no law: BLAS" in repr(sc.asarray(A) @ sc.asarray(B))


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 5), (3, 1500), (900, 20), (3000, 3), (4096,), (4097,)])
def test_dots_of_stored_pairs_are_rounded_once_whichever_way_signs_are_put(
    shape: tuple[int, ...], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few, of long lines, and of short ones: each way is another kernel, and has the same bits."""
    a, b = ((RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(kind) for _ in "ab")
    x, y = sc.asarray(a), sc.asarray(b)
    lazy = sc.einsum("...i,...i->...", x, y)
    with monkeypatch.context() as patch:
        patch.setattr(dots, "_made_woven", lambda _: None)
        apart = sc.einsum("...i,...i->...", *(one + sc.zeros(shape, dtype=kind) for one in (x, y)))
    got = [lazy.compute(on=on) for on in ("core", "cores:2")]
    np.testing.assert_array_equal(*got)
    np.testing.assert_array_equal(got[0], apart.compute(on="core"))
    made = sc.einsum(
        "...i,...i->...", sc.conj(x * 1).conj(), y * 1
    )  # of numbers that are not stored
    np.testing.assert_array_equal(got[0], made.compute(on="core"))
    names = {stage.op for stage in made.plan().stages}
    assert ("as_pairs" in names) == (2 * a.size > 1 << 13)
    assert lazy.explain().covered
    assert {stage.op for stage in lazy.plan().stages} == {"dot"}  # nothing is copied
