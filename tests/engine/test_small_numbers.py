"""One record's result by Python's numbers is that by NumPy's; running sums are those of many."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.results import values
from speedcube.engine.small import known, number
from speedcube.expr.nodes import Leaf, Reduced
from speedcube.kernel.exact.integers import LEAST, NAN_WORD
from speedcube.kernel.program import LIMBS


def planned(array: sc.Array) -> np.ndarray:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("speedcube.engine.compute.SMALL", -1)
        return np.asarray(array.compute(on="core"))


def source(op: str, dtype: str = "float64", count: int = 7) -> Reduced:
    root = getattr(sc.asarray(np.ones(count, dtype)), op)()._expr
    assert isinstance(root, Leaf)
    assert isinstance(root.source, Reduced)
    return root.source


def same(one: Reduced, record: np.ndarray) -> bool:
    """Whether there is a result by Python's numbers; it has the bits of the other way."""
    made = number.number(one, record.tobytes())
    if made is None:
        return False
    want = values(one, record.reshape(1, -1))
    assert made.dtype == want.dtype == one.dtype
    assert made.tobytes() == want.tobytes()
    return True


def limbs(value: Fraction, split: int = 0) -> np.ndarray:
    """``value`` as limbs; ``split`` is borrowed from each by the next."""
    units = value * 2**-LEAST
    assert units.denominator == 1
    record, left = np.zeros(LIMBS, np.int64), abs(int(units))
    for k in range(NAN_WORD):
        left, digit = divmod(left, 1 << 32)
        lent = split if k + 1 < NAN_WORD else 0
        record[k] += digit - (lent << 32)
        record[k + 1] += lent
    return record if value >= 0 else -record


NUMBERS = [0.0, 1.0, -1.5, 2.0**-1022, 1e308, math.pi, -(2.0**60) - 2.0**8, 3e-300]


@pytest.mark.parametrize("op", ["sum", "mean"])
def test_exact_sums_are_rounded_as_elsewhere(op: str) -> None:
    for first in NUMBERS:
        for second in (0.0, 2.0**-53, -(2.0**-1022), 1e-17):
            exact = Fraction(first) + Fraction(second)
            usual = same(source(op), limbs(exact))
            assert usual or second or abs(exact) < 7 * 2.0**-1022
            same(source(op), limbs(exact, 3))  # left where it is long, else the same bits


def test_what_is_not_usual_is_left() -> None:
    assert not same(source("sum"), limbs(Fraction(2.0**-1030)))
    assert not same(source("sum"), limbs(Fraction(2) ** 1024))
    infinite = limbs(Fraction(1))
    infinite[NAN_WORD + 1] = 1
    assert not same(source("sum"), infinite)
    assert not same(source("prod"), limbs(Fraction(1)))
    assert not same(source("var"), np.concatenate([infinite] * 4))
    assert not same(source("sum", "float32"), limbs(Fraction(1)))
    assert not same(source("max"), np.array([-(2**63)]))  # a NaN


SPREADS = {
    "usual": np.random.default_rng(1).normal(10, 3, 999),
    "two": np.array([1.0, 2.0]),
    "near one another": 1e8 + np.random.default_rng(2).normal(0, 1e-6, 50),
    "equal": np.full(7, 0.1),
    "wide": np.array([1e-150, 3.0, -1e100, 7e99, 1e-3]),
    "small": np.array([1e-160, 3e-160, 5e-161]),
    "large": np.array([1e154, -1e154, 1.0]),
    "infinite": np.array([1.0, np.inf]),
    "one": np.array([2.5]),
}


@pytest.mark.parametrize("kind", SPREADS)
def test_spreads_have_the_bits_of_long_ones(kind: str) -> None:
    x = sc.asarray(SPREADS[kind])
    for ddof in (0, 1, 0.5):
        for array in (x.var(ddof=ddof), x.std(ddof=ddof)):
            few, again = array.compute(on="core"), array.compute(on="core")
            assert few.tobytes() == again.tobytes() == planned(array).tobytes()


def test_spreads_of_usual_numbers_are_pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("speedcube.engine.small.call.values", None)
    x = sc.asarray(SPREADS["usual"])
    assert float(x.std()) == float(planned(x.std()))
    assert float(x.var(ddof=1)) == float(planned(x.var(ddof=1)))


@pytest.mark.parametrize("x", [-0.0, 0.0, 1.5, -math.inf, math.inf, 5e-324, -2.5, math.nan])
def test_extremes_and_places_have_the_bits_of_long_ones(x: float) -> None:
    data = np.array([x, -3.0, x])
    for op in ("max", "min", "argmax", "argmin"):
        for dtype in ("float64", "float32", "int64", "uint8", "bool"):
            if dtype in ("float64", "float32") or (math.isfinite(x) and x >= 0):
                held = np.abs(data) if dtype == "uint8" else data
                array = getattr(sc.asarray(held.astype(dtype)), op)()
                assert array.compute(on="core").tobytes() == planned(array).tobytes()


@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "int64", "uint64", "int32", "uint8", "int16", "bool"]
)
def test_running_sums_of_few_are_those_of_many(dtype: str) -> None:
    rng = np.random.default_rng(3)
    for shape, axis in (((1000,), 0), ((7, 30), 1), ((1,), 0), ((2, 3, 4), None), ((5, 6), 0)):
        drawn = rng.normal(size=shape) * 1e3
        x = (drawn if np.dtype(dtype).kind in "fi" else np.abs(drawn)).astype(dtype)
        for held in (x, x[..., 1:]):
            array = sc.asarray(held).cumsum(axis=axis)
            few, again, many = array.compute(on="core"), array.compute(on="core"), planned(array)
            assert few.dtype == many.dtype
            assert few.shape == many.shape
            assert few.tobytes() == again.tobytes() == many.tobytes()


@pytest.mark.parametrize("dtype", ["float64", "int64", "int32", "uint8", "bool"])
def test_running_sums_of_many_are_one_call_on_one_core(dtype: str) -> None:
    x = (np.random.default_rng(4).random((3, 70_001)) * 200).astype(dtype)
    array = sc.asarray(x).cumsum(axis=1)
    one = known.value(array._expr)
    assert one is not None
    assert known.value(array._expr, "cores") is None  # threads share them
    assert one.tobytes() == planned(array).tobytes() == array.compute(on="cores:2").tobytes()
    if dtype != "float64":
        np.testing.assert_array_equal(one, x.cumsum(axis=1))
    assert np.array_equal(sc.asarray(x)[:, ::-1].cumsum(axis=1), x[:, ::-1].cumsum(axis=1)) or (
        dtype == "float64"
    )


def test_running_sums_of_few_are_one_call() -> None:
    x = sc.asarray(np.arange(20.0))
    assert known.value(x.cumsum()._expr) is not None
    assert known.value(x.reshape(4, 5).cumsum(axis=1)._expr) is not None
    for other in (x.cumprod(), x[::2].cumsum(), x.reshape(4, 5).cumsum(axis=0), (x + 1).cumsum()):
        assert known.value(other._expr) is None
