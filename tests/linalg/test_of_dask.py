"""What only Dask's linear algebra has: the same values as Dask's, lazy."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pytest

import speedcube as sc

pytest.importorskip("scipy")
A = np.random.default_rng(4).normal(size=(6, 6)) + 6 * np.eye(6)


def both(name: str, *arrays: Any, **given: Any) -> tuple[list[Any], list[Any]]:
    """The results of ours and of Dask's function, of arrays and their chunks."""
    found = getattr(sc.linalg, name)(*[sc.from_array(*one) for one in arrays], **given)
    known = getattr(da.linalg, name)(*[da.from_array(*one) for one in arrays], **given)
    several = found if isinstance(found, tuple) else (found,)
    assert all(isinstance(one, sc.Array) for one in several)
    theirs = known if isinstance(known, tuple) else (known,)
    return [one.compute() for one in several], [one.compute() for one in theirs]


@pytest.mark.parametrize("chunks", [3, 2, 6])
def test_lu(chunks: int) -> None:
    found, known = both("lu", (A, chunks))
    for one, other in zip(found, known, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found[0] @ found[1] @ found[2], A, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("lower", [False, True])
def test_triangles(lower: bool) -> None:
    b = np.arange(6.0)
    triangle = np.tril(A) if lower else np.triu(A)
    (found,), (known,) = both("solve_triangular", (A, 3), (b, 3), lower=lower)
    np.testing.assert_allclose(found, known, rtol=1e-13)
    np.testing.assert_allclose(triangle @ found, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("columns", [(), (2,)])
def test_a_triangle_of_other_chunks_than_the_right_side(columns: tuple[int, ...]) -> None:
    """Those of `cholesky` are one, here: Dask's own are the matrix's."""
    a, b = A @ A.T, np.arange(6.0).reshape(6, *(1 for _ in columns)) * np.ones(columns)
    half = sc.linalg.cholesky(sc.from_array(a, chunks=2), lower=True)
    found = sc.linalg.solve_triangular(half, sc.from_array(b, chunks=2), lower=True)
    np.testing.assert_allclose(a @ np.linalg.inv(half.compute()).T @ found.compute(), b, atol=1e-12)
    with pytest.raises(ValueError, match=r"shape\[1\] and b.shape\[0\]"):
        sc.linalg.solve_triangular(half, sc.ones(5))


def test_tall_and_wide() -> None:
    tall = np.random.default_rng(5).normal(size=(12, 3))
    for name, x, chunks in (("tsqr", tall, (4, 3)), ("sfqr", tall.T, (3, 4))):
        found, known = both(name, (x, chunks))
        for one, other in zip(found, known, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)
    found, _ = both("tsqr", (tall, (4, 3)), compute_svd=True)
    np.testing.assert_allclose(found[1], np.linalg.svd(tall)[1])


def test_chunks_that_are_not_square_are_refused() -> None:
    with pytest.raises(ValueError, match=r"square"):
        sc.linalg.lu(sc.from_array(A, chunks=(2, 3)))


def test_cholesky_takes_dasks_word_for_its_triangle() -> None:
    a = np.random.default_rng(2).normal(size=(6, 6))
    x = sc.asarray(a @ a.T + np.eye(6), chunks=3)
    for lower in (True, False):
        wanted = da.linalg.cholesky(x.to_dask_array(), lower=lower)
        got = sc.linalg.cholesky(x, lower=lower)
        np.testing.assert_allclose(got, wanted.compute(scheduler="synchronous"), atol=1e-12)
