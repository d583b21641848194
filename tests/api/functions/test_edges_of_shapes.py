"""Nothing, NaN and complex numbers where a rule is easily forgotten: values and dtypes of NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import DTypeError

SPECIAL = np.array([0.0, np.nan, np.inf, -np.inf, 2.0])
CASES: dict[str, Callable[[Any], Any]] = {
    **{
        f"median of no {name}": lambda m, name=name: m.median(m.asarray(np.zeros((2, 0), name)), 1)
        for name in ("float16", "float32", "complex64", "int8", "bool")
    },
    "nanmedian of no complex64": lambda m: m.nanmedian(m.asarray(np.zeros(0, "complex64"))),
    "vander": lambda m: m.vander(m.asarray(SPECIAL), 3),
    "vander, increasing": lambda m: m.vander(m.asarray(SPECIAL), 3, increasing=True),
    "vander of complex": lambda m: m.vander(m.asarray(SPECIAL[::4] + 1j), 3),
    "max of no complex": lambda m: m.max(m.asarray(np.zeros((3, 0), complex)), 1, initial=3 - 2j),
    "min of no complex64": lambda m: m.min(m.asarray(np.zeros((0, 2), "complex64")), initial=3),
}


@pytest.mark.parametrize("name", CASES)
def test_as_numpy(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns of means of nothing
        want = np.asarray(CASES[name](np))
    found = np.asarray(CASES[name](sc))
    assert found.dtype == want.dtype
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("count", [0, 2])
def test_complex_numbers_are_in_no_bin(count: int) -> None:
    with pytest.raises(DTypeError, match="x may not be complex"):
        sc.digitize(np.zeros(count, complex), [1.0, 2.0])
    with pytest.raises(TypeError):
        np.digitize(np.zeros(count, complex), [1.0, 2.0])


def test_a_signature_is_a_dtype_of_the_loop() -> None:
    x = np.arange(4, dtype="float32")
    for add in (np.add, sc.add):
        found = add(sc.asarray(x), 1, signature="dd->d")
        assert (found.dtype, found.tolist()) == ("float64", [1, 2, 3, 4])
        with pytest.raises(TypeError, match="same_kind"):
            add(sc.asarray(x), 1, signature="ii->i")
