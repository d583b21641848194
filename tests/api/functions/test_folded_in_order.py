"""``np.divide.reduce(x)`` and others whose order counts, and ``initial= where=`` of reductions."""

from __future__ import annotations

import numpy as np
import pytest

import speedcube as sc

TABLE = np.array([[90, 7, 2, 3], [64, 3, 4, 2], [5, 1, 2, 1]])
OF_INTEGERS = [
    *("divide", "floor_divide", "remainder", "fmod", "power", "float_power", "left_shift"),
    *("right_shift", "copysign", "heaviside", "nextafter", "ldexp"),
]


def same(found, wanted):
    found = np.asarray(found)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert np.array_equal(found, wanted, equal_nan=wanted.dtype.kind == "f")


@pytest.mark.parametrize("name", OF_INTEGERS)
@pytest.mark.parametrize("dtype", ["int64", "uint8", "float64", "float16"])
@pytest.mark.parametrize("axis", [0, -1])
def test_each_step_takes_the_result_before(name, dtype, axis):
    x = TABLE.astype(dtype)
    ufunc = getattr(np, name)
    try:
        kind = ufunc.resolve_dtypes((None, x.dtype, None), reduction=True)
        steps = list(np.moveaxis(x.astype(kind[-1]), axis, 0))
        assert len(set(kind)) == 1
    except (TypeError, AssertionError):
        for method in ("reduce", "accumulate", "reduceat"):
            given = ([0, 1],) if method == "reduceat" else ()
            with pytest.raises(TypeError):
                getattr(ufunc, method)(sc.asarray(x), *given, axis=axis)
        return
    # Not NumPy's own fold: some of its loops (power, arctan2) do not take the result before.
    for k in range(1, len(steps)):
        steps[k] = np.asarray(getattr(sc, name)(steps[k - 1], steps[k]))
    same(ufunc.reduce(sc.asarray(x), axis=axis), steps[-1])
    same(ufunc.accumulate(sc.asarray(x), axis=axis), np.stack(steps, axis))
    keeps = getattr(sc, name).reduce(x, axis, keepdims=True)
    same(keeps, np.expand_dims(steps[-1], axis))


@pytest.mark.parametrize("name", ["hypot", "logaddexp", "logaddexp2"])
def test_running_logarithms_and_roots(name):
    x = TABLE[:, ::-1] / 7
    wanted = getattr(np, name).accumulate(x, axis=1)
    assert np.allclose(getattr(np, name).accumulate(sc.asarray(x), axis=1), wanted, rtol=1e-15)


def test_comparisons_fold_bools_alone():
    x = np.array([[True, False, True], [False, False, True]])
    for name in ("equal", "not_equal", "less", "greater_equal"):
        same(getattr(np, name).reduce(sc.asarray(x), axis=1), getattr(np, name).reduce(x, axis=1))
        same(getattr(np, name).accumulate(sc.asarray(x)), getattr(np, name).accumulate(x))
        with pytest.raises(TypeError):
            getattr(np, name).reduce(sc.asarray([1, 2]))


@pytest.mark.parametrize("name", ["divide", "subtract", "floor_divide"])
def test_no_axis_one_entry_and_none(name):
    ufunc = getattr(np, name)
    same(ufunc.reduce(sc.asarray(TABLE), axis=()), ufunc.reduce(TABLE, axis=()))
    same(ufunc.reduce(sc.asarray(3)), np.asarray(ufunc.reduce(np.asarray(3))))
    same(ufunc.reduce(sc.asarray([3])), np.asarray(ufunc.reduce([3])))
    same(ufunc.accumulate(sc.zeros((0, 2))), ufunc.accumulate(np.zeros((0, 2))))
    for axis in (None, (0, 1)):
        with pytest.raises(ValueError, match="one axis"):
            ufunc.reduce(sc.asarray(TABLE), axis=axis)
    with pytest.raises(ValueError, match="no elements"):
        ufunc.reduce(sc.zeros((0, 2)))


MASK = np.array([[True, False, True, True], [False, True, True, False], [True, True, False, True]])


@pytest.mark.parametrize("name", ["subtract", "divide", "gcd", "lcm", "bitwise_and", "bitwise_xor"])
@pytest.mark.parametrize("axis", [0, 1, ()])
def test_initial_and_where(name, axis):
    ufunc = getattr(np, name)
    x = sc.asarray(TABLE)
    same(ufunc.reduce(x, axis=axis, initial=9), ufunc.reduce(TABLE, axis=axis, initial=9))
    wanted = ufunc.reduce(TABLE, axis=axis, initial=9, where=MASK, keepdims=True)
    same(ufunc.reduce(x, axis=axis, initial=9, where=MASK, keepdims=True), wanted)
    if ufunc.identity is None:
        with pytest.raises(ValueError, match="initial="):
            ufunc.reduce(x, axis=axis, where=MASK)
    else:
        same(ufunc.reduce(x, axis=axis, where=MASK), ufunc.reduce(TABLE, axis=axis, where=MASK))


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_masks_of_narrow_integers(dtype):
    x = TABLE.astype(dtype)
    for name in ("bitwise_and", "bitwise_or"):
        wanted = getattr(np, name).reduce(x, axis=1, where=MASK)
        same(getattr(np, name).reduce(sc.asarray(x), axis=1, where=MASK), wanted)
    empty = sc.zeros((0, 2), dtype)
    same(np.lcm.reduce(empty, initial=6), np.lcm.reduce(np.zeros((0, 2), dtype), initial=6))


def test_masks_of_logarithms():
    for name in ("logaddexp", "hypot"):
        wanted = getattr(np, name).reduce(TABLE, axis=1, where=MASK, initial=2.0)
        found = getattr(np, name).reduce(sc.asarray(TABLE), axis=1, where=MASK, initial=2.0)
        assert np.allclose(found, wanted, rtol=1e-15)


def test_ranges_and_two_results():
    x = np.arange(1.0, 9.0)
    same(np.divide.reduceat(sc.asarray(x), [0, 4, 1, 5]), np.divide.reduceat(x, [0, 4, 1, 5]))
    same(np.divide.reduceat(sc.arange(3), []), np.divide.reduceat(np.arange(3), []))
    for ours, wanted in zip(
        np.divmod.outer(sc.asarray([7, 8]), [2, 3]), np.divmod.outer([7, 8], [2, 3]), strict=True
    ):
        same(ours, wanted)
