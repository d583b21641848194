"""Matrices of more than one block: products, tall factors, and how much memory they take."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.linalg import blocks
from speedcube.plan.stages import WORKER_OVERHEAD

RNG: Final = np.random.default_rng(8)
SMALL: Final = 1 << 14  # bytes of a block here


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", SMALL)


def operations(array: sc.Array) -> list[str | None]:
    return [stage.op for stage in array.plan(on="core").stages]


SHAPES: Final = {
    "rows": ((5000, 4), (4, 3)),
    "columns": ((3, 4), (4, 5000)),
    "sums": ((4, 6000), (6000, 3)),
    "tiles": ((90, 70), (70, 80)),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64", "bool"])
@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
def test_products_in_blocks_are_those_of_numpy(shapes: Any, dtype: str) -> None:
    a, b = ((RNG.normal(size=shape) * 3).astype(dtype) for shape in shapes)
    if dtype == "complex128":
        a, b = a + 1j * RNG.normal(size=a.shape), b - 2j
    product = sc.asarray(a) @ sc.asarray(b)
    routine = "matmul" if a.dtype.kind in "fc" else "matmul_integers"
    if a.dtype != bool or max(a.size, b.size) > SMALL:
        assert operations(product).count(routine) > 1
    wanted, values = a @ b, [product.compute(on=on) for on in ("core", "cores:2", "cores:3")]
    assert values[0].dtype == wanted.dtype
    assert len({value.tobytes() for value in values}) == 1
    near = 1e-3 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(values[0], wanted, rtol=near, atol=near)


def test_how_a_product_is_cut_follows_from_shapes_and_dtypes_alone() -> None:
    a, b = RNG.normal(size=(90, 70)), RNG.normal(size=(70, 80))
    other = sc.random.default_rng(0).normal(size=(90, 70))
    plans = [
        (x @ sc.asarray(b)).plan(on=on)
        for x in (sc.asarray(a), other)
        for on in ("core", "cores:2")
    ]
    shapes = [[stage.shape for stage in plan.stages if stage.op == "matmul"] for plan in plans]
    assert all(each == shapes[0] for each in shapes)
    assert len(shapes[0]) == 12
    assert operations(sc.asarray(a[:20]) @ sc.asarray(b[:, :20])) == ["matmul"]


def test_tensordot_and_einsum_take_blocks_too() -> None:
    a, b = RNG.normal(size=(50, 12, 10)), RNG.normal(size=(10, 12, 7))
    for made in (
        sc.tensordot(a, b, ((1, 2), (1, 0))),
        sc.einsum("ijk,kjl->il", a, b),
    ):
        assert operations(made).count("matmul") > 1
        np.testing.assert_allclose(made.compute(), np.tensordot(a, b, ((1, 2), (1, 0))), atol=1e-10)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_tall_factors(dtype: str) -> None:
    a = RNG.normal(size=(4000, 6)).astype(dtype)
    if dtype == "complex128":
        a = a + 1j * RNG.normal(size=a.shape)
    x = sc.asarray(a)
    q, r = sc.linalg.qr(x)
    assert operations(q).count("qr") > 2
    for on in ("core", "cores:2"):
        left, right = sc.compute(q, r, on=on)
        np.testing.assert_allclose(left @ right, a, atol=1e-12)
        np.testing.assert_allclose(left.conj().T @ left, np.eye(6), atol=1e-12)
        assert (np.tril(right, -1) == 0).all()
    alone = sc.linalg.qr(x, "r")
    assert set(operations(alone)) == {"qr_r", None}
    np.testing.assert_allclose(abs(alone.compute()), abs(np.linalg.qr(a, "r")), atol=1e-10)
    u, s, vh = sc.linalg.svd(x, full_matrices=False)
    wanted = np.linalg.svd(a, compute_uv=False)
    assert set(operations(s)) == {"qr_r", "svdvals", None}
    for values in (s, sc.linalg.svdvals(x), sc.linalg.svd(x, compute_uv=False)):
        np.testing.assert_allclose(values.compute(), wanted, rtol=1e-12)
    one, two, three = sc.compute(u, s, vh)
    np.testing.assert_allclose(one * two @ three, a, atol=1e-11)


def test_factors_of_triangles_are_made_in_blocks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 11)  # 256 numbers
    a = RNG.normal(size=(3000, 8))
    r = sc.linalg.qr(sc.asarray(a), "r")
    assert operations(r).count(None) > 1  # triangles above each other, twice
    np.testing.assert_allclose(abs(r.compute()), abs(np.linalg.qr(a, "r")), atol=1e-10)


@pytest.mark.parametrize("columns", [None, 2])
@pytest.mark.parametrize("rank", [6, 5])
def test_least_squares_of_tall_matrices(columns: int | None, rank: int) -> None:
    a = RNG.normal(size=(3000, 6))
    if rank < 6:
        a[:, 5] = a[:, 4]
    b = RNG.normal(size=3000 if columns is None else (3000, columns))
    got, wanted = sc.linalg.lstsq(a, b), np.linalg.lstsq(a, b)
    assert got[2] == wanted[2] == rank
    for k in (0, 1, 3):
        assert got[k].shape == wanted[k].shape
        np.testing.assert_allclose(got[k].compute(), wanted[k], atol=1e-9)


def test_svd_compressed_of_a_tall_and_of_a_wide_matrix() -> None:
    for shape in ((3000, 40), (40, 3000), (300, 300)):
        a = RNG.normal(size=(shape[0], 5)) @ RNG.normal(size=(5, shape[1]))
        u, s, vh = sc.linalg.svd_compressed(sc.asarray(a), 5, n_power_iter=1, seed=0)
        assert operations(s).count("matmul") > 2
        np.testing.assert_allclose(s.compute(), np.linalg.svd(a, compute_uv=False)[:5], rtol=1e-9)
        one, two, three = sc.compute(u, s, vh)
        np.testing.assert_allclose(one * two @ three, a, atol=1e-8)


FOLDS: Final[dict[str, Callable[[sc.Array], sc.Array]]] = {
    "svdvals": lambda x: sc.linalg.svdvals(x),
    "r": lambda x: sc.linalg.qr(x, "r"),
    "gram": lambda x: x.T @ x,
    "rows": lambda x: x @ np.ones((10, 1)),
    "scaled": lambda x: (2 * x).T @ (x + 1),
}


@pytest.mark.parametrize("on", ["core", "cores:2"])
@pytest.mark.parametrize("fold", FOLDS.values(), ids=FOLDS)
def test_a_matrix_in_a_file_is_never_in_memory(
    fold: Callable[[sc.Array], sc.Array], on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 20)
    a = RNG.normal(size=(200_000, 10))  # 16 blocks
    np.save(tmp_path / "tall.npy", a)
    made = fold(sc.open(tmp_path / "tall.npy"))
    peak = made.plan(on=on).peak_bytes
    assert peak < WORKER_OVERHEAD + a.nbytes
    near = 1e-9 * float(np.abs(np.asarray(fold(sc.asarray(a)))).max())
    wanted = np.abs(np.asarray(fold(sc.asarray(a))))
    del a
    tracemalloc.start()
    try:
        got = made.compute(on=on)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert taken < min(peak, 12 << 20)
    np.testing.assert_allclose(np.abs(got), wanted, atol=near)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("size", [92, 131, 190])
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_of_a_large_matrix(size: int, dtype: str, upper: bool) -> None:
    a = RNG.normal(size=(size, size)).astype(dtype)
    if dtype == "complex128":
        a = a + 1j * RNG.normal(size=a.shape)
    a = a @ a.conj().T + size * np.eye(size, dtype=dtype)
    read = np.triu(a) if upper else np.tril(a)  # the other triangle is not read
    factor = sc.linalg.cholesky(sc.asarray(read), upper=upper)
    blocks_of = int(np.ceil(np.sqrt(np.ceil(a.nbytes / SMALL))))
    count = blocks_of if a.nbytes > 8 * SMALL else 1
    assert operations(factor).count("cholesky") == count
    values = [factor.compute(on=on) for on in ("core", "cores:2", "cores:3")]
    assert len({value.tobytes() for value in values}) == 1
    near = 1e-3 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(values[0], np.linalg.cholesky(a, upper=upper), atol=near, rtol=near)


def test_a_large_matrix_that_is_not_positive_definite_has_no_cholesky_factor() -> None:
    a = np.eye(150)
    a[120, 120] = -1
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        sc.linalg.cholesky(sc.asarray(a)).compute(on="core")
