"""Functions of others along arrays, polynomials, places in one line: beside NumPy."""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import speedcube as sc
from speedcube import errors

DTYPES = st.sampled_from(["bool", "int8", "uint16", "int64", "uint64", "float32", "float64"])


def same(ours: Any, numpys: Any) -> None:
    pairs = [one if isinstance(one, tuple) else (one,) for one in (ours, numpys)]
    for mine, theirs in zip(*pairs, strict=True):
        assert isinstance(mine, sc.Array)
        value = np.asarray(mine)
        assert (value.dtype, value.shape) == (np.asarray(theirs).dtype, np.shape(theirs))
        np.testing.assert_array_equal(value, theirs)


@settings(max_examples=25, deadline=None)
@given(
    st.data(),
    hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4),
    st.sampled_from("CF"),
)
def test_places_and_indices_are_numpys(data: Any, shape: tuple[int, ...], order: Any) -> None:
    places = data.draw(hnp.arrays("int32", (3,), elements=st.integers(0, int(np.prod(shape)) - 1)))
    found = np.unravel_index(places, shape, order)
    same(sc.unravel_index(sc.asarray(places), shape, order), found)
    same(np.unravel_index(sc.asarray(places), shape, order), found)
    if shape:
        known = tuple(map(sc.asarray, found))
        same(sc.ravel_multi_index(known, shape, order=order), places.astype(np.int64))
        wide = tuple(index * 3 - 2 for index in found)
        for mode in ("wrap", "clip"):
            numpys = np.ravel_multi_index(wide, shape, mode, order)  # type: ignore[call-overload]
            same(np.ravel_multi_index(tuple(map(sc.asarray, wide)), shape, mode, order), numpys)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "ask",
    [
        lambda a: np.unravel_index(a([0, 6]), (2, 3)),
        lambda a: np.unravel_index(a([-1]), (2, 3)),
        lambda a: np.unravel_index(a([1.0]), (2, 3)),
        lambda a: np.unravel_index(a([0]), (3, 0)),
        lambda a: np.unravel_index(a([0]), (2, 3), "A"),
        lambda a: np.ravel_multi_index((a([1]),), (2, 3)),
        lambda a: np.ravel_multi_index((a([1]), a([-1])), (2, 3)),
        lambda a: np.ravel_multi_index((a([1]), a([1])), (2, 3), mode="x"),
        lambda a: np.ravel_multi_index((a([1]), a([1])), (2, 3), mode=("clip",)),
        lambda a: np.ravel_multi_index((a([1]), a([1.5])), (2, 3)),
    ],
)
def test_bad_places_are_refused(ask: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as numpys:
        ask(np.asarray)
    with pytest.raises(numpys.type):
        ask(sc.asarray)


def test_lazy_places_are_checked_before_they_are_read() -> None:
    x = sc.arange(5) * 2
    assert [i.tolist() for i in sc.unravel_index(x, (3, 3))] == [[0, 0, 1, 2, 2], [0, 2, 1, 0, 2]]
    with pytest.raises(errors.AxisError, match="index 8 is out of bounds for size 8"):
        sc.unravel_index(x, (2, 4))


def small(*sizes: int) -> Any:
    """Arrays with sides of such sizes, of 0 and 1."""
    shapes = hnp.array_shapes(max_dims=3, min_side=sizes[0], max_side=sizes[1])
    return DTYPES.flatmap(
        lambda dtype: hnp.arrays("int8", shapes, elements=st.sampled_from([0, 0, 1])).map(
            lambda drawn: drawn.astype(dtype)
        )
    )


@settings(max_examples=40, deadline=None)
@given(small(0, 4), st.sampled_from(["f", "b", "fb", "BF"]))
def test_zeros_are_trimmed_as_by_numpy(values: Any, trim: Any) -> None:
    x = sc.asarray(values)
    same(sc.trim_zeros(x, trim), np.trim_zeros(values, trim))
    if values.any():  # NumPy gives other shapes for each axis alone where there is nothing
        same(np.trim_zeros(x, trim, axis=-1), np.trim_zeros(values, trim, axis=-1))


@settings(max_examples=20, deadline=None)
@given(small(0, 5).map(np.ravel))
def test_polynomials_of_zeros(zeros: Any) -> None:
    same(sc.poly(sc.asarray(zeros)), np.poly(zeros) if len(zeros) else np.float64(1))


def test_polynomials_are_divided_and_fitted_by_numpy() -> None:
    same(sc.polydiv(sc.asarray([3.0, 5, 2]), [2.0, 1]), np.polydiv([3.0, 5, 2], [2.0, 1]))
    x = np.linspace(-1, 1, 20)
    y = np.stack([3 * x**2 - x + 0.5, np.sin(x)], 1)
    for options in ({}, {"w": np.arange(1.0, 21)}, {"cov": True}, {"cov": "unscaled"}):
        ours = sc.polyfit(sc.asarray(x), sc.asarray(y), 3, **options)
        same(ours, np.polyfit(x, y, 3, **options))  # type: ignore[call-overload]
    full = np.polyfit(sc.asarray(x), sc.asarray(y), 2, full=True)
    assert full[2] == 3
    same(full[0], np.polyfit(x, y, 2))
    with pytest.raises(errors.ParameterError):
        sc.polyfit(x, y, -1)
    with pytest.raises(TypeError):
        sc.polyfit(x, y[:4], 1)
    with pytest.raises(errors.ShapeError, match="a square matrix, not"):
        sc.poly(np.ones((1, 2)))


VALUES: Final = hnp.arrays(
    st.sampled_from(["int16", "float64"]),
    hnp.array_shapes(max_dims=3, max_side=4),
    elements=st.integers(-5, 5),
)


@settings(max_examples=25, deadline=None)
@given(VALUES)
def test_piecewise_is_numpys(values: Any) -> None:
    def asked(x: Any) -> Any:
        return np.piecewise(x, [x < 0, x > 2, x == 4], [lambda v: -v * 2, lambda v, k: v + k, 9], 7)

    with pytest.raises(TypeError):  # the first function takes no 7
        asked(values if (values < 0).any() else values * 0 - 1)
    functions = [lambda v, k: -v * k, lambda v, k: v + k, 9, lambda v, k: v * 0 + k]
    for several in (functions, functions[:3]):
        ours, numpys = (
            np.piecewise(x, [x < 0, x > 2, x == 4], several, 7)
            for x in (sc.asarray(values), values)
        )
        same(ours, numpys)
    line = values.ravel()
    same(sc.piecewise(line, line > 0, [1, 2]), np.piecewise(line, line > 0, [1, 2]))
    with pytest.raises(errors.ParameterError, match="1 conditions take 1 or 2 functions, not 3"):
        sc.piecewise(values, [values > 0], [1, 2, 3])


def test_piecewise_stays_lazy(monkeypatch: pytest.MonkeyPatch) -> None:
    def computed(*_: Any, **__: Any) -> Any:
        raise AssertionError("this was to stay lazy")

    x = sc.random.default_rng(1).normal(size=(50, 50))
    monkeypatch.setattr("speedcube.engine.compute.compute", computed)
    assert isinstance(sc.piecewise(x, [x < 0], [lambda v: -v, lambda v: v / 2]), sc.Array)


def test_functions_along_and_over_axes() -> None:
    values = np.arange(24).reshape(2, 3, 4) % 7
    x = sc.asarray(values)
    for axis in (0, 1, -1):
        for function in (np.sum, np.sort, lambda v: np.outer(v, v), lambda v: float(v[0])):
            same(
                np.apply_along_axis(function, axis, x), np.apply_along_axis(function, axis, values)
            )
    same(
        sc.apply_along_axis(np.partition, 1, x, 1), np.apply_along_axis(np.partition, 1, values, 1)
    )
    same(np.apply_over_axes(np.sum, x, [0, -1]), np.apply_over_axes(np.sum, values, [0, -1]))
    same(sc.apply_over_axes(np.cumsum, x, 1), np.apply_over_axes(np.cumsum, values, 1))
    for refused in (
        lambda: sc.apply_along_axis(np.sum, 3, x),
        lambda: sc.apply_along_axis(np.sum, 0, x[:, :0]),
        lambda: sc.apply_over_axes(lambda a, axis: a.sum(), x, 0),
    ):
        with pytest.raises(ValueError, match=r"ax[ei]s|no line"):
            refused()


def test_python_functions_of_each_element() -> None:
    kind = sc.vectorize(lambda a, b=1: np.where(a > b, a, -b), otypes=[float])
    same(kind(sc.asarray([1, 3]), b=sc.asarray([2, 2])), np.array([-2.0, 3.0]))
    same(sc.vectorize(divmod)(sc.asarray([7, 8]), 3), np.vectorize(divmod)([7, 8], 3))

    @sc.vectorize(otypes=[int])
    def doubled(n: int) -> int:
        return 2 * n

    same(doubled(sc.arange(3)), np.array([0, 2, 4]))
    same(sc.fromiter(iter([1, 2, 3]), "int16", 2), np.array([1, 2], "int16"))
    with pytest.raises(ValueError, match="fromiter"):
        sc.fromiter(iter([1]), int, 2)
    assert not sc.iterable(sc.ones(()))


def test_small_ones() -> None:
    x = sc.asarray([[1.0, np.nan], [np.inf, 2.0]])
    assert sc.isnull(x).tolist() == [[False, True], [False, False]]
    assert sc.notnull(x).tolist() == [[True, False], [True, True]]
    with pytest.raises(ValueError, match="NaN or infinities"):
        sc.asarray_chkfinite(x)
    assert sc.asarray_chkfinite(x[0, :1], "float32").dtype == sc.float32
    assert not np.shares_memory(x, x[0])
    assert np.may_share_memory(x, x)
    for k in (0, 1):
        same(sc.mask_indices(4, sc.tril, k), np.mask_indices(4, np.tril, k))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(np.row_stack((x, x)), np.vstack((x.compute(), x.compute())))


@pytest.mark.parametrize("order", [0, 1, 2, 3, 5])
def test_moments_are_dasks(order: int) -> None:
    from dask import array

    values = np.random.default_rng(3).normal(size=(6, 5)).astype("float32")
    for axis in (None, 0, (0, 1)):
        ours = sc.moment(values, order, axis, ddof=order % 2)
        if order < 2:
            assert np.allclose(ours.compute(), 1 if order == 0 and not order % 2 else 0, atol=1e-6)
            continue
        wanted = array.moment(array.from_array(values), order, axis, ddof=order % 2).compute()
        assert ours.dtype == wanted.dtype
        np.testing.assert_allclose(ours.compute(), wanted, rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match="order"):
        sc.moment(values, -1)
