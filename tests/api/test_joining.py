"""Concatenations, pads, rolls, repeats and tiles beside NumPy, and what they refuse."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import assert_same_bits

import speedcube as sc
from speedcube import errors
from speedcube.expr.interpret import interpret
from speedcube.kernel.lower.reference import draw
from speedcube.kernel.lower.reference import elements as by_evaluator

Pair = tuple[sc.Array, Any]
N = np.arange(12.0).reshape(3, 4)
WHOLE = np.arange(-6, 6, dtype="int8").reshape(3, 4)
X, J = sc.asarray(N), sc.asarray(WHOLE)

# Each function as NumPy has it -------------------------------------------------------------------

CALLS: dict[str, Callable[[Any], Any]] = {
    "concatenate": lambda a: np.concatenate([a, a + 1, a[:1]]),
    "along the last axis": lambda a: np.concatenate([a, a[:, ::-1] * 2], axis=-1),
    "of all elements": lambda a: np.concatenate([a, a[0]], axis=None),
    "of one": lambda a: np.concatenate([a]),
    "dtype": lambda a: np.concatenate([a, a], dtype="float64"),
    "stack": lambda a: np.stack([a, a * 2], axis=1),
    "stack last": lambda a: np.stack([a, a * 2, a], axis=-1),
    "hstack": lambda a: np.hstack([a, a[:, :1]]),
    "hstack of vectors": lambda a: np.hstack([a[0], a[1] * 2]),
    "vstack": lambda a: np.vstack([a, a[0]]),
    "dstack": lambda a: np.dstack([a, a]),
    "dstack of vectors": lambda a: np.dstack([a[0], a[0]]),
    "column_stack": lambda a: np.column_stack([a[0], a[1], a.T]),
    "append": lambda a: np.append(a, a[0]),
    "append rows": lambda a: np.append(a, a[:1], axis=0),
    "pad": lambda a: np.pad(a, 1),
    "pad of one axis": lambda a: np.pad(a, ((0, 0), (2, 1))),
    "pad by axes": lambda a: np.pad(a, {-1: (2, 1)}),
    "pad with values": lambda a: np.pad(a, 2, constant_values=((1, 2), (3, 4))),
    "pad nothing": lambda a: np.pad(a, 0),
    "edge": lambda a: np.pad(a, ((1, 2), (3, 0)), "edge"),
    "wrap": lambda a: np.pad(a, (4, 5), "wrap"),
    "reflect": lambda a: np.pad(a, (7, 9), "reflect"),
    "values of the last axis": lambda a: np.pad(a, 1, constant_values=((1, 1), (3, 3))),
    "reflect one": lambda a: np.pad(a[:1], 2, "reflect"),
    "symmetric": lambda a: np.pad(a, (7, 9), "symmetric"),
    "roll": lambda a: np.roll(a, 5),
    "roll an axis": lambda a: np.roll(a, -1, axis=1),
    "roll axes": lambda a: np.roll(a, (1, -7), axis=(0, 1)),
    "roll one axis twice": lambda a: np.roll(a, (1, 1), axis=(0, 0)),
    "roll both alike": lambda a: np.roll(a, 1, axis=(0, 1)),
    "roll round": lambda a: np.roll(a, 4, axis=1),
    "repeat": lambda a: np.repeat(a, 2),
    "repeat rows": lambda a: np.repeat(a, 3, axis=0),
    "repeat some": lambda a: np.repeat(a, [1, 0, 2], axis=0),
    "repeat none": lambda a: np.repeat(a, 0, axis=1),
    "method": lambda a: a.repeat(2, axis=1),
    "tile": lambda a: np.tile(a, 2),
    "tile both": lambda a: np.tile(a, (2, 3)),
    "tile a new axis": lambda a: np.tile(a, (2, 1, 1)),
    "tile none": lambda a: np.tile(a, (0, 2)),
    "rot90": lambda a: np.rot90(a),
    "rot90 back": lambda a: np.rot90(a, -1, (1, 0)),
    "rot90 twice": lambda a: np.rot90(a, 2),
    "a stencil": lambda a: np.pad(a, 1)[2:, 1:-1] + np.pad(a, 1)[:-2, 1:-1] - a,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("lazy", [X, J], ids=["float64", "int8"])
def test_a_function_is_numpys(name: str, lazy: sc.Array) -> None:
    call = CALLS[name]
    result = call(lazy)
    expected = call(np.asarray(lazy))
    assert isinstance(result, sc.Array)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    assert_same_bits(result.compute(on="core"), expected)
    assert_same_bits(interpret(result._expr, draw), expected)
    assert_same_bits(by_evaluator(result._expr), expected)
    assert_same_bits(pickle.loads(pickle.dumps(result)).compute(on="cores"), expected)


def test_dtypes_are_promoted_as_numpys() -> None:
    names = ("bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64")
    for a in names:
        for b in names:
            ours = sc.concatenate([sc.zeros(2, a), sc.ones(1, b)])
            assert ours.dtype == np.concatenate([np.zeros(2, a), np.ones(1, b)]).dtype
    assert np.append(J, 0.5).dtype == "float64"


def test_what_was_written_is_shown() -> None:
    text = repr(np.concatenate([X, np.roll(X, 1, axis=0)], axis=1))
    assert "concatenate(a, roll(a, 1, axis=0), axis=1)" in text
    assert "pad(a, 1)[2:]" in repr(np.pad(X, 1)[2:])
    assert "pad(a, 2, mode='edge')" in repr(sc.pad(X, 2, "edge"))
    many = sc.concatenate([X + k for k in range(100)])
    assert len(repr(many)) < 500
    assert "concatenate" in repr(many.plan(on="core"))


def test_no_data_are_copied_before_it_is_computed() -> None:
    data = np.zeros(5)
    both = sc.concatenate([sc.asarray(data), sc.asarray(data)])
    data[:] = 1
    assert both.sum().compute() == 10


# Random programs ---------------------------------------------------------------------------------

MODES = ("constant", "edge", "wrap", "reflect", "symmetric")


def _padded(draw: Any, pair: Pair) -> Pair:
    x, n = pair
    mode = draw(st.sampled_from(MODES))
    widths = [(draw(st.integers(0, 3)), draw(st.integers(0, 3))) for _ in n.shape]
    if mode != "constant" and not n.size:
        return pair
    return sc.pad(x, widths, mode), np.pad(n, widths, mode)


def _rolled(draw: Any, pair: Pair) -> Pair:
    x, n = pair
    axis = draw(st.sampled_from([None, *range(n.ndim), tuple(range(n.ndim))]))
    shift = draw(st.integers(-9, 9))
    return np.roll(x, shift, axis), np.roll(n, shift, axis)  # type: ignore[call-overload]


def _joined(draw: Any, pair: Pair) -> Pair:
    x, n = pair
    axis = draw(st.integers(0, n.ndim - 1))
    count = draw(st.integers(1, 3))
    ours = [x, abs(x) * 2, x[::-1]][:count]
    return sc.concatenate(ours, axis), np.concatenate([n, abs(n) * 2, n[::-1]][:count], axis)


def _sliced(draw: Any, pair: Pair) -> Pair:
    x, n = pair
    starts, stops = st.sampled_from([None, 0, 1, -3]), st.sampled_from([None, -1, 4])
    steps = st.sampled_from([1, 1, 2, -1])
    item = tuple(slice(draw(starts), draw(stops), draw(steps)) for _ in n.shape)
    return x[item], n[item]


def _stencil(draw: Any, pair: Pair) -> Pair:
    x, n = pair
    if n.shape[0] < 3:
        return pair
    return x[2:] - x[:-2] * 2 + x[1:-1], n[2:] - n[:-2] * 2 + n[1:-1]


def _repeated(draw: Any, pair: Pair) -> Pair:
    x, n = pair
    count, axis = draw(st.integers(0, 3)), draw(st.sampled_from([None, *range(n.ndim)]))
    return sc.repeat(x, count, axis), np.repeat(n, count, axis)


def _tiled(draw: Any, pair: Pair) -> Pair:
    x, n = pair
    reps = draw(st.lists(st.integers(0, 2), min_size=1, max_size=3))
    return sc.tile(x, reps), np.tile(n, reps)


def _taken(draw: Any, pair: Pair) -> Pair:
    x, n = pair
    if not n.shape[0]:
        return pair
    places = draw(st.lists(st.integers(0, n.shape[0] - 1), max_size=4))
    index = np.array(places, "int64")
    return sc.take(x, index, 0), np.take(n, index, 0)


STEPS = (
    *(_padded, _padded, _rolled, _rolled, _joined, _sliced, _stencil, _repeated, _tiled, _taken),
    lambda draw, pair: (pair[0].T, pair[1].T),
    lambda draw, pair: (pair[0].reshape(-1), pair[1].reshape(-1)),
    lambda draw, pair: (
        np.where(pair[0] > 0, *[pair[0]] * 2),
        np.where(pair[1] > 0, *[pair[1]] * 2),
    ),
)
ENDS: tuple[Callable[[Any], Any], ...] = (
    *[lambda a: a] * 3,
    lambda a: a.sum(axis=0, dtype="int64"),
    lambda a: a.sum(dtype="int64"),
    lambda a: (
        (a if a.size else a.reshape(-1) + np.zeros(1, "int64")).max()
        if a.size
        else a.sum(dtype="int64")
    ),
    lambda a: a.argmax() if a.size else a.sum(dtype="int64"),
    lambda a: a.argmin(axis=-1) if a.size else a.sum(dtype="int64"),
    lambda a: a.cumsum(axis=0, dtype="int64"),
    lambda a: a.prod(axis=-1, dtype="int64"),
    lambda a: a.astype("float64").mean(axis=0) if a.size else a.sum(dtype="int64"),
    lambda a: a.astype("float64").sum(axis=-1),
    lambda a: (a > 0).any(axis=0),
)


@given(st.data())
def test_a_random_program_is_numpys(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3), label="shape"))
    start = np.random.default_rng(3).integers(-9, 9, shape)
    pairs: list[Pair] = [(sc.asarray(start), start)]
    for step in data.draw(st.lists(st.sampled_from(STEPS), max_size=5), label="steps"):
        before = data.draw(st.sampled_from(pairs[-2:]))
        after = step(data.draw, before)
        if after[1].size <= 4000 and after[1].ndim <= 4:
            pairs.append(after)
    end = data.draw(st.sampled_from(ENDS), label="end")
    ours, expected = (end(side) for side in pairs[-1])
    rung = data.draw(st.sampled_from(("core", "cores")))
    np.testing.assert_array_equal(ours.compute(on=rung), expected)
    assert ours.dtype == expected.dtype
    assert repr(ours)


# Refused -----------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], type[Exception], str]] = {
    "nothing": (lambda: sc.concatenate([]), errors.ShapeError, ValueError, "at least one array"),
    "no list": (lambda: sc.concatenate(3), errors.ParameterTypeError, TypeError, "takes a list"),
    "numbers": (
        lambda: sc.concatenate([1.0, 2.0]),
        *(errors.ShapeError, ValueError, r"zero-dimensional.*stack\(\)"),
    ),
    "axis": (
        lambda: sc.concatenate([X, X], axis=2),
        *(errors.AxisError, IndexError, "axis 2 is out of range"),
    ),
    "dimensions": (
        lambda: sc.concatenate([X, X[0]]),
        *(errors.ShapeError, ValueError, "array 0 has 2, array 1 has 1"),
    ),
    "shapes": (
        lambda: sc.concatenate([X, X.T]),
        *(errors.ShapeError, ValueError, "along axis 1 array 0 has 4, array 1 has 3"),
    ),
    "stack of two shapes": (
        lambda: sc.stack([X, X.T]),
        *(errors.ShapeError, ValueError, r"\(3, 4\) and \(4, 3\)"),
    ),
    "stack of nothing": (lambda: sc.stack([]), errors.ShapeError, ValueError, "at least one"),
    "text": (lambda: sc.concatenate([X, "a"]), errors.DTypeError, TypeError, "neither a number"),
    "negative pad": (
        lambda: sc.pad(X, -1),
        *(
            errors.ParameterError,
            ValueError,
            "must be 0 or more, not -1: to remove elements, slice",
        ),
    ),
    "half a pad": (
        lambda: sc.pad(X, 0.5),
        *(errors.ParameterTypeError, TypeError, "must be integers, not 0.5"),
    ),
    "three widths": (
        lambda: sc.pad(X, (1, 2, 3)),
        *(errors.ParameterError, ValueError, r"a pair for each of 2 axes.*shape \(3,\)"),
    ),
    "a mode": (
        lambda: sc.pad(X, 1, "middle"),
        *(errors.ParameterError, ValueError, "no mode 'middle': it takes constant, edge, empty"),
    ),
    "a keyword": (
        lambda: sc.pad(X, 1, "edge", constant_values=2),
        *(errors.ParameterError, ValueError, "takes no keyword, not constant_values=2"),
    ),
    "odd": (
        lambda: sc.pad(X, 1, "reflect", reflect_type="uneven"),
        *(errors.ParameterError, ValueError, "is 'even' or 'odd', not 'uneven'"),
    ),
    "a value that does not fit": (
        lambda: sc.pad(J, 1, constant_values=1000),
        *(errors.ParameterError, ValueError, "1000 does not fit int8"),
    ),
    "lazy values": (
        lambda: sc.pad(X, 1, constant_values=X.max()),
        *(errors.UnsupportedError, TypeError, "see concatenate"),
    ),
    "an empty axis": (
        lambda: sc.pad(X[:, :0], 1, "wrap"),
        *(errors.ShapeError, ValueError, "axis 1 is empty"),
    ),
    "endless": (lambda: sc.pad(X, 2**62), errors.ShapeError, ValueError, r"2\*\*63 elements"),
    "shifts": (
        lambda: sc.roll(X, (1, 2, 3), axis=(0, 1)),
        *(errors.ParameterError, ValueError, "3 shifts and 2 axes"),
    ),
    "half a shift": (lambda: sc.roll(X, 0.5), errors.ParameterTypeError, TypeError, "shift must"),
    "an axis to roll": (lambda: sc.roll(X, 1, 2), errors.AxisError, IndexError, "axis 2"),
    "negative repeats": (
        lambda: sc.repeat(X, -1),
        *(errors.ParameterError, ValueError, "0 or more, not -1"),
    ),
    "two repeats": (
        lambda: sc.repeat(X, [1, 2], axis=0),
        *(errors.ParameterError, ValueError, "one for each of 3 indices of axis 0, not 2"),
    ),
    "lazy repeats": (
        lambda: sc.repeat(X, J[0]),
        *(errors.ParameterError, ValueError, "repeats must be 0 or more"),
    ),
    "endless repeats": (lambda: sc.repeat(X, 2**61), errors.ShapeError, ValueError, "2.*63"),
    "negative reps": (lambda: sc.tile(X, (1, -1)), errors.ParameterError, ValueError, "0 or more"),
    "one plane": (lambda: sc.rot90(X, 1, (1, 1)), errors.AxisError, ValueError, "two different"),
    "out= of another shape": (
        lambda: np.concatenate([X, X], out=N),
        *(errors.ShapeError, ValueError, "out= has shape"),
    ),
    "out= and dtype=": (
        lambda: sc.concatenate([X, X], out=N, dtype="float32"),
        *(errors.ParameterTypeError, TypeError, "leave dtype= out"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name: str) -> None:
    call, ours, pythons, message = REFUSED[name]
    with pytest.raises(ours, match=message) as caught:
        call()
    assert isinstance(caught.value, pythons)
    assert re.search(message, str(caught.value))


@pytest.mark.parametrize("number", [2, -1, 300, 1.5, True, 1j, np.float64(2)])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
def test_numbers_of_pythons_take_the_dtype_of_the_arrays_beside_them(number, dtype):
    values = np.arange(3).astype(dtype)
    wanted = np.concatenate((number, values, 1), axis=None)
    for function in (np.concatenate, sc.concatenate):
        found = function((number, sc.asarray(values), 1), axis=None)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found.compute(), wanted)
    assert sc.append(sc.asarray(values), number).dtype == np.append(values, number).dtype


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float16", "float32", "float64"])
@pytest.mark.parametrize("number", [1, 2.5, 1j, True])
def test_what_append_is_given_has_the_dtype_of_its_own(dtype: str, number: complex) -> None:
    a = np.array([1, 2, 3], dtype)
    for ours, numpys in (
        (sc.append(number, sc.asarray(a)), np.append(number, a)),
        (sc.append(sc.asarray(a), number), np.append(a, number)),
    ):
        assert ours.dtype == numpys.dtype
        np.testing.assert_array_equal(ours.compute(), numpys)
