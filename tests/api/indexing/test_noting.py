"""Boxes that are written down, and what is made of many of them at once."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import speedcube as sc
from speedcube.api.indexing.assigning import noting
from speedcube.api.indexing.assigning.assignment import DEPTH
from speedcube.engine.asked import reading
from speedcube.engine.pieces import assigned, bands
from speedcube.expr.piecewise.assigned import First, writes_of

SHAPE = (60, 400)  # more than is copied by the first assignment
BASES: dict[str, Any] = {
    "a number": lambda m, a: m.full(SHAPE, 0.5),
    "in memory": lambda m, a: m.asarray(a),
    "made of it": lambda m, a: m.asarray(a) * 2 - 1,
    "columns": lambda m, a: m.asarray(np.asfortranarray(a)),
    "reversed": lambda m, a: m.asarray(a[::-1, ::-1]) + 1,
    "of two views": lambda m, a: m.asarray(a)[:, ::-1] + m.asarray(a)[0],
    "repeated": lambda m, a: m.broadcast_to(m.asarray(a)[7], SHAPE) * 2 + 1,
    "in other rows": lambda m, a: (m.asarray(a)[:, :200] * 2).reshape(120, 100)[:60, :1] + a[0],
    "places": lambda m, a: m.arange(24_000.0).reshape(SHAPE) * 3,
    "float32": lambda m, a: m.asarray(a.astype("float32")) + np.float32(1),
}


def _numbers() -> Any:
    return np.arange(24_000.0).reshape(SHAPE) / 7


@st.composite
def _slice(draw: Any, extent: int, whole: bool) -> slice:
    if whole:
        return slice(None)
    first = draw(st.integers(0, extent - 1))
    return slice(first, draw(st.integers(first, extent)))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assigned, "LEAST", 1)
    monkeypatch.setattr(bands, "_LEAST", 1)
    monkeypatch.setattr(bands, "_ROWS", 1)
    monkeypatch.setattr(assigned, "_BYTES", 8 * 400 * 7)  # seven rows at a time
    monkeypatch.setattr(assigned, "_NEAR", 0)
    monkeypatch.setattr(assigned, "_FAR", 1000)


@pytest.mark.parametrize("name", BASES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=8)
@given(data=st.data())
def test_boxes_one_over_the_other(small: None, name: str, data: Any) -> None:
    a = _numbers()
    x, want = BASES[name](sc, a), np.array(BASES[name](np, a))
    along = data.draw(st.sampled_from(["rows", "columns", "both"]))
    workers = data.draw(st.sampled_from([1, 3]))
    numbers = sc.asarray(a.astype(want.dtype))
    for k in range(data.draw(st.integers(2, 14))):
        key = (
            data.draw(_slice(60, along == "columns")),
            data.draw(_slice(400, along == "rows")),
        )
        kind = data.draw(st.sampled_from(["number", "line", "lazy"]))
        value: Any = float(k)
        if kind == "line":
            value = np.arange(want[key].shape[1]) + k
        elif kind == "lazy":
            value = numbers[key] * 2
        x[key] = value
        want[key] = a.astype(want.dtype)[key] * 2 if kind == "lazy" else value
    made = assigned.put_together(x._expr, workers)
    np.testing.assert_array_equal(x.compute(on="core"), want)
    if made is not None:
        np.testing.assert_array_equal(made, want)
        assert made.dtype == want.dtype
    root = x._expr
    if (first := writes_of(root)) is not None:  # cut, they are disjoint and cover it
        pieces = root.source.pieces  # type: ignore[union-attr]
        assert sum(np.prod(one.expr.shape) for one in pieces) == want.size
        assert first.count >= 1
        cut = sc.api.array.Array(root) + 0
        np.testing.assert_array_equal(cut.compute(on="core"), want)


@pytest.mark.parametrize("name", ["a number", "in memory", "made of it", "reversed", "float32"])
@pytest.mark.parametrize("along", [0, 1])
def test_many_boxes_need_no_plan(
    small: None, name: str, along: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, want = BASES[name](sc, _numbers()), np.array(BASES[name](np, _numbers()))
    for array in (x, want):
        for k in range(15):
            array[(slice(None),) * along + (slice(4 * k, 4 * k + 3),)] = k
    monkeypatch.setattr(sc.engine.compute, "_read_again", None)  # which plans
    monkeypatch.setattr(First, "__call__", None)  # which cuts them
    monkeypatch.setattr(sc.engine.compute, "_READ_FIRST", range(1 << 20))
    with reading.paused():  # what loops ask for again is not looked for
        np.testing.assert_array_equal(x.compute(on="core"), want)


@pytest.mark.parametrize("dtype", ["bool", "int16", "uint64", "float16", "float32", "float64"])
def test_strips_of_columns_are_made_by_one_select(small: None, dtype: str) -> None:
    a = (_numbers() % 90).astype(dtype)
    x, want = sc.asarray(a) * np.array(1, dtype), a.copy()
    row = (np.arange(400) % 7).astype(dtype)
    for array in (x, want):
        for k in range(12):
            array[:, 30 * k : 30 * k + 20] = k
        array[7:9, 5:9] = 3
        array[40:, 100:200] = row[:100]
    base, pieces = x._expr.source.boxes.given()  # type: ignore[union-attr]
    made = bands.banded(base, pieces)
    assert [(one.at, one.expr.shape) for one in made] == [
        ((0, 0), (7, 400)),
        ((7, 0), (2, 400)),
        ((9, 0), (31, 400)),
        ((40, 0), (20, 400)),
    ]
    assert {getattr(one.expr, "op", None) for one in made} == {"where"}
    result = assigned.put_together(x._expr, 1)
    assert result is not None
    assert result.tobytes() == want.tobytes()


def test_signs_of_zeros_and_nans_come_through_a_select(small: None) -> None:
    a = np.copysign(np.zeros(SHAPE), (-1) ** np.arange(400))
    a[:, 3::7] = np.nan
    x, want = sc.asarray(a)[::-1] * 1, a[::-1].copy()
    for array in (x, want):
        for k, value in enumerate([-0.0, 0.0, np.nan, -np.inf, 5e-324]):
            array[:, 70 * k : 70 * k + 30] = value
    result = assigned.put_together(x._expr, 1)
    assert result is not None
    assert result.tobytes() == want.tobytes()


def test_boxes_in_three_dimensions_and_what_is_put_over_them(small: None) -> None:
    a = np.arange(24_000.0).reshape(60, 20, 20)
    x, want, numbers = sc.asarray(a) + 0, a.copy(), sc.asarray(a)
    for array, of in ((x, numbers), (want, a)):
        for k in range(9):
            array[:, 2 * k : 2 * k + 2, k : k + 9] = k
        array[5:50, :, :] = -1.0
        array[10:20, 3:8, :] = of[10:20, 3:8, :] * 2
        array[12:40, 4:9, 1:3] = 7.0
    base, pieces = x._expr.source.boxes.given()  # type: ignore[union-attr]
    made = bands.banded(base, pieces)
    ops = [getattr(one.expr, "op", None) for one in made]
    assert ops == ["where", None, "where", "multiply", None]  # rows 5 to 50 are one number
    for workers in (1, 3):
        result = assigned.put_together(x._expr, workers)
        np.testing.assert_array_equal(result, want)


@pytest.mark.parametrize(
    "name", ["whole rows", "computed first", "many bands", "few rows", "little", "held", "narrow"]
)
def test_boxes_that_gain_nothing_by_a_select_are_as_they_were(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = {"few rows": (2, 90_000), "narrow": (90_000, 60), "computed first": (3000, 3000)}.get(
        name, (3000, 300)
    )
    x = sc.asarray(np.ones(shape)) if name == "held" else sc.asarray(np.ones(shape)) * 2
    wide = shape[1] // 12
    for k in range(12):
        if name == "whole rows":
            x[5 * k : 5 * k + 3] = k
        elif name == "computed first":
            here = slice(wide * k, wide * k + wide - 1)
            x[:, here] = x[:, here] * 2
        elif name == "many bands":
            x[k : 3000 - k, k : 24 * k + 24] = k
        else:
            x[:, wide * k : wide * k + (3 if name == "little" else wide - 1)] = k
    base, pieces = x._expr.source.boxes.given()  # type: ignore[union-attr]
    assert bands.banded(base, pieces) is pieces


@pytest.mark.parametrize("name", ["made of it", "repeated", "reversed", "in other rows"])
def test_rows_that_are_left_between_boxes(small: None, name: str) -> None:
    """What lies in one line is made by one kernel, looked for once; nothing else is shifted so."""
    x, want = BASES[name](sc, _numbers()), np.array(BASES[name](np, _numbers()))
    for array in (x, want):
        for k in range(12):
            array[5 * k + 1 : 5 * k + 4 + k % 2] = k
    made = assigned.put_together(x._expr, 2)
    assert made is not None
    np.testing.assert_array_equal(made, want)


def test_a_kernel_for_any_rows_is_looked_for_once(
    small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, called = list[Any](), assigned.called
    monkeypatch.setattr(assigned, "called", lambda root: asked.append(root.shape) or called(root))
    x = sc.asarray(_numbers()) * 2
    for k in range(12):
        x[5 * k + 1 : 5 * k + 3] = k
    assert assigned.put_together(x._expr, 1) is not None
    assert asked == [(1, 400)]  # and the rows between the boxes are its, too


def test_lines_that_only_some_rows_lie_in_are_not_shifted(small: None) -> None:
    """The first rows of what is made of columns lie in one line of memory, others elsewhere."""
    numbers = np.arange(300_000.0).reshape(100, 3000)
    x, want = (sc.asarray(numbers)[:, :2000] * 2).reshape(500, 400), numbers[:, :2000] * 2
    want = want.reshape(500, 400)
    for array in (x, want):
        for k in range(20):
            array[25 * k + 3 : 25 * k + 5] = k
    np.testing.assert_array_equal(x.compute(on="core"), want)


def test_beyond_the_depth_boxes_that_are_not_small_stay_lazy() -> None:
    x, want = sc.zeros((600, 100)), np.zeros((600, 100))
    for array in (x, want):
        for k in range(200):
            array[3 * k : 3 * k + 2] = k
    assert writes_of(x._expr).count == 200  # type: ignore[union-attr]
    np.testing.assert_array_equal(x, want)
    x[0] = want[0] = 7  # they were read: from now on they are written in place
    assert writes_of(x._expr) is None
    assert x._writes > DEPTH
    np.testing.assert_array_equal(x, want)
    small = sc.zeros((600, 100))
    for k in range(DEPTH + 1):
        small[k, 3] = k
    assert small._writes > DEPTH  # elements are few


def test_what_is_kept_of_values_is_no_more_than_the_array() -> None:
    x, want = sc.zeros((200, 100)), np.zeros((200, 100))
    values = np.ones((199, 100))
    for k in range(4):
        values[:] = k
        x[k % 2 : 199 + k % 2] = values
        want[k % 2 : 199 + k % 2] = values
    first = writes_of(x._expr)
    assert first is None or first.writes.copied <= 2 * x.nbytes
    np.testing.assert_array_equal(x, want)


@pytest.mark.parametrize("dtype", ["float64", "float16", "complex128"])
def test_a_buffer_may_be_filled_again_after_it_was_assigned(dtype: str) -> None:
    x, want = sc.zeros((40, 1000), dtype), np.zeros((40, 1000), dtype)
    line, mask = np.zeros(1000), np.zeros((40, 1000), bool)
    for k in range(12):
        line[:] = k
        mask[:] = False
        mask[20 + k, ::2] = True
        for array in (x, want):
            array[k] = line
            array[k, ::3] = line[:334] + 1
            array[mask] = k
            array[mask] = line[:500]
    line[:], mask[:] = -1, True
    np.testing.assert_array_equal(x, want)


def test_two_arrays_go_on_from_the_same_boxes() -> None:
    x = sc.zeros((300, 100))
    for k in range(5):
        x[k] = k
    y, before = copy.copy(x), x + 0
    x[5], y[5], y[0] = 1, 2, 3
    assert x[:7, 0].tolist() == [0, 1, 2, 3, 4, 1, 0]
    assert y[:7, 0].tolist() == [3, 1, 2, 3, 4, 2, 0]
    assert before[:7, 0].tolist() == [0, 1, 2, 3, 4, 0, 0]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (slice(0, 0), [1.0, 2.0]),
        ((slice(None), slice(3)), np.ones(4)),
        (slice(5), np.ones((4, 100))),
        ((0, 0, 0), 1),
        ((..., ...), 1),
        (300, 1),
        (slice("a"), 1),
        (0, 1j),
    ],
)
def test_what_numpy_refuses_is_refused(key: Any, value: Any) -> None:
    x, want = sc.zeros((300, 100)), np.zeros((300, 100))
    with pytest.raises((ValueError, IndexError, TypeError)) as theirs:
        want[key] = value
    with pytest.raises(theirs.type):
        x[key] = value
    assert not x.any()


def test_keys_that_are_boxes() -> None:
    shape = (5, 6, 7)
    assert noting.box_of(shape, (2, slice(1, 9))) == ((2, 1, 0), (1, 5, 7), [1, 2])
    assert noting.box_of(shape, (..., -1)) == ((0, 0, 6), (5, 6, 1), [0, 1])
    assert noting.box_of(shape, (slice(3, 1), ...)) == ((3, 0, 0), (0, 6, 7), [0, 1, 2])
    for other in (slice(None, None, 2), None, True, [1], np.array([1]), (0,) * 4, -6):
        assert noting.box_of(shape, other) is None
