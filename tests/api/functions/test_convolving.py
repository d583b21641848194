"""Convolutions: where lines overlap in part, and what is infinite or NaN there."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import speedcube as sc
from speedcube.api.functions.signals import slid
from speedcube.expr.routines.sliding import SLID


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


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32", "uint8", "bool"])
def test_bits_are_of_the_terms_not_of_the_way(
    dtype: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few results by a routine, many by a kernel of terms, and ends by themselves."""
    rng = np.random.default_rng(1)
    long, short = (np.asarray(10 * rng.normal(size=n)).astype(dtype) for n in (900, 23))
    if dtype.startswith("float"):
        long[[5, 400, 899]] = np.nan, -np.inf, np.finfo(dtype).max
        short[11] = np.finfo(dtype).smallest_subnormal
    few = np.asarray(sc.convolve(long, short, mode))
    assert SLID in str(sc.convolve(long, short, mode).plan("core"))
    monkeypatch.setattr(slid, "_FEW", 0)
    for on in ("core", "cores:2"):
        many = sc.convolve(long, short, mode).compute(on)
        assert many.dtype == few.dtype
        assert many.tobytes() == few.tobytes()
    monkeypatch.setattr(slid, "_UNROLLED", 0)
    exact = sc.convolve(long, short, mode).compute("core")
    if dtype.startswith("float"):
        rough = dict(rtol=50 * np.finfo(dtype).eps, atol=1000 * np.finfo(dtype).eps)
        np.testing.assert_allclose(exact, few, **rough)
    else:
        assert exact.tobytes() == few.tobytes()


def test_terms_are_added_in_the_order_of_the_shorter_line() -> None:
    long = np.random.default_rng(2).normal(size=50)
    short, long[-1] = np.array([1e16, 1.0, -1e16, 0.1, -0.0]), 2.0
    for mode, first, end in (("full", 0, 54), ("same", 2, 52), ("valid", 4, 50)):
        sums = np.full(54, -0.0)
        for k, factor in enumerate(short[::-1]):
            sums[4 - k : 54 - k] += long * factor
        ours = np.asarray(sc.convolve(long, short, mode))
        assert ours.tobytes() == sums[first:end].tobytes()


@pytest.mark.parametrize("cut", [1 << 23, 100])
@pytest.mark.parametrize("n", [70, 90, 400])
def test_sums_of_many_products_are_exact(n: int, cut: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one piece, with ends apart, and with ends that are cut."""
    rng = np.random.default_rng(n)
    long, short = rng.normal(size=n) * 10.0 ** rng.integers(-9, 9, n), rng.normal(size=70)
    short[3] = np.inf
    monkeypatch.setattr(slid, "_LARGE", cut)
    for mode in ("full", "same"):
        together = np.asarray(sc.convolve(long, short, mode))
        with monkeypatch.context() as m:
            m.setattr(slid, "_SMALL", 0)
            apart = np.asarray(sc.convolve(long, short, mode))
        assert together.tobytes() == apart.tobytes()
        first = {"full": 0, "same": 34}[mode]
        for r, value in enumerate(together, first):
            terms = [(r - 69 + k, 69 - k) for k in range(70) if 0 <= r - 69 + k < n]
            if any(at == 3 for _, at in terms):
                assert value == sum(long[i] * short[at] for i, at in terms if at == 3)
            else:
                assert value == float(
                    sum(Fraction(long[i]) * Fraction(short[at]) for i, at in terms)
                )


def test_integers_of_many_terms_are_one_kernel() -> None:
    """Not a node for each: ten thousand took a second and more."""
    long = np.arange(20_000)
    result = sc.convolve(long, long[:10_000], "valid")
    assert str(result.plan("core")).count("stage ") == 1
    assert (np.asarray(result) == np.convolve(long, long[:10_000], "valid")).all()


def test_ends_of_much_are_apart() -> None:
    """What lies between is one kernel, with all that surrounds it."""
    plan = str((sc.convolve(np.ones(100_000), np.ones(16)) * 2).plan("core"))
    assert plan.count(f": {SLID} of (16,) -> (15,) float64") == 2
    assert "of 3 regions" in plan
