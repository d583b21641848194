"""Sums rounded many at once have the bits of sums rounded one at a time."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import rounded

from speedcube.kernel.exact.digits import _square_root, many
from speedcube.kernel.exact.integers import FINISH, LEAST, carry, read
from speedcube.kernel.program import LIMBS


def limbs_of(numbers: list[int]) -> np.ndarray:
    """Records holding ``number * 2**LEAST``, with digits left in carry-save form."""
    records = np.zeros((len(numbers), LIMBS), np.int64)
    for record, number in zip(records, numbers, strict=True):
        sign, size = (-1 if number < 0 else 1), abs(number)
        for k in range(68):
            record[k] = sign * ((size >> 32 * k) & 0xFFFFFFFF)
    return records


def agree(op: str, groups: np.ndarray, dtype: str, count: int, ddof: int = 0) -> None:
    together = many(op, groups, dtype, count, ddof)
    assert together is not None
    alone = [FINISH[op](record, dtype, count, ddof) for record in groups]
    assert together.tolist() == alone


sizes = st.one_of(
    st.integers(-(2**60), 2**60),
    st.integers(-(2**2090), 2**2090),
    st.builds(lambda m, e: m << e, st.integers(-(2**56), 2**56), st.integers(0, 2000)),
    st.builds(lambda m, e, d: (m << e) + d, st.integers(2**52, 2**54), st.integers(0, 2000),
              st.integers(-1, 1)),
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(sizes, min_size=1, max_size=6), st.sampled_from(["float32", "float64"]))
def test_totals(numbers: list[int], dtype: str) -> None:
    agree("sum", limbs_of(numbers)[:, None], dtype, 1)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(sizes, min_size=1, max_size=6),
    st.sampled_from(["float32", "float64"]),
    st.integers(1, 2**31 - 1),
)
def test_means(numbers: list[int], dtype: str, count: int) -> None:
    agree("mean", limbs_of(numbers)[:, None], dtype, count)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(-(2**53), 2**53), st.integers(-300, 60)), min_size=2,
                 max_size=5), min_size=1, max_size=4),
    st.sampled_from(["float32", "float64"]),
    st.integers(0, 1),
)  # fmt: skip
def test_variances(data: list[list[tuple[int, int]]], dtype: str, ddof: int) -> None:
    count = max(map(len, data))
    rows = [[m << (e - LEAST) for m, e in row] for row in data]
    firsts = limbs_of([sum(row) for row in rows])
    # Terms are multiples of 2**-300, so their squares are whole in units of 2**LEAST.
    seconds = limbs_of([sum((x * x) >> -LEAST for x in row) for row in rows])
    groups = np.stack([firsts, seconds], axis=1)
    agree("var", groups, dtype, count, ddof)
    agree("std", groups, dtype, count, ddof)


def whole(value: Fraction) -> int:
    units = value / Fraction(2) ** LEAST
    assert units.denominator == 1
    return units.numerator


wild = st.builds(
    lambda m, e: math.ldexp(m, e),
    st.integers(-(2**53), 2**53),
    st.one_of(st.integers(-1074, 970), st.integers(-30, 30)),
)


def groups_of(products: list[Fraction]) -> list[int]:
    """The sums of ordinary products, of tiny ones times 2**1216, of huge ones by as much."""
    groups = [Fraction(0)] * 3
    for value in products:
        k = 2 if abs(value) >= 2**900 else 1 if abs(value) < Fraction(2) ** -900 else 0
        groups[k] += value * Fraction(2) ** (0, 1216, -1216)[k]
    return [whole(value) for value in groups]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(wild, min_size=2, max_size=4), min_size=1, max_size=4),
    st.sampled_from(["float32", "float64"]),
    st.integers(0, 1),
)
def test_variances_of_any_magnitude(data: list[list[float]], dtype: str, ddof: int) -> None:
    sums = []
    for row in data:
        terms = [Fraction(x) for x in row]
        sums.append([whole(sum(terms, Fraction(0))), *groups_of([x * x for x in terms])])
    records = np.stack([limbs_of(list(one)) for one in zip(*sums, strict=True)], axis=1)
    count = max(map(len, data))
    agree("var", records, dtype, count, ddof)
    agree("std", records, dtype, count, ddof)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(st.tuples(wild, wild), max_size=4), min_size=1, max_size=4),
    st.sampled_from(["float32", "float64"]),
)
def test_dots_of_any_magnitude(data: list[list[tuple[float, float]]], dtype: str) -> None:
    exact = [[Fraction(x) * Fraction(y) for x, y in row] for row in data]
    sums = [groups_of(row) for row in exact]
    records = np.stack([limbs_of(list(one)) for one in zip(*sums, strict=True)], axis=1)
    agree("dot", records, dtype, 4)
    dots = [FINISH["dot"](record, dtype, 4, 0) for record in records]
    wanted = [rounded(sum(row, Fraction(0)), dtype) for row in exact]
    word = f"u{np.dtype(dtype).itemsize}"
    assert dots == [int(np.asarray(value).view(word)) for value in wanted]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(0, 2**63), min_size=1, max_size=8), st.integers(-1, 1))
def test_square_roots_beside_squares(roots: list[int], off: int) -> None:
    """Exact squares and their neighbours: the root's remainder must be seen."""
    numbers = [max(0, (r | 1 << 62) ** 2 + off) for r in roots]
    high = np.array([n >> 64 for n in numbers], np.uint64)
    low = np.array([n & (2**64 - 1) for n in numbers], np.uint64)
    keep = high >= 1 << 62
    root, rest = _square_root(high[keep], low[keep])
    squares = [n for n, k in zip(numbers, keep, strict=True) if k]
    assert root.tolist() == [math.isqrt(n) for n in squares]
    assert rest.tolist() == [math.isqrt(n) ** 2 != n for n in squares]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ["sum", "mean"])
def test_specials(op: str, dtype: str) -> None:
    records = limbs_of([5 << 1074] * 6)
    for k, word in enumerate((68, 69, 70)):
        records[k, word] = 3
    records[3, 69] = records[3, 70] = 1
    records[4, :] = 0
    agree(op, records[:, None], dtype, 7)


@pytest.mark.parametrize("word", [68, 69, 70])
def test_a_variance_with_a_special_term_is_nan(word: int) -> None:
    groups = np.stack([limbs_of([3 << 1074] * 4), limbs_of([9 << 1074] * 4)], axis=1)
    groups = np.concatenate([groups, np.zeros_like(groups)], axis=1)
    for k in range(3):
        groups[k, k, word] = 1
    agree("var", groups, "float64", 2)


def test_out_of_reach_goes_alone() -> None:
    groups = limbs_of([1, 2])[:, None]
    assert many("mean", groups, "float64", 2**31, 0) is None
    assert many("var", np.repeat(groups, 2, axis=1), "float64", 5, 0.5) is None


@pytest.mark.parametrize("words", [(69, 70), (69, 69), (70, 70), (68, 69)])
def test_specials_meet_across_the_groups_of_products(words: tuple[int, int]) -> None:
    groups = np.stack([limbs_of([3 << 1074] * 2)] * 3, axis=1)
    for group, word in zip((0, 2), words, strict=True):
        groups[1, group, word] = 1
    agree("dot", groups, "float64", 2)
    (value,) = np.array(FINISH["dot"](groups[1], "float64", 2, 0), np.uint64)[None].view("f8")
    sums = {(69, 69): math.inf, (70, 70): -math.inf}
    assert value == sums[words] if words in sums else math.isnan(value)


@given(st.lists(sizes, min_size=1, max_size=5), st.integers(0, 20))
@settings(max_examples=60, deadline=None)
def test_few_groups_are_carried_as_many_are(numbers: list[int], more: int) -> None:
    """Each digit but the last is from 0 to 2**32 then, and the sums are what they were."""
    groups = limbs_of(numbers * (more + 1)) * 3
    one_by_one = groups.copy()
    for group in one_by_one:
        carry(group)
    carry(groups)
    assert groups.tolist() == one_by_one.tolist()
    assert groups[:, :67].min() >= 0
    assert groups[:, :67].max() < 2**32
    assert [read(group).units for group in groups] == [3 * n for n in numbers * (more + 1)]
