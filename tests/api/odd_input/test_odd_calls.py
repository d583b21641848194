"""Odd arguments to every function: NumPy's value, or its kind of error with our message."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import (
    AxisTypeError,
    DTypeError,
    MatrixError,
    ParameterError,
    ParameterTypeError,
    ParameterZeroError,
    RangeError,
    ShapeError,
)

from .calls import Call, calls_of, names, names_elsewhere, numpys, ours, wrong
from .reasons import reason

SHARE = 199  # one call of so many is tried each time; the slow test tries all
NAMES = names()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is saved as "a" does not lie in the tree."""
    monkeypatch.chdir(tmp_path)


def told(calls: Iterator[Call]) -> list[str]:
    """What of ``calls`` is not NumPy's, and has no reason."""
    found = []
    for call in calls:
        theirs, mine = numpys(call), ours(call)
        what = wrong(mine, theirs)
        if what and not reason(call, mine, theirs):
            found.append(f"{call}: {what}")
    return found


@pytest.mark.parametrize("first", NAMES[::20])
def test_odd_calls_are_numpys(first: str) -> None:
    """Some of each function: a prime number apart, so that arrays and choices vary."""
    k = NAMES.index(first)
    some = [one for name in NAMES[k : k + 20] for one in calls_of(name)]
    assert not (wrongs := told(islice(some, k % SHARE, None, SHARE))), "\n".join(wrongs)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_all_odd_calls_are_numpys(name: str) -> None:
    assert not (wrongs := told(calls_of(name))), "\n".join(wrongs)


@pytest.mark.slow
@pytest.mark.parametrize("name", names_elsewhere())
def test_odd_calls_of_matrices_spectra_and_methods_are_numpys(name: str) -> None:
    assert not (wrongs := told(calls_of(name))), "\n".join(wrongs)


def test_nearly_every_function_is_called_oddly() -> None:
    assert len(NAMES) > 250
    assert sum(1 for name in NAMES for _ in calls_of(name)) > 150_000
    assert len(names_elsewhere()) > 80
    assert sum(1 for name in names_elsewhere() for _ in calls_of(name)) > 30_000


# What the first run found ------------------------------------------------------------------------

COMPLEX = np.array([[1 - 1j, 2], [0, 3j]], "complex64")


def test_vectors_that_multiply_matrices_are_conjugated() -> None:
    assert np.array_equal(sc.vecmat(COMPLEX, COMPLEX).compute(), np.vecmat(COMPLEX, COMPLEX))


def test_what_numpy_refuses_of_matrices_spectra_and_methods() -> None:
    x = sc.asarray([[2.0, 1.0], [0.0, 3.0]])
    with pytest.raises(ShapeError, match=r"takes vectors of three elements, not arrays of shape"):
        sc.linalg.cross(x, x)
    with pytest.raises(MatrixError, match=r"array 1 has shape \(2,\)"):
        sc.linalg.multi_dot([x, x[0], x])
    with pytest.raises(ParameterTypeError, match="n must be an integer, not True"):
        sc.fft.fft(x, n=True)
    with pytest.raises(ParameterTypeError, match="fftshift: axis must be an integer, not 'x'"):
        sc.fft.fftshift(x, axes="x")
    with pytest.raises(DTypeError, match="choose takes integers, which of the arrays; got float64"):
        x.choose([x, x], mode="clip")
    with pytest.raises(DTypeError, match="repeats are integers, not float64"):
        sc.repeat(x[0], x[0])
    with pytest.raises(DTypeError, match="astype takes a dtype, not an array"):
        x.astype(np.zeros(3))
    with pytest.raises(AxisTypeError, match=r"speedcube\.sort\(x, axis=None\) gives a line"):
        x.sort(axis=None)
    with pytest.raises(ParameterError, match="fill takes one value"):
        x.fill([1, 2])


def test_a_set_keeps_integers_that_no_float_holds() -> None:
    wide = np.array([2**64 - 1, 0, 3], "uint64")
    assert sc.setdiff1d(wide, np.arange(12.0)).tolist() == [2**64 - 1]
    assert sc.setdiff1d(wide, np.arange(12.0), assume_unique=True).tolist() == [2**64 - 1]


def test_spreads_of_complex_numbers_are_real_in_any_dtype() -> None:
    for function in ("var", "std"):
        for dtype in ("complex64", "complex128"):
            mine = getattr(sc, function)(COMPLEX, dtype=dtype).compute()
            theirs = getattr(np, function)(COMPLEX, dtype=dtype)
            assert mine.dtype == theirs.dtype
            assert mine == pytest.approx(theirs, rel=1e-6)


def test_a_product_over_no_axis_is_its_elements_each_time() -> None:
    """The third program of one kind was once planned as a product of all."""
    for length in (4, 4, 4, 5):
        x = np.arange(length)
        assert np.array_equal(sc.prod(sc.asarray(x), axis=()).compute(on="core"), x)


def test_numbers_take_a_dtype() -> None:
    three = sc.exp(np.float64(3), dtype="float32").compute()
    assert three.dtype == np.float32
    assert sc.add(3, 4, dtype="int8").compute().dtype == np.int8
    with pytest.raises(RangeError, match="300 is out of bounds for int8"):
        sc.add(300, 4, dtype="int8")


def test_parts_of_complex_numbers_are_rounded_apart() -> None:
    assert sc.round(np.array([-np.inf + 1.26j]), 1).compute()[0] == complex(-np.inf, 1.3)


def test_points_of_one_axis_may_be_a_list() -> None:
    counts, edges = sc.histogramdd([3, 1, 2], bins=2)
    assert counts.tolist() == [1.0, 2.0]
    assert [one.tolist() for one in edges] == [[1.0, 2.0, 3.0]]


def test_orders_axes_and_dtypes_that_numpy_refuses() -> None:
    x = sc.arange(6).reshape(2, 3)
    with pytest.raises(AxisTypeError, match="axis must be an integer, not True"):
        x.sum(axis=True)
    with pytest.raises(ParameterTypeError, match="order must be 'C', 'F', 'A' or 'K', not 2"):
        sc.abs(x, order=2)
    with pytest.raises(ParameterError, match="order must be 'C' or 'F', not 'A'"):
        sc.zeros(3, order="A")
    with pytest.raises(ParameterError, match="order 'K' says no order"):
        sc.reshape(x, (3, 2), order="K")
    with pytest.raises(DTypeError, match="nanmean of float64 has no dtype int8"):
        sc.nanmean(x * 1.0, dtype="int8")
    with pytest.raises(ParameterZeroError, match="average of nothing"):
        sc.average(sc.zeros((0, 3)), axis=1)
    assert sc.ravel(sc.asarray(np.arange(6).reshape(2, 3).T), order=None).tolist() == [
        0, 3, 1, 4, 2, 5
    ]  # fmt: skip
    assert sc.angle([True, False]).dtype == np.float64
    assert sc.cumulative_sum(2.5).compute().tolist() == [2.5]
