"""Permutations without memory: bijections, shuffles, choices, and reading at given places."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

import speedcube as sc
from speedcube.errors import AxisError, DTypeError, ParameterError, ShapeError
from speedcube.random import inverse_permutation


def rng(seed: int = 3) -> sc.random.Generator:
    return sc.random.default_rng(seed)


@pytest.mark.parametrize("n", [*range(34), 99, 100, 101, 1000, 4096, 65_537])
def test_a_permutation_has_every_number_once(n: int) -> None:
    order = rng(n).permutation(n)
    values = order.compute(on="core")
    assert values.dtype == np.int64
    assert (np.sort(values) == np.arange(n)).all()
    assert (inverse_permutation(order).compute(on="core")[values] == np.arange(n)).all()


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_every_order_is_as_likely(n: int) -> None:
    rows = rng().permuted(np.broadcast_to(np.arange(n), (120_000, n)), axis=1).compute(on="core")
    orders = Counter(map(tuple, rows.tolist()))
    counts = [orders[order] for order in permutations(range(n))]
    assert sum(counts) == len(rows)
    assert stats.chisquare(counts).pvalue > 1e-6


@pytest.mark.parametrize("n", [8, 9, 16, 25])
def test_even_and_odd_orders_come_alike(n: int) -> None:
    """Exchanges of equal halves alone would give even ones only."""
    rows = rng().permuted(np.broadcast_to(np.arange(n), (4000, n)), axis=1).compute(on="core")
    above = np.triu(rows[:, :, None] > rows[:, None, :], 1).sum(axis=(1, 2))
    assert stats.binomtest(int((above % 2).sum()), len(rows)).pvalue > 1e-6


@pytest.mark.parametrize("n", [7, 64, 1000])
def test_fixed_points_are_as_many_as_they_should_be(n: int) -> None:
    rows = rng().permuted(np.broadcast_to(np.arange(n), (3000, n)), axis=1).compute(on="core")
    fixed = (rows == np.arange(n)).sum(axis=1)
    assert abs(fixed.mean() - 1) < 5 / math.sqrt(len(rows))
    assert abs(fixed.var() - 1) < 0.3


def test_calls_and_seeds_give_different_orders() -> None:
    g = rng()
    orders = [g.permutation(12).compute().tolist() for _ in range(4)]
    orders += [rng(seed).permutation(12).compute().tolist() for seed in (4, 5)]
    assert len({tuple(order) for order in orders}) == 6
    assert rng().permutation(12).compute().tolist() == orders[0]


def test_a_quintillion_things_cost_nothing_until_they_are_read() -> None:
    order = rng().permutation(2**60)
    assert order.shape == (2**60,)
    few = order[:: 2**40]
    values = few.compute(on="core")
    assert len(np.unique(values)) == len(values) == 2**20
    assert ((values >= 0) & (values < 2**60)).all()
    assert stats.kstest(values / 2.0**60, "uniform").pvalue > 1e-6
    back = sc.take(inverse_permutation(order), few)
    assert (back.compute(on="core") == np.arange(0, 2**60, 2**40)).all()


def test_inverse_takes_whole_permutations_only() -> None:
    order = rng().permutation(10)
    for other in (order[1:], order[::-1], order + 0, order.compute(), 3):
        with pytest.raises(ParameterError, match="inverse_permutation takes"):
            inverse_permutation(other)


# Arrays ------------------------------------------------------------------------------------------


def test_rows_and_columns_move_together() -> None:
    x = np.arange(60).reshape(12, 5)
    rows = rng().permutation(x).compute()
    assert sorted(map(tuple, rows)) == sorted(map(tuple, x))
    assert rows.tolist() == x[rng().permutation(12).compute()].tolist()
    columns = rng().permutation(x, axis=-1).compute()
    assert columns.tolist() == x[:, rng().permutation(5).compute()].tolist()


def test_lines_are_permuted_each_in_its_own_way() -> None:
    x = np.arange(60).reshape(12, 5)
    lines = rng().permuted(x, axis=1).compute()
    assert (np.sort(lines, axis=1) == x).all()
    assert len({tuple(row % 5) for row in lines}) > 6
    out = np.zeros_like(x)
    everywhere = rng().permuted(x, out=out)
    assert (np.sort(out, axis=None) == np.arange(60)).all()
    assert (everywhere.compute() == out).all()


def test_shuffle_changes_what_it_is_given() -> None:
    x = sc.arange(50)
    doubled = x * 2
    rng().shuffle(x)
    order = rng().permutation(50).compute()
    assert (x.compute() == order).all()
    assert (doubled.compute() == np.arange(50) * 2).all()  # made before
    assert ((x + 1).compute() == order + 1).all()
    y = np.arange(20).reshape(4, 5)
    rng().shuffle(y, axis=1)
    assert (y == np.arange(20).reshape(4, 5)[:, rng().permutation(5).compute()]).all()
    things = list("abcdef")
    rng().shuffle(things)
    assert things == [list("abcdef")[k] for k in rng().permutation(6).compute()]


def test_a_shuffle_of_generated_rows_is_a_view() -> None:
    x = rng().normal(size=(10**9, 4))
    shuffled = rng(9).permutation(x)
    at = rng(9).permutation(10**9)[123_456:123_460].compute()
    wanted = [x[int(k)].compute() for k in at]
    assert (shuffled[123_456:123_460].compute() == wanted).all()


# Choices -----------------------------------------------------------------------------------------


def test_choices() -> None:
    g = rng()
    assert g.choice(5).compute() in range(5)
    assert set(g.choice([10, 20], 200).compute()) == {10, 20}
    apart = g.choice(10**12, (40, 25), replace=False).compute()
    assert len(np.unique(apart)) == 1000
    assert apart.shape == (40, 25)
    columns = g.choice(np.arange(12).reshape(3, 4), 2, replace=False, axis=1).compute()
    assert columns.shape == (3, 2)
    assert (columns[:, 0] != columns[:, 1]).all()


def test_probabilities_of_choices() -> None:
    p = np.array([0.1, 0.0, 0.25, 0.6, 0.05])
    drawn = rng().choice(5, 400_000, p=p).compute()
    counts = np.bincount(drawn, minlength=5)
    assert counts[1] == 0
    assert stats.chisquare(counts[p > 0], p[p > 0] * len(drawn)).pvalue > 1e-6
    once = rng().choice(list("abcde").index("e") + 1, 4, replace=False, p=p).compute()
    assert sorted(once.tolist()) == [0, 2, 3, 4]
    firsts = [
        rng(s).choice(3, 1, replace=False, p=[0.2, 0.3, 0.5]).compute()[0] for s in range(400)
    ]
    wanted = np.array([0.2, 0.3, 0.5]) * len(firsts)
    assert stats.chisquare(np.bincount(firsts, minlength=3), wanted).pvalue > 1e-6


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30).filter(any))
@example([0, 0, 1, 1])  # a cell that has given all of its share away is never kept
@example([1, 1, 1])
@settings(max_examples=80, deadline=None)
def test_alias_tables_have_the_probabilities(weights: list[int]) -> None:
    """Also where rounding empties the large cells first; what has no chance is never drawn."""
    chances = np.array(weights) / sum(weights)
    keep, alias = sc.random.choices._alias_table(chances)
    shares = keep.copy()
    np.add.at(shares, alias, 1 - keep)
    np.testing.assert_allclose(shares / len(weights), chances, atol=1e-15)
    assert (keep[chances == 0] == 0).all()
    assert (chances[alias[keep < 1]] > 0).all()
    assert ((keep >= 0) & (keep <= 1)).all()


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "too many": (lambda g: g.permutation(2**60 + 1), ParameterError, r"between 0 and 2\*\*60"),
    "negative": (lambda g: g.permutation(-1), ParameterError, "not -1"),
    "a scalar": (lambda g: g.permutation(2.5), ParameterError, "x must be at least 1-dimensional"),
    "axis": (lambda g: g.permutation(np.zeros((2, 3)), axis=2), AxisError, "axis 2"),
    "out": (lambda g: g.permuted(np.zeros(3), out=np.zeros(4)), ParameterError, "out must be"),
    "a tuple": (lambda g: g.shuffle((1, 2)), DTypeError, "tuple"),
    "sample": (lambda g: g.choice(3, 4, replace=False), ParameterError, "larger sample than pop"),
    "sums": (lambda g: g.choice(2, p=[0.5, 0.6]), ParameterError, "do not sum to 1"),
    "below 0": (lambda g: g.choice(2, p=[-0.5, 1.5]), ParameterError, r"p\[0\] is -0.5"),
    "NaN": (lambda g: g.choice(2, p=[0.5, np.nan]), ParameterError, r"p\[1\] is nan"),
    "length": (lambda g: g.choice(3, p=[0.5, 0.5]), ParameterError, "a and p must have the same"),
    "few": (lambda g: g.choice(3, 2, False, [1, 0, 0]), ParameterError, "fewer non-zero entries"),
    "nothing": (lambda g: g.choice(0, 1), ParameterError, "a must not be empty"),
}


@pytest.mark.parametrize("name", BAD)
def test_refused(name: str) -> None:
    call, error, words = BAD[name]
    with pytest.raises(error, match=words):
        call(rng())


# take --------------------------------------------------------------------------------------------


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_take_is_numpys(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    x = np.arange(math.prod(shape)).reshape(shape).astype(data.draw(st.sampled_from("fdhl?")))
    x = x[tuple(slice(None, None, data.draw(st.sampled_from([1, -1, 2]))) for _ in shape)]
    axis = data.draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1)))
    extent = x.size if axis is None else x.shape[axis]
    index = np.array(data.draw(st.lists(st.integers(-extent, extent - 1), max_size=7)), np.int64)
    index = index.reshape(data.draw(st.sampled_from([(-1,), (1, -1)])))
    wanted = np.take(x, index, axis)
    ours = sc.asarray(x) if axis is not None or x.flags.c_contiguous else sc.asarray(x.copy())
    for given_ in (index, sc.asarray(index)):
        values = sc.take(ours, given_, axis).compute(on="core")
        assert (values.dtype, values.shape) == (wanted.dtype, wanted.shape)
        assert (values == wanted).all()
    assert (np.asarray(np.take(ours, index, axis=axis)) == wanted).all()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_take_along_axis_is_numpys(axis: int) -> None:
    x = np.random.default_rng(1).normal(size=(4, 5, 6))
    index = np.argsort(x, axis=axis)
    wanted = np.take_along_axis(x, index, axis)
    values = sc.take_along_axis(sc.asarray(x) * 1, sc.asarray(index), axis)
    assert (values.compute(on="core") == wanted).all()
    one = index.take([0], axis=axis) * 0 + 2
    assert (sc.take_along_axis(x, one, axis).compute() == np.take_along_axis(x, one, axis)).all()


def test_take_of_what_is_computed() -> None:
    x = rng().normal(size=(30, 40), dtype="float32")
    means, index = x.mean(axis=0), np.array([39, 0, -1, 7])
    whole = x.compute()
    assert (sc.take(x, index, 1).compute() == whole[:, index]).all()
    assert (sc.take(means, index).compute() == means.compute()[index]).all()
    twice = sc.take(sc.take(x, index, 1), sc.asarray(np.array([5, 5, 2])), 0)
    assert (twice.compute() == whole[:, index][[5, 5, 2]]).all()
    exact = np.float32(math.fsum(twice.compute().astype(float).ravel()))
    assert twice.sum().compute() == exact


def test_take_refuses() -> None:
    x = np.zeros((2, 3))
    with pytest.raises(AxisError, match="index 3 is out of bounds for axis 1 with size 3"):
        sc.take(x, [0, 3], 1)
    with pytest.raises(AxisError, match="axis 2"):
        sc.take(x, [0], 2)
    with pytest.raises(DTypeError, match="indices must be integers"):
        sc.take(x, [0.5])
    with pytest.raises(DTypeError, match="indices must be integers"):
        sc.take(x, sc.zeros(2))
    with pytest.raises(ShapeError, match="as many axes"):
        sc.take_along_axis(x, [0, 1], 0)
    with pytest.raises(AxisError, match="index -99 is out of bounds for axis 0 with size 5"):
        sc.take(np.arange(5), sc.asarray(np.array([99, -99])))
