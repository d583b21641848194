"""What NumPy's functions are told by ``out where initial dtype``, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import dask
import numpy as np
import pytest

import speedcube as sc
from speedcube import errors

N = np.arange(12.0).reshape(3, 4)
MASK = N % 3 > 0
X = sc.asarray(N)


def test_out_is_the_result_from_then_on() -> None:
    total, before = sc.zeros((3, 4)), sc.zeros((3, 4))
    seen = total + 0
    assert np.add(X, 1, out=total) is total
    np.testing.assert_array_equal(total.compute(), N + 1)
    np.testing.assert_array_equal(seen.compute(), before.compute())
    assert np.multiply(total, 2, out=total) is total
    np.testing.assert_array_equal(total.compute(), (N + 1) * 2)
    assert sc.add(X[0], 1, out=total).compute()[2].tolist() == (N[0] + 1).tolist()
    row = sc.zeros(4, "float32")
    assert np.sum(X, axis=0, out=row) is row
    assert (row.dtype, row.compute().tolist()) == (np.float32, N.sum(0).tolist())
    for name in ("mean", "std", "max", "nansum", "nanmin", "nanmean", "cumsum"):
        into = sc.zeros((3, 4) if name == "cumsum" else 4)
        assert getattr(np, name)(X, axis=0, out=into) is into
        np.testing.assert_allclose(into.compute(), getattr(np, name)(N, axis=0))
    rounded = sc.zeros((3, 4))
    assert np.round(X / 3, 1, out=rounded) is rounded
    assert np.clip(X, 2, 5, out=rounded).compute().max() == 5
    assert np.add(N, N, out=total) is total  # type: ignore[call-overload]


def test_where_leaves_what_out_has() -> None:
    out, numpys = sc.full((3, 4), 7.0), np.full((3, 4), 7.0)
    np.sqrt(X, out=out, where=MASK)
    np.testing.assert_array_equal(out.compute(), np.sqrt(N, out=numpys, where=MASK))
    alone = np.subtract(X, 1, where=MASK).compute()
    np.testing.assert_array_equal(alone, np.where(MASK, N - 1, 0))
    np.testing.assert_array_equal(np.sum(X, where=sc.asarray(MASK)).compute(), N[MASK].sum())


def test_means_of_what_a_mask_leaves_are_of_exact_sums() -> None:
    line = sc.asarray([1e16, 1.0, -1e16, 5.0])
    assert float(line.mean(where=[True, True, True, False])) == 1 / 3
    assert float(sc.nanmean([1e16, np.nan, 1.0, -1e16])) == 1 / 3
    assert float(sc.nansum([1e300, np.nan, 1.0, -1e300])) == 1.0
    assert float(sc.nanvar(np.array([1e8, np.nan, 1e8 + 1]))) == 0.25
    assert np.isnan(float(sc.nanstd([1.0, np.nan], ddof=1)))


def test_nothing_is_computed_by_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def computed(*_: Any, **__: Any) -> Any:
        raise AssertionError("this was to stay lazy")

    monkeypatch.setattr("speedcube.engine.compute.compute", computed)
    for lazy in (sc.nanmean(X), sc.allclose(X, X), sc.diff(X), sc.cov(X), sc.packbits(X > 1)):
        assert isinstance(lazy, sc.Array)


def test_pythons_integers_keep_to_the_dtype() -> None:
    small = sc.asarray(np.array([0, 7, 255], "uint8"))
    for ask in (lambda: small + 300, lambda: small - -1, lambda: X + 10**400):
        with pytest.raises(OverflowError):
            ask()
        with pytest.raises(errors.DTypeError):
            ask()
    assert np.clip(small, -3, 300).compute().tolist() == [0, 7, 255]
    assert (2 << small[:2]).compute().tolist() == [2, 0]


def test_none_and_text_equal_nothing() -> None:
    for other in (None, "a", b"a"):
        assert (other == X).compute().tolist() == (other == N).tolist()  # type: ignore[comparison-overlap]
        assert (other != X).compute().tolist() == (other != N).tolist()  # type: ignore[comparison-overlap]


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "power": (lambda: np.power(sc.arange(3), np.array([1, -1, 2])), ValueError, "negative integer"),
    "powers": (lambda: sc.arange(3) ** sc.asarray([1, -1, 2]), ValueError, "negative integer"),
    "axis": (lambda: sc.nansum(X, axis=2), np.exceptions.AxisError, "axis 2 is out of range"),
    "out's shape": (lambda: np.sum(X, axis=0, out=sc.zeros(3)), ValueError, "out= has shape"),
    "out's dtype": (lambda: np.add(X, 1, out=sc.zeros((3, 4), "i8")), TypeError, "same_kind"),
    "dtype": (lambda: np.add(X, 1, dtype=int), TypeError, "same_kind"),
    "no loop": (lambda: np.sqrt(sc.arange(3), dtype="i8"), TypeError, "cannot give dtype"),
    "where's shape": (lambda: np.sum(X[0], where=MASK), ValueError, "does not broadcast"),
    "max where": (lambda: np.max(X, where=MASK), ValueError, "where= needs initial="),
    "max of no elements": (lambda: np.nanmax(sc.zeros(0)), ValueError, "of no elements"),
    "initial": (lambda: np.max(sc.zeros(3, "i1"), initial=300), OverflowError, "does not fit"),
    "ddof": (lambda: np.var(X, ddof=1, correction=1), ValueError, "mean the same"),
    "clip": (lambda: sc.clip(X, 0, min=0), ValueError, "mean the same"),
    "diff": (lambda: np.diff(X, n=-1), ValueError, "0 or more"),
    "decimals": (lambda: np.round(X, 1.5), TypeError, "must be an integer"),
    "weights": (lambda: np.average(X, weights=np.ones(3)), ValueError, "need axis="),
    "cov": (lambda: np.cov(X, aweights=np.ones(3)), ValueError, "there are 4 observations"),
    "bits": (lambda: np.packbits(X), TypeError, "takes integers or bool"),
    "argmax": (lambda: sc.zeros((0, 0)).argmax(axis=1), ValueError, "argmax of no elements"),
    "text": (lambda: np.add(X, "a"), TypeError, "neither a number"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_as_numpy_refuses_it(name: str) -> None:
    ask, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message) as caught:
        ask()
    assert isinstance(caught.value, errors.SpeedcubeError)


def test_an_axis_error_travels() -> None:
    import pickle

    with pytest.raises(np.exceptions.AxisError) as caught:
        np.sum(X, axis=5)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe", "other", None])
@pytest.mark.parametrize("dtype", [None, "int32", "float32", "float64"])
@pytest.mark.parametrize("ufunc", [np.add, np.sqrt, np.less, np.divmod])
def test_casting_is_numpys(ufunc: Any, dtype: Any, casting: Any) -> None:
    count = ufunc.nin
    for kinds in (("float32", "float64"), ("int64", "int64"), ("float64", "float64")):
        if dtype == "int32" and ufunc in (np.sqrt, np.less):
            continue  # whose errors and whose common dtype are others
        given = [np.arange(1, 4).astype(kind) for kind in kinds][:count]
        keywords = {"casting": casting, "dtype": bool if ufunc is np.less else dtype}
        wanted: Any = None
        with suppress(TypeError, ValueError):
            wanted = ufunc(*given, **keywords)
        if wanted is None:
            with pytest.raises((TypeError, ValueError)):
                ufunc(*map(sc.asarray, given), **keywords)
            continue
        ours = ufunc(*map(sc.asarray, given), **keywords)
        for one, theirs in zip(np.atleast_1d(ours), np.atleast_1d(wanted), strict=True):
            np.testing.assert_array_equal(np.asarray(one), theirs, str((kinds, keywords)))


def test_casting_rules_what_out_takes() -> None:
    whole = sc.zeros((3, 4), "int32")
    with pytest.raises(TypeError, match="same_kind does not cast to int32"):
        np.sqrt(X, out=whole)
    assert np.sqrt(X, out=whole, casting="unsafe") is whole
    np.testing.assert_array_equal(whole.compute(), np.sqrt(N).astype("int32"))
    narrow = sc.zeros((3, 4), "float32")
    with pytest.raises(TypeError, match="rule safe"):
        np.add(X, 1, out=narrow, casting="safe")


def test_two_results_are_written_into_two_arrays() -> None:
    first, second = sc.zeros((3, 4)), sc.zeros((3, 4))
    assert np.divmod(X, 5, out=(first, second))[1] is second
    np.testing.assert_array_equal(first.compute(), N // 5)
    np.testing.assert_array_equal(second.compute(), N % 5)
    whole = np.modf(X / 4, where=MASK)[1]
    np.testing.assert_array_equal(whole.compute(), np.where(MASK, np.trunc(N / 4), 0))
    fraction, exponent = np.frexp(X, out=(None, sc.zeros((3, 4), "int64")))
    np.testing.assert_array_equal(np.ldexp(fraction, exponent).compute(), N)
    with pytest.raises(ValueError, match="tuple of two arrays"):
        sc.modf(X, first)


def test_clip_takes_what_minimum_takes() -> None:
    out, numpys = sc.full((3, 4), 7.0), np.full((3, 4), 7.0)
    np.clip(X, 2, 5, out=out, where=sc.asarray(MASK))
    np.testing.assert_array_equal(out.compute(), np.clip(N, 2, 5, out=numpys, where=MASK))
    assert sc.clip(X, 1, 3, dtype="float32").dtype == np.float32
    with pytest.raises(TypeError):
        sc.clip(X, 1, 3, dtype="float32", casting="safe")
    assert sc.clip(a=X, min=3).compute().min() == 3


def test_a_line_of_nothing_but_nan_has_no_place() -> None:
    values = np.array([[1.0, np.nan], [np.nan, np.nan]])
    for name in ("nanargmin", "nanargmax"):
        places = getattr(sc, name)(values, axis=1)
        for ask in (places.compute, places.persist, places.tolist, lambda: np.asarray(places)):  # noqa: B023
            with pytest.raises(ValueError, match=f"{name}: .*holds only NaN"):
                ask()
        together = (sc.compute, sc.persist, dask.compute)
        for ask_all in together:
            with pytest.raises(ValueError, match=f"{name}: .*holds only NaN"):
                ask_all(places, sc.asarray(values).sum())
            found = ask_all(getattr(sc, name)(values[0]), sc.ones(3).sum())
            assert [float(one) for one in found] == [0.0, 3.0]
        assert getattr(np, name)(sc.asarray(values)).compute() == 0
        assert getattr(sc, name)(values[:1], axis=1).tolist() == [0]


def test_weights_that_sum_to_zero_are_refused_where_they_are_known() -> None:
    for weights, axis in (([1, -1, 0, 0], 1), ([[0.0] * 4] * 3, 0)):
        for kind in (np.asarray, sc.asarray):
            with pytest.raises(ZeroDivisionError):
                np.average(kind(N), axis=axis, weights=kind(weights))
    lazy = sc.average(X, axis=1, weights=sc.arange(4) * 0)
    assert np.isnan(lazy.compute()).all()
