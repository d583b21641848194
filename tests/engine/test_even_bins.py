"""Histograms of even bins and `bincount` by one reading: NumPy's counts, whatever lies on edges."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.ordering import at_once, fixed
from speedcube.expr.graph import below
from speedcube.expr.nodes import Leaf, Through
from speedcube.expr.through.even import is_even

SIZE: Final = 100_003
_RNG = np.random.default_rng(7)
_X = _RNG.normal(size=SIZE)
_EDGES = np.linspace(-3, 3, 38)

LINES: Final[dict[str, Any]] = {
    "normals": _X,
    "edges alone": _RNG.choice(_EDGES, SIZE),
    "beside edges": np.nextafter(_RNG.choice(_EDGES, SIZE), _RNG.choice([-9.0, 9.0], SIZE)),
    "whole numbers": _RNG.integers(-4, 5, SIZE).astype(float),
    "with what is no number": np.where(_X > 1, np.nan, np.where(_X < -1, -np.inf, _X)),
    "all equal": np.full(SIZE, 3.0),
    "signed zeros": np.where(_X > 0, 0.0, -0.0),
    "large": _X * 1e300,
    "tiny": _X * 5e-324,
    "far from 0": _X + 1e15,
}
RANGES: Final = ((-3.0, 3.0), (-1e300, 1e300), (0.0, 5e-324), (-8e307, 8e307), (1e15, 1e15 + 8))


@pytest.mark.parametrize("name", LINES)
def test_counts_are_numpys(name: str) -> None:
    x = LINES[name]
    for bins in (1, 2, 37, 10_000):
        for ends in RANGES:
            try:
                wanted = np.histogram(x, bins, ends)[0]
            except ValueError:  # too many bins for this range
                with pytest.raises(ValueError, match="Too many bins"):
                    sc.histogram(x, bins, ends)
                continue
            for on in ("core", "cores"):
                found = sc.histogram(sc.asarray(x), bins, ends)[0].compute(on=on)
                assert found.tolist() == wanted.tolist(), (bins, ends)


def test_most_numbers_are_not_compared_with_edges() -> None:
    """The margin is that of the edges themselves: of a few ulps of a bin's place."""
    counts = fixed.EvenCounts((-3.0, 3.0), _EDGES)
    assert 0 < counts.numbers[3] < 1e-13


def test_what_is_computed_is_counted_too() -> None:
    x = sc.random.default_rng(3).normal(size=SIZE)
    for made, held in ((x, np.asarray(x)), (x * 2 + 1, np.asarray(x * 2 + 1))):
        wanted = np.histogram(held, 25, (-2, 2))[0]
        assert sc.histogram(made, 25, (-2, 2))[0].tolist() == wanted.tolist()
    strided = sc.asarray(_X)[::-3]
    assert sc.histogram(strided, 9)[0].tolist() == np.histogram(_X[::-3], 9)[0].tolist()


# bincount -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "int64", "uint64"])
def test_bincount_reads_once(dtype: str) -> None:
    index = _RNG.integers(0, 100, SIZE).astype(dtype)
    index[-1] = 120  # beyond what the first elements suggest at least
    given = sc.asarray(index)
    known = at_once.counts_at_once(given._expr, 0)
    assert known is not None
    assert known.tolist() == np.bincount(index).tolist()
    assert sc.bincount(given, minlength=500).tolist() == np.bincount(index, minlength=500).tolist()


def test_bincount_begins_again_where_that_is_not_enough() -> None:
    index = _RNG.integers(0, 10, SIZE)
    index[SIZE // 2] = 10**6
    assert at_once.counts_at_once(sc.asarray(index)._expr, 0) is None
    assert at_once.sums_at_once(sc.asarray(index)._expr, sc.asarray(_X)._expr, 0) is None
    np.testing.assert_array_equal(sc.bincount(sc.asarray(index)), np.bincount(index))
    index[SIZE // 2] = -1
    for weights in (None, _X):
        with pytest.raises(ValueError, match="no negative elements"):
            sc.bincount(sc.asarray(index), weights)
    index[0] = -1
    assert at_once.counts_at_once(sc.asarray(index)._expr, 0) is None


@pytest.mark.parametrize("length", [1, 7, 600, 5000])
def test_weights_are_exact_and_as_long_as_the_greatest_number(length: int) -> None:
    index = _RNG.integers(0, length, SIZE)
    weights = _X * 10.0 ** _RNG.integers(-20, 20, SIZE)
    index[5], weights[5] = length + 2, 0.0  # a number whose weight is nothing has a place
    found = at_once.sums_at_once(sc.asarray(index)._expr, sc.asarray(weights)._expr, 0)
    assert found is not None
    assert len(found) == length + 3
    lazy = sc.bincount(sc.asarray(index) + 0, weights).compute(on="core")
    assert found.tobytes() == lazy.tobytes()
    np.testing.assert_allclose(found, np.bincount(index, weights), rtol=1e-6, atol=1e15)


def test_counts_of_more_than_32_bits_are_carried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixed.Counts, "MOST", 1000)
    counts = fixed.Counts("int64", 3)
    block = np.array([0, 1, 1, 2, 9, -1] * 100)
    for _ in range(5):
        counts.add(block)
    assert counts.total().tolist() == [500, 1000, 500, 1000]


# Lines side by side -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "bool"])
def test_lines_side_by_side_are_sorted_where_they_lie(dtype: str) -> None:
    special = np.where(_X < -1, np.nan, np.where(np.abs(_X) < 0.3, np.copysign(0.0, _X), _X))
    table = special[:60_000].reshape(50, 1200)
    given = np.nan_to_num(table).astype(dtype) if dtype in ("int16", "bool") else table
    given = given.astype(dtype)
    for x in (given, given[::-2, 3:], given[:1], given[:, :1]):
        rows = np.asarray(sc.sort(sc.asarray(np.ascontiguousarray(x.T)), axis=1).compute(on="core"))
        for on in ("core", "cores"):
            found = np.asarray(sc.sort(sc.asarray(x), axis=0).compute(on=on))
            assert found.tobytes() == np.ascontiguousarray(rows.T).tobytes()
            np.testing.assert_array_equal(found, np.sort(x, axis=0))


@pytest.mark.parametrize("count", [1, 16, 511, 513, 1500, 16_384, 16_385, 140_000])
def test_any_number_of_elements_is_counted_in_even_bins(count: int) -> None:
    """Few are counted by the caller, more by a plan: each reads the elements, not their bins."""
    x = np.random.default_rng(count).normal(size=count)
    for bins, ends in ((1, (0.0, 0.7)), (7, (-3, 3)), (10, None), (100, (-1, 5))):
        got, edges = sc.histogram(sc.asarray(x), bins, ends)
        wanted, at = np.histogram(x, bins, ends)
        assert got.compute(on="core").tolist() == wanted.tolist()
        assert np.asarray(edges).tolist() == at.tolist()


def test_of_doubles_nothing_is_made_but_what_is_counted() -> None:
    counts = sc.histogram(sc.asarray(_X[:700]), 9, (-2.0, 2.0))[0]
    assert [type(node) for node in below(counts._expr)] == [Leaf, Through, Leaf]
    weighed = sc.histogram(sc.asarray(_X[:700]), 9, (-2.0, 2.0), weights=_X[:700])[0]
    assert len(below(weighed._expr)) > 20  # the sums need the bins themselves


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_what_is_no_double_is_counted_by_its_bins(dtype: str) -> None:
    x = (_X[:3000] * 40 + 100).astype(dtype)
    for bins, ends in ((5, None), (64, (60, 130))):
        got, edges = sc.histogram(sc.asarray(x), bins, ends)
        wanted, at = np.histogram(x, bins, ends)
        assert got.tolist() == wanted.tolist()
        assert np.asarray(edges).tobytes() == at.tobytes()


def _edges(kind: str, rng: np.random.Generator) -> Any:
    first, width, count = float(rng.integers(-9, 9)), float(rng.choice([1, 5, 0.37])), 29
    if kind == "whole numbers":
        return np.arange(int(first), int(first) + count)
    even = np.linspace(first, first + width, count)
    if kind == "nearly even":
        return even + rng.uniform(-3e-4, 3e-4, count) * width / (count - 1)
    if kind == "float32":
        return even.astype("float32")
    return np.sort(rng.normal(size=count) * 9) if kind == "uneven" else even


@pytest.mark.parametrize("kind", ["even", "nearly even", "float32", "whole numbers", "uneven"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "u1"])
def test_given_edges_decide(kind: str, dtype: str) -> None:
    rng = np.random.default_rng(11)
    for size in (300, 20_000):
        edges = _edges(kind, rng)
        near = rng.choice(edges, size).astype(dtype)
        if dtype[0] == "f":
            near = np.nextafter(near, rng.choice(np.array([-99, 99], dtype), size))
        x = np.where(rng.random(size) < 0.6, near, (rng.normal(size=size) * 9).astype(dtype))
        if dtype[0] == "f":
            x[rng.random(size) < 0.1] = rng.choice([np.nan, np.inf, -np.inf, -0.0])
        counts, found = sc.histogram(sc.asarray(x), edges)
        read = [one for one in below(counts._expr) if type(one) is Through]
        assert any(map(is_even, read)) == (kind != "uneven")  # by their places
        assert found.tolist() == edges.tolist()
        for on in ("core", "cores:2"):
            assert counts.compute(on=on).tolist() == np.histogram(x, edges)[0].tolist()


@pytest.mark.parametrize("dtype", ["f4", "i8", "i2", "u1"])
def test_numbers_of_other_dtypes_lie_in_numpys_bins(dtype: str) -> None:
    x = (_X * 40 + 99).astype(dtype)
    for bins in (1, 30, 5000):
        for ends in (None, (0, 99.5)):
            wanted, edges = np.histogram(x, bins, ends)
            counts, found = sc.histogram(sc.asarray(x), bins, ends)
            assert counts.compute(on="core").tolist() == wanted.tolist()
            assert found.dtype == edges.dtype
