"""Decompositions, solutions and norms: NumPy's, of matrices, of stacks, and of no elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from oracle import draw

import speedcube as sc
from speedcube.errors import DTypeError, MatrixError, ParameterError, ShapeError
from speedcube.expr.interpret import interpret

RNG: Final = np.random.default_rng(2)
STACK: Final = RNG.normal(size=(3, 5, 5))
SPD: Final = STACK @ STACK.swapaxes(-1, -2) + np.eye(5)
TALL: Final = RNG.normal(size=(9, 4))
RIGHT: Final = RNG.normal(size=(3, 5, 2))


def arrays(found: Any) -> list[Any]:
    return [*found] if isinstance(found, tuple) else [found]


CALLS: dict[str, Callable[[Any], Any]] = {
    "inv": lambda xp: np.linalg.inv(xp(SPD)),
    "det": lambda xp: np.linalg.det(xp(SPD)),
    "det of integers": lambda xp: np.linalg.det(xp(np.arange(9).reshape(3, 3))),
    "slogdet": lambda xp: np.linalg.slogdet(xp(STACK)),
    "cholesky": lambda xp: np.linalg.cholesky(xp(SPD)),
    "cholesky, upper": lambda xp: np.linalg.cholesky(xp(SPD), upper=True),
    "svdvals": lambda xp: np.linalg.svdvals(xp(TALL)),
    "svd, values": lambda xp: np.linalg.svd(xp(TALL), compute_uv=False),
    "eigvalsh": lambda xp: np.linalg.eigvalsh(xp(SPD)),
    "eigvalsh, upper": lambda xp: np.linalg.eigvalsh(xp(STACK), UPLO="U"),
    "solve": lambda xp: np.linalg.solve(xp(SPD), RIGHT),
    "solve, one vector": lambda xp: np.linalg.solve(xp(SPD), np.ones(5)),
    "solve, one matrix": lambda xp: np.linalg.solve(SPD[0], xp(RIGHT)),
    "pinv": lambda xp: np.linalg.pinv(xp(TALL)),
    "pinv, rtol": lambda xp: np.linalg.pinv(xp(STACK), rtol=0.1),
    "pinv, hermitian": lambda xp: np.linalg.pinv(xp(SPD), hermitian=True),
    "rank": lambda xp: np.linalg.matrix_rank(xp(np.ones((2, 3, 3)))),
    "rank, tol": lambda xp: np.linalg.matrix_rank(xp(TALL), tol=2.0),
    "rank of a vector": lambda xp: np.linalg.matrix_rank(xp(TALL[0])),
    "cond": lambda xp: np.linalg.cond(xp(STACK)),
    "cond, -2": lambda xp: np.linalg.cond(xp(TALL), -2),
    "cond, 1": lambda xp: np.linalg.cond(xp(STACK), 1),
    "cond, fro": lambda xp: np.linalg.cond(xp(STACK), "fro"),
    "tensorinv": lambda xp: np.linalg.tensorinv(xp(SPD[0, :4, :4].reshape(4, 2, 2)), ind=1),
    "tensorsolve": lambda xp: np.linalg.tensorsolve(
        xp(SPD[0, :4, :4].reshape(2, 2, 4)), TALL[0, :4].reshape(2, 2)
    ),
    "svd of integers": lambda xp: np.linalg.svdvals(xp(np.arange(6).reshape(2, 3))),
    "float32": lambda xp: np.linalg.solve(xp(SPD.astype("float32")), RIGHT.astype("float32")),
    "no rows": lambda xp: np.linalg.qr(xp(np.ones((0, 3)))),
    "no matrices": lambda xp: np.linalg.inv(xp(np.ones((0, 3, 3)))),
    "0 x 0": lambda xp: np.linalg.det(xp(np.ones((0, 0)))),
    "svd of none": lambda xp: np.linalg.svd(xp(np.ones((3, 0))), full_matrices=False),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_numpys_functions_are_lazy_and_give_its_values(name: str) -> None:
    wanted, lazy = arrays(CALLS[name](np.asarray)), arrays(CALLS[name](sc.asarray))
    assert all(isinstance(one, sc.Array) for one in lazy)
    for got, right in zip(lazy, wanted, strict=True):
        right = np.asarray(right)
        near = 1e-3 if right.dtype == "float32" else 1e-9
        for value in (got.compute(on="core"), got.compute(on="cores:2")):
            assert (value.dtype, value.shape) == (right.dtype, right.shape)
            np.testing.assert_allclose(value, right, rtol=near, atol=near)


NORMS: Final = [
    *((None, axis) for axis in (None, 0, (0, 2), (1, 2))),
    *((order, 1) for order in (0, 1, 2, 3, -1, -2, 0.5, np.inf, -np.inf)),
    *((order, (2, 1)) for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)),
]


@pytest.mark.parametrize("keepdims", [False, True])
def test_norms_are_numpys(keepdims: bool) -> None:
    for order, axis in NORMS:
        wanted = np.linalg.norm(STACK, order, axis, keepdims)
        got = np.linalg.norm(sc.asarray(STACK), order, axis, keepdims).compute(on="core")
        assert np.shape(got) == np.shape(wanted), (order, axis)
        np.testing.assert_allclose(got, wanted, rtol=1e-12, err_msg=f"{order} {axis}")
    lazy = sc.linalg.vector_norm(sc.asarray(STACK), axis=(0, 1), keepdims=keepdims)
    np.testing.assert_allclose(lazy, np.linalg.vector_norm(STACK, axis=(0, 1), keepdims=keepdims))
    for order in ("fro", 2):
        lazy = sc.linalg.matrix_norm(sc.asarray(STACK), ord=order, keepdims=keepdims)
        np.testing.assert_allclose(lazy, np.linalg.matrix_norm(STACK, ord=order, keepdims=keepdims))


def test_a_norm_of_squares_has_a_law_and_one_of_singular_values_none() -> None:
    x = sc.asarray(STACK)
    assert sc.linalg.norm(x).explain().covered
    assert sc.linalg.norm(x, 1, (1, 2)).explain().covered
    assert not sc.linalg.norm(x, 2, (1, 2)).explain().covered


@pytest.mark.parametrize("shape", [(9, 4), (4, 9), (5, 5), (2, 6, 3), (3, 0), (1, 1), (3000, 5)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_factors_multiply_to_the_matrix(shape: tuple[int, ...], dtype: str) -> None:
    a = RNG.normal(size=shape).astype(dtype)
    near = {"atol": 1e-4 if dtype == "float32" else 1e-12}
    x = sc.asarray(a)
    least, eye = min(shape[-2:]), np.eye(min(shape[-2:]))
    q, r = sc.compute(*sc.linalg.qr(x))
    assert (q.shape, r.shape) == tuple(f.shape for f in np.linalg.qr(a))
    assert q.dtype == r.dtype == a.dtype
    np.testing.assert_allclose(q @ r, a, **near)
    np.testing.assert_allclose(
        q.swapaxes(-1, -2) @ q, np.broadcast_to(eye, (*shape[:-2], least, least)), **near
    )
    np.testing.assert_allclose(np.tril(r, -1), 0)
    np.testing.assert_allclose(np.abs(sc.linalg.qr(x, mode="r").compute()), np.abs(r), **near)
    u, s, vh = sc.compute(*sc.linalg.svd(x, full_matrices=False))
    np.testing.assert_allclose((u * s[..., None, :]) @ vh, a, **near)
    np.testing.assert_allclose(s, np.linalg.svdvals(a), rtol=1e-4 if dtype == "float32" else 1e-10)
    if max(shape) < 10:
        u, s, vh = sc.compute(*sc.linalg.svd(x))
        assert (u.shape, vh.shape) == tuple(f.shape for f in np.linalg.svd(a)[::2])
        np.testing.assert_allclose(
            (u[..., :least] * s[..., None, :]) @ vh[..., :least, :], a, **near
        )


def test_eigenvectors_are_those_of_the_values() -> None:
    values, vectors = sc.compute(*sc.linalg.eigh(sc.asarray(SPD)))
    np.testing.assert_allclose(SPD @ vectors, vectors * values[:, None, :], atol=1e-10)
    u, s, vh = sc.compute(
        *sc.linalg.svd(sc.asarray(STACK + STACK.swapaxes(-1, -2)), hermitian=True)
    )
    np.testing.assert_allclose(
        (u * s[..., None, :]) @ vh, STACK + STACK.swapaxes(-1, -2), atol=1e-10
    )
    values, vectors = sc.linalg.eig(sc.asarray(np.triu(SPD[0])))
    np.testing.assert_allclose(
        np.triu(SPD[0]) @ vectors.compute(), vectors.compute() * values.compute(), atol=1e-10
    )
    turned = sc.linalg.eigvals(sc.asarray([[0.0, 1.0], [-1.0, 0.0]])).compute()
    np.testing.assert_allclose(np.sort_complex(turned), [-1j, 1j])


@pytest.mark.parametrize(("rows", "columns"), [(9, 4), (4, 9), (4, 4), (0, 3), (3, 0)])
@pytest.mark.parametrize("right", [(), (2,)])
def test_least_squares_are_numpys(rows: int, columns: int, right: tuple[int, ...]) -> None:
    a, b = RNG.normal(size=(rows, columns)), RNG.normal(size=(rows, *right))
    for matrix in (a, np.ones_like(a)):
        ours = np.linalg.lstsq(sc.asarray(matrix), b)
        for got, wanted in zip(ours, np.linalg.lstsq(matrix, b), strict=True):
            assert np.shape(got) == np.shape(wanted)
            np.testing.assert_allclose(got, wanted, atol=1e-10)
        assert isinstance(ours[2], sc.Array)  # Dask's programs compute it
        assert ours[2].dtype == np.linalg.lstsq(matrix, b)[2].dtype
        assert range(ours[2]) == range(np.linalg.lstsq(matrix, b)[2])


def test_the_interpreter_gives_the_same() -> None:
    x = sc.asarray(SPD)
    for one in (sc.linalg.inv(x), *sc.linalg.qr(x), *sc.linalg.slogdet(x), sc.linalg.det(x[0].T)):
        np.testing.assert_allclose(interpret(one._expr, draw), one.compute(on="core"), rtol=1e-12)


X: Final = sc.asarray(SPD[0])
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "no matrix": (lambda: sc.linalg.inv(X[0]), MatrixError, "not one of shape (5,)"),
    "not square": (lambda: sc.linalg.det(X[:3]), MatrixError, "square matrices, not 3 x 5 ones"),
    "solve": (
        lambda: sc.linalg.solve(X, X[:3]),
        ShapeError,
        "5 equations need as many right-hand sides, not 3",
    ),
    "lstsq": (
        lambda: sc.linalg.lstsq(X, X[:3, 0]),
        MatrixError,
        "5 equations need as many right-hand sides, not 3",
    ),
    "mode": (lambda: sc.linalg.qr(X, "raw"), ParameterError, "not 'raw'"),
    "triangle": (lambda: sc.linalg.eigh(X, "M"), ParameterError, "'L' or 'U', not 'M'"),
    "float16": (lambda: sc.linalg.inv(X.astype("float16")), DTypeError, "no float16"),
    "norm": (lambda: sc.linalg.norm(X, "x"), ParameterError, "no norm 'x'"),
    "vector norm": (lambda: sc.linalg.norm(X[0], "fro"), ParameterError, "vectors have no norm"),
    "two tolerances": (lambda: sc.linalg.pinv(X, 1.0, rtol=1.0), ParameterError, "not both"),
    "power": (lambda: sc.linalg.matrix_power(X, 0.5), ParameterError, "whole exponent"),
    "cond of none": (lambda: sc.linalg.cond(sc.ones((0, 3))), MatrixError, "without elements"),
    "tensorinv": (lambda: sc.linalg.tensorinv(X, 0), ParameterError, "must be 1 or more"),
    "tensorsolve": (lambda: sc.linalg.tensorsolve(X, X), MatrixError, "as many elements"),
    "outer": (lambda: sc.linalg.outer(X, X), ShapeError, "takes vectors"),
    "trace": (lambda: sc.linalg.trace(X[0]), MatrixError, "takes matrices"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_when_it_is_built(name: str) -> None:
    call, kind, message = REFUSED[name]
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize("on", ["core", "cores:2"])
def test_what_lapack_refuses_is_numpys_error_with_a_way_out(on: str) -> None:
    asked = {
        "inv: Singular matrix: the matrix has no inverse; pinv and lstsq": sc.linalg.inv(X * 0),
        "solve: Singular": sc.linalg.solve(X * 0, X),
        "cholesky: Matrix is not positive definite: see eigvalsh": sc.linalg.cholesky(-X),
        "svd: SVD did not converge: see isfinite(a).all()": sc.linalg.svd(X / 0).U,
        "eigh: Eigenvalues did not converge: see isfinite": sc.linalg.eigh(X / 0).eigenvectors,
    }
    for message, lazy in asked.items():
        with pytest.raises(np.linalg.LinAlgError) as caught:
            lazy.compute(on=on)
        assert isinstance(caught.value, MatrixError)
        assert str(caught.value).startswith(message)
