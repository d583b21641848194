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


def _matrix(size: int, dtype: str) -> Any:
    a = RNG.normal(size=(size, size))
    return (a + 1j * RNG.normal(size=a.shape) if dtype.startswith("complex") else a).astype(dtype)


LU: Final[dict[str, Callable[[Any, Any, Any], Any]]] = {
    "inv": lambda m, x, b: m.linalg.inv(x),
    "solve": lambda m, x, b: m.linalg.solve(x, b),
    "solve of a vector": lambda m, x, b: m.linalg.solve(x, b[:, 0]),
    "det": lambda m, x, b: m.linalg.det(x),
    "sign": lambda m, x, b: m.linalg.slogdet(x)[0],
    "logarithm": lambda m, x, b: m.linalg.slogdet(x)[1],
    "tensorsolve": lambda m, x, b: m.linalg.tensorsolve(x, b[:, 1]),
}
SIZES: Final = {"float64": 132, "float32": 187, "complex128": 94, "complex64": 132}


@pytest.fixture
def _smaller_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", SMALL // 4)


@pytest.mark.usefixtures("_smaller_blocks")
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize("name", LU)
def test_what_a_large_matrix_divides_is_what_lapack_gives(name: str, dtype: str) -> None:
    size = SIZES[dtype]
    a, b = _matrix(size, dtype), _matrix(size, dtype)[:, :7]
    a /= np.linalg.norm(a, axis=0).mean().item() / np.sqrt(np.e)  # determinants of about 1
    made = LU[name](sc, sc.asarray(a), sc.asarray(b))
    wanted = LU[name](np, a, b)
    assert operations(made).count("lu_factors") == 16
    near = size * float(np.finfo(dtype).eps) * float(np.linalg.cond(a))
    for on in ("core", "cores:2") if name == "inv" else ("core",):
        got = made.compute(on=on)
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        assert np.abs(got - wanted).max() <= near * np.abs(wanted).max()


@pytest.mark.usefixtures("_smaller_blocks")
@pytest.mark.parametrize("size", [129, 165])
def test_solutions_of_a_large_matrix_are_as_near_as_lapacks(size: int) -> None:
    for a in (_matrix(size, "float64"), np.tri(size) - 2 * np.tri(size, k=-1)):
        b = a @ RNG.normal(size=size)
        got, wanted = (np.asarray(m.linalg.solve(m.asarray(a), b)) for m in (sc, np))
        scale = np.abs(a).sum(axis=1).max()
        off, theirs = (np.abs(a @ x - b).max() / (scale * np.abs(x).max()) for x in (got, wanted))
        assert off <= max(4 * theirs, 4 * np.finfo(float).eps)


@pytest.mark.usefixtures("_smaller_blocks")
def test_pivots_are_looked_for_in_whole_rows() -> None:
    """All blocks on the diagonal are zero: Dask's algorithm divides by it."""
    size = 160
    a = np.roll(np.diag(np.arange(1.0, size + 1)), 81, axis=1)
    x = sc.asarray(a)
    assert operations(sc.linalg.inv(x)).count("lu_factors") == 16
    np.testing.assert_array_equal(sc.linalg.inv(x).compute(), np.linalg.inv(a))
    np.testing.assert_array_equal(
        sc.linalg.solve(x, np.ones(size)), np.linalg.solve(a, np.ones(size))
    )
    for got, wanted in zip(sc.linalg.slogdet(x), np.linalg.slogdet(a), strict=True):
        np.testing.assert_allclose(got.compute(), wanted, rtol=1e-14)


@pytest.mark.usefixtures("_smaller_blocks")
def test_a_large_singular_matrix_says_so() -> None:
    a = _matrix(150, "float64")
    a[:, 140] = 0
    x = sc.asarray(a)
    for made in (sc.linalg.inv(x), sc.linalg.solve(x, np.ones(150))):
        with pytest.raises(
            np.linalg.LinAlgError, match="Singular matrix: the matrix has no inverse"
        ):
            made.compute(on="core")
    sign, logarithm = sc.linalg.slogdet(x)
    assert (float(sign), float(logarithm), float(sc.linalg.det(x))) == (0.0, -np.inf, 0.0)
    a[3, 5] = np.nan
    assert np.isnan(sc.linalg.det(sc.asarray(a)).compute())


@pytest.mark.parametrize("name", ["inv", "solve of a vector", "logarithm"])
def test_a_large_matrix_is_factored_block_by_block(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the factors there are few blocks, wherever the matrix comes from."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 17)
    a, b = _matrix(1000, "float64"), np.ones((1000, 1))  # 8 MB
    np.save(tmp_path / "a.npy", a)
    squares = 2 if name == "inv" else 1  # of the matrix's size: the factors, and the inverse
    for x in (sc.open(tmp_path / "a.npy"), sc.asarray(a), sc.asarray(a) * 1):
        made = LU[name](sc, x, b)
        assert operations(made).count("lu_factors") == 16
        peak = made.plan(on="core").peak_bytes - WORKER_OVERHEAD
        assert peak < (squares + 1) * a.nbytes
        made.compute(on="core")
        tracemalloc.start()
        try:
            made.compute(on="core")
            taken = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert taken < min(peak, (squares + 0.5) * a.nbytes)


def test_pieces_of_library_calls_on_a_file_share_what_they_are_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks of Q need the triangles of all of them, which are factored once."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 20)
    a = RNG.normal(size=(70_000, 20))  # 11 blocks: 8 MB and more are read box by box elsewhere
    np.save(tmp_path / "tall.npy", a)
    q, r = sc.linalg.qr(sc.open(tmp_path / "tall.npy"))
    assert operations(q).count("qr") == 12
    assert q.plan(on="core").peak_bytes < WORKER_OVERHEAD + 4 * a.nbytes
    np.testing.assert_allclose(q.compute(on="core") @ r.compute(on="core"), a, atol=1e-11)
