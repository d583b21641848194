"""as_strided sees an array in steps of bytes, as NumPy's does, and never beyond its ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.expr.nodes import Leaf

X = np.arange(30.0).reshape(5, 6)
ours = sc.lib.stride_tricks.as_strided
numpys = np.lib.stride_tricks.as_strided


def _patches(x: Any) -> dict[str, Any]:
    return {"shape": (3, 4, 3, 3), "strides": x.strides * 2}


def _rolled(x: Any) -> dict[str, Any]:
    step = x.strides[-1]
    return {"shape": (x.size - 3, 4), "strides": (step, step)}


def _diagonal(x: Any) -> dict[str, Any]:
    return {"shape": (5,), "strides": (sum(x.strides),)}


def _repeated(x: Any) -> dict[str, Any]:
    return {"shape": (2, *x.shape), "strides": (0, *x.strides)}


@pytest.mark.parametrize("way", [_patches, _rolled, _diagonal, _repeated])
@pytest.mark.parametrize("dtype", ["float64", "uint8", "complex64", "bool"])
def test_values_are_numpys(way: Any, dtype: str) -> None:
    given = X.astype(dtype)
    for array in (sc.asarray(given), sc.asarray(given) + given.dtype.type(0)):
        assert array.strides == given.strides
        result = ours(array, **way(array))
        wanted = numpys(given, **way(given))
        assert result.dtype == wanted.dtype
        np.testing.assert_array_equal(result.compute(), wanted)


def test_a_view_counts_from_its_own_first_element() -> None:
    view = sc.asarray(X)[1:, ::2]
    assert view.strides == (24, 8)  # of its values in C order
    np.testing.assert_array_equal(
        ours(view, **_rolled(view)).compute(), numpys(X[1:, ::2].copy(), (9, 4), (8, 8))
    )
    turned = sc.asarray(X).T
    np.testing.assert_array_equal(
        ours(turned, (4, 2), turned.strides).compute(), numpys(X.T, (4, 2), X.T.strides)
    )


def test_it_is_a_view_and_copies_nothing() -> None:
    array = sc.asarray(X)
    expr = ours(array, (26, 5), (8, 8))._expr
    assert isinstance(expr, Leaf)
    assert expr.source is array._expr.source
    assert expr.strides == (1, 1)


def test_memory_of_numpys_has_its_own_strides() -> None:
    part = X[:, ::2]
    np.testing.assert_array_equal(
        ours(part, (4, 2), part.strides).compute(), numpys(part, (4, 2), part.strides)
    )


def test_shape_and_strides_are_those_of_the_array_unless_given() -> None:
    array = sc.asarray(X)
    np.testing.assert_array_equal(ours(array).compute(), X)
    np.testing.assert_array_equal(ours(array, (2, 3)).compute(), X[:2, :3])
    assert ours(array, (0, 3)).compute().shape == (0, 3)


@pytest.mark.parametrize(
    ("shape", "strides", "said"),
    [
        ((31,), (8,), "leaves an array of 240 bytes"),
        ((3,), (-8,), "leaves an array of 240 bytes"),
        ((3,), (4,), "not whole elements of 8 bytes"),
        ((3, 2), (8,), "1 strides for 2 axes"),
    ],
)
def test_steps_beyond_the_array_are_refused(shape: Any, strides: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ours(sc.asarray(X), shape, strides)
    with pytest.raises(TypeError, match="strides must be integers"):
        ours(sc.asarray(X), (2,), (8.0,))


@pytest.mark.parametrize(
    ("shape", "strides"), [((3,), (48,)), ((7,), (8,)), ((2,), (-16,)), ((4,), (16,))]
)
def test_steps_beyond_memory_of_numpys_are_refused(shape: Any, strides: Any) -> None:
    part = X[1:2, 1:6]  # 5 elements, amid memory that has more
    with pytest.raises(ValueError, match="leaves an array of 40 bytes"):
        ours(part, shape, strides)
    assert ours(part[:, ::-1], (5,), (-8,)).compute().tolist() == part[0, ::-1].tolist()
    assert ours(part[:0], (0, 9), (8, 800)).shape == (0, 9)
    with pytest.raises(ValueError, match="leaves an array of 0 bytes"):
        ours(part[:0], (1,), (8,))
