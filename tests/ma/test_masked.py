"""Masked arrays have the values, masks and dtypes of numpy.ma's, computed lazily."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import dask
import dask.array as da
import numpy as np
import pytest

import speedcube as sc
from speedcube import errors

SHAPES: Final = ((3, 4), (2, 3, 2), (0,), (0, 3))
MASKS: Final = ("some", "none", "all")
WARNED: Final = "ignore::RuntimeWarning"
pytestmark = pytest.mark.filterwarnings(WARNED, "ignore::numpy.exceptions.ComplexWarning")


def numpys(dtype: str, shape: tuple[int, ...], masked: str = "some", seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    data = rng.integers(-3, 5, shape).astype(dtype)
    if np.dtype(dtype).kind == "f":
        data = np.where(rng.random(shape) < 0.2, np.asarray([np.nan], dtype), data)
    mask = {"some": rng.random(shape) < 0.4, "none": np.zeros(shape, bool)}
    return np.ma.MaskedArray(data, mask.get(masked, np.ones(shape, bool)))


def same(ours: Any, expected: Any, rtol: float = 0.0) -> None:
    """The same dtype, mask and values that are not masked."""
    got = ours.compute() if hasattr(ours, "compute") else ours
    if expected is np.ma.masked or got is np.ma.masked:
        assert got is expected
        return
    assert np.asarray(got).dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(np.ma.getmaskarray(got), np.ma.getmaskarray(expected))
    values = (np.ma.filled(one, 0) for one in (got, expected))
    np.testing.assert_allclose(*values, rtol=rtol, atol=rtol)


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (TypeError, ValueError) as err:
        return err


OPERATORS: Final = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "ne", "lt", "le", "gt"),
    *("ge", "and_", "or_", "xor", "lshift", "rshift"),
)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_operators(name: str, dtype: str) -> None:
    function = getattr(operator, name)
    for shape, masked in [((3, 4), "some"), ((4,), "none"), ((0, 4), "some")]:
        first, other = numpys(dtype, (3, 4)), numpys(dtype, shape, masked, seed=2)
        if shape == (0, 4):
            first = numpys(dtype, shape)
        mine = sc.ma.masked_array(first), sc.ma.masked_array(other)
        if name in ("pow", "lshift", "rshift") and dtype not in ("float32", "float64"):
            other, mine = abs(other), (mine[0], abs(mine[1]))
        expected = outcome(lambda: function(first, other))  # noqa: B023
        if isinstance(expected, TypeError):
            with pytest.raises(TypeError):
                function(*mine)
            continue
        same(function(*mine), expected, 1e-6)
        for number in (2, 1.5) if name not in ("and_", "or_", "xor", "lshift", "rshift") else (2,):
            same(function(mine[0], number), function(first, number), 1e-6)
            if name != "pow":
                same(function(number, mine[0]), function(number, first), 1e-6)
        plain = np.arange(4).astype(dtype)
        same(function(mine[0], sc.asarray(plain)), function(first, plain), 1e-6)
        if name != "pow":
            same(function(sc.asarray(plain), mine[0]), function(plain, first), 1e-6)


UFUNCS: Final = (
    *("sqrt", "log", "log2", "log10", "arcsin", "arccos", "arccosh", "arctanh", "tan", "exp"),
    *("negative", "absolute", "isnan"),
)


@pytest.mark.parametrize("name", UFUNCS)
def test_functions_of_numpys(name: str) -> None:
    for dtype in ("float64",):
        one = numpys(dtype, (3, 4))
        same(getattr(np, name)(sc.ma.masked_array(one)), getattr(np, name)(one), 1e-5)
    first, other = numpys("float64", (3, 4)), numpys("float64", (4,), seed=2)
    for two in (np.add, np.divide, np.remainder, np.maximum, np.arctan2):
        mine = sc.ma.masked_array(first), sc.ma.masked_array(other)
        same(two(*mine), two(first, other), 1e-12)
        same(two(first.data, mine[1]), two(first.data, other), 1e-12)


REDUCTIONS: Final = (
    *("sum", "prod", "mean", "var", "std", "min", "max", "all", "any", "argmin", "argmax"),
    *("count", "ptp"),
)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex128"])
def test_reductions(name: str, dtype: str) -> None:
    cases = [
        *((shape, "some", axis, False) for shape in SHAPES for axis in (None, 0)),
        *(((3, 4), masked, axis, True) for masked in MASKS for axis in (None, -1)),
        *(((3, 4), masked, axis, False) for masked in ("none", "all") for axis in (None, -1)),
    ]
    for shape, masked, axis, keepdims in cases:
        theirs = numpys(dtype, shape, masked)
        if name in ("var", "std") and (keepdims or axis is not None):
            theirs = np.ma.MaskedArray(np.nan_to_num(theirs.data), theirs.mask)
        ours = sc.ma.masked_array(theirs)
        options = {"axis": axis} | ({"keepdims": True} if keepdims else {})
        expected = outcome(lambda: getattr(theirs, name)(**options))  # noqa: B023
        if isinstance(expected, Exception):
            with pytest.raises((TypeError, ValueError)):
                getattr(ours, name)(**options).compute()
        elif not (name == "ptp" and dtype == "bool"):
            same(getattr(ours, name)(**options), expected, 1e-6)


def test_a_variance_of_what_is_not_finite_is_masked() -> None:
    """As the mean is: numpy.ma says 0, and does not mask it."""
    theirs = np.ma.MaskedArray([[1.0, np.nan], [2.0, 4.0], [9.0, 1.0]], [[0, 0], [0, 0], [1, 0]])
    same(sc.ma.masked_array(theirs).var(0), np.ma.MaskedArray([0.25, 0], [0, 1]))
    assert theirs.var(0).tolist() == [0.25, 0]


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_sums(name: str) -> None:
    for dtype in ("int8", "float64"):
        for shape in ((7,), (3, 4), (0,)):
            theirs = numpys(dtype, shape)
            for axis in (None, 0, -1):
                same(
                    getattr(sc.ma.masked_array(theirs), name)(axis), getattr(theirs, name)(axis), 0
                )


MAKERS: Final[dict[str, tuple[Any, ...]]] = {
    "masked_equal": (2,),
    **{f"masked_{name}": (1,) for name in ("not_equal", "greater", "greater_equal", "less")},
    "masked_less_equal": (1,),
    **dict.fromkeys(("masked_inside", "masked_outside"), (3, 0)),
    "masked_values": (2,),
    **dict.fromkeys(("masked_invalid", "fix_invalid", "getdata", "getmaskarray"), ()),
    "filled": (7,),
    "count": (),
    **dict.fromkeys(("ones_like", "zeros_like"), ()),
    "average": (),
}


@pytest.mark.parametrize("name", MAKERS)
def test_functions_beside_numpys_and_dasks(name: str) -> None:
    for dtype in ("int8", "float64"):
        for shape, masked in (((3, 4), "some"), ((3, 4), "all"), ((3, 4), "none"), ((0,), "none")):
            theirs = numpys(dtype, shape, masked)
            expected = getattr(np.ma, name)(theirs, *MAKERS[name])
            found = getattr(sc.ma, name)(sc.ma.masked_array(theirs), *MAKERS[name])
            same(found, expected, 1e-12)
            if expected is np.ma.masked:
                continue
            if dtype == "float64" and isinstance(expected, np.ma.MaskedArray):
                assert found.compute().fill_value == expected.fill_value
            plain = theirs.filled(1)
            same(getattr(sc.ma, name)(sc.asarray(plain), *MAKERS[name]), _of(name, plain), 1e-12)
            if shape != (0,) and name != "average":  # of masked weights Dask makes 0-d arrays
                dasks = da.ma.masked_array(da.from_array(theirs.data, 2), mask=theirs.mask)
                dasks = getattr(da.ma, name)(dasks, *MAKERS[name])
                same(found, dasks.compute(), 1e-12)


def _of(name: str, plain: Any) -> Any:
    return getattr(np.ma, name)(np.ma.asarray(plain), *MAKERS[name])


def test_a_mask_is_given() -> None:
    for mask in (np.ma.nomask, [True, False, False], True, False, [[1, 0, 0], [0, 0, 1]]):
        data = np.arange(6.0).reshape(2, 3)
        if np.shape(mask) == (3,):
            with pytest.raises(np.ma.MaskError):
                np.ma.masked_array(np.zeros((2, 4)), mask)
            with pytest.raises(np.ma.MaskError):
                sc.ma.masked_array(data, mask)
            continue
        same(sc.ma.masked_array(data, mask), np.ma.masked_array(data, mask))
    one = np.ma.masked_array([1, 2, 3], [0, 1, 0])
    same(sc.ma.masked_array(one, [1, 0, 0]), np.ma.masked_array(one, [1, 0, 0]))
    same(sc.ma.masked_array(one, dtype="f4"), np.ma.masked_array(one, dtype="f4"))
    assert sc.ma.masked_array(one, fill_value=7).filled().compute().tolist() == [1, 7, 3]
    with pytest.raises(errors.ParameterError):
        sc.ma.masked_array(one, fill_value=[1, 2])


def test_a_condition_masks() -> None:
    one = numpys("float64", (3, 4))
    mine = sc.ma.masked_array(one)
    for condition in (one > 1, one.data > 1, True, False):
        same(sc.ma.masked_where(condition, mine), np.ma.masked_where(condition, one))
    same(sc.ma.masked_where(mine > 1, mine), np.ma.masked_where(one > 1, one))
    with pytest.raises(IndexError, match="Inconsistent shape"):
        sc.ma.masked_where([True], mine)
    other = numpys("float64", (4,), seed=2)
    same(sc.ma.where(mine > 1, mine, other), np.ma.where(one > 1, one, other))
    same(sc.ma.where(mine > 1, np.ma.masked, 2), np.ma.where(one > 1, np.ma.masked, 2))
    for ours, theirs in zip(sc.ma.where(mine > 1), np.ma.where(one > 1), strict=True):
        same(ours, theirs)
    for ours, theirs in zip(sc.ma.nonzero(mine), np.ma.nonzero(one), strict=True):
        same(ours, theirs)
    with pytest.raises(ValueError, match="both"):
        sc.ma.where(mine > 1, 1)


def test_averages() -> None:
    one, weights = numpys("int8", (3, 4)), np.arange(4.0)
    for axis, weight in [(None, None), (0, None), (1, weights), (None, numpys("int8", (3, 4)))]:
        ours = sc.ma.average(sc.ma.masked_array(one), axis, weight, returned=True)
        theirs = np.ma.average(one, axis, weight, returned=True)
        for mine, expected in zip(ours, theirs, strict=True):
            same(mine, expected, 1e-12)
    with pytest.raises(TypeError, match="Axis must be specified"):
        sc.ma.average(one, weights=[1, 2])
    with pytest.raises(ValueError, match="Shape of weights"):
        sc.ma.average(one, 0, weights=[1, 2])


def test_parts_and_shapes() -> None:
    one = numpys("float64", (3, 4))
    mine = sc.ma.masked_array(one)
    for part in (np.s_[1:], np.s_[:, 2], np.s_[0, 0], np.s_[one.data > 1], np.s_[[2, 0]]):
        same(mine[part], one[part])
    same(mine.T.reshape(2, 6).ravel(), one.T.reshape(2, 6).ravel())
    same(np.transpose(mine), one.T)
    same(mine.astype("f4"), one.astype("f4"))
    same(mine.compressed(), one.compressed())
    same(np.sum(mine, axis=0), np.sum(one, axis=0))
    ours, theirs = mine.copy(), one.copy()
    ours[0] = theirs[0] = 5
    ours[1, 1:] = theirs[1, 1:] = np.ma.masked
    ours[:, 0] = theirs[:, 0] = np.ma.MaskedArray([1, 2, 3], [0, 1, 0])
    same(ours, theirs)
    same(mine, one)
    sc.ma.set_fill_value(ours, 4)
    np.ma.set_fill_value(theirs, 4)
    same(ours.filled(), theirs.filled())


def test_doors() -> None:
    """Dask has the same as its masked arrays; plain arrays are not made without being asked."""
    one = numpys("float64", (3, 4))
    mine = sc.ma.masked_array(one)
    dasks = da.ma.masked_array(da.from_array(one.data, 2), mask=one.mask)
    same(sc.ma.masked_array(dasks) + 1, one + 1)
    same(mine.rechunk(2).to_dask_array().sum(axis=0), one.sum(axis=0), 1e-12)
    for got in (*dask.compute(mine), *sc.compute(mine), mine.persist().compute()):
        same(got, one)
    for plain in (np.asarray, sc.asarray, sc.sum):
        with pytest.raises(errors.DTypeError):
            plain(mine)
    with pytest.raises(errors.DTypeError, match="masked_array"):
        sc.asarray(dasks)
    with pytest.raises(TypeError, match="filled"):
        np.linalg.norm(mine)
    with pytest.raises(TypeError, match="compute"):
        np.add.reduce(mine)


def test_it_is_one_kernel() -> None:
    """A masked sum reads data once, and makes no array beside it."""
    mine = sc.ma.masked_less(sc.arange(2**20, dtype="float32"), 5.0)
    total = (mine * 2.0 + 1.0).sum()
    assert total.compute() == 2 * (2**20 * (2**20 - 1) // 2 - 10) + 2**20 - 5
    assert len(total.data.plan().stages if hasattr(total.data.plan(), "stages") else [1]) == 1


def test_dasks_names_are_there() -> None:
    ours = set(sc.ma.__all__)
    made = {
        name
        for name in dir(da.ma)
        if getattr(getattr(da.ma, name), "__module__", "") == "dask.array.ma"
        and not name.startswith(("_", "normalize"))
    }
    made |= {"masked_greater", "masked_greater_equal", "masked_less", "masked_less_equal"}
    assert made - ours <= {"derived_from"}
    assert len(made) >= 22


def test_copies_may_be_asked_for() -> None:
    x = np.array([1.0, 2.0, 3.0])
    for name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal"):
        ours = getattr(sc.ma, f"masked_{name}")(sc.asarray(x), 2, copy=False)
        np.testing.assert_array_equal(ours.mask.compute(), _mask(name, x))
    assert sc.ma.masked_where(x > 1, sc.asarray(x), copy=False).count().compute() == 1
    assert sc.ma.masked_invalid(sc.asarray([np.nan, 1.0]), copy=False).count().compute() == 1
    assert sc.ma.masked_inside(sc.asarray(x), 2, 3, copy=False).count().compute() == 1
    assert sc.ma.masked_outside(sc.asarray(x), 2, 3, copy=False).count().compute() == 2


def _mask(name: str, x: np.ndarray) -> np.ndarray:
    return np.ma.getmaskarray(getattr(np.ma, f"masked_{name}")(x.copy(), 2))
