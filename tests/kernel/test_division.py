"""Floor division and remainder of floats: C's fmod, exact however large the quotient, and NumPy's
steps from it, on every target."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracle import assert_same_bits, run_body

import speedcube as sc
from speedcube.kernel.builder import Builder
from speedcube.kernel.evaluate import evaluate
from speedcube.kernel.ir import Body
from speedcube.kernel.llvm.simd import targets
from speedcube.kernel.math import division

OPERATIONS = {"floor_divide": division.floor_divide, "remainder": division.remainder}
WORD = {"float64": "uint64", "float32": "uint32"}


def body(op: str, dtype: str) -> Body:
    b = Builder()
    b.output("x", OPERATIONS[op](b, b.input("leaf0", dtype), b.input("leaf1", dtype)))
    return b.body()


def numpys(op: str, x: Any, y: Any) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(getattr(np, op)(x, y))


def wild(dtype: str, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of random bits (every exponent, NaN, subnormals), of near and of far exponents."""
    rng = np.random.default_rng(seed)
    word = WORD[dtype]
    raw = rng.integers(0, np.iinfo(word).max, (6, count), word, endpoint=True)
    subnormal = rng.integers(1, 2**20, count).astype(word)
    x = [raw[0].view(dtype), rng.normal(size=count).astype(dtype), raw[1].view(dtype)]
    y = [raw[2].view(dtype), rng.normal(size=count).astype(dtype), subnormal.view(dtype)]
    whole = rng.integers(1, 2**23, (2, count)).astype(dtype)
    x += [whole[0] * whole[1], -whole[0], raw[3].view(dtype)]
    y += [whole[1], whole[1] * 3, (raw[3] ^ np.array(2, word)).view(dtype)]
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, -3.0, np.finfo(dtype).max], dtype)
    edges = np.concatenate([edges, np.array([1, 2, 3], word).view(dtype)])
    p, q = (g.ravel() for g in np.meshgrid(edges, edges))
    return np.concatenate([*x, p]), np.concatenate([*y, q])


@pytest.mark.parametrize("target", targets())
@pytest.mark.parametrize("dtype", WORD)
@pytest.mark.parametrize("op", OPERATIONS)
def test_every_exponent_on_every_target(op: str, dtype: str, target: str) -> None:
    x, y = wild(dtype, 30_000, 1)
    values = run_body(body(op, dtype), {"leaf0": x, "leaf1": y}, target)
    assert_same_bits(values, numpys(op, x, y))


@pytest.mark.parametrize("dtype", WORD)
@pytest.mark.parametrize("op", OPERATIONS)
def test_the_evaluator_too(op: str, dtype: str) -> None:
    x, y = wild(dtype, 50, 2)
    values = evaluate(body(op, dtype), {"leaf0": x, "leaf1": y})["x"]
    assert_same_bits(values, numpys(op, x, y))


def _floats(dtype: str) -> st.SearchStrategy[np.ndarray]:
    """Any bits: all exponents are as likely, and Hypothesis shrinks to few of them."""
    bits = st.integers(0, int(np.iinfo(WORD[dtype]).max))
    return st.lists(bits, min_size=40, max_size=40).map(lambda v: np.array(v, WORD[dtype]))


@pytest.mark.parametrize("dtype", WORD)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_bits_are_divided_as_numpy_does(dtype: str, data: Any) -> None:
    x, y = (data.draw(_floats(dtype)).view(dtype) for _ in range(2))
    for op in OPERATIONS:
        values = getattr(sc, op)(sc.asarray(x), sc.asarray(y)).compute(on="core")
        assert_same_bits(values, numpys(op, x, y))


@settings(max_examples=200, deadline=None)
@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False).filter(bool),
)
@example(1e18, 0.93)
@example(1e308, 0.5)
@example(2.0, 5e-324)
@example(1.7976931348623157e308, 5e-324)
@example(1.7976931348623157e308, -2.2250738585072014e-308)
@example(-(2.0**53), 1.0 + 2.0**-52)
def test_the_remainder_is_exact(x: float, y: float) -> None:
    """Against fractions: NumPy's own fmod is not trusted."""
    exact = Fraction(x) - Fraction(y) * math.trunc(Fraction(x) / Fraction(y))
    r = float(exact)
    assert Fraction(r) == exact
    wanted = r + y if r and (r < 0) != (y < 0) else r
    values = float((sc.asarray([x]) % y).compute(on="core")[0])
    assert values == wanted
    assert math.copysign(1, values) == math.copysign(1, y) or values


def test_what_was_wrong() -> None:
    assert (sc.asarray([1e18]) % 0.93).compute().tolist() == [np.remainder(1e18, 0.93)]
    assert (sc.asarray([1e308]) % 0.5).compute().tolist() == [0.0]
    assert (sc.asarray([2.0]) % 5e-324).compute().tolist() == [0.0]
    single = np.array([1e8], "float32")
    assert_same_bits((sc.asarray(single) % 0.3).compute(), single % np.float32(0.3))
    assert (sc.asarray([np.inf, -np.inf]) // 0).compute().tolist() == [np.inf, -np.inf]
    assert np.isnan((sc.asarray([np.inf]) // 2).compute()).all()


# The greatest common divisor ----------------------------------------------------------------------

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def whole(dtype: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Random pairs, pairs of the least, 0 and the greatest, and the Fibonacci numbers, which take
    Euclid's algorithm the longest."""
    info = np.iinfo(dtype)
    edges = np.array([info.min, info.min + 1, 0, 1, 2, info.max - 1, info.max], dtype)
    longest = [1, 2]
    while longest[-1] + longest[-2] <= info.max:
        longest.append(longest[-1] + longest[-2])
    p, q = (g.ravel() for g in np.meshgrid(edges, edges))
    rng = np.random.default_rng(8)
    drawn = rng.integers(info.min, info.max, (2, count), dtype, endpoint=True)
    line = np.array(longest, dtype)
    return np.concatenate([drawn[0], p, line[:-1]]), np.concatenate([drawn[1], q, line[1:]])


def divisors(dtype: str) -> Body:
    b = Builder()
    b.output("x", division.gcd(b, b.input("leaf0", dtype), b.input("leaf1", dtype)))
    return b.body()


@pytest.mark.parametrize("target", targets())
@pytest.mark.parametrize("dtype", INTEGERS)
def test_common_divisors_on_every_target(dtype: str, target: str) -> None:
    x, y = whole(dtype, 2_000)
    values = run_body(divisors(dtype), {"leaf0": x, "leaf1": y}, target)
    assert_same_bits(values, np.gcd(x, y))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_common_divisors_by_the_evaluator(dtype: str) -> None:
    x, y = whole(dtype, 40)
    values = evaluate(divisors(dtype), {"leaf0": x, "leaf1": y})["x"]
    assert_same_bits(values, np.gcd(x, y))


def test_common_divisors_and_multiples_are_numpys() -> None:
    for dtype in INTEGERS:
        x, y = whole(dtype, 100)
        same = sc.lcm(sc.asarray(x), sc.asarray(y)).compute()
        np.testing.assert_array_equal(same, np.lcm(x, y))
        assert same.dtype == dtype
    for refused in (1.5, True):
        with pytest.raises(TypeError):
            sc.gcd(refused, np.asarray(refused))
