"""Stream v1: values by position alone, the evaluator's bits, and the right distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import assert_same_bits, draw, source_of

import speedcube as sc
from speedcube.expr.analysis import analyse
from speedcube.expr.nodes import Leaf, Random
from speedcube.kernel.evaluate import evaluate
from speedcube.kernel.math.streams import stream
from speedcube.philox import philox4x32

Make = Callable[[sc.random.Generator, Any], sc.Array]

SOURCES: dict[str, Make] = {
    "normal-float64": lambda g, n: g.normal(size=n),
    "normal-float32": lambda g, n: g.normal(size=n, dtype="float32"),
    "normal-scaled-float64": lambda g, n: g.normal(10, 3, size=n),
    "normal-scaled-float32": lambda g, n: g.normal(-1e3, 0.1, size=n, dtype="float32"),
    "uniform-float64": lambda g, n: g.random(n),
    "uniform-float32": lambda g, n: g.random(n, dtype="float32"),
    "uniform-scaled-float64": lambda g, n: g.uniform(-3, 7, n),
    "uniform-scaled-float32": lambda g, n: g.uniform(2, 5, n, dtype="float32"),
    "exponential-float64": lambda g, n: g.exponential(size=n),
    "exponential-float32": lambda g, n: g.exponential(size=n, dtype="float32"),
    "exponential-scaled-float64": lambda g, n: g.exponential(0.01, size=n),
    **{
        f"integers-{name}": lambda g, n, name=name: g.integers(3, 101, n, dtype=name)
        for name in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
    },
    "integers-negative": lambda g, n: g.integers(-5, 6, n),
    "integers-one-value": lambda g, n: g.integers(7, 8, n),
    "integers-2**32-1-values": lambda g, n: g.integers(0, 2**32 - 1, n),
    "integers-2**32-values": lambda g, n: g.integers(-(2**31), 2**31, n, dtype="int32"),
    "integers-wide-int64": lambda g, n: g.integers(-(2**62), 2**62 + 12345, n),
    "integers-wide-uint64": lambda g, n: g.integers(1, 2**64 - 1, n, dtype="uint64"),
    "integers-all-int64": lambda g, n: g.integers(-(2**63), 2**63 - 1, n, endpoint=True),
    "integers-all-uint64": lambda g, n: g.integers(0, 2**64, n, dtype="uint64"),
}
SIZE = 5000


def make(name: str, size: Any, seed: int = 7) -> sc.Array:
    return SOURCES[name](sc.random.default_rng(seed), size)


# The values are the evaluator's -----------------------------------------------------------------


@pytest.mark.parametrize("name", SOURCES)
def test_kernel_gives_the_evaluators_bits(name: str) -> None:
    array = make(name, SIZE)
    assert_same_bits(array.compute(on="core"), draw(source_of(array), np.arange(SIZE)), name)


@pytest.mark.parametrize("name", ["normal-float64", "normal-float32", "integers-wide-int64"])
@pytest.mark.parametrize("start", [2**31 - 700, 2**32 - 3000, 2**41 - 1030, 2**42 + 17])
def test_far_positions(name: str, start: int) -> None:
    """Block numbers cross 32 bits; positions are 63-bit numbers."""
    whole = make(name, 2**43)
    values = whole[start : start + 2048].compute(on="core")
    assert_same_bits(values, draw(source_of(whole), np.arange(start, start + 2048)))


def test_no_two_elements_of_a_segment_share_a_value() -> None:
    values = make("uniform-float64", 1 << 20).compute(on="core")
    # 2**20 draws of 2**52 values: a repeat has probability 1.2e-4; the seed is fixed.
    assert len(np.unique(values)) == len(values)


def test_streams_of_two_calls_differ_and_do_not_correlate() -> None:
    rng = sc.random.default_rng(3)
    a, b = (rng.normal(size=10**6).compute() for _ in range(2))
    assert abs(np.corrcoef(a, b)[0, 1]) < 5e-3
    for lag in (1, 2, 256, 512, 1024):
        assert abs(np.corrcoef(a[:-lag], a[lag:])[0, 1]) < 5e-3, f"lag {lag}"


def test_the_same_seed_gives_the_same_values() -> None:
    assert_same_bits(make("normal-float64", 100).compute(), make("normal-float64", 100).compute())


# Position law -----------------------------------------------------------------------------------

_SHAPE = (7, 11, 137)


@st.composite
def basic_index(drawn: Any, shape: tuple[int, ...] = _SHAPE) -> tuple[Any, ...]:
    """A tuple of slices (any step), integers, None and at most one ellipsis."""
    items: list[Any] = []
    for extent in shape:
        if drawn(st.integers(0, 5)) == 0:
            items.append(drawn(st.integers(-extent, extent - 1)))
        else:
            bound = st.none() | st.integers(-extent - 2, extent + 2)
            step = drawn(st.none() | st.integers(-9, 9).filter(bool))
            items.append(slice(drawn(bound), drawn(bound), step))
    if drawn(st.booleans()):
        items.insert(drawn(st.integers(0, len(items))), None)
    if drawn(st.integers(0, 3)) == 0:
        items = [*items[: drawn(st.integers(0, len(items) - 1))], Ellipsis]
    return tuple(items)


@pytest.fixture(scope="module")
def wholes() -> dict[str, tuple[sc.Array, np.ndarray]]:
    names = ["normal-float64", "normal-float32", "uniform-scaled-float64", "integers-wide-int64"]
    arrays = {name: make(name, _SHAPE) for name in names}
    return {name: (array, array.compute(on="core")) for name, array in arrays.items()}


@pytest.mark.parametrize("name", ["normal-float64", "normal-float32", "integers-wide-int64"])
@given(item=basic_index())
@settings(max_examples=40, deadline=None)
def test_a_slice_is_the_slice_of_the_whole(
    wholes: dict[str, tuple[sc.Array, np.ndarray]], name: str, item: tuple[Any, ...]
) -> None:
    lazy, values = wholes[name]
    assert_same_bits(lazy[item].compute(on="core"), values[item], item)


@pytest.mark.parametrize(
    "step", [1, 2, 3, 4, 7, 8, 16, 31, 32, 64, 128, 256, 512, 1024, 1025, 2048]
)
@pytest.mark.parametrize("sign", [1, -1], ids=["forward", "backward"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_stride(dtype: str, sign: int, step: int) -> None:
    lazy = sc.random.default_rng(1).normal(size=40_000, dtype=dtype)
    values = lazy.compute(on="core")
    for start in (0, 1, 511, 1023):
        item = slice(start, None, step) if sign > 0 else slice(-1 - start, None, -step)
        assert_same_bits(lazy[item].compute(on="core"), values[item], item)


def test_a_reshape_is_the_same_source() -> None:
    flat = make("normal-float64", 6000)
    values = flat.compute(on="core")
    for shape in [(6000,), (2, 3000), (3000, 2), (10, 20, 30), (6000, 1), (1, 6000, 1)]:
        assert_same_bits(flat.reshape(shape).compute(), values.reshape(shape), shape)
        assert_same_bits(make("normal-float64", shape).compute(), values.reshape(shape), shape)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)], ids=str)
def test_a_transpose_reads_the_same_positions(
    wholes: dict[str, tuple[sc.Array, np.ndarray]], order: tuple[int, ...]
) -> None:
    lazy, values = wholes["normal-float32"]
    assert_same_bits(lazy.transpose(order).compute(), values.transpose(order))
    assert_same_bits(lazy.transpose(order)[::-1, ::2].compute(), values.transpose(order)[::-1, ::2])


def test_views_of_views(wholes: dict[str, tuple[sc.Array, np.ndarray]]) -> None:
    lazy, values = wholes["normal-float64"]
    computed = lazy[::2, 3:].T[::-3, 1:, None][5:].compute()
    assert_same_bits(computed, values[::2, 3:].T[::-3, 1:, None][5:])
    assert_same_bits(sc.flip(lazy, 1).compute(), np.flip(values, 1))
    wide = sc.broadcast_to(lazy[:, :1], (4, 7, 9, 137))
    assert_same_bits(wide.compute(), np.broadcast_to(values[:, :1], (4, 7, 9, 137)))


@pytest.mark.parametrize("chunks", [None, 100, (50, 20), "auto"], ids=str)
def test_chunks_change_no_value(chunks: Any) -> None:
    plain = sc.random.default_rng(2).normal(size=(300, 200))
    hinted = sc.random.default_rng(2).normal(size=(300, 200), chunks=chunks)
    assert_same_bits(hinted.compute(), plain.compute())


# Distributions ----------------------------------------------------------------------------------

MANY = 10**7


@pytest.fixture(scope="module", params=["float64", "float32"])
def normals(request: pytest.FixtureRequest) -> np.ndarray:
    lazy = sc.random.default_rng(20260101).standard_normal(MANY, dtype=request.param)
    return lazy.compute(on="cores")


def test_normal_moments(normals: np.ndarray) -> None:
    """Each within five standard errors (sqrt of 1, 2, 6, 24 over n)."""
    z = normals.astype(np.float64)
    mean = z.mean()
    moments = {
        "mean": (mean, 1),
        "variance": (z.var() - 1, 2),
        "skew": (np.mean((z - mean) ** 3) / z.std() ** 3, 6),
        "kurtosis": (np.mean((z - mean) ** 4) / z.var() ** 2 - 3, 24),
    }
    for name, (value, spread) in moments.items():
        assert abs(value) < 5 * math.sqrt(spread / MANY), f"{name} is off by {value}"


def test_normal_kolmogorov_smirnov(normals: np.ndarray) -> None:
    test = scipy.stats.kstest(normals.astype(np.float64), "norm")
    assert test.pvalue > 1e-4, test


def test_normal_tails(normals: np.ndarray) -> None:
    """Counts beyond 3, 4, 5 on each side within five standard deviations of a Poisson count."""
    for edge in (3.0, 4.0, 5.0):
        expected = MANY * scipy.stats.norm.sf(edge)
        for side, count in (("above", (normals > edge).sum()), ("below", (normals < -edge).sum())):
            assert abs(count - expected) < 5 * math.sqrt(expected) + 1, f"{side} {edge}: {count}"


def test_normal_quadrants_and_halves_are_even(normals: np.ndarray) -> None:
    """Values of one block (512 or 256 apart) are independent, in sign and in size."""
    gap = 512 if normals.dtype == np.float64 else 256
    runs = normals[: MANY // 1024 * 1024].reshape(-1, 1024)
    a, b = (runs[:, k * gap : (k + 1) * gap].astype(np.float64).ravel() for k in (0, 1))
    for what, x, y in (("values", a, b), ("sizes", abs(a), abs(b)), ("squares", a * a, b * b)):
        assert abs(np.corrcoef(x, y)[0, 1]) < 5 / math.sqrt(len(a)), what


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_uniform_distribution(dtype: str) -> None:
    values = sc.random.default_rng(11).random(2 * 10**6, dtype=dtype).compute()
    assert (values >= 0).all()
    assert (values < 1).all()
    assert scipy.stats.kstest(values.astype(np.float64), "uniform").pvalue > 1e-4
    counts = np.bincount((values * 1000).astype(int), minlength=1000)
    assert scipy.stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_exponential_distribution(dtype: str) -> None:
    values = sc.random.default_rng(12).exponential(size=2 * 10**6, dtype=dtype).compute()
    assert (values >= 0).all()
    assert np.signbit(values).sum() == 0
    assert scipy.stats.kstest(values.astype(np.float64), "expon").pvalue > 1e-4


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [(0, 10, "int64"), (-3, 4, "int8"), (0, 1000, "uint16"), (5, 6, "int32"), (0, 2, "uint8")],
)
def test_integers_are_even(low: int, high: int, dtype: str) -> None:
    values = sc.random.default_rng(13).integers(low, high, 10**6, dtype=dtype).compute()
    assert values.dtype == dtype
    assert (int(values.min()), int(values.max())) == (low, high - 1)
    if high - low > 1:
        counts = np.bincount(values.astype(int) - low, minlength=high - low)
        assert scipy.stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize(
    ("low", "last", "dtype"),
    [
        (-(2**63), 2**63 - 1, "int64"),
        (0, 2**64 - 1, "uint64"),
        (-(2**62), 3 * 2**61, "int64"),
        (-(2**31), 2**31 - 1, "int32"),
    ],
    ids=["all-int64", "all-uint64", "wide-int64", "all-int32"],
)
def test_wide_integers_are_even(low: int, last: int, dtype: str) -> None:
    rng = sc.random.default_rng(14)
    values = rng.integers(low, last, 10**5, dtype=dtype, endpoint=True).compute()
    scaled = (values.astype(np.float64) - low) / (last - low + 1)
    assert scipy.stats.kstest(scaled, "uniform").pvalue > 1e-4
    low_bits = np.bincount((values & values.dtype.type(255)).astype(np.int64), minlength=256)
    assert scipy.stats.chisquare(low_bits).pvalue > 1e-4


def test_integers_are_the_top_of_a_product() -> None:
    """a + floor(A n / 2**64) and a + floor(B:A n / 2**128), in Python integers."""
    at, low = np.arange(1024), 0xFFFFFFFF
    narrow = sc.random.default_rng(4).integers(-7, 1000, 1024)
    key = source_of(narrow).key
    c = [[int(w) for w in part] for part in philox4x32([at.astype(np.uint64), 0, 0, 0], key)]
    words = [(c[0][k] | c[1][k] << 32, c[2][k] | c[3][k] << 32) for k in range(1024)]
    wanted = [-7 + (words[p % 512][p // 512] * 1007 >> 64) for p in range(1024)]
    assert narrow.compute().tolist() == wanted
    wide = sc.random.default_rng(4).integers(5, 2**40 + 6, 1024)
    wanted = [5 + ((b << 64 | a) * (2**40 + 1) >> 128) for a, b in words]
    assert wide.compute().tolist() == wanted
    assert max(c[0]) <= low


# Accuracy ---------------------------------------------------------------------------------------


def _words(key: int, blocks: int) -> list[tuple[int, int]]:
    c = philox4x32([np.arange(blocks, dtype=np.uint64), 0, 0, 0], key)
    w = [[int(v) for v in part] for part in c]
    return [(w[0][k] | w[1][k] << 32, w[2][k] | w[3][k] << 32) for k in range(blocks)]


def _exact_normals(a: int, b: int) -> tuple[mpmath.mpf, mpmath.mpf]:
    """The two normals of a float64 block, from the definition, at 120 bits."""
    mantissa = (1 << 52) - 1
    u = (2 * mpmath.mpf(a & mantissa) + 1) / 2**53
    t = mpmath.mpf(b & mantissa) / 2**52 - mpmath.mpf(1) / 2
    angle = mpmath.pi * (t / 2 + mpmath.mpf(1) / 4)
    radius = mpmath.sqrt(-2 * mpmath.log(u))
    first = -1 if a >> 63 else 1
    second = -first if b >> 63 else first
    return first * radius * mpmath.cos(angle), second * radius * mpmath.sin(angle)


NORMAL64_ERROR = 1e-15
NORMAL32_ERROR = 6e-7


def test_float64_normals_against_mpmath() -> None:
    lazy = sc.random.default_rng(99).standard_normal(1024)
    values, worst = lazy.compute(), mpmath.mpf(0)
    with mpmath.workprec(120):
        for k, (a, b) in enumerate(_words(source_of(lazy).key, 512)):
            z0, z1 = _exact_normals(a, b)
            worst = max(worst, abs(z0 - mpmath.mpf(values[k])))
            worst = max(worst, abs(z1 - mpmath.mpf(values[k + 512])))
    assert worst < NORMAL64_ERROR, f"the largest error is {float(worst):.3g}"


def test_float32_normals_against_float64() -> None:
    """The same uniforms and angles taken through float64 mathematics."""
    count = 1 << 16
    lazy = sc.random.default_rng(98).standard_normal(count, dtype="float32")
    values = lazy.compute().reshape(-1, 4, 256).astype(np.float64)
    blocks = [np.arange(count // 4, dtype=np.uint64), 0, 0, 0]
    w = [x.astype(np.int64).reshape(-1, 256) for x in philox4x32(blocks, source_of(lazy).key)]
    for half in (0, 1):
        wr, wt = w[2 * half], w[2 * half + 1]
        # The uniform is a float32: near 1 it is coarse, and that is the stream's definition.
        u = (wr >> 1).astype(np.float32) * 2.0**-31 + 2.0**-32
        radius = np.sqrt(-2 * np.log(u.astype(np.float32).astype(np.float64)))
        sign = 1.0 - 2 * (wr & 1)
        t = (wt.astype(np.uint32).view(np.int32) >> 1) * 2.0**-31
        angle = np.pi * (t / 2 + 0.25)
        other = sign * (1.0 - 2 * (wt & 1))
        errors = [
            abs(values[:, 2 * half] - sign * radius * np.cos(angle)).max(),
            abs(values[:, 2 * half + 1] - other * radius * np.sin(angle)).max(),
        ]
        assert max(errors) < NORMAL32_ERROR, f"the largest error is {max(errors):.3g}"


def test_exponentials_against_mpmath() -> None:
    lazy = sc.random.default_rng(97).standard_exponential(1024)
    values, worst = lazy.compute(), mpmath.mpf(0)
    with mpmath.workprec(120):
        for k, pair in enumerate(_words(source_of(lazy).key, 512)):
            for half, word in enumerate(pair):
                u = (2 * mpmath.mpf(word & ((1 << 52) - 1)) + 1) / 2**53
                exact = -mpmath.log(u)
                computed = mpmath.mpf(values[k + 512 * half])
                worst = max(worst, abs(computed - exact) / max(exact, mpmath.mpf(2) ** -52))
    # Relative to the value, save that -ln u has only u's 53 bits to work with near u = 1.
    assert worst < 1e-15, f"the largest relative error is {float(worst):.3g}"


def test_largest_normals() -> None:
    """The largest magnitudes that the docstring promises: words that give the least u."""
    for dtype, most in (("float64", 8.58), ("float32", 6.66)):
        source = stream("normal", dtype, 0, True)
        names = [n for n, _ in source.bodies[1].inputs]
        low = {n: np.zeros(3, np.uint64 if dtype == "float64" else np.uint32) for n in names}
        radius = evaluate(source.bodies[1], low)
        extra = {
            "B": np.array([0, 2**51, 2**52 - 1], np.uint64),
            "w1": np.array([0, 2**31, 2**32 - 1], np.uint32),
            "w3": np.array([0, 2**31, 2**32 - 1], np.uint32),
        }
        wanted = [n for n, _ in source.bodies[2].inputs]
        out = evaluate(source.bodies[2], {n: {**radius, **extra}[n] for n in wanted})
        largest = max(float(abs(v).max()) for v in out.values())
        assert most - 0.02 < round(largest, 2) <= most, f"{dtype}: {largest}"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("distribution", ["normal", "exponential", "uniform"])
def test_no_bits_below_the_grain(distribution: str, dtype: str) -> None:
    """Also of the words next to those that give zero: what exact sums take for granted."""
    source = stream(distribution, dtype, 0, True)
    word = np.uint64 if dtype == "float64" else np.uint32
    top, step = (1 << 52, 1) if dtype == "float64" else (1 << 32, 1 << 9)
    near = np.arange(-12, 12) * step
    ends = np.concatenate([near, top // 2 + near, top + near]) % top
    values = {n: ends.astype(word).repeat(len(ends)) for n, _ in source.bodies[1].inputs}
    values |= {n: np.tile(ends.astype(word), len(ends)) for n in ("B", "w1", "w3")}
    for body in source.bodies[1:]:
        values |= evaluate(body, {n: values[n] for n, _ in body.inputs})
    grain = analyse(Leaf(Random(distribution, 0, (0.0, 1.0), dtype), (1,), 0, (1,))).grain
    numbers = np.concatenate([values[f"v{k}"] for k in range(source.per_block)]).astype("float64")
    units = np.ldexp(numbers, -grain)
    assert (units == np.rint(units)).all()
    assert (abs(numbers[numbers != 0]) < 2.0**-20).any(), "the words do come close to zero"
