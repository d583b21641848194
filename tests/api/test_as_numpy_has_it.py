"""What once differed from NumPy, item by item: values, dtypes and the types of errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import UnsupportedError

TINY = [[3, -1, 2], [0, 5, -4]]


def _assigned(m: Any, dtype: str, key: Any, value: Any) -> Any:
    x = m.asarray([1, -2, 3], dtype=dtype).copy()
    x[key(x) if callable(key) else key] = value
    return x


# Each is made by NumPy and by us of the same words.
SAME: dict[str, Callable[[Any], Any]] = {
    # dtypes
    "zeros(dtype=None)": lambda m: m.zeros(3, dtype=None),
    "ones(dtype=None)": lambda m: m.ones((2, 2), dtype=None),
    "round of bool": lambda m: np.round(m.asarray([True, False])),
    "round of uint8": lambda m: np.round(m.asarray([1, 2], dtype="uint8")),
    "arange of NumPy's integers": lambda m: m.arange(np.uint8(1), np.int8(5), np.uint64(2)),
    "arange of one uint8": lambda m: m.arange(np.uint8(5)),
    "arange of float16": lambda m: m.arange(np.float16(0), np.float16(2), np.float16(0.25)),
    # comparisons with what is no number
    "== None": lambda m: m.arange(3) == None,  # noqa: E711
    "!= None": lambda m: m.arange(3) != None,  # noqa: E711
    "== text": lambda m: m.arange(3) == "a",
    "!= text": lambda m: m.arange(3) != "a",
    # 0-d, limits, names
    "sum of 0-d along axis 0": lambda m: np.sum(m.asarray(3.0), axis=0),
    "clip of uint8 beyond it": lambda m: np.clip(m.asarray([1, 2, 255], dtype="uint8"), -3, 300),
    "array": lambda m: m.array([[1, 2.5]]),
    "real and imag": lambda m: m.asarray([1.0, 2.0]).real + m.asarray([1.0, 2.0]).imag,
    "assignment by a mask": lambda m: _assigned(m, "float64", lambda x: x < 0, 0),
    "uint8 beside 300": lambda m: m.asarray([1, 2], dtype="uint8") < 300,
    # repeats, choices, windows
    "repeat by a float": lambda m: m.repeat(m.asarray([1.0, 2.0]), 2.7),
    "repeat by floats": lambda m: m.repeat(m.asarray([1.0, 2.0, 3.0]), [1.0, 2.9, 0.5]),
    "where of uint8 and -1": lambda m: m.where(
        m.asarray([True, False]), m.asarray([1, 2], dtype="uint8"), -1
    ),
    "where of 300 and uint8": lambda m: m.where(
        m.asarray([True, False]), 300, m.asarray([1, 2], dtype="uint8")
    ),
    "where of int64 and 2**63": lambda m: m.where(m.asarray([True, False]), m.arange(2), 2**63),
    "where of float32 and 0.1": lambda m: m.where(
        m.asarray([True, False]), m.asarray([1, 2], dtype="float32"), 0.1
    ),
    **{
        f"{name}({size})": lambda m, name=name, size=size: getattr(m, name)(size)
        for name in ("bartlett", "blackman", "hamming", "hanning")
        for size in (5.5, 5.2, 6, 1, 1.5, 0, -1)
    },
    "kaiser(5.5)": lambda m: m.kaiser(5.5, 3.0),
    "kaiser(5.2)": lambda m: m.kaiser(5.2, 3.0),
    # means of integers
    **{
        f"{name} of {kind} as {dtype}, axis {axis}": lambda m, n=name, k=kind, d=dtype, a=axis: (
            getattr(m, n)(m.asarray(TINY, dtype=k), axis=a, dtype=d)
        )
        for name in ("mean", "var")
        for kind in ("float64", "int32")
        for dtype in (int, "int8")
        for axis in (None, 0, 1)
    },
    "mean of halves as int": lambda m: m.mean(m.asarray([1.5, 2.5, 4.0]), dtype=int),
    "mean as bool": lambda m: m.mean(m.asarray([1, 0, 4]), dtype=bool),
    "mean as int where": lambda m: m.mean(
        m.asarray([1.5, 2.5, 4.0]), dtype=int, where=m.asarray([True, False, True])
    ),
    "std of a line as int": lambda m: m.std(m.asarray([1.5, 2.5, 9.0]), dtype=int),
    # cross products of two elements
    "cross of 2 and 2": lambda m: m.cross(m.asarray([1.0, 2.0]), m.asarray([3.0, 5.0])),
    "cross of 2 and 3": lambda m: m.cross(m.asarray([1.0, 2.0]), m.asarray([3.0, 5.0, 7.0])),
    "cross of 3 and 2": lambda m: m.cross(m.asarray([1.0, 2.0, 4.0]), m.asarray([3.0, 5.0])),
    "cross of rows of 2": lambda m: m.cross(m.asarray([[1, 2], [3, 4]]), m.asarray([5, 6])),
}


@pytest.mark.parametrize("name", SAME)
def test_same(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = np.asarray(SAME[name](np))
    found = np.asarray(SAME[name](sc))
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-15)


# What NumPy refuses, we refuse with an error that is caught as its error is.
REFUSED: dict[str, Callable[[Any], Any]] = {
    "integers to negative integers": lambda m: m.arange(3) ** m.asarray([-1, -1, -1]),
    "integers to -1": lambda m: m.arange(3) ** -1,
    "argmax of empty lines": lambda m: m.zeros((0, 0)).argmax(axis=1),
    "argmin of empty columns": lambda m: m.zeros((0, 3)).argmin(axis=0),
    "an axis that is not there": lambda m: m.sum(m.zeros((2, 2)), axis=5),
    "sum of 0-d along axis 1": lambda m: np.sum(m.asarray(3.0), axis=1),
    "uint8 and 300": lambda m: m.asarray([1], dtype="uint8") + 300,
    "full of 300": lambda m: m.full(3, 300, dtype="uint8"),
    "int64 and 2**70": lambda m: m.asarray([1]) + 2**70,
    "uint8 assigned 300": lambda m: _assigned(m, "int8", 0, 300),
    "zeros(3, 3)": lambda m: m.zeros(3, 3),
    "text below numbers": lambda m: m.arange(3) < "a",
    "round(bool, 1)": lambda m: m.round(m.asarray([True]), 1),
    "std of columns as int": lambda m: m.std(m.asarray(TINY), axis=0, dtype=int),
    "cross of four": lambda m: m.cross(m.asarray([1, 2, 3, 4]), m.asarray([1, 2, 3, 4])),
    "hanning of text": lambda m: m.hanning("a"),
    "where of uint8 and 2**70": lambda m: m.where(
        m.asarray([True]), m.asarray([1], dtype="uint8"), 2**70
    ),
}


def _error_of(make: Callable[[Any], Any], module: Any) -> Exception:
    try:
        result = make(module)
        result.compute()
    except Exception as err:
        return err
    raise AssertionError(f"no error, but {result}")


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    make = REFUSED[name]
    theirs, ours = _error_of(make, np), _error_of(make, sc)
    builtin = next(kind for kind in type(theirs).__mro__ if kind.__module__ == "builtins")
    assert isinstance(ours, builtin), f"{ours!r} for {theirs!r}"
    assert len(str(ours)) > 10


def test_axis_error_is_numpys() -> None:
    with pytest.raises(np.exceptions.AxisError):
        sc.sum(sc.zeros(3), axis=1)
    assert issubclass(sc.errors.AxisError, np.exceptions.AxisError)


# Ufuncs' methods ----------------------------------------------------------------------------------

FLOATS = np.array([3.0, 1.0, -0.5, 1.0, np.nan, 9.0, 2.0, 6.0])
PLAIN = np.array([[3.0, 1, 4, 1, 5], [9, 2, 6, 5, 3], [5, 8, 9, 7, 9]])
ONES = PLAIN.astype("int64")

ACCUMULATED = ("add", "multiply", "subtract", "maximum", "minimum", "fmax", "fmin")
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm")
LOGICAL = ("logical_and", "logical_or", "logical_xor")


def _same(found: Any, wanted: Any) -> None:
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(found.compute(), wanted, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("name", [*ACCUMULATED, *BITWISE, *LOGICAL])
def test_accumulate_and_reduce(name: str, dtype: str) -> None:
    ufunc, values = getattr(np, name), PLAIN.astype(dtype)
    for method in ("accumulate", "reduce"):
        for axis in (0, 1, -1):
            try:
                wanted = getattr(ufunc, method)(values, axis=axis)
            except TypeError:
                with pytest.raises(TypeError):
                    getattr(ufunc, method)(sc.asarray(values), axis=axis)
                continue
            if wanted.dtype.kind in "iu" and name in ("add", "multiply") and dtype == "bool":
                wanted = wanted.astype("int64")
            if name == "multiply" and dtype == "float16":
                continue  # float16 is multiplied in float64 here, and overflows later
            _same(getattr(ufunc, method)(sc.asarray(values), axis=axis), wanted)


@pytest.mark.parametrize("name", [*ACCUMULATED, *BITWISE, *LOGICAL])
def test_reduce_of_one_number(name: str) -> None:
    """A 0-d array has axes 0 and -1 for a ufunc's reduce, and no other."""
    ufunc, value = getattr(np, name), np.array(5, "int8")
    for axis in (0, -1, None, ()):
        for keepdims in (False, True):
            found = ufunc.reduce(sc.asarray(value), axis=axis, keepdims=keepdims)
            _same(found, ufunc.reduce(value, axis=axis, keepdims=keepdims))
    for wrong in (1, (0,), (0, 0)):
        with pytest.raises(np.exceptions.AxisError):
            ufunc.reduce(sc.asarray(value), axis=wrong)
        with pytest.raises(np.exceptions.AxisError):  # before the dtype is looked at
            ufunc.reduce(sc.asarray(np.array(True)), axis=wrong)


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_accumulate_with_nan(name: str) -> None:
    ufunc = getattr(np, name)
    for values in (FLOATS, np.append(np.nan, FLOATS), np.full(3, np.nan)):
        _same(ufunc.accumulate(sc.asarray(values)), ufunc.accumulate(values))
    ours = ufunc.accumulate(sc.asarray([[0.0, -0.0], [-0.0, 0.0]]), axis=1).compute()
    least = name in ("minimum", "fmin")  # -0 is below 0
    assert np.signbit(ours).tolist() == [[False, least], [True, least]]


@pytest.mark.parametrize("name", [*ACCUMULATED, *BITWISE, *LOGICAL])
@pytest.mark.parametrize("few", [True, False])
def test_reduceat(name: str, few: bool) -> None:
    ufunc = getattr(np, name)
    kind = "int64" if name in BITWISE else "float64"
    values = (np.arange(40) % 7 + 1).reshape(20, 2).astype(kind)
    indices = [0, 3, 1, 5] if few else [*range(0, 20), 3, 1, 4, 4]
    if not few and name not in ("add", "maximum", "minimum", "logical_and", "logical_or"):
        indices = [0, 7, 19, 2]
    _same(ufunc.reduceat(sc.asarray(values), indices), ufunc.reduceat(values, indices))
    rising = list(range(0, 20, 1 if not few else 6))
    _same(
        ufunc.reduceat(sc.asarray(values.T.copy()), rising, axis=1),
        ufunc.reduceat(values.T, rising, axis=1),
    )


def test_reduceat_is_checked() -> None:
    x = sc.arange(5)
    with pytest.raises(IndexError, match="index 5 is not among 5"):
        np.add.reduceat(x, [0, 5])
    with pytest.raises(TypeError, match="integers"):
        np.add.reduceat(x, [0.5])
    assert np.add.reduceat(x.astype("uint8"), [0, 2]).dtype == np.uint64


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "power", "hypot"])
def test_at(name: str) -> None:
    ufunc = getattr(np, name)
    for key, value in (([0, 2, 0, -1], [2.0, 3.0, 4.0, 5.0]), (slice(1, 4), 2.0), (1, 3.0)):
        theirs, ours = FLOATS.copy(), sc.asarray(FLOATS).copy()
        ufunc.at(theirs, key, value)
        ufunc.at(ours, key, value)
        np.testing.assert_allclose(ours.compute(), theirs, rtol=1e-14)
    theirs, ours = FLOATS.copy(), sc.asarray(FLOATS).copy()
    np.negative.at(theirs, [0, 0, 1])
    np.negative.at(ours, [0, 0, 1])
    np.testing.assert_array_equal(ours.compute(), theirs)
    with pytest.raises(UnsupportedError, match="one place 100 times"):
        np.power.at(ours, [0] * 100, 1.0)


def test_outer() -> None:
    for name in ("add", "multiply", "arctan2", "maximum"):
        ufunc = getattr(np, name)
        wanted = ufunc.outer(PLAIN, PLAIN[0])
        _same(ufunc.outer(sc.asarray(PLAIN), PLAIN[0]), wanted)
        _same(ufunc.outer(PLAIN, sc.asarray(PLAIN[0])), wanted)


@pytest.mark.parametrize("name", ["equal", "ldexp", "left_shift"])
@pytest.mark.parametrize("method", ["reduce", "accumulate"])
def test_no_fold(name: str, method: str) -> None:
    """A TypeError, as NumPy's: the results are not of the dtype that is folded."""
    for array, words in ((FLOATS, "."), (sc.asarray(FLOATS), "cannot be folded")):
        with pytest.raises(TypeError, match=words):
            getattr(getattr(np, name), method)(array)


def test_functions_have_the_methods_of_ufuncs() -> None:
    """The import changed, ``np.maximum.accumulate`` and kin are still there."""
    for m in (np, sc):
        assert np.asarray(m.maximum.accumulate([1, 3, 2])).tolist() == [1, 3, 3]
        assert np.asarray(m.add.reduce([[1, 2], [3, 4]], 1)).tolist() == [3, 7]
        assert np.asarray(m.add.reduce([[1, 2], [3, 4]], axis=None)).tolist() == 10
        assert np.asarray(m.multiply.outer([1, 2], [3, 4])).tolist() == [[3, 4], [6, 8]]
        assert np.asarray(m.add.reduceat([1, 2, 3, 4], [0, 2])).tolist() == [3, 7]
        assert np.asarray(m.logical_or.reduce([[0, 1], [0, 0]], axis=1)).tolist() == [True, False]
        assert np.asarray(m.true_divide.outer([2], [4])).tolist() == [[0.5]]
        values = np.zeros(3)
        m.add.at(values, [1, 1], 2)
        assert values.tolist() == [0, 4, 0]
    with pytest.raises(TypeError, match="cannot be folded"):
        sc.greater.reduce([1, 2])


@pytest.mark.parametrize("name", ["bitwise_or", "bitwise_and", "bitwise_xor", "gcd"])
@pytest.mark.parametrize("dtype", ["int8", "uint64", "int32"])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 0)])
def test_integers_reduced_of_nothing(
    name: str, dtype: str, axis: int, shape: tuple[int, ...]
) -> None:
    a = np.zeros(shape, dtype)
    wanted = getattr(np, name).reduce(a, axis=axis)
    found = getattr(np, name).reduce(sc.asarray(a), axis=axis).compute()
    assert (found.dtype, np.shape(found)) == (wanted.dtype, np.shape(wanted))
    np.testing.assert_array_equal(found, wanted)


def test_negative_exponents_of_unsigned_integers_do_not_fit() -> None:
    for base in (np.arange(1, 4, dtype=np.uint8), np.uint64(3)):
        for function in (np.power, sc.power):
            with pytest.raises(OverflowError):
                np.power(base, -1)
            with pytest.raises(OverflowError, match="the exponent -1 does not fit uint"):
                function(sc.asarray(base), -1)
        with pytest.raises(OverflowError, match=r"make the base floats"):
            sc.asarray(base) ** -1
    with pytest.raises(ValueError, match="negative integer powers"):
        sc.asarray(np.arange(3, dtype=np.uint8)) ** np.int8(-1)
