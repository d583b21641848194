"""Convolutions: where lines overlap in part, and what is infinite or NaN there."""

from __future__ import annotations

import numpy as np
import pytest

import speedcube as sc


@pytest.mark.parametrize("mode", ["full", "same"])
@pytest.mark.parametrize("dtype", ["float64", "int64", "bool", "complex128"])
def test_ends(dtype: str, mode: str) -> None:
    rng = np.random.default_rng(0)
    for n, k in ((5, 3), (3, 5), (5, 5), (1, 1), (70, 65)):
        a, b = (3 * rng.normal(size=count) * (1 + 1j) for count in (n, k))
        a, b = (x.astype(dtype) if dtype == "complex128" else x.real.astype(dtype) for x in (a, b))
        for name in ("convolve", "correlate") if n < 9 else ("convolve",):
            theirs = getattr(np, name)(a, b, mode)
            ours = getattr(sc, name)(a, b, mode)
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            np.testing.assert_allclose(ours.compute("core"), theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("odd", [np.inf, np.nan, -np.inf])
def test_what_is_no_number_counts_only_where_it_meets_an_element(odd: float) -> None:
    """Beyond the line there is nothing: no 0 that makes NaN of infinity."""
    for short in ([odd, 1.0], [1.0, odd], [1.0, odd, 2.0]):
        for mode in ("full", "same", "valid"):
            theirs = np.convolve([1.0, 2.0, 3.0], short, mode)
            np.testing.assert_array_equal(sc.convolve([1.0, 2.0, 3.0], short, mode), theirs)
    long, short = np.ones(100), np.append(odd, np.ones(69))
    np.testing.assert_array_equal(sc.convolve(long, short), np.convolve(long, short))


def test_ends_are_one_kernel_each() -> None:
    """Not one for each number of elements that meet."""
    text = str(sc.convolve(np.ones(1000), np.ones(16)).plan("core"))
    assert text.count("stage ") == 3
    assert "regions" not in text or "of 3 regions" in text


def test_places_of_few_results_are_at_hand() -> None:
    """Numbers, not two ranges and their sum, whose nodes take longer to make than these numbers."""
    few = sc.convolve(np.ones(1000), np.ones(16))
    many = sc.convolve(np.ones(1000), np.ones(70))
    assert "reads position" not in str(few.plan("core"))
    assert "reads position" in str(many.plan("core"))
    for on in ("core", "cores:2"):
        np.testing.assert_array_equal(few.compute(on), np.convolve(np.ones(1000), np.ones(16)))
        np.testing.assert_array_equal(many.compute(on), np.convolve(np.ones(1000), np.ones(70)))
