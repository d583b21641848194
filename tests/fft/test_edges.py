"""Transforms of what is odd: nothing along an axis, an axis named twice, numbers of points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import speedcube as sc

X = np.random.default_rng(3).normal(size=(4, 6))


@pytest.mark.parametrize("name", ["fft", "ifft", "irfft", "hfft"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex64", "complex128"])
def test_nothing_padded_is_zeros(name: str, dtype: str) -> None:
    """NumPy's irfft leaves such memory as it finds it."""
    found = getattr(sc.fft, name)(np.empty((2, 0), dtype), n=5).compute(on="core")
    known = getattr(np.fft, name)(np.zeros((2, 1), dtype), n=5)
    assert found.dtype == known.dtype
    assert np.array_equal(found, np.zeros((2, 5), known.dtype))


@pytest.mark.parametrize("name", ["rfft", "ihfft"])
def test_nothing_padded_of_reals_is_half_as_many_zeros(name: str) -> None:
    found = getattr(sc.fft, name)(np.empty(0), n=5).compute(on="core")
    assert np.array_equal(found, np.zeros(3, complex))
    with pytest.raises(TypeError, match="takes real numbers"):
        getattr(sc.fft, name)(np.empty(0, complex), n=5)


def test_nothing_along_one_of_several_axes_is_zeros() -> None:
    found = sc.fft.irfftn(np.empty((0, 3)), s=(2, 4), axes=(0, 1)).compute(on="core")
    assert np.array_equal(found, np.zeros((2, 4)))
    with pytest.raises(ValueError, match="norm must be one of"):
        sc.fft.fft(np.empty(0), n=3, norm="loud")


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "rfft2"])
@pytest.mark.parametrize("s", [None, (3, 7), (8, 3)])
def test_an_axis_named_twice_is_transformed_twice(name: str, s: Any) -> None:
    for axes in ((0, 0), (1, 1), (-1, 1)):
        found = getattr(sc.fft, name)(X, s=s, axes=axes).compute(on="core")
        known = getattr(np.fft, name)(X, s=s, axes=axes)
        assert found.shape == known.shape, axes
        np.testing.assert_allclose(found, known, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["rfft2", "irfft2", "rfftn", "irfftn"])
def test_no_axis_is_refused_where_numpy_does(name: str) -> None:
    with pytest.raises(IndexError):
        getattr(np.fft, name)(X, axes=())
    with pytest.raises(IndexError, match="needs an axis"):
        getattr(sc.fft, name)(X, axes=())


def test_a_negative_number_of_frequencies() -> None:
    with pytest.raises(ValueError, match="n must not be negative, and is -1"):
        sc.fft.fftfreq(-1)


def test_a_transform_of_a_transforms_part() -> None:
    """What a routine takes of another's result lies in it, turned, stepped and from an offset."""
    x = X + 1j * X[::-1]

    def program(xp: Any, x: Any) -> Any:
        once = xp.fft.fft(x, axis=0)[1:, ::2]
        return xp.fft.irfft(xp.fft.fft(once.T, axis=0), 4)

    found = program(sc, sc.asarray(x)).compute(on="core")
    np.testing.assert_allclose(found, program(np, x), rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore:Passing an array containing")  # NumPy's, of its own call
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "irfft2"])
@pytest.mark.parametrize("s", [(3, None), (None, 3), (None, None), (None, -1), (-1, None)])
def test_none_among_sizes_is_all_of_an_axis(name: str, s: Any) -> None:
    for axes in ((0, 1), (1, 0)):
        found = getattr(sc.fft, name)(X, s=s, axes=axes).compute(on="core")
        known = getattr(np.fft, name)(X, s=s, axes=axes)
        assert found.shape == known.shape, axes
        np.testing.assert_allclose(found, known, rtol=1e-12, atol=1e-12)
