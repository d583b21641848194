"""Calls where ours once differed from NumPy's: they give equal results, or errors of one kind."""

from __future__ import annotations

import math

import numpy as np
import pytest

import speedcube as sc

BYTES = np.array([1, 2], "uint8")
WIDE = np.array([2, 3], "uint64")
SINGLE = np.array([1, 2], "float32")


def _after(change, kind="int64"):
    def call(xp, as_xp):
        x = xp.zeros(4, kind)
        change(xp, x)
        return x

    return call


EQUAL = {
    "uint64 to int8 powers": lambda xp, a: a(WIDE) ** a(np.array([-1, 2], "int8")),
    "uint64 to one int8": lambda xp, a: xp.power(a(WIDE), np.int8(-1)),
    "uint64 to a list": lambda xp, a: a(WIDE) ** [-2, 2],
    "linspace beside Python's": lambda xp, a: xp.linspace(a(SINGLE), 3, 4),
    "linspace beside float64": lambda xp, a: xp.linspace(a(SINGLE), np.float64(3), 4),
    "linspace of lists": lambda xp, a: xp.linspace([1, 2], 3, 4),
    "None is NaN": _after(lambda xp, x: x.__setitem__(1, None), "float32"),
    "None is NaN, all": _after(lambda xp, x: x.__setitem__(slice(None), None), "float64"),
    "None is NaN, complex": _after(lambda xp, x: x.__setitem__(1, None), "complex128"),
    "None is false": _after(lambda xp, x: x.__setitem__(1, None), "bool"),
    "concatenate, out=": _after(lambda xp, x: xp.concatenate([[1, 2], [3, 4]], out=x)),
    "concatenate, out= and casting=": _after(
        lambda xp, x: xp.concatenate([[1.5, 2], [3, 4]], out=x, casting="unsafe")
    ),
    "stack, out=": lambda xp, a: xp.stack([a(BYTES), a(BYTES)], out=xp.zeros((2, 2))),
    "outer, out=": lambda xp, a: xp.outer(a(BYTES), [1, 2], out=xp.zeros((2, 2))),
    "trace, out=": lambda xp, a: xp.trace(a(np.ones((2, 2))), out=xp.zeros(())),
    "where= of a list": lambda xp, a: xp.sum(a(BYTES), where=[1, 0]),
    "where= of bools": lambda xp, a: xp.sum(a(BYTES), where=a(np.array([True, False]))),
}


@pytest.mark.parametrize("call", EQUAL.values(), ids=EQUAL)
def test_results_are_equal(call):
    wanted = call(np, np.array)
    found = np.asarray(call(sc, sc.array))
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    assert np.allclose(found, wanted, equal_nan=True, rtol=1e-6)


REFUSED = {
    "fmax": lambda xp, a: xp.fmax(a(BYTES), 300),
    "fmin": lambda xp, a: xp.fmin(-1, a(BYTES)),
    "fmod": lambda xp, a: xp.fmod(a(BYTES), -1),
    "lcm": lambda xp, a: xp.lcm(a(BYTES), 300),
    "putmask": _after(lambda xp, x: xp.putmask(x, x == 0, 300), "uint8"),
    "None is no integer": _after(lambda xp, x: x.__setitem__(1, None)),
    "concatenate, cast": _after(lambda xp, x: xp.concatenate([[1.5, 2], [3, 4]], out=x)),
    "concatenate, shape": lambda xp, a: xp.concatenate([a(BYTES), a(BYTES)], out=xp.zeros(3)),
    "concatenate, out= and dtype=": lambda xp, a: xp.concatenate(
        [a(BYTES), a(BYTES)], out=xp.zeros(4), dtype="float64"
    ),
    "where= of integers": lambda xp, a: xp.sum(a(BYTES), where=a(BYTES)),
    "where= of integers, a mean": lambda xp, a: xp.mean(a(BYTES), where=a(BYTES)),
    "where= of integers, a ufunc": lambda xp, a: xp.add(
        a(BYTES), a(BYTES), where=a(BYTES), out=xp.zeros(2)
    ),
    "sort, kind and stable": lambda xp, a: xp.sort(a(BYTES), kind="stable", stable=True),
    "argsort, kind and stable": lambda xp, a: xp.argsort(a(BYTES), kind="quicksort", stable=False),
    "integers to negative powers": lambda xp, a: a(WIDE) ** a(WIDE).astype("int8") ** -1,
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_errors_are_of_one_kind(call):
    with pytest.raises((TypeError, ValueError, OverflowError)) as theirs:
        call(np, np.array)
    kind = next(k for k in (OverflowError, TypeError, ValueError) if isinstance(theirs.value, k))
    with pytest.raises(kind):
        np.asarray(call(sc, sc.array))


INTO = {
    "copyto": lambda x, a: np.copyto(x, a([5, 6, 7])),
    "copyto, where=": lambda x, a: np.copyto(x, a([5, 6, 7]), where=a([True, False, True])),
    "put": lambda x, a: np.put(x, a([0, 2]), a([8, 9])),
    "place": lambda x, a: np.place(x, a([True, False, True]), a([8, 9])),
    "putmask": lambda x, a: np.putmask(x, a([True, False, True]), a([8, 9])),
    "put_along_axis": lambda x, a: np.put_along_axis(x, a([0, 2]), a([8, 9]), 0),
    "fill_diagonal": lambda x, a: np.fill_diagonal(x.reshape(3, 1), a([8])),
}  # fmt: skip


@pytest.mark.parametrize("change", INTO.values(), ids=INTO)
def test_numpys_own_array_is_written_at_once(change):
    ours, theirs = np.arange(3), np.arange(3)
    change(ours, lambda values: sc.asarray(np.array(values)))
    change(theirs, np.array)
    assert ours.tolist() == theirs.tolist()
    assert ours.tolist() != [0, 1, 2]


def test_an_element_is_truncated():
    assert math.trunc(sc.asarray([-4.5])[0]) == -4
