"""Norms of nothing, singular matrices in a stack, products of bool: NumPy's results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import machine
from speedcube.errors import LawError

INF = np.inf


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex64", "int64"])
@pytest.mark.parametrize("order", [None, 1, 2, INF, "fro", "nuc"])
def test_the_norm_of_nothing_is_zero(dtype: str, order: Any) -> None:
    for shape, axis in (((0, 0), None), ((0, 3), None), ((0, 3, 3), (0, 1)), ((3, 0, 0), (1, 2))):
        x = np.empty(shape, dtype)
        found = sc.linalg.norm(x, order, axis=axis).compute(on="core")
        known = np.linalg.norm(x, order, axis=axis)
        assert found.dtype == known.dtype
        assert np.array_equal(found, known), (shape, axis)


@pytest.mark.parametrize("order", [-1, -2, -INF])
def test_the_least_of_nothing_is_refused(order: Any) -> None:
    with pytest.raises(ValueError, match="zero-size"):
        np.linalg.norm(np.empty((0, 0)), order)
    with pytest.raises(ValueError, match="no elements"):
        sc.linalg.norm(np.empty((0, 0)), order)


def test_a_norm_of_matrices_wants_two_axes() -> None:
    with pytest.raises(IndexError, match="takes matrices"):
        sc.linalg.matrix_norm(np.ones(3))


@pytest.mark.parametrize("order", [1, -1, INF, "fro"])
def test_the_condition_of_a_singular_matrix_is_infinite(order: Any) -> None:
    stack = np.stack([np.eye(3), np.ones((3, 3)), 2 * np.eye(3)])
    for x in (stack, stack[1], stack + 0j, np.empty((0, 3, 3))):
        found = sc.linalg.cond(x, order).compute(on="core")
        np.testing.assert_allclose(found, np.linalg.cond(x, order))
    with pytest.raises(np.linalg.LinAlgError, match="without elements"):
        sc.linalg.cond(np.empty((3, 0, 0)), order)


def test_the_product_of_a_vector_and_a_matrix_of_bool_is_bool() -> None:
    x, a = np.array([True, False, True]), np.eye(3, dtype=bool)
    found = sc.vecmat(x, a).compute(on="core")
    assert found.dtype == np.vecmat(x, a).dtype == bool
    assert np.array_equal(found, np.vecmat(x, a))


def test_nobody_looks_for_room_of_what_is_little(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked() -> int:
        raise AssertionError("free memory was asked for")

    a, b = sc.asarray(np.ones((300, 300))), sc.asarray(np.ones(300))
    monkeypatch.setattr(machine, "free_memory", asked)
    assert float((a @ b).compute(on="core")[0]) == 300.0
    many = sc.asarray(np.ones((3000, 300)))
    assert float(sc.linalg.svd(many)[1].compute(on="core")[0]) > 0


def test_both_ways_of_asking_for_a_product_are_one() -> None:
    a, b = sc.asarray(np.arange(6.0).reshape(2, 3)), sc.asarray(np.arange(3))
    assert np.array_equal((a @ b).compute(), sc.matmul(a, b).compute())
    assert np.array_equal(np.matmul(a, b).compute(), [5.0, 14.0])
    with sc.on(strict=True), pytest.raises(LawError, match="does not promise the same bits"):
        (a @ b).compute()


@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize("dtype", ["float16", "bool", "int8"])
def test_powers_of_matrices_are_products_of_any_dtype(dtype: str, n: int) -> None:
    x = np.array([[1, 2], [3, 1]]).astype(dtype)
    found, known = sc.linalg.matrix_power(x, n).compute(on="core"), np.linalg.matrix_power(x, n)
    assert found.dtype == known.dtype
    assert np.array_equal(found, known)
    with pytest.raises(TypeError, match="float16"):
        sc.linalg.matrix_power(x.astype("float16"), -1)
