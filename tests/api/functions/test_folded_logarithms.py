"""``np.logaddexp.reduce(x)`` and ``np.hypot.reduce(x)``, against NumPy's, which folds in order."""

from __future__ import annotations

import numpy as np
import pytest

import speedcube as sc

UFUNCS = ["logaddexp", "logaddexp2", "hypot"]
VALUES = {
    "plain": [1.0, 2.0, 3.0],
    "far apart": [-1000.0, 800.0, 900.0],
    "huge": [1e300, 1e300],
    "tiny": [1e-300, 3e-300],
    "zeros": [0.0, -0.0],
    "minus infinity": [-np.inf, -np.inf],
    "infinity": [1.0, np.inf],
    "nan": [1.0, np.nan],
    "none": [],
    "one": [-3.0],
}


@pytest.mark.parametrize("ufunc", UFUNCS)
@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_edges(ufunc, values):
    with np.errstate(invalid="ignore"):
        wanted = getattr(np, ufunc).reduce(values)
    assert np.allclose(getattr(sc, ufunc).reduce(values), wanted, rtol=1e-14, equal_nan=True)
    found = getattr(np, ufunc).reduce(sc.asarray(values))
    assert isinstance(found, sc.Array)
    assert np.allclose(found, wanted, rtol=1e-14, equal_nan=True)


@pytest.mark.parametrize("ufunc", UFUNCS)
@pytest.mark.parametrize("dtype", ["bool", "int64", "float16", "float32"])
@pytest.mark.parametrize("axis", [-1, None, (2, 0), ()])
def test_dtypes_and_axes(ufunc, dtype, axis):
    x = (np.arange(24).reshape(2, 3, 4) % 7).astype(dtype)[:, ::-1]
    keepdims = axis == -1
    wanted = getattr(np, ufunc).reduce(x, axis=axis, keepdims=keepdims)
    found = getattr(sc, ufunc).reduce(sc.asarray(x), axis, keepdims=keepdims)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    assert np.allclose(found, wanted, rtol=4 * np.finfo(wanted.dtype).eps * x.size)


def test_empty_axes():
    x = np.zeros((0, 3))
    for ufunc in UFUNCS:
        wanted = getattr(np, ufunc).reduce(x)
        assert np.array_equal(getattr(sc, ufunc).reduce(sc.asarray(x)), wanted)


def test_complex_numbers_are_refused():
    for ufunc in UFUNCS:
        with pytest.raises(TypeError):
            getattr(sc, ufunc).reduce(sc.asarray([1j, 2]))
