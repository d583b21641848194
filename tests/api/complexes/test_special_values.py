"""Zeros, infinities and NaN in either part: NumPy's results, signs of zeros too."""

from __future__ import annotations

import itertools
import math
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc

PARTS: Final = (0.0, -0.0, 1.0, -2.0, 0.5, 1e-310, 1e200, -1e308, np.inf, -np.inf, np.nan)
GRID: Final = np.array([complex(*parts) for parts in itertools.product(PARTS, PARTS)])

# Where C leaves a sign open, and NumPy's depends on the processor or loses digits.
OPEN: Final[dict[str, Any]] = {
    # NumPy's formula gives NaN beside a zero imaginary part; here it stays.
    "expm1": lambda z: (z.imag == 0) & ~(abs(z.real) < 700),
    # NumPy adds 1 first, which leaves nothing of 1e-310.
    "log1p": lambda z: abs(z) < 1e-300,
    # The sign of a zero beside infinity and NaN, and of an infinity beside NaN.
    "tan": lambda z: np.isnan(z.real) & np.isinf(z.imag),
    "arcsinh": lambda z: np.isnan(z.real) & np.isinf(z.imag),
    # NumPy's vector kernels contract a product that overflows with the sum behind it.
    "square": lambda z: np.isnan(z.real * z.real - z.imag * z.imag),
}
ONES: Final = """
    exp exp2 expm1 log log2 log10 log1p sqrt square sin cos tan sinh cosh tanh arcsin arccos arctan
    arcsinh arccosh arctanh reciprocal sign absolute negative conj isnan isinf isfinite rint"""
EXACT: Final = "add subtract divide equal not_equal less less_equal greater maximum minimum"


def same(got: Any, wanted: Any) -> Any:
    """Where values agree: within four units of the last place, and in their signs."""
    near = np.abs(got - wanted) <= 4 * np.spacing(np.abs(wanted))
    agree = (np.isnan(got) & np.isnan(wanted)) | (got == wanted) | near
    return agree & (np.isnan(got) | (np.signbit(got) == np.signbit(wanted)))


def both(got: Any, wanted: Any) -> Any:
    assert got.dtype == wanted.dtype
    if wanted.dtype.kind == "b":
        return got == wanted
    if wanted.dtype.kind == "f":
        return same(got, wanted)
    return same(got.real, wanted.real) & same(got.imag, wanted.imag)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ONES.split())
def test_of_one(name: str) -> None:
    wanted = getattr(np, name)(GRID)
    got = np.asarray(getattr(sc, name)(sc.asarray(GRID)))
    known = OPEN.get(name, lambda z: np.zeros(z.shape, bool))(GRID)
    assert GRID[~both(got, wanted) & ~known].tolist() == []


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", EXACT.split())
def test_of_two(name: str) -> None:
    a, b = np.meshgrid(GRID, GRID)
    wanted = getattr(np, name)(a, b)
    got = np.asarray(getattr(sc, name)(sc.asarray(a), sc.asarray(b)))
    assert both(got, wanted).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_products_round_every_operation() -> None:
    """NumPy's vector kernels contract some; here it is the formula, as C has it without."""
    a, b = np.meshgrid(GRID, GRID)
    got = (sc.asarray(a) * sc.asarray(b)).compute()
    assert same(got.real, a.real * b.real - a.imag * b.imag).all()
    assert same(got.imag, a.real * b.imag + a.imag * b.real).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.5, 2.0])
def test_powers_to_one_number(exponent: float) -> None:
    z = GRID[np.abs(GRID) < 1e100]
    got, wanted = (sc.asarray(z) ** exponent).compute(), z**exponent
    zeros = (z == 0) & (exponent == 2)  # NumPy squares; the sign of its zeros is the product's
    assert z[~both(got, wanted) & ~zeros].tolist() == []


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_powers_of_zero_and_to_zero() -> None:
    z = np.array([0, 0, 0, 0, 2, np.nan, np.inf, 1j, 1j, 2 - 1j])
    w = np.array([0, 1, -1, 1j, 0, 0, 0, 2, -3, 4])
    got, wanted = sc.power(z, w).compute(), np.power(z, w)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
    np.testing.assert_array_equal(got[~np.isnan(got)], wanted[~np.isnan(wanted)])
    of_zero = sc.power(np.zeros(6), [1 + 1j, 0.5 - 2j, 3 + 1e300j, 1j, -1 + 1j, 0]).compute()
    np.testing.assert_array_equal(of_zero[[0, 1, 2, 5]], [0, 0, 0, 1])
    assert np.isnan(of_zero[3:5]).all()
    line = np.linspace(-3, 3, 13)
    a, b = np.meshgrid(line + 0.5j, line - 1j)
    np.testing.assert_allclose(sc.power(a, b).compute(), np.power(a, b), rtol=1e-13)


SPECIAL: Final = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 5.0, math.inf, -math.inf, math.nan)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_powers_of_special_pairs() -> None:
    """Every one; a few alone, which no kernel makes."""
    every = np.array([complex(*parts) for parts in itertools.product(SPECIAL, SPECIAL)])
    z, w = (each.ravel() for each in np.meshgrid(every, every))
    wanted, x, y = z**w, sc.asarray(z), sc.asarray(w)
    some = np.random.default_rng(1).choice(z.size, 40, replace=False)
    for found, at in [((x**y).compute(), slice(None)), ((x[some] ** y[some]).compute(), some)]:
        for end in ("real", "imag"):
            ours, numpys = getattr(found, end), getattr(wanted[at], end)
            near = np.isclose(ours, numpys, rtol=1e-12, atol=1e-14, equal_nan=True)
            assert list(zip(z[at][~near], w[at][~near], strict=True)) == []


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_complex64_is_rounded_once() -> None:
    rng = np.random.default_rng(3)
    a = (rng.normal(size=500) + 1j * rng.normal(size=500)).astype(np.complex64)
    for name in ("exp", "log", "sqrt", "sin", "tanh", "arccos", "arctanh"):
        got = np.asarray(getattr(sc, name)(sc.asarray(a)))
        wanted = getattr(np, name)(a.astype(complex)).astype(np.complex64)
        assert got.dtype == np.complex64
        assert (np.abs(got - wanted) <= np.spacing(np.abs(wanted))).all()


@pytest.mark.parametrize("name", ["log", "log2", "log10"])
def test_logarithms_of_the_smallest_and_largest_moduli(name: str) -> None:
    """A modulus that is subnormal, or beyond the largest number, has its logarithm all the same."""
    small, large = 5e-324, 1.7e308
    z = np.array([small + small * 1j, 1e-310 - 3e-320j, large + large * 1j, 3e-308 + 1e-308j])
    known = getattr(np, name)(z.astype("complex256")).astype("complex128")
    found = getattr(sc, name)(sc.asarray(z)).compute(on="core")
    np.testing.assert_allclose(found.real, known.real, rtol=4e-16)
    np.testing.assert_allclose(found.imag, known.imag, rtol=4e-16)


@pytest.mark.parametrize("name", ["sin", "cos", "sinh", "cosh"])
def test_the_smallest_part_times_infinity_is_infinite(name: str) -> None:
    tiny = [complex(5e-324, y) for y in (np.inf, -np.inf, 1e300)]
    z = np.array([*tiny, *(1j * one for one in tiny)])
    with np.errstate(all="ignore"):
        known = getattr(np, name)(z)
    found = getattr(sc, name)(sc.asarray(z)).compute(on="core")
    assert np.array_equal(found.real, known.real, equal_nan=True)
    assert np.array_equal(found.imag, known.imag, equal_nan=True)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_all_nan_are_one_in_unique(dtype: str) -> None:
    nan, inf = np.nan, np.inf
    numbers = [1j, complex(nan, 1), complex(-inf, nan), complex(nan, -1), 2, complex(nan, nan), 1j]
    z = np.array(numbers, dtype)
    found = sc.unique(z, return_counts=True)
    known = np.unique(z, return_counts=True)
    assert np.array_equal(sc.unique(z).compute(), known[0], equal_nan=True)
    assert np.array_equal(np.asarray(found[1]), known[1])
    assert len(sc.unique(z, equal_nan=False).compute()) == len(np.unique(z, equal_nan=False))
