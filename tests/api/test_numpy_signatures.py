"""Public functions take NumPy's arguments, under its names, in its order, with its defaults."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import speedcube as sc

# What NumPy's functions have for themselves, or hand on under one name.
NOT_OURS = {
    "clip": {"kwargs"},  # the keywords of a ufunc, which are written out
    "einsum": {"kwargs"},
    "einsum_path": {"einsum_call"},
}
BOTH = sorted(
    name
    for name in sc.__all__
    if callable(getattr(np, name, None))
    and not isinstance(getattr(np, name), type)
    and not isinstance(getattr(sc, name), type)
)
NOTHING = inspect.Parameter.empty


@pytest.mark.parametrize("name", BOTH)
def test_arguments_are_numpys(name: str) -> None:
    ours = inspect.signature(getattr(sc, name)).parameters
    theirs = inspect.signature(getattr(np, name)).parameters
    wanted = [one for one in theirs if one not in NOT_OURS.get(name, ())]
    assert [one for one in ours if one in theirs] == wanted
    for one in wanted:
        mine, other = ours[one], theirs[one]
        assert mine.kind in (other.kind, inspect.Parameter.POSITIONAL_OR_KEYWORD), one
        assert (mine.default is NOTHING) == (other.default is NOTHING), one
        if "no value" not in repr(other.default):
            assert mine.default is other.default or mine.default == other.default, one
    own = [one for key, one in ours.items() if key not in theirs]
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    assert all(one.default is not NOTHING or one.kind in variadic for one in own)


X = np.arange(24.0).reshape(2, 3, 4)
Y = np.arange(24.0, 0, -1).reshape(2, 4, 3)
V = np.arange(4.0)
INTEGERS = np.array([7, -3, 2])


@pytest.mark.parametrize(
    ("name", "operands", "keywords"),
    [
        ("matmul", (X, Y), {"axes": [(1, 2), (1, 2), (0, 1)]}),
        ("matmul", (X, X), {"axes": [(1, -1), (2, 1), (-1, -2)]}),
        ("matmul", (X, V), {"axes": [(1, 2), (0,), (0,)]}),
        ("matmul", (V, V), {"axes": [(0,), (0,), ()]}),
        ("matmul", (X, Y), {"dtype": "float32"}),
        ("matmul", (X.astype(int), Y.astype(int)), {"signature": "dd->d"}),
        ("matvec", (X, V), {"axes": [(1, 2), 0, 0]}),
        ("matvec", (X, V), {"signature": "ff->f"}),
        ("vecmat", (V, Y), {"axes": [(0,), (1, 2), (0,)]}),
        ("vecmat", (V, Y), {"dtype": "float32", "order": "C"}),
        ("vecdot", (X, X), {"axis": 1, "keepdims": True}),
        ("vecdot", (X, X), {"keepdims": True}),
        ("vecdot", (X, Y), {"axes": [(1,), (2,)]}),
        ("vecdot", (X, X), {"axes": [1, 1, 0], "keepdims": True}),
        ("vecdot", (X, X[:1]), {"axis": 1, "dtype": "float32"}),
        ("add", (INTEGERS, INTEGERS), {"signature": "dd->d"}),
        ("add", (X, X), {"signature": (None, None, "float32")}),
        ("less", (INTEGERS, 2.5), {"signature": ("d", "d", "?")}),
        ("sqrt", (INTEGERS**2,), {"signature": "f->f", "casting": "unsafe"}),
        ("divmod", (INTEGERS, 2), {"signature": "dd->dd"}),
        ("frexp", (X[0, 0],), {"signature": "d->di"}),
        ("ldexp", (X[0, 0], 2), {"signature": "di->d"}),
    ],
)
def test_what_keywords_of_ufuncs_say(
    name: str, operands: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    expected: Any = getattr(np, name)(*operands, **keywords)
    arrays = [sc.asarray(one) if isinstance(one, np.ndarray) else one for one in operands]
    for function in (getattr(sc, name), getattr(np, name)):  # by NumPy's protocol, too
        made = function(*arrays, **keywords)
        pairs = zip(made, expected, strict=True) if isinstance(made, tuple) else [(made, expected)]
        for mine, other in pairs:
            assert mine.dtype == other.dtype
            assert mine.shape == np.shape(other)
            np.testing.assert_array_equal(np.asarray(mine), other)


@pytest.mark.parametrize(
    ("name", "operands", "keywords"),
    [
        ("matmul", (X, Y), {"axis": 1}),
        ("matmul", (X, Y), {"keepdims": True}),
        ("matmul", (X, Y), {"axes": ((1, 2), (1, 2), (1, 2))}),
        ("matmul", (X, Y), {"axes": [(1, 2), (1, 2)]}),
        ("matmul", (X, Y), {"axes": [(1, 2), (1,), (1, 2)]}),
        ("matmul", (X, Y), {"axes": [(1, 5), (1, 2), (1, 2)]}),
        ("matmul", (X, Y), {"axes": [(1, 1), (1, 2), (1, 2)]}),
        ("matmul", (X, Y), {"signature": "ii->i"}),
        ("matvec", (X, V), {"axis": 1}),
        ("vecdot", (X, X), {"axis": 3}),
        ("vecdot", (X, X), {"axis": 1, "axes": [(1,), (1,)]}),
        ("add", (X, X), {"signature": "dd->d", "dtype": "float64"}),
        ("add", (X, X), {"signature": ("d", "d")}),
        ("add", (X, X), {"signature": "d"}),
        ("add", (X, X), {"signature": "ii->i"}),
        ("add", (X, X), {"signature": "dd->i"}),
    ],
)
def test_what_keywords_of_ufuncs_are_refused(
    name: str, operands: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011  (whatever NumPy raises)
        getattr(np, name)(*operands, **keywords)
    kinds = tuple(kind for kind in (TypeError, ValueError) if isinstance(theirs.value, kind))
    with pytest.raises(kinds):
        getattr(sc, name)(*map(sc.asarray, operands), **keywords)


def test_out_of_products() -> None:
    for name, operands in (("matvec", (X, V)), ("vecmat", (V, Y)), ("vecdot", (X, X))):
        expected = getattr(np, name)(*operands)
        out = sc.zeros(expected.shape)
        assert getattr(sc, name)(*map(sc.asarray, operands), out=out) is out
        np.testing.assert_array_equal(out, expected)


def test_matrices_are_multiplied_in_place() -> None:
    square = np.arange(9.0).reshape(3, 3)
    x = also = sc.asarray(square)
    x @= square
    assert x is also
    np.testing.assert_array_equal(also, square @ square)
    with pytest.raises(ValueError, match="in place keeps the shape"):
        x @= X[0]
    whole = sc.asarray(square.astype(int))
    with pytest.raises(TypeError, match="in place keeps the dtype"):
        whole @= square
