"""Arithmetic and reductions of any complex numbers beside NumPy, by properties."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import speedcube as sc

DTYPES: Final = ("complex64", "complex128")
SPECIAL: Final = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan)


def numbers(dtype: str) -> st.SearchStrategy[complex]:
    """Complex numbers with any parts of their dtype, special ones often."""
    width = 32 if dtype == "complex64" else 64
    part = st.one_of(st.sampled_from(SPECIAL), st.floats(width=width))
    return st.builds(complex, part, part)


def arrays(dtype: str, elements: Any = None, least: int = 0) -> st.SearchStrategy[Any]:
    shapes = st.sampled_from([(1,), (5,), (2, 3)] + [(0,)] * (not least))
    return npst.arrays(dtype, shapes, elements=numbers(dtype) if elements is None else elements)


def moderate(dtype: str) -> st.SearchStrategy[complex]:
    """Numbers of which no product of a few overflows or vanishes."""
    width = 32 if dtype == "complex64" else 64
    part = st.floats(0.125, 8, width=width) | st.floats(-8, -0.125, width=width) | st.just(0.0)
    return st.builds(complex, part, part)


def agree(got: Any, wanted: Any, units: float = 0.0) -> None:
    """Equal, NaN where NaN is, or within so many units of the modulus."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    for part in ("real", "imag"):
        x, y = getattr(got, part), getattr(wanted, part)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        if units:
            room = units * np.spacing(np.abs(wanted))
            same |= np.abs(x - y) <= room
        assert same.all(), (got, wanted)


TWO: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "less": lambda x, y: x < y,
    "greater_equal": lambda x, y: x >= y,
}
ONE: Final[dict[str, Callable[[Any], Any]]] = {
    "negative": lambda x: -x,
    "conj": lambda x: x.conj(),
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "turned": lambda x: x.T[::-1],
    "isnan": lambda x: np.isnan(x),
    "isinf": lambda x: np.isinf(x),
    "any": lambda x: x.any(),
    "all": lambda x: x.all(),
    "nonzero": lambda x: np.count_nonzero(x),
    "sorted": lambda x: np.sort(x, axis=-1),
    "as bool": lambda x: x.astype(bool),
}
ORDERED: Final[dict[str, Callable[[Any], Any]]] = {
    "max": lambda x: x.max(),
    "min": lambda x: x.min(axis=0),
    "argmax": lambda x: x.argmax(),
    "argmin": lambda x: x.argmin(axis=-1),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_what_is_done_part_by_part_is_exactly_numpys(dtype: str, data: Any) -> None:
    x = data.draw(arrays(dtype))
    y = data.draw(npst.arrays(dtype, x.shape, elements=numbers(dtype)))
    for function in TWO.values():
        agree(function(sc.asarray(x), sc.asarray(y)), function(x, y))
    for function in ONE.values():
        agree(function(sc.asarray(x)), function(x))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_extremes_and_their_places_are_numpys(dtype: str, data: Any) -> None:
    x = data.draw(npst.arrays(dtype, (5,), elements=numbers(dtype)))
    for function in ORDERED.values():
        agree(function(sc.asarray(x)), function(x))


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_products_and_quotients_are_near_numpys(dtype: str, data: Any) -> None:
    x = data.draw(arrays(dtype, moderate(dtype)))
    y = data.draw(npst.arrays(dtype, x.shape, elements=moderate(dtype)))
    y[y == 0] = 1
    for function in (lambda a, b: a * b, lambda a, b: a / b):
        agree(function(sc.asarray(x), sc.asarray(y)), function(x, y), 4)
    agree(abs(sc.asarray(x)), abs(x), 2)  # NumPy is off by up to two


def _rounded(total: Fraction, dtype: Any) -> Any:
    """``total`` rounded once."""
    near = float(total)
    if dtype == np.float64:
        return near
    candidate = np.float32(near)
    below, above = (np.nextafter(candidate, np.float32(way)) for way in (-np.inf, np.inf))
    options = [v for v in (below, candidate, above) if np.isfinite(v)]
    return min(options, key=lambda v: (abs(Fraction(float(v)) - total), int(v.view(np.uint32)) & 1))


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_sums_and_dot_products_are_exact_and_rounded_once(dtype: str, data: Any) -> None:
    width = 32 if dtype == "complex64" else 64
    most = 2.0**60 if dtype == "complex64" else 2.0**100  # sums of products are below infinity
    part = st.floats(-most, most, width=width, allow_subnormal=True)
    x, y = (
        np.array(data.draw(st.lists(st.builds(complex, part, part), min_size=n, max_size=n)), dtype)
        for n in [data.draw(st.sampled_from((1, 7)))] * 2
    )

    def parts(z: Any) -> list[tuple[Fraction, Fraction]]:
        return [(Fraction(float(v.real)), Fraction(float(v.imag))) for v in z]

    real = x.real.dtype
    total = sc.asarray(x).sum().compute()
    for k, name in enumerate(("real", "imag")):
        assert getattr(total, name) == _rounded(sum(p[k] for p in parts(x)), real)
    found = sc.vdot(sc.asarray(x), sc.asarray(y)).compute()
    pairs = list(zip(parts(x), parts(y), strict=True))
    assert found.real == _rounded(
        sum((a * c + b * d for (a, b), (c, d) in pairs), Fraction(0)), real
    )
    assert found.imag == _rounded(
        sum((a * d - b * c for (a, b), (c, d) in pairs), Fraction(0)), real
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_products_along_lines(dtype: str, data: Any) -> None:
    x = data.draw(arrays(dtype, moderate(dtype), least=1))
    lazy = sc.asarray(x)
    for axis in range(x.ndim):
        wide = np.cumprod(x.astype("complex128"), axis=axis).astype(dtype)
        agree(sc.cumprod(lazy, axis=axis), wide, 64)
        agree(sc.prod(lazy, axis=axis), wide.take(-1, axis), 64)


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_special_numbers_make_sums_nan_or_infinite_as_numpys(dtype: str, data: Any) -> None:
    parts = st.sampled_from(SPECIAL)
    x = data.draw(npst.arrays(dtype, (4,), elements=st.builds(complex, parts, parts)))
    with np.errstate(all="ignore"):
        agree(sc.asarray(x).sum(), x.sum())
        agree(sc.asarray(x).cumsum(), x.cumsum())
