"""``x[key]`` beside NumPy, for keys of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import speedcube as sc
from speedcube import errors
from speedcube.api.indexing import places
from speedcube.engine import compute as engine
from speedcube.expr.nodes import Leaf, Scanned

from .keys import DTYPES, SHAPES, keys


def _values(shape: tuple[int, ...], dtype: str) -> Any:
    return (np.arange(int(np.prod(shape))).reshape(shape) * 7 % 23).astype(dtype)


@given(st.data(), SHAPES, DTYPES, st.booleans())
def test_any_key_reads_what_numpy_reads(
    data: Any, shape: tuple[int, ...], dtype: str, lazy: bool
) -> None:
    a = _values(shape, dtype)
    key = data.draw(keys(shape))
    want = a[key]
    x = sc.asarray(a)
    if lazy:  # indices and masks of ours
        entries = key if isinstance(key, tuple) else (key,)
        key = tuple(sc.asarray(one) if isinstance(one, np.ndarray) else one for one in entries)
    got = x[key]
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(np.asarray(got), want)
    np.testing.assert_array_equal(np.asarray((x.T.T + x)[key]), (a + a)[key])


_BITS, _PLACES = np.array([True, False, True]), np.array([2, 0])


@pytest.mark.parametrize(
    "key",
    [
        (slice(None, -1), 1, ..., _BITS),
        (_PLACES, ..., 1, _PLACES),
        (_PLACES, _BITS, ..., _PLACES),
        (slice(1), _PLACES, ..., 2),
        (1, ..., None, slice(2), _PLACES),
        (slice(1), ..., _PLACES, 2),
        (True, slice(None), 0, ..., _PLACES),
        (slice(None), 0, ..., 1),
    ],
)
def test_an_ellipsis_of_no_axes_keeps_indices_apart(key: Any) -> None:
    a = np.arange(27.0).reshape(3, 3, 3)
    want = a[key]
    for one in (key, tuple(sc.asarray(k) if isinstance(k, np.ndarray) else k for k in key)):
        got = np.asarray(sc.asarray(a)[one])
        assert got.shape == want.shape
        np.testing.assert_array_equal(got, want)
    x = sc.asarray(a)
    x[key] = -want
    a[key] = -want
    np.testing.assert_array_equal(np.asarray(x), a)


@pytest.mark.parametrize("key", [True, False, np.True_, (np.False_, 0), (None, True, [0, 1])])
def test_a_single_bool_is_a_mask_of_no_axes(key: Any) -> None:
    a = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(np.asarray(sc.asarray(a)[key]), a[key])


@pytest.mark.parametrize("on", ["core", "cores:2"])
def test_a_mask_selects_in_order_on_every_rung(on: str) -> None:
    x = sc.random.default_rng(1).normal(0, 1, (1200, 1000))
    a = x.compute()
    with sc.on(on):
        np.testing.assert_array_equal(x[x > 1].compute(), a[a > 1])
        np.testing.assert_array_equal((x[x > 1] * 2 - x[x > 1]).compute(), a[a > 1])
        np.testing.assert_array_equal(x[(x > 1)[:, 0]].compute(), a[a[:, 0] > 1])


def test_a_selection_is_counted_when_its_length_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    x = sc.asarray([3.0, -1.0, 2.0])
    y = x[x > 0]
    counted = []
    ask = sc.api.indexing.places._flat_nonzero
    monkeypatch.setattr(
        sc.api.indexing.places, "_flat_nonzero", lambda v: counted.append(1) or ask(v)
    )
    z = (y + 1) * y
    assert repr(z).startswith("<speedcube.Array (?,) float64: ")
    assert z.ndim == 1
    assert z.dtype == np.float64
    assert (float(y.sum()), float(np.sum(z)), bool(z.any()), bool(y.all())) == (
        5.0,
        18.0,
        True,
        True,
    )
    assert x[x > 9].sum().compute() == 0
    assert not counted
    assert len(y) == 2
    assert z.tolist() == [12.0, 6.0]
    assert len(counted) == 1  # of one mask, once


def test_indices_are_checked_before_anything_is_read() -> None:
    x = sc.arange(10)
    lazy = sc.asarray([1, 2, 3]) * 4  # 12 is out of bounds
    with pytest.raises(errors.AxisError, match="index 12 is out of bounds for axis 0 with size 10"):
        x[lazy]
    with pytest.raises(IndexError, match="index -11 is out of bounds"):
        x[[0, -11]]
    known = sc.random.default_rng(0).integers(0, 10, 5)
    assert x[known].tolist() == known.tolist()


@pytest.mark.parametrize(
    "key", [1.5, "a", [0.5], np.zeros(2), [[0], [1, 2]], {}, ([0, 1], [0, 1, 2]), ([0],) * 3]
)
def test_what_numpy_refuses_is_refused_alike(key: Any) -> None:
    a = np.zeros((3, 4))
    with pytest.raises((IndexError, ValueError)) as theirs:
        a[key]
    with pytest.raises(theirs.type):
        sc.asarray(a)[key]


@given(st.data(), SHAPES)
def test_places_are_numpys(data: Any, shape: tuple[int, ...]) -> None:
    bits = data.draw(st.integers(0, 2**20))
    a = np.array([bits >> (k % 20) & 1 for k in range(int(np.prod(shape)))]).reshape(shape)
    x = sc.asarray(a)
    np.testing.assert_array_equal(sc.flatnonzero(x), np.flatnonzero(a))
    np.testing.assert_array_equal(np.argwhere(x), np.argwhere(a))
    if shape:
        for ours, theirs in zip(sc.nonzero(x), np.nonzero(a), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        for ours, theirs in zip(np.where(x > 0), np.where(a > 0), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(sc.extract(x > 0, x), np.extract(a > 0, a))
    assert (x > 0).reshape(-1).compute().shape == (a.size,)
    for axis in (None, *range(len(shape))):
        n = a.size if axis is None else shape[axis]
        for condition in (np.arange(n) % 2 == 0, np.arange(n // 2) % 2 == 1):
            want = np.compress(condition, a, axis)
            np.testing.assert_array_equal(np.compress(condition, x, axis=axis), want)


@pytest.mark.parametrize("mode", ["wrap", "clip"])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_take_and_choose_by_every_mode(mode: Any, axis: int | None) -> None:
    a = np.arange(12).reshape(3, 4)
    index = np.array([[-9, 5], [13, 2]])
    want = np.take(a, index, axis, mode=mode)
    np.testing.assert_array_equal(np.take(sc.asarray(a), index, axis=axis, mode=mode), want)
    choices = [a, a * 10.0, 7]
    want = np.choose(a - 4, choices, mode=mode)
    np.testing.assert_array_equal(sc.choose(sc.asarray(a - 4), choices, mode=mode), want)
    with pytest.raises(ValueError, match=r"choose of 3 arrays"):
        sc.choose(sc.asarray(a), choices)


def test_select_takes_the_first_that_is_true() -> None:
    a = np.arange(10)
    conditions, choices = [a < 3, a % 2 == 0, a > 7], [a, a * 1.5, 100]
    want = np.select(conditions, choices, -1)
    x = sc.asarray(a)
    got = sc.select([x < 3, x % 2 == 0, x > 7], [x, x * 1.5, 100], -1)
    np.testing.assert_array_equal(got, want)
    assert got.dtype == want.dtype
    with pytest.raises(TypeError, match="condition 0 of select is of int64"):
        sc.select([x], [x])
    with pytest.raises(ValueError, match="as many conditions as choices"):
        sc.select([x < 3], [x, x])


@pytest.mark.parametrize("choice", [5, 300, -1, True, 5.5, np.uint8(5)])
@pytest.mark.parametrize("kind", ["uint8", "uint64", "int8", "float32"])
def test_select_takes_the_numbers_that_numpy_takes(kind: str, choice: Any) -> None:
    a, masks = np.array([1, 2, 3], kind), [np.eye(3, dtype=bool)[k] for k in (0, 1)]
    try:
        want = np.select(masks, [a, choice], 0)
    except (TypeError, OverflowError) as err:
        with pytest.raises(type(err)):
            sc.select(masks, [sc.asarray(a), choice], 0)
        return
    found = sc.select(masks, [sc.asarray(a), choice], 0)
    assert found.dtype == want.dtype
    np.testing.assert_array_equal(found, want)


@given(st.data(), st.sampled_from([(5,), (4, 3), (2, 3, 4), (3, 0)]))
def test_sums_of_a_selection_are_those_of_its_elements(data: Any, shape: tuple[int, ...]) -> None:
    a = np.arange(int(np.prod(shape))).reshape(shape) * 0.1
    bits = data.draw(st.integers(0, 2**24 - 1))
    axes = data.draw(st.integers(1, len(shape)))
    n = int(np.prod(shape[:axes]))
    mask = np.array([bits >> (k % 24) & 1 for k in range(n)], bool).reshape(shape[:axes])
    x = sc.asarray(a)
    for axis in (None, 0):
        for name in ("sum", "any", "all"):
            lazy = getattr(x[mask], name)(axis=axis)
            put_together = getattr(sc.asarray(a[mask]), name)(axis=axis)
            assert lazy.shape == put_together.shape
            np.testing.assert_array_equal(lazy, put_together)
    if a[mask].size:
        assert float(x[mask].mean()) == pytest.approx(a[mask].mean())


def test_numbers_are_taken_and_repeated_as_lines_of_one() -> None:
    for name, args in (("take", ([0, -1, 0], -1)), ("repeat", (3, 0)), ("repeat", (2,))):
        ours = getattr(sc, name)(sc.asarray(5), *args)
        assert ours.tolist() == getattr(np, name)(np.asarray(5), *args).tolist()
    with pytest.raises(np.exceptions.AxisError):
        sc.take(sc.asarray(5), [0], axis=1)


def test_lazy_numbers_of_repeats_are_computed() -> None:
    times = sc.asarray([0, 1, 2]) + 1
    assert sc.repeat(sc.arange(3), times).tolist() == [0, 1, 1, 2, 2, 2]


def _counting(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is computed from now on: the roots of each computation."""
    asked: list[Any] = []
    compute_all, compute = engine.compute_all, engine.compute

    def all_counted(roots: Any, *given: Any) -> Any:
        asked.append(roots)
        return compute_all(roots, *given)

    def one_counted(root: Any, *given: Any) -> Any:
        asked.append(root)
        return compute(root, *given)

    monkeypatch.setattr(engine, "compute_all", all_counted)
    monkeypatch.setattr(engine, "compute", one_counted)
    return asked


def test_places_of_an_order_need_no_check(monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.random.default_rng(2).normal(size=(7, 50))
    x = sc.asarray(a)
    asked = _counting(monkeypatch)
    sorted_rows = sc.take_along_axis(x, sc.argsort(x, axis=1), axis=1)
    greatest = x.T[x.argmax(axis=1)]
    first = x[0][sc.argsort(x[0])[:3]]
    assert not asked
    np.testing.assert_array_equal(sorted_rows, np.sort(a, axis=1))
    np.testing.assert_array_equal(greatest, a.T[a.argmax(axis=1)])
    np.testing.assert_array_equal(first, np.sort(a[0])[:3])
    with pytest.raises(errors.AxisError, match="index 49 is out of bounds for axis 0 with size 7"):
        x[x.argmax(axis=1) * 0 + 49]


def test_a_lazy_index_that_is_checked_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.arange(1000.0)
    x, steps = sc.asarray(a), np.random.default_rng(2).integers(-1, 2, 1000)
    lazy = sc.cumsum(steps)
    asked = _counting(monkeypatch)
    found = x[lazy]
    assert isinstance(asked[0], Leaf)
    assert isinstance(asked[0].source, Scanned)
    # Its ends are looked at where its elements lie then. What is asked reads first what is kept.
    assert len({id(one) for one in asked}) == 1
    assert "cumsum" not in repr(found.plan(on="core"))
    np.testing.assert_array_equal(found, a[np.cumsum(steps)])
    # Where there is no room for it the index stays lazy.
    monkeypatch.setattr(places, "free_memory", lambda: lazy.nbytes)
    found = x[lazy]
    assert "cumsum" in repr(found.plan(on="core"))
    np.testing.assert_array_equal(found, a[np.cumsum(steps)])
    with pytest.raises(errors.AxisError, match="out of bounds"):
        x[lazy + 1000]
