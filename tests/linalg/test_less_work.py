"""What is not made: products that are summed, results that nobody reads, plans of what is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import machine
from speedcube.errors import MatrixError, ParameterError
from speedcube.expr.routines import tall

RNG: Final = np.random.default_rng(4)
SUMS: dict[str, Callable[[Any], Any]] = {
    "all": lambda p: p.sum(),
    "rows": lambda p: p.sum(axis=-1, keepdims=True),
    "columns": lambda p: p.sum(axis=0),
    "mean": lambda p: p.mean(),
    "mean of rows": lambda p: p.mean(axis=-1),
    "all, kept": lambda p: p.sum(keepdims=True),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint64", "int32"])
def test_a_sum_of_a_product_never_forms_it(dtype: str) -> None:
    shapes = (((30, 20), (20, 40)), ((20,), (20, 40)), ((30, 20), (20,)), ((1, 20), (20, 7)))
    for left, right in (*shapes, ((3, 1), (1, 5))):
        a, b = ((RNG.normal(size=shape) * 9).astype(dtype) for shape in (left, right))
        product, wanted = sc.asarray(a) @ sc.asarray(b), a @ b
        for name, fold in SUMS.items():
            lazy, right_value = fold(product), np.asarray(fold(wanted))
            got = np.asarray(lazy.compute(on="core"))
            assert (got.dtype, got.shape) == (right_value.dtype, right_value.shape), name
            near = 1e-3 if dtype == "float32" else 1e-10
            np.testing.assert_allclose(got, right_value, rtol=near, atol=near, err_msg=name)
            operations = {stage.op for stage in lazy.plan(on="core").stages}
            forms = {"matmul", "matmul_integers"} & operations
            is_exact = dtype in ("float64", "float32") or (dtype != "int32" and "mean" not in name)
            assert not forms if is_exact else forms, (name, operations)


def test_a_sum_of_a_product_has_the_same_bits_everywhere() -> None:
    x = sc.asarray(RNG.normal(size=(300, 200)))
    total = (x @ x.T).sum()
    assert total.explain().covered
    values = {float(total.compute(on=on)) for on in ("core", "cores:2", "cores:3")}
    assert len(values) == 1
    ones = sc.full((3, 3), 1e-300)  # each sum is rounded once, at the end
    assert float((ones @ sc.full((3, 3), 1e300)).sum()) == pytest.approx(27.0)


def test_a_trace_of_a_product_never_forms_it() -> None:
    a, b = RNG.normal(size=(30, 20)), RNG.normal(size=(20, 40))
    product = sc.asarray(a) @ sc.asarray(b)
    for offset in (0, 3, -4, 20):
        lazy = np.trace(product, offset)
        assert [stage.op for stage in lazy.plan(on="core").stages] == ["dot"]
        np.testing.assert_allclose(lazy.compute(on="core"), np.trace(a @ b, offset), rtol=1e-10)
    slanted = product[:10, :10][::-1].diagonal().sum()  # no diagonal of the product
    np.testing.assert_allclose(slanted.compute(), (a @ b)[:10, :10][::-1].diagonal().sum())


def operations(array: Any) -> list[str | None]:
    return [stage.op for stage in array.plan(on="core").stages if stage.op]


def test_of_several_results_only_those_that_are_read_are_made() -> None:
    a = RNG.normal(size=(60, 8))
    x = sc.asarray(a)
    symmetric = x.T @ x
    asked = {
        "svdvals": (sc.linalg.svd(x, full_matrices=False).S[:3], np.linalg.svdvals(a)[:3]),
        "qr_r": (abs(sc.linalg.qr(x).R), np.abs(np.linalg.qr(a).R)),
        "eigvalsh": (sc.linalg.eigh(symmetric).eigenvalues * 2, np.linalg.eigvalsh(a.T @ a) * 2),
    }
    for name, (lazy, wanted) in asked.items():
        assert name in operations(lazy), name
        for on in ("core", "cores:2"):
            np.testing.assert_allclose(lazy.compute(on=on), wanted, rtol=1e-9)
        assert f"only [{'480:488' if name == 'svdvals' else ''}" in repr(lazy.plan(on="core"))
    u, s, vh = sc.linalg.svd(x, full_matrices=False)
    assert operations(u * s) == ["svd"]
    np.testing.assert_allclose(s.compute(on="core"), np.linalg.svdvals(a))  # called at once
    assert vh.compute(on="core").flags.writeable


@pytest.mark.parametrize("columns", [1, 5, 64])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_tall_matrices_are_factored_by_blocks(columns: int, dtype: str) -> None:
    rows = tall._rows(np, np.empty((1 << 20, columns), "int8"))
    assert rows >= 8 * columns
    assert tall._rows(np, np.empty((2 * rows - 1, columns))) == 0
    near = 1e-3 if dtype == "float32" else 1e-10
    for count in (2 * rows, 7 * rows + 3):
        a = RNG.normal(size=(count, columns)).astype(dtype)
        x = sc.asarray(a)
        q, r = sc.compute(*sc.linalg.qr(x), on="core")
        assert (q.shape, r.shape, q.dtype) == (a.shape, (columns, columns), a.dtype)
        np.testing.assert_allclose(q @ r, a, atol=near)
        np.testing.assert_allclose(q.T @ q, np.eye(columns), atol=near)
        np.testing.assert_array_equal(sc.linalg.qr(x, mode="r").compute(on="core"), r)
        u, s, vh = sc.compute(*sc.linalg.svd(x, full_matrices=False), on="core")
        np.testing.assert_allclose((u * s) @ vh, a, atol=near)
        np.testing.assert_allclose(s, np.linalg.svdvals(a), rtol=near)


def test_results_that_are_called_at_once_are_the_users_own() -> None:
    a = RNG.normal(size=(6, 6))
    x = sc.asarray(a)
    product = x @ x
    for value in (product.compute(on="core"), product[1:3].compute(on="core"), product.T.compute()):
        value[...] = 7.0
    np.testing.assert_allclose(product.compute(on="core"), a @ a)
    one, again = sc.compute(product, product)
    one[...] = 7.0
    np.testing.assert_allclose(again, a @ a)
    chain = sc.linalg.inv(x @ x.T) @ x[0]
    np.testing.assert_allclose(chain.compute(on="core"), np.linalg.inv(a @ a.T) @ a[0], rtol=1e-6)
    assert isinstance(sc.linalg.det(x).compute(), np.float64)


def test_the_largest_singular_values_by_a_projection() -> None:
    a = RNG.normal(size=(800, 6)) @ RNG.normal(size=(6, 40)) + 1e-3 * RNG.normal(size=(800, 40))
    x = sc.asarray(a)
    for options in (
        {},
        {"n_power_iter": 2, "iterator": "QR"},
        {"n_power_iter": 1, "compute": True},
    ):
        u, s, vh = sc.compute(*sc.linalg.svd_compressed(x, 5, seed=0, **options), on="core")
        assert (u.shape, s.shape, vh.shape) == ((800, 5), (5,), (5, 40))
        np.testing.assert_allclose(s, np.linalg.svdvals(a)[:5], rtol=1e-6)
        np.testing.assert_allclose(u.T @ u, np.eye(5), atol=1e-10)
        assert (vh.sum(axis=1) >= 0).all()
    with pytest.raises(ParameterError, match="iterators 'power' and 'QR'"):
        sc.linalg.svd_compressed(x, 5, iterator="lanczos")
    with pytest.raises(ParameterError, match="k must be 1 or more"):
        sc.linalg.svd_compressed(x, 0)
    with pytest.raises(MatrixError, match="takes one matrix"):
        sc.linalg.svd_compressed(x.reshape(2, 400, 40), 2)


def test_a_large_product_is_for_all_cores() -> None:
    """The rung follows from the work, not from the elements alone."""
    small, large = sc.ones((60, 60)), sc.ones((2000, 2000))
    assert (small @ small).plan().rung == "core"
    if machine.cores() > 1:
        assert (large @ large).plan().rung != "core"


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64", "int64"])
def test_eigenvalues_alone_are_made_without_vectors(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrices = (RNG.normal(size=(3, 6, 6)) * 9).astype(dtype)
    wanted = [np.linalg.eigvals(matrices), np.linalg.eigvals(matrices + matrices.mT)]
    monkeypatch.setattr(np.linalg, "eig", None)  # which makes them
    for given, want in zip((matrices, matrices + matrices.mT), wanted, strict=True):
        got = sc.linalg.eigvals(sc.asarray(given))
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_array_equal(got.compute(), want)
