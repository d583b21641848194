"""Assignment and operators in place: what numpy.ma leaves masked, and the dtype that stays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube import ma
from speedcube.errors import ShapeError

MASK = [False, True, False]


def same(found: Any, wanted: Any) -> None:
    found = found.compute()
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(wanted))
    np.testing.assert_array_equal(found.filled(0), wanted.filled(0))


def both(values: Any, mask: Any = MASK) -> tuple[Any, Any]:
    ours = ma.masked_array(sc.asarray(values.copy()), mask=mask)
    return ours, np.ma.masked_array(values, mask=mask)


@pytest.mark.parametrize("key", [lambda a: a > 1, lambda a: a < 0, lambda a: a != 5])
@pytest.mark.parametrize("value", [7.0, np.ma.masked])
def test_a_key_with_a_mask_leaves_what_is_masked(key: Any, value: Any) -> None:
    for x in ([1.0, 2.0, 3.0], [1.0, -2.0, 3.0]):
        ours, theirs = both(np.array(x))
        for one in (ours, theirs):
            one[key(one)] = value
        same(ours, theirs)


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "ifloordiv", "ipow"])
@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "complex64"])
@pytest.mark.parametrize("other", [2, 2.5, "array"])
def test_the_dtype_stays_or_the_error_is_numpys(name: str, dtype: str, other: Any) -> None:
    change, values = getattr(operator, name), np.array([127, 1, 3]).astype(dtype)
    if dtype == "complex64" and name == "ifloordiv":
        pytest.skip("complex numbers have no floor")
    ours, theirs = both(values)
    mine = his = other
    if other == "array":
        mine, his = both(np.array([1, 1, 2]).astype(dtype), [False, False, True])
    before = ours
    try:
        with np.errstate(all="ignore"):
            wanted = change(theirs, his)
    except TypeError:
        with pytest.raises(TypeError, match="in place keeps"):
            change(ours, mine)
        return
    found = change(ours, mine)
    assert found is before
    same(found, wanted)


def test_the_shape_stays() -> None:
    ours, _ = both(np.arange(3.0))
    with pytest.raises(ShapeError, match="in place keeps"):
        ours += np.ones((2, 3))


@pytest.mark.parametrize("name", ["imod", "iand", "ior", "ixor", "ilshift", "irshift"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float32"])
@pytest.mark.parametrize("other", [2, "array"])
def test_remainders_and_bits_stay_in_place(name: str, dtype: str, other: Any) -> None:
    change, values = getattr(operator, name), np.array([101, 1, 3]).astype(dtype)
    ours, theirs = both(values)
    mine = his = other
    if other == "array":
        mine, his = both(np.array([1, 1, 2]).astype(dtype), [False, False, True])
    before = ours
    try:
        with np.errstate(all="ignore"):
            wanted = change(theirs, his)
    except TypeError:
        with pytest.raises(TypeError):
            change(ours, mine)
        return
    found = change(ours, mine)
    assert found is before
    same(found, wanted)
