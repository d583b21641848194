"""Routines on a GPU: CuPy's, of what lies in its memory; and what is said of missing libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.routines import run
from speedcube.engine.routines.run import explained
from speedcube.errors import MatrixError
from speedcube.linalg import blocks

RNG = np.random.default_rng(5)


def test_a_missing_library_of_cuda_is_named_with_its_wheel() -> None:
    said = {
        "libcusolver.so.12: cannot open shared object file": "cuSOLVER",
        "libcublas.so.13: cannot open shared object file: No such file": "cuBLAS",
        "DynamicLibNotFoundError: Failure finding cufft: not found": "cuFFT",
        "libcudart.so: cannot open shared object file": None,
        "CUSOLVER_STATUS_INTERNAL_ERROR": None,
    }
    for text, library in said.items():
        assert run._missing_library(text) == library, text
    assert all("nvidia-" in run._WHEELS[name] for name in said.values() if name)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_what_a_large_matrix_of_a_gpu_divides(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 12)
    a = RNG.normal(size=(150, 150)) + (1j * RNG.normal(size=(150, 150)) if dtype[0] == "c" else 0)
    a = (a / np.sqrt(60)).astype(dtype)
    x, b = sc.asarray(a), a[:, :7] + 1
    near = 150 * float(np.finfo(dtype).eps) * float(np.linalg.cond(a))
    asked: list[tuple[Any, Any]] = [
        (sc.linalg.inv(x), np.linalg.inv(a)),
        (sc.linalg.solve(x, b), np.linalg.solve(a, b)),
        (sc.linalg.solve(x, b[:, 0]), np.linalg.solve(a, b[:, 0])),
        (sc.linalg.det(x), np.linalg.det(a)),
        (sc.linalg.slogdet(x)[1], np.linalg.slogdet(a)[1]),
    ]
    for lazy, wanted in asked:
        assert [stage.op for stage in lazy.plan(on="gpu").stages].count("lu_factors") == 16
        got = lazy.compute(on="gpu")
        assert np.abs(got - wanted).max() <= near * np.abs(wanted).max()


@pytest.mark.gpu
def test_a_large_singular_matrix_of_a_gpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 12)
    a = RNG.normal(size=(150, 150))
    a[:, 140] = 0
    for made in (sc.linalg.inv(sc.asarray(a)), sc.linalg.solve(sc.asarray(a), a[:, 0])):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            made.compute(on="gpu")


@pytest.mark.gpu
def test_routines_of_a_gpu_are_near_numpys() -> None:
    a, b = RNG.normal(size=(60, 40)), RNG.normal(size=(40, 50))
    x, y = sc.asarray(a), sc.asarray(b)
    spd = a.T @ a + np.eye(40)
    stack = RNG.normal(size=(30, 4, 4))
    asked: list[tuple[Any, Any]] = [
        (x @ y, a @ b),
        (sc.exp(x) @ y + 1, np.exp(a) @ b + 1),
        (x.T @ x, a.T @ a),
        (sc.einsum("ij,jk->ki", x, y), (a @ b).T),
        (sc.asarray(stack) @ sc.asarray(stack), stack @ stack),
        (sc.linalg.solve(sc.asarray(spd), y), np.linalg.solve(spd, b)),
        (sc.linalg.inv(sc.asarray(spd)), np.linalg.inv(spd)),
        (sc.linalg.det(sc.asarray(stack)), np.linalg.det(stack)),
        (sc.linalg.cholesky(sc.asarray(spd)), np.linalg.cholesky(spd)),
        (sc.linalg.eigh(sc.asarray(spd)).eigenvalues, np.linalg.eigvalsh(spd)),
        (sc.linalg.svd(x).S, np.linalg.svdvals(a)),
        ((x @ y).sum(), (a @ b).sum()),
        (sc.linalg.eigvals(sc.asarray(np.triu(spd))), np.diag(spd)),
    ]
    for lazy, wanted in asked:
        np.testing.assert_allclose(lazy.compute(on="gpu"), wanted, rtol=1e-8, atol=1e-8)
    q, r = sc.linalg.qr(x)
    np.testing.assert_allclose((q @ r).compute(on="gpu"), a, atol=1e-10)
    u, s, vh = sc.linalg.svd(x, full_matrices=False)
    np.testing.assert_allclose(((u * s) @ vh).compute(on="gpu"), a, atol=1e-10)


@pytest.mark.gpu
def test_integers_have_the_same_bits_on_a_gpu() -> None:
    for dtype in ("int8", "int32", "int64", "uint64", "bool"):
        known = np.iinfo(dtype if dtype != "bool" else "int8")
        a, b = (
            RNG.integers(known.min, known.max, shape, known.dtype, endpoint=True).astype(dtype)
            for shape in ((70, 90), (90, 60))
        )
        got = (sc.asarray(a) @ b).compute(on="gpu")
        np.testing.assert_array_equal(got, a @ b)


@pytest.mark.gpu
def test_a_product_stays_on_the_gpu_and_its_errors_are_numpys() -> None:
    x = sc.asarray(RNG.normal(size=(50, 50)))
    left = (x @ x).compute(on="gpu", to="cupy")
    assert hasattr(type(left), "__cuda_array_interface__")
    with pytest.raises(MatrixError, match="no inverse"):
        sc.linalg.inv(x * 0).compute(on="gpu")


@pytest.mark.parametrize(
    ("routine", "wanted"),
    [
        ("dgetrf", "inv: Singular matrix: the matrix has no inverse; pinv and lstsq"),
        ("dpotrf", "inv: Matrix is not positive definite: see eigvalsh"),
        ("dsyevd", "inv: Eigenvalues did not converge: see isfinite"),
        ("dnew", "inv: Error reported by dnew in cuSOLVER. devInfo = .1.: see the matrix"),
    ],
)
def test_errors_of_cusolver_are_lapacks(routine: str, wanted: str) -> None:
    with pytest.raises(MatrixError, match=wanted), explained("inv"):
        raise np.linalg.LinAlgError(f"Error reported by {routine} in cuSOLVER. devInfo = [1].")


@pytest.mark.gpu
@pytest.mark.parametrize("to", ["cupy", "numpy"])
def test_routines_of_arrays_on_a_gpu_are_cupys_calls(to: str) -> None:
    """Arrays that lie there, views of them, routines of routines, several results of one."""
    import cupy

    a, b = cupy.asarray(RNG.normal(size=(60, 40))), cupy.asarray(RNG.normal(size=(40, 50)))
    spd = a.T @ a + cupy.eye(40)
    z = cupy.asarray(RNG.normal(size=(8, 30)) + 1j * RNG.normal(size=(8, 30)))
    x, y, m, c = map(sc.asarray, (a, b, spd, z))
    asked: list[tuple[Any, Any]] = [
        (x @ y, a @ b),
        (x.T @ x, a.T @ a),
        (x[::2, ::-1] @ y[:, 3], a[::2, ::-1] @ b[:, 3]),
        (x @ y @ y.T, a @ b @ b.T),
        (sc.linalg.inv(m) @ y, cupy.linalg.inv(spd) @ b),
        (sc.linalg.svd(x)[1][:3], cupy.linalg.svd(a)[1][:3]),
        (sc.fft.fft(x), cupy.fft.fft(a)),
        (sc.fft.irfft(sc.fft.rfft(x)), a),
        (sc.fft.fft2(c)[2:5], cupy.fft.fft2(z)[2:5]),
        (c @ c.T, z @ z.T),
        (sc.linalg.cholesky(m), cupy.linalg.cholesky(spd)),
        (x[:0] @ y, a[:0] @ b),
        (sc.linalg.det(m), cupy.linalg.det(spd)),
    ]
    for k, (lazy, wanted) in enumerate(asked):
        got = lazy.compute(on="gpu", to=to)
        assert isinstance(got, cupy.ndarray if to == "cupy" else (np.ndarray, np.generic)), k
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype), k
        cupy.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)
    values, vectors = sc.compute(*sc.linalg.eigh(m), on="gpu", to=to)
    again = sc.compute(m @ m, m @ m, on="gpu", to=to)
    cupy.testing.assert_allclose((vectors * values) @ vectors.T, spd.get(), atol=1e-9)
    again[0][:] = 0
    assert bool((again[1] != 0).any())
    held = sc.asarray(a)
    made = (held.T @ held).compute(on="gpu", to=to)
    a[:] = 0
    assert bool((made != 0).any())


@pytest.mark.gpu
def test_a_singular_matrix_on_a_gpu_says_so() -> None:
    import cupy

    with pytest.raises(MatrixError, match="inv"):
        sc.linalg.inv(sc.asarray(cupy.zeros((5, 5)))).compute(on="gpu", to="cupy")


@pytest.mark.gpu
def test_dots_of_many_results_are_finished_by_their_kernel() -> None:
    """No record a result: half a million norms of rows of three, with the CPU's bits."""
    import cupy

    a = RNG.normal(size=(500_000, 3))
    found = sc.linalg.norm(sc.asarray(cupy.asarray(a)), axis=1).compute(on="gpu", to="cupy")
    wanted = sc.linalg.norm(sc.asarray(a), axis=1).compute(on="core")
    np.testing.assert_array_equal(found.get(), wanted)
    whole = RNG.integers(-(2**62), 2**62, (4000, 50))
    found = sc.asarray(cupy.asarray(whole)).mean(axis=1).compute(on="gpu")
    np.testing.assert_array_equal(found, sc.asarray(whole).mean(axis=1).compute(on="core"))
