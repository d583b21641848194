"""Loops whose steps read what was just assigned: computed on the way, not planned again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.api.indexing.assigning import assignment, at_once
from speedcube.api.indexing.assigning.assignment import DEPTH
from speedcube.engine.asked.unwritten import Witness, is_frozen
from speedcube.expr.nodes import Leaf, Map, Stored, memory

RNG = np.random.default_rng(0)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many assignments there were when an array was computed to memory."""
    found, to_memory = list[int](), assignment.to_memory

    def spied(array: Any, item: Any) -> None:
        found.append(array._writes)
        to_memory(array, item)

    monkeypatch.setattr(assignment, "to_memory", spied)
    return found


@pytest.mark.parametrize("shape", [(300, 40), (900, 1300)])  # more than a million elements, too
def test_rows_made_of_the_row_before(made: list[int], shape: tuple[int, int]) -> None:
    x = RNG.normal(size=shape)

    def smoothed(m: Any, x: Any) -> Any:
        out = m.empty_like(x)
        out[0] = x[0]
        for t in range(1, 200):
            out[t] = 0.06 * x[t] + 0.94 * out[t - 1]
        out[200:] = 0
        return out

    ours = smoothed(sc, sc.asarray(x))
    np.testing.assert_array_equal(ours, smoothed(np, x))
    if x.size > 1 << 14:  # few elements are in memory from the first assignment on
        assert made[0] == at_once.EARLY
        assert max(made[1:]) > DEPTH  # it is there, and rows are written there


def test_elements_that_a_mask_of_the_array_selects(made: list[int]) -> None:
    spins = np.where(RNG.random((150, 160)) < 0.5, 1, -1)

    def cooled(m: Any, s: Any) -> Any:
        s = m.array(s)
        i, j = m.indices(s.shape)
        for k in range(14):
            beside = m.roll(s, 1, 0) + m.roll(s, -1, 0) + m.roll(s, 1, 1) + m.roll(s, -1, 1)
            flip = ((i + j) % 2 == k % 2) & (s * beside < 0)
            s[flip] *= -1
        return s

    np.testing.assert_array_equal(cooled(sc, spins), cooled(np, spins))
    assert made[0] == at_once.EARLY
    assert len(made) == len(range(at_once.EARLY, 14, at_once.EARLY))


def test_a_mask_of_other_numbers_is_not_computed(made: list[int]) -> None:
    x, want = sc.asarray(RNG.normal(size=(200, 300))) + 0, np.zeros(0)
    want = np.asarray(x).copy()
    for k in range(10):
        mask = RNG.random(x.shape) < 0.1
        x[sc.asarray(mask)] = k
        want[mask] = k
    assert made == []
    np.testing.assert_array_equal(x, want)


def test_what_a_mask_selects_is_not_counted_by_an_operator_in_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, want = sc.asarray(RNG.normal(size=(200, 300))) + 0, np.zeros(0)
    want = np.asarray(x).copy()
    monkeypatch.setattr(sc.api.array.Array, "compute", None)
    large = x > 0.5
    x[large] *= 2
    x[large] += x[large]
    monkeypatch.undo()
    want[want > 0.5] *= 4
    np.testing.assert_array_equal(x, want)
    with pytest.raises(ValueError, match="do not broadcast"):
        x[x > 0.5] += np.ones((7, 3))
    with pytest.raises(TypeError, match="in place keeps the dtype"):
        sc.asarray([1, 2, 3])[[True, False, True]] /= 2.5


def test_what_is_read_at_indices_of_much_that_is_computed_is_not_computed_for_each_row() -> None:
    much = sc.asarray(np.arange(1_100_000.0)) * 2  # more than is computed at once
    few = sc.asarray(np.arange(1_100_000.0))
    places = sc.asarray(np.array([3, 500_000]))
    for of, plain in ((much, False), (few, True)):
        read = memory(of._expr if of is much else of._expr.source, (2,))
        args = (places._expr, read, places._expr, places._expr)
        assert at_once.is_plain(Map("gather", args, (2,), "float64")) == plain
    out = sc.asarray(np.zeros((300, 200))) + 0
    for k in range(12):
        out[k] = much[places + k].sum()
    want = [2 * (500_003 + 2 * k) for k in range(12)]
    np.testing.assert_array_equal(np.asarray(out)[:12, 7], want)


def test_steps_before_are_not_walked_for_a_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, children = list[Any](), at_once.children

    def counted(node: Any) -> Any:
        asked.append(node)
        return children(node)

    monkeypatch.setattr(at_once, "children", counted)
    c, z = sc.asarray(RNG.normal(size=(150, 160))), sc.zeros((150, 160))
    each = list[int]()
    for _ in range(30):
        near = abs(z) < 2
        z[near] = z[near] ** 2 + c[near]
        each.append(len(asked))
        asked.clear()
    assert 0 < max(each) == each[-1] < 20  # as many in each step


def test_running_maxima_of_the_row_before_are_written_at_once() -> None:
    """The table of longest common subsequences: what is scanned and sorted is little, too."""
    a, b = RNG.integers(0, 4, 40), RNG.integers(0, 4, 50)
    table, want = sc.zeros((41, 51), dtype=int), np.zeros((41, 51), dtype=int)
    given = sc.asarray(b)
    for i in range(1, 41):
        row = np.maximum(table[i - 1, 1:], np.where(given == a[i - 1], table[i - 1, :-1] + 1, 0))
        table[i, 1:] = np.maximum.accumulate(row)
        line = np.maximum(want[i - 1, 1:], np.where(b == a[i - 1], want[i - 1, :-1] + 1, 0))
        want[i, 1:] = np.maximum.accumulate(line)
        if i > 8:
            assert isinstance(table._expr.source, Stored)
    np.testing.assert_array_equal(table, want)


def test_numbers_that_were_computed_are_written_to_a_copy_where_others_look() -> None:
    """Of 30,000 elements: names of the step before (``before``) refer to the memory."""
    m, want = sc.array(RNG.normal(size=(150, 200))), np.zeros(0)
    want = np.asarray(m).copy()
    seen = []
    for i in range(1, 40):
        before = np.pad(m[i - 1], 1, constant_values=np.inf)
        m[i] += np.minimum(np.minimum(before[:-2], before[1:-1]), before[2:])
        other = np.pad(want[i - 1], 1, constant_values=np.inf)
        want[i] += np.minimum(np.minimum(other[:-2], other[1:-1]), other[2:])
        seen.append(before)
        if i > 8:
            assert isinstance(m._expr.source, Stored)
    np.testing.assert_array_equal(m, want)
    np.testing.assert_array_equal(seen[20], np.pad(want[20], 1, constant_values=np.inf))


@pytest.mark.parametrize("lazy", [True, False])
def test_what_is_assigned_at_places_is_written_at_once(lazy: bool) -> None:
    """Values that read the array at others: diagonals of a table, of which each reads two."""
    n = 90
    table, want = sc.zeros((n, n)), np.zeros((n, n))
    rows = sc.arange(1, n - 1) if lazy else np.arange(1, n - 1)
    for k in range(20):
        i, j = rows, (rows * 7 + k) % (n - 1)
        table[i, j] = np.minimum(table[i - 1, j], table[i, j + 1]) + k
        here = np.arange(1, n - 1)
        there = (here * 7 + k) % (n - 1)
        want[here, there] = np.minimum(want[here - 1, there], want[here, there + 1]) + k
        if k > 2:
            assert isinstance(table._expr.source, Stored)
    np.testing.assert_array_equal(table, want)
    with pytest.raises(IndexError, match="out of bounds"):
        table[rows + n, rows] = table[rows, rows] + 1


def test_of_equal_places_the_last_one_counts_where_they_are_written_at_once() -> None:
    x, want = sc.zeros(50), np.zeros(50)
    for k in range(6):
        places = np.array([3, 7, 3, 9]) + k
        x[sc.asarray(places)] = x[sc.asarray(places + 1)] + sc.asarray([1.0, 2, 3, 4])
        want[places] = want[places + 1] + [1.0, 2, 3, 4]
    np.testing.assert_array_equal(x, want)


def test_numbers_that_were_computed_to_be_assigned_are_not_compared_later() -> None:
    y = sc.zeros(40)
    y[0] = 1.0
    number = 3 * y[0] + 1  # no other array has its memory, so no copy tells whether it was written
    y[1] = number
    some = sc.sqrt(y[:2] + 1)
    y[2:4] = some
    for one in (number, some):
        assert isinstance(one._expr, Leaf)
        assert isinstance(one._expr.source, Stored)
        assert is_frozen(one._expr.source)
        assert np.asarray(one).flags.writeable  # what a user gets is a copy
    some[0] = 7.0
    number += 1
    assert y[1:4].tolist() == [4.0, np.sqrt(2.0), np.sqrt(5.0)]
    assert (float(number), some.tolist()) == (5.0, [7.0, np.sqrt(5.0)])


def test_numbers_of_each_step_are_not_looked_at_by_all_later_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    r = RNG.random(120) * 0.001
    looked, holds = list[bool](), Witness.holds
    monkeypatch.setattr(Witness, "holds", lambda one: looked.append(one.copy is None) or holds(one))

    def durbin(m: Any, r: Any) -> Any:
        y = m.empty_like(r)
        alpha, beta = -r[0], 1.0
        y[0] = -r[0]
        for k in range(1, len(r)):
            beta *= 1.0 - alpha * alpha
            alpha = -(r[k] + m.dot(m.flip(r[:k]), y[:k])) / beta
            y[:k] += alpha * m.flip(y[:k])
            y[k] = alpha
        return y

    np.testing.assert_allclose(durbin(sc, sc.asarray(r)), durbin(np, r), rtol=1e-9)
    assert len(looked) < 4 * len(r)  # each looked at those of all steps before: r.size ** 2 / 2


def test_states_that_a_matrix_makes_are_computed_step_by_step_once_noted_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps, n = DEPTH + 20, 80
    weights = RNG.normal(size=(n, n)) / 20  # each step reads all of it, which counts once
    computed, numbers_for = list[int](), assignment.numbers_for

    def spied(array: Any, value: Any) -> Any:
        computed.append(value.size)
        return numbers_for(array, value)

    monkeypatch.setattr(assignment, "numbers_for", spied)

    def driven(m: Any, weights: Any) -> Any:
        x, states = m.ones(n), m.zeros((300, n))
        for t in range(steps):
            x = 0.7 * x + 0.3 * m.tanh(weights @ x)
            states[t] = x
        return states

    ours = driven(sc, sc.asarray(weights))
    assert computed == [n] * 20  # not put off until forty more were noted
    np.testing.assert_allclose(ours, driven(np, weights), atol=1e-12)


def test_lines_that_are_read_again_and_again_are_computed_when_the_next_is_assigned(
    made: list[int],
) -> None:
    a = RNG.normal(size=(400, 50))

    def orthogonal(m: Any, a: Any) -> tuple[Any, Any]:
        q, r, a = m.zeros_like(a), m.zeros((50, 50)), m.array(a)
        for k in range(4):
            r[k, k] = m.sqrt(m.dot(a[:, k], a[:, k]))
            q[:, k] = a[:, k] / r[k, k]
            for j in range(k + 1, 50):
                r[k, j] = m.dot(q[:, k], a[:, j])
                a[:, j] -= q[:, k] * r[k, j]
        return q, r

    (q, r), (q1, r1) = orthogonal(sc, sc.asarray(a)), orthogonal(np, a)
    assert isinstance(q._expr, Leaf)
    assert isinstance(q._expr.source, Stored)  # from its second column on, not its fortieth
    np.testing.assert_allclose(q, q1, atol=1e-12)
    np.testing.assert_allclose(r, r1, atol=1e-12)


def test_few_lines_and_large_parts_that_are_read_leave_a_time_loop_lazy() -> None:
    u = sc.zeros((400, 400))
    for _ in range(5):
        lines = [u[0], u[-1], u[:, 0], u[:, -1]]
        before = [u[2:, 1:-1], u[:-2, 1:-1], u[1:-1, 2:], u[1:-1, :-2], *[u[1:-1, 1:-1]] * 8]
        u[1:-1, 1:-1] = sum(before) / 12 + lines[0][1:-1]
    assert u._writes == 5
    assert not isinstance(u._expr.source, Stored)  # type: ignore[union-attr]
