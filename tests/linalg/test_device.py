"""Routines on a GPU: CuPy's, of what lies in its memory; and what is said of missing libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.routines import run
from speedcube.engine.routines.run import explained
from speedcube.errors import MatrixError

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
