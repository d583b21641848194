"""Products of matrices: NumPy's values; of integers and bool its bits, on every rung."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from oracle import draw

import speedcube as sc
from speedcube.errors import AxisError, ShapeError
from speedcube.expr.interpret import interpret
from speedcube.expr.routines import integers

RNG: Final = np.random.default_rng(1)
INTEGERS: Final = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
SHAPES: Final = (
    ((3, 4), (4, 5)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((2, 3, 4), (4, 5)),
    ((2, 1, 3, 4), (3, 4, 5)),
    ((4,), (2, 4, 5)),
    ((2, 3, 4), (4,)),
    ((0, 4), (4, 5)),
    ((3, 0), (0, 5)),
    ((1, 1), (1, 1)),
    ((0, 3, 4), (4, 2)),
    ((40, 50), (50, 60)),
    ((1000, 3), (3, 3)),
)


def numbers(dtype: str, shape: tuple[int, ...]) -> Any:
    if dtype == "bool":
        return RNG.random(shape) < 0.3
    return (RNG.normal(size=shape) * 9).astype(dtype)


def near(got: Any, wanted: Any) -> None:
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype.kind != "f":
        np.testing.assert_array_equal(got, wanted)
        return
    rounding = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-12}[wanted.dtype.name]
    np.testing.assert_allclose(got, wanted, rtol=rounding, atol=rounding * 100)


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, "float16", "float32", "float64"])
def test_products_of_all_shapes_are_numpys(dtype: str) -> None:
    for left, right in SHAPES:
        a, b = numbers(dtype, left), numbers(dtype, right)
        x, y = sc.asarray(a), sc.asarray(b)
        for on in ("core", "cores:2"):
            near((x @ y).compute(on=on), np.matmul(a, b))
        near(interpret((x @ y)._expr, draw), np.matmul(a, b))
        near(np.dot(x, np.swapaxes(y, 0, -1).T).compute(), np.dot(a, np.swapaxes(b, 0, -1).T))
        near(np.inner(x, np.ones_like(a)).compute(), np.inner(a, np.ones_like(a)))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_as_numpys_whatever_their_size(dtype: str) -> None:
    """The least and the greatest, in lines that need one product of doubles, digits, or none."""
    known = np.iinfo(dtype)
    for left, right in (
        ((60, 70), (70, 50)),
        ((20, 3000), (3000, 7)),
        ((2, 50, 60), (2, 60, 40)),
        ((300, 300), (300,)),
        ((5, 6), (6, 7)),
    ):
        a, b = (
            RNG.integers(known.min, known.max, shape, dtype, endpoint=True)
            for shape in (left, right)
        )
        a.flat[:3] = b.flat[:3] = known.min, known.max, known.min
        product = sc.asarray(a) @ b
        np.testing.assert_array_equal(product.compute(on="core"), a @ b)
        assert product.explain().covered


@pytest.mark.parametrize("dtype", INTEGERS)
def test_digits_are_the_number(dtype: str) -> None:
    known = np.iinfo(dtype)
    x = np.array([known.min, known.max, 0, 1, 5, known.max // 3], dtype)
    for bits in (8, 13, 21, 26):
        count = -(-8 * x.itemsize // bits)
        digits = integers._digits(x, bits, count)
        total = [
            sum(int(d[k]) << (bits * level) for level, d in enumerate(digits)) for k in range(6)
        ]
        assert total == x.tolist()
        assert all(np.abs(d).max() < 2**bits + (count == 1) * 2**64 for d in digits)


def test_views_are_multiplied_where_they_lie_and_what_is_made_once() -> None:
    a = RNG.normal(size=(50, 40))
    x = sc.asarray(a)
    calls: dict[str, Callable[[Any], Any]] = {
        "rows": lambda v: v[::2] @ v[1::2].T,
        "backwards": lambda v: v[:, ::-1] @ v.T,
        "a part of what is computed": lambda v: (v + 1)[:, 3:9] @ (v + 1)[:5, 3:9].T,
        "reshaped": lambda v: v[:20].reshape(40, 20).T @ v.reshape(50, 40)[:40],
        "repeated": lambda v: np.broadcast_to(v[0], (7, 40)) @ v.T,
        "squared": lambda v: np.exp(v) @ np.exp(v).T,
    }
    for name, call in calls.items():
        np.testing.assert_allclose(call(x).compute(on="core"), call(a), rtol=1e-12, err_msg=name)
    c = sc.exp(x)
    (stage,) = (c @ c.T).plan(on="core").stages
    assert len({id(arg) for arg in stage.source.args}) == 1  # made once, and seen in two ways
    drawn = sc.random.default_rng(3).normal(size=(30, 20))
    values = drawn.compute()
    np.testing.assert_allclose((drawn.T @ drawn).compute(), values.T @ values, rtol=1e-10)


def test_a_product_is_one_stage_and_what_surrounds_it_is_fused() -> None:
    a, b = RNG.normal(size=(30, 20)), RNG.normal(size=(20, 30))
    lazy = sc.exp(sc.asarray(a) * 2) @ sc.asarray(b) * 3 + 1
    plan = lazy.plan(on="core")
    assert [stage.op for stage in plan.stages] == ["matmul", None]
    assert "matmul (no law: BLAS, about n eps) of (30, 20) -> (30, 30)" in repr(plan)
    np.testing.assert_allclose(lazy.compute(on="cores:2"), np.exp(a * 2) @ b * 3 + 1, rtol=1e-12)


CHAINS: dict[str, Callable[[Any], Any]] = {
    "tensordot": lambda v: np.tensordot(v, v, axes=((1, 2), (1, 2))),
    "tensordot, turned": lambda v: np.tensordot(v, v, axes=((2, 0), (2, 0))),
    "tensordot, one axis": lambda v: np.tensordot(v, v, axes=(-1, 2)),
    "tensordot, all": lambda v: np.tensordot(v, v, axes=3),
    "tensordot, none": lambda v: np.tensordot(v[0], v[1], axes=0),
    "matvec": lambda v: np.matvec(v, v[0, 0]),
    "matvec, stacked": lambda v: np.matvec(v, v[:, 0]),
    "vecmat": lambda v: np.vecmat(v[0, :, 0], v),
    "vecmat, stacked": lambda v: np.vecmat(v[:, :, 0], v),
    "multi_dot": lambda v: np.linalg.multi_dot([v[0], v[1].T, v[0], v[1].T, v[0, :, 0]]),
    "multi_dot, vectors": lambda v: np.linalg.multi_dot([v[0, :, 0], v[1], v[0, 0]]),
    "power": lambda v: np.linalg.matrix_power(v[:, :2, :2], 5),
    "power 0": lambda v: np.linalg.matrix_power(v[:, :2, :2], 0),
    "power -2": lambda v: np.linalg.matrix_power(v[:, :2, :2], -2),
    "outer": lambda v: np.linalg.outer(v[0, 0], v[0, 1]),
    "kron": lambda v: np.kron(v[0], v[1]),
    "trace of a product": lambda v: np.trace(v[0] @ v[1].T),
    "dot of many axes": lambda v: np.dot(v, np.swapaxes(v, 1, 2)),
}


@pytest.mark.parametrize("name", CHAINS)
def test_numpys_functions_of_matrices_are_lazy_here(name: str) -> None:
    a = RNG.normal(size=(2, 3, 4))
    lazy = CHAINS[name](sc.asarray(a))
    assert isinstance(lazy, sc.Array)
    wanted = np.asarray(CHAINS[name](a))
    got = np.asarray(lazy.compute(on="core"))
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


X: Final = sc.ones((3, 4))
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "lengths": (lambda: X @ X, "@ (matmul) of shapes (3, 4) and (3, 4): 4 elements along one"),
    "a number": (lambda: X @ 2.0, "use * for numbers"),
    "stacks": (
        lambda: sc.ones((2, 3, 4)) @ sc.ones((3, 4, 5)),
        "stacks of shapes (2,) and (3,) do not broadcast together",
    ),
    "dot": (lambda: sc.dot(X, X), "transpose one of them (x.T)"),
    "inner": (lambda: sc.inner(X, sc.ones(3)), "inner of shapes (3, 4) and (3,)"),
    "tensordot": (lambda: sc.tensordot(X, X, 1), "tensordot of shapes"),
    "tensordot, too many": (
        lambda: sc.tensordot(X, X, 3),
        "axes=3 does not fit arrays of 2 and 2 axes",
    ),
    "tensordot, pairs": (
        lambda: sc.tensordot(X, X, ((0, 1), (0,))),
        "must name as many axes of one array as of the other",
    ),
    "matvec": (lambda: sc.matvec(sc.ones(3), sc.ones(3)), "matvec takes an array of 2 axes"),
    "multi_dot": (lambda: sc.linalg.multi_dot([X]), "two arrays or more, not 1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused_when_it_is_built(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises((ShapeError, AxisError)) as caught:
        call()
    assert message in str(caught.value)


def test_out_takes_a_product() -> None:
    out = sc.zeros((2, 2))
    assert sc.matmul(sc.ones((2, 3)), sc.ones((3, 2)), out=out) is out
    np.testing.assert_array_equal(out.compute(), np.full((2, 2), 3.0))
