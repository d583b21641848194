"""Zeros, infinities and NaN in either part: NumPy's results, signs of zeros too."""

from __future__ import annotations

import itertools
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
    line = np.linspace(-3, 3, 13)
    a, b = np.meshgrid(line + 0.5j, line - 1j)
    np.testing.assert_allclose(sc.power(a, b).compute(), np.power(a, b), rtol=1e-13)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_complex64_is_rounded_once() -> None:
    rng = np.random.default_rng(3)
    a = (rng.normal(size=500) + 1j * rng.normal(size=500)).astype(np.complex64)
    for name in ("exp", "log", "sqrt", "sin", "tanh", "arccos", "arctanh"):
        got = np.asarray(getattr(sc, name)(sc.asarray(a)))
        wanted = getattr(np, name)(a.astype(complex)).astype(np.complex64)
        assert got.dtype == np.complex64
        assert (np.abs(got - wanted) <= np.spacing(np.abs(wanted))).all()
