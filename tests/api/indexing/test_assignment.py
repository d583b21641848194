"""``x[key] = value`` beside NumPy, and who sees it."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
from typing import Any

import dask
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import speedcube as sc
from speedcube import errors
from speedcube.api.indexing.assigning import assignment
from speedcube.api.indexing.assigning.assignment import DEPTH
from speedcube.api.indexing.assigning.own_memory import own_memory

from .keys import DTYPES, SHAPES, keys


@given(st.data(), SHAPES, DTYPES)
def test_any_key_is_assigned_as_by_numpy(data: Any, shape: tuple[int, ...], dtype: str) -> None:
    a = np.asarray(np.arange(int(np.prod(shape))).reshape(shape) % 19).astype(dtype)
    x = sc.asarray(a)
    before, want = x + 0, np.array(a)
    for _ in range(data.draw(st.integers(1, 3))):
        key = data.draw(keys(shape))
        there = np.shape(want[key])
        kind = data.draw(st.sampled_from(["number", "whole", "last", "ones", "ours"]))
        value: Any = 3
        if kind in ("whole", "ours"):
            value = np.arange(int(np.prod(there)), dtype=np.float32).reshape(there) / 2
        elif kind == "last" and there:
            value = np.arange(there[-1]) + 1
        elif kind == "ones" and there and isinstance(key, tuple):  # NumPy: not for a lone mask
            value = np.full((1,) * (len(there) + 1), 5)
        want[key] = value
        x[key] = sc.asarray(value) if kind == "ours" else value
    assert x.dtype == a.dtype
    np.testing.assert_array_equal(np.asarray(x), want)
    np.testing.assert_array_equal(np.asarray(before), a + 0)


def test_names_of_one_array_change_together_and_nothing_else_does() -> None:
    memory = np.arange(6.0)
    x = sc.asarray(memory)
    same, view, made = x, x[2:5], x * 2

    def raise_by_one(y: Any) -> None:
        y += 1

    raise_by_one(x)
    assert same is x
    assert x.tolist() == [1, 2, 3, 4, 5, 6]
    view[:] = 0
    assert view.tolist() == [0, 0, 0]
    assert x.tolist() == [1, 2, 3, 4, 5, 6]  # a view is no window
    assert made.tolist() == [0, 2, 4, 6, 8, 10]
    assert memory.tolist() == [0, 1, 2, 3, 4, 5]  # never written


def test_what_a_mask_selects_is_changed_in_place() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(40, 30))
    x = sc.asarray(a.copy())
    x[x > 0.5] *= 2
    x[x < -1] = 0
    x[1:-1, ::2] += x[1:-1, 1::2]
    a[a > 0.5] *= 2
    a[a < -1] = 0
    a[1:-1, ::2] += a[1:-1, 1::2]
    np.testing.assert_array_equal(x, a)


IN_PLACE = ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"]
BITS = ["iand", "ior", "ixor", "ilshift", "irshift"]


@pytest.mark.parametrize("name", IN_PLACE + BITS)
def test_operators_in_place(name: str) -> None:
    kind: Any = np.int64 if name in BITS else np.float64
    a, b = np.arange(1, 7).astype(kind), np.arange(1, 7)[::-1].astype(kind)
    x = sc.asarray(a.copy())
    was = x
    result = getattr(operator, name)(x, b)
    want = getattr(operator, name)(a, b)
    assert result is was
    np.testing.assert_array_equal(x, want)


def test_in_place_keeps_shape_and_dtype() -> None:
    x = sc.arange(3)
    with pytest.raises(TypeError, match="add in place keeps the dtype int64, and the result has f"):
        x += 0.5
    with pytest.raises(ValueError, match=r"keeps the shape \(3,\), and the result has \(2, 3\)"):
        x += np.ones((2, 3), int)
    small = sc.zeros(3, "float32")
    small += np.ones(3)  # as in NumPy: of the same kind
    assert small.dtype == np.float32


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (slice(0, 2), [1, 2, 3]),
        (np.array([True, False, True, False]), [1, 2, 3]),
        ([0, 1], [1, 2, 3]),
        (9, 1),
        ([0, 9], 1),
        (np.ones(3, bool), 1),
        ("a", 1),
        (0, "text"),
        ((0, 0), 1),
    ],
)
def test_what_numpy_refuses_is_refused_alike(key: Any, value: Any) -> None:
    a = np.arange(4.0)
    with pytest.raises((IndexError, ValueError, TypeError)) as theirs:
        a[key] = value
    x = sc.asarray(a)
    with pytest.raises(theirs.type):
        x[key] = value
    assert x.tolist() == [0, 1, 2, 3]


def test_numbers_that_do_not_fit_are_refused_as_by_numpy() -> None:
    x = sc.zeros(3, "uint8")
    with pytest.raises(OverflowError):
        x[0] = 300
    with pytest.raises(ValueError, match="NaN"):
        x[0] = float("nan")
    x[1] = 2.9  # cut off, as NumPy does
    assert x.tolist() == [0, 2, 0]


def test_disjoint_boxes_are_not_nested() -> None:
    x = sc.zeros((8, 3000))
    for k in range(8):
        x[k] = k
    assert len(x._expr.source.pieces) == 8
    np.testing.assert_array_equal(x, np.repeat(np.arange(8.0), 3000).reshape(8, 3000))


def test_a_loop_of_assignments_writes_in_place_but_never_what_others_see() -> None:
    x = sc.zeros(3000)
    for i in range(DEPTH + 2):
        x[i] = i
    assert own_memory(x) is not None
    few, memory = x[:5], own_memory(x).ctypes.data
    assert own_memory(x).ctypes.data == memory  # few elements are copied
    x[:5] = -2
    assert own_memory(x).ctypes.data == memory
    values, turned = x.compute(), x.T
    assert own_memory(x) is None  # the transpose reads it
    x[:5] = -1
    assert few.tolist() == [0, 1, 2, 3, 4]
    assert turned[:5].tolist() == values[:5].tolist() == [-2] * 5
    assert x[:5].tolist() == [-1] * 5
    del turned
    gc.collect()
    for i in range(3000):
        x[i] = 2 * i
    np.testing.assert_array_equal(x, 2 * np.arange(3000.0))


def test_a_recurrence_is_what_numpy_makes_of_it() -> None:
    x, a = sc.zeros(60), np.zeros(60)
    x[0] = a[0] = 1.0
    for k in range(1, 60):
        x[k] = x[k - 1] * 1.5 + k
        a[k] = a[k - 1] * 1.5 + k
    np.testing.assert_array_equal(x, a)


def test_of_equal_indices_the_last_counts() -> None:
    x = sc.zeros(4)
    x[[1, 2, 1]] = sc.asarray([5.0, 6.0, 7.0])
    assert x.tolist() == [0, 7, 6, 0]


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (3, 3, 3)])
@pytest.mark.parametrize("wrap", [False, True])
def test_fill_diagonal(shape: tuple[int, ...], wrap: bool) -> None:
    a = np.zeros(shape)
    x = sc.asarray(a.copy())
    for value in (3, [1, 2]):
        np.fill_diagonal(a, value, wrap)
        np.fill_diagonal(x, value, wrap=wrap)
        np.testing.assert_array_equal(x, a)


def test_numpys_functions_that_assign() -> None:
    a = np.arange(12.0).reshape(3, 4)
    x = sc.asarray(a.copy())
    for target in (a, x):
        np.put(target, [0, -1, 5], [10, 20])
        np.putmask(target, np.asarray(target) > 8, [1, 2, 3])
        np.place(target, np.asarray(target) < 3, [7, 8])
        np.copyto(target, [1, 2, 3, 4], where=[True, False, False, True])
        np.put_along_axis(target, np.array([[0], [1], [3]]), 99, axis=1)
    np.testing.assert_array_equal(x, a)
    with pytest.raises(errors.DTypeError, match="copyto cannot cast float64 to int64"):
        np.copyto(sc.arange(3), np.ones(3))
    with pytest.raises(errors.DTypeError, match="of speedcube or of NumPy, not to list"):
        sc.put([0.0], 0, 1)


def test_dask_sees_what_was_assigned() -> None:
    x = sc.zeros(3)
    before = x.__dask_keys__()
    assert dask.compute(x)[0].tolist() == [0, 0, 0]
    x[1] = 5
    assert x.__dask_keys__() != before
    assert dask.compute(x)[0].tolist() == [0, 5, 0]
    selected = x[x > 0]
    assert dask.compute(selected)[0].tolist() == [5]


def test_copies_are_other_arrays() -> None:
    x = sc.arange(4)
    some = x[x > 1]
    for one in (copy.copy(some), copy.deepcopy(some), pickle.loads(pickle.dumps(some))):
        one += 1
        assert one.tolist() == [3, 4]
    assert some.tolist() == [2, 3]
    other = copy.copy(x)
    other[0] = 9
    assert x.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "call",
    """np.round(x); x.round(); np.clip(x, None, 99); x.clip(); np.tile(x, 1)
    np.pad(x, 0); np.conj(x); np.nan_to_num(x); x.copy(); np.copy(x); sc.array(x); x[:]; x[...]
    np.abs(x); +x; np.positive(x); np.reshape(x, 4); x.ravel(); x.flatten(); np.squeeze(x)
    np.transpose(x); np.flip(x)[::-1]
    np.roll(x, 0); np.repeat(x, 1); np.concatenate([x]); np.broadcast_to(x, 4); x.astype(int)
    np.where(True, x, x); np.take(x, [0, 1, 2, 3]); np.atleast_1d(x)[:]
    np.append(x, []).astype(int); x.persist(); np.floor(x); np.trunc(x)
    np.ceil(x); np.rint(x).astype(int)""".replace("\n", ";").split(";"),
)
def test_a_result_is_an_array_of_its_own(call: str) -> None:
    x = sc.asarray([1, 2, 3, 4])
    result = eval(call.strip(), {"np": np, "sc": sc, "x": x})
    result += 1
    assert (x.tolist(), result.tolist()) == ([1, 2, 3, 4], [2, 3, 4, 5])


# Found by random programs (tests/fuzz) ------------------------------------------------------------


def test_what_a_mask_selected_keeps_what_the_array_had() -> None:
    for change in (lambda x: x.fill(7), lambda x: x.__setitem__(slice(None), 7)):
        x = sc.asarray([1.0, -2.0, 3.0])
        low, above = x[x < 0], sc.extract(x > 0, x)
        change(x)
        assert low.tolist() == [-2.0]
        assert above.tolist() == [1.0, 3.0]


def test_a_selection_that_was_assigned_to_beside_one_that_was_not() -> None:
    x = sc.asarray([1.0, -2.0, 3.0])
    some = x[x > 0]
    other = some < 2
    some[1] = 0.25
    assert (other * some).tolist() == [1.0, 0.0]
    assert (some * other).tolist() == [1.0, 0.0]


def test_arrays_of_no_axes_are_numbers_in_place() -> None:
    total = sc.asarray([1, 2, 3]).sum()
    kept = total
    total += 0.5
    assert (total.item(), kept.item()) == (6.5, 6)
    x = sc.asarray([True, False])
    for k in range(2):
        x[k] += k
    assert x.tolist() == [True, True]
    whole = sc.asarray([1, 2, 3])
    whole[1] += 0.75
    assert whole.tolist() == [1, 2, 3]


def test_in_place_another_dtype_is_refused_before_another_shape() -> None:
    x = sc.ones(3, dtype=bool)
    with pytest.raises(TypeError):
        x += sc.ones((4, 3), dtype="int64")
    with pytest.raises(ValueError, match="keeps the shape"):
        x |= sc.ones((4, 3), dtype=bool)


@pytest.mark.parametrize("step", [2, 3, 4, -2, -3])
def test_strided_boxes_hold_every_nth(step: int) -> None:
    a = np.arange(23.0 * 9).reshape(23, 9)
    x, want, values = sc.asarray(a) + 0, a.copy(), np.arange(9.0)
    for space in (x, want):
        space[::step] = values
        space[1:20, 7::step] = -1
        space[:, 1::step] *= 2
    np.testing.assert_array_equal(x, want)
    if not step & (step - 1):
        assert "bitwise_and" in repr(x.explain())
        assert "remainder" not in repr(x.explain())


def test_numbers_of_the_first_axis_are_written_in_place_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(assignment, "wrote_at_once", lambda *_: False)  # as of many elements
    x, want = sc.zeros((DEPTH + 60, 3), dtype="int32"), np.zeros((DEPTH + 60, 3), "int32")
    for k in range(DEPTH + 1):
        x[k] = want[k] = k
    monkeypatch.setattr(assignment, "wrote_in_place", None)  # not asked
    for k in range(DEPTH + 1, len(want)):
        x[k] = want[k] = k
    for key, value in ((-1, True), (-len(want), 7), (5, 2.75)):
        x[key] = want[key] = value
    np.testing.assert_array_equal(x, want)
    monkeypatch.undo()
    view = x[:2]
    x[0] = 99
    assert view.tolist() == want[:2].tolist()
    for wrong in (len(want), -len(want) - 1):
        with pytest.raises(errors.AxisError, match="out of bounds"):
            x[wrong] = 1
    with pytest.raises(OverflowError):
        x[1] = 2**40
    assert x[1].tolist() == want[1].tolist()
    flat = sc.zeros(3)
    for k in range(DEPTH + 5):
        flat[k % 3] = k
    assert flat.tolist() == [DEPTH + 4 - (DEPTH + 4 - k) % 3 for k in range(3)]


def test_thirty_slices_are_one_pass() -> None:
    """Boxes of one computation: what was there before is not made."""
    x = sc.random.default_rng(1).normal(size=(60, 300))
    for k in range(30):
        x[2 * k : 2 * k + 2] = k
    assert len(x._expr.source.pieces) == 30
    assert len(x.plan(on="core").stages) == 1
    np.testing.assert_array_equal(x, np.repeat(np.arange(30.0), 600).reshape(60, 300))


@pytest.mark.parametrize("dtype", ["float64", "complex128", "int64"])
def test_a_loop_of_powers_through_a_mask_is_one_computation(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counted what each mask selects, and made all steps before for that."""
    c = np.linspace(-2, 1, 60).astype(dtype)
    z, x = np.zeros_like(c), sc.zeros(60, dtype=dtype)
    known, made = sc.asarray(c), []
    ask = sc.api.indexing.places.engine.compute
    monkeypatch.setattr(
        sc.api.indexing.places.engine, "compute", lambda *a, **k: made.append(1) or ask(*a, **k)
    )
    for _ in range(6):
        near, mask = abs(z) < 2, abs(x) < 2
        z[near] = z[near] ** 2 + c[near]
        x[mask] = x[mask] ** 2 + known[mask]
    assert not made
    np.testing.assert_allclose(x, z, rtol=1e-12)


def test_powers_of_what_a_mask_selects_are_checked() -> None:
    x = sc.asarray([1, 2, 3])
    with pytest.raises(ValueError, match="integers to negative integer powers"):
        x[x > 1] ** -1
    chosen = x[x > 1]
    chosen[0] = 7  # no selection any more
    assert (chosen**2).tolist() == [49, 9]
    assert (sc.asarray([1.0, 4.0])[np.array([False, True])] ** 0.5).tolist() == [2.0]
