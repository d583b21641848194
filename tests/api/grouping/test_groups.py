"""Each result of a group has the bits of the same reduction of its elements alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.api.grouping.labels import coded
from speedcube.api.grouping.layout import layout
from speedcube.errors import DTypeError

FUNCS = ("sum", "mean", "var", "std", "min", "max", "argmin", "argmax", "first", "last", "prod",
         "median", "count", "any", "all")  # fmt: skip


OF_COMPLEX = (
    "sum nansum mean nanmean var nanvar std nanstd count first last nanfirst nanlast any all"
)


def data(kind: str, shape: tuple[int, ...], dtype: str, seed: int = 1) -> Any:
    """Elements that are easy, wide, tied or full of NaN."""
    r = np.random.default_rng(seed)
    x = r.normal(size=shape)
    if kind == "wide":
        x = x * 10.0 ** r.integers(-150, 150, shape)
    elif kind == "tied":
        x = np.where(r.random(shape) < 0.3, -0.0, np.rint(x * 2) / 2)
    elif kind == "odd":
        x = np.where(r.random(shape) < 0.1, np.nan, x)
        x = np.where(r.random(shape) < 0.03, np.inf, x)
        x = np.where(r.random(shape) < 0.03, -np.inf, x)
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return r.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    with np.errstate(all="ignore"):
        return (x > 0) if dtype == "bool" else x.astype(dtype)


def alone(func: str, x: Any, places: Any) -> Any:
    """``func`` of the elements of one group, by the functions for arrays without groups."""
    skip = func.startswith("nan")
    name = func.removeprefix("nan")
    if skip and x.dtype.kind == "f":
        places = places[~np.isnan(x[places])]
    values = x[places]
    if name == "first" or name == "last":
        return values[0 if name == "first" else -1] if len(values) else np.nan
    if name == "count":
        return int((values == values).sum())
    if not len(values):
        empty = {"sum": 0, "prod": 1, "any": False, "all": True, "argmin": -1, "argmax": -1}
        return empty.get(name, np.nan)
    if name.startswith("arg"):
        return places[int(getattr(sc, name)(values))]
    if name == "prod":
        whole = np.ones(len(x), x.dtype)
        whole[places] = values
        return sc.prod(whole).compute()
    return getattr(sc, name)(values).compute()


def same(found: Any, wanted: Any) -> bool:
    found, wanted = np.asarray(found), np.asarray(wanted).astype(np.asarray(found).dtype)
    return found.tobytes() == wanted.tobytes() or (found != found and wanted != wanted)


def check(func: str, x: Any, keys: Any, axis: int) -> None:
    """Groups of a matrix along ``axis`` beside each line alone."""
    result, labels = sc.groupby_reduce(x, keys, func=func, axis=axis)
    result = result.compute()
    lines = x.T if axis == 0 else x
    for k, line in enumerate(lines):
        for g, label in enumerate(labels):
            wanted = alone(func, line, np.flatnonzero(keys == label))
            assert same(result[k, g], wanted), (func, k, label, result[k, g], wanted)


@pytest.mark.parametrize("func", FUNCS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int16", "uint64", "bool"])
@pytest.mark.parametrize("axis", [0, 1])
def test_groups_have_the_bits_of_their_elements_alone(func: str, dtype: str, axis: int) -> None:
    if func == "median" and dtype == "bool":
        return
    keys = np.random.default_rng(2).integers(-2, 3, 41)
    shape = (41, 17) if axis == 0 else (3, 41)
    for kind in ("plain", "tied", "odd", "wide")[: 4 if dtype[0] == "f" else 1]:
        check(func, data(kind, shape, dtype), keys, axis)


@pytest.mark.parametrize("func", [*FUNCS, "nansum", "nanstd"])
@pytest.mark.parametrize("dtype", ["float64", "float16", "int16", "bool"])
def test_many_short_lines_are_made_side_by_side(func: str, dtype: str) -> None:
    """One line after the other takes 20 us each: 20 s for a million rows of three."""
    if (func == "median" or func == "nansum") and dtype == "bool":
        return
    keys = np.array([0, 2, 0, 1, 7])
    for kind in ("plain", "odd")[: 2 if dtype[0] == "f" else 1]:
        check(func, data(kind, (60, 5), dtype), keys, 1)


def test_lines_are_side_by_side_where_they_are_short() -> None:
    for shape, rows in (((60, 5), True), ((15, 5), False), ((60, 3000), False)):
        keys = coded((sc.arange(shape[1]) % 3,), range(3), True)
        assert layout(sc.zeros(shape), keys, 1).rows is rows


@pytest.mark.parametrize(
    "func", [f"nan{one}" for one in FUNCS if one not in ("count", "any", "all")]
)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("axis", [0, 1])
def test_nan_versions_leave_nan_out(func: str, dtype: str, axis: int) -> None:
    keys = np.random.default_rng(3).integers(0, 9, 30)
    shape = (30, 17) if axis == 0 else (3, 30)
    for kind in ("plain", "odd")[: 2 if dtype[0] == "f" else 1]:
        check(func, data(kind, shape, dtype), keys, axis)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", [(40,), (12, 50), (50, 3), (2000, 20)])
@pytest.mark.parametrize("func", OF_COMPLEX.split())
def test_groups_of_complex_numbers(func: str, shape: tuple[int, ...], dtype: str) -> None:
    r = np.random.default_rng(3)
    x = (r.normal(size=shape) + 1j * r.normal(size=shape)).astype(dtype)
    x[r.random(shape) < 0.1] = complex(1, np.nan)
    x[r.random(shape) < 0.1] = 0
    keys, axis = np.arange(shape[0]) % 4, 0
    result, labels = sc.groupby_reduce(x, keys, func=func, axis=axis)
    assert labels.tolist() == [0, 1, 2, 3]
    for k in labels:
        lines = np.moveaxis(x[keys == k], 0, -1).reshape(-1, (keys == k).sum())
        wanted = np.array([_complex_alone(func, line) for line in lines]).reshape(shape[1:])
        found = result[..., k].compute()
        if func.removeprefix("nan") in ("var", "std"):
            rounded = 1e-5 if dtype == "complex64" else 1e-14
            np.testing.assert_allclose(found, wanted, rounded)
        else:
            np.testing.assert_array_equal(found, wanted)
            assert result.dtype == wanted.dtype


def _complex_alone(func: str, line: Any) -> Any:
    name = func.removeprefix("nan")
    line = line[~np.isnan(line)] if func != name or name == "count" else line
    if name in ("first", "last"):
        return line[0 if name == "first" else -1]
    return line.size if name == "count" else getattr(sc, name)(sc.asarray(line)).compute()


@pytest.mark.parametrize("func", ["prod", "max", "nanargmin", "median", "quantile"])
def test_what_complex_numbers_have_no_groups_of(func: str) -> None:
    with pytest.raises(
        DTypeError, match=f"{func.removeprefix('nan')} of groups takes real numbers"
    ):
        sc.groupby_reduce([1 + 1j, 2], [0, 1], func=func, finalize_kwargs={"q": 0.5})
