"""Functions that assign take NumPy's arrays, too, and write them at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import speedcube as sc

LINE = np.array([[0], [1], [2]])
CALLS: list[Callable[[Any, Any], None]] = [
    lambda m, y: m.fill_diagonal(y, m.asarray([9.0, 8.0, 7.0])),
    lambda m, y: m.fill_diagonal(a=y, val=1),
    lambda m, y: m.put(y, m.asarray([0, 4]), m.asarray([5.0, 6.0])),
    lambda m, y: m.place(y, m.asarray(y) > 2, [1, 2]),
    lambda m, y: m.putmask(y, m.asarray(y) > 2, m.asarray([1.0, 2.0])),
    lambda m, y: m.put_along_axis(y, m.asarray(LINE), 7, axis=1),
    lambda m, y: m.copyto(y, m.asarray(3.0), where=m.asarray(y) > 2),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_numpys_arrays_are_written(number: int) -> None:
    ours, theirs = np.arange(9.0).reshape(3, 3), np.arange(9.0).reshape(3, 3)
    assert CALLS[number](sc, ours) is None  # type: ignore[func-returns-value]
    CALLS[number](np, theirs)
    np.testing.assert_array_equal(ours, theirs)


def test_the_array_that_is_written_may_be_named_after_others() -> None:
    """It decides whose function writes, not what is named first."""
    for x in (np.zeros(3), sc.zeros(3)):
        for source in (np.ones(3), sc.ones(3)):
            sc.copyto(src=source, dst=x)
            sc.put(v=4.0 * source[:1], ind=[1], a=x)
            assert np.asarray(x).tolist() == [1.0, 4.0, 1.0]
            x[...] = 0.0


def test_lists_are_refused() -> None:
    with pytest.raises(TypeError, match="put assigns to an array of speedcube or of NumPy, not"):
        sc.put([1, 2], [0], [1])


def test_take_and_choose_have_out() -> None:
    x, rows = np.arange(9.0).reshape(3, 3), np.empty((2, 3))
    mine = sc.zeros((2, 3))
    for out in (rows, mine):
        assert sc.take(sc.asarray(x), [2, 0], axis=0, out=out) is out
        np.testing.assert_array_equal(np.asarray(out), x[[2, 0]])
    assert sc.asarray(x).take([5, 1], out=sc.zeros(2)).tolist() == [5, 1]
    for out in (np.zeros(3), sc.zeros(3)):
        assert sc.choose([1, 0, 1], [x[0], x[1]], out=out) is out
        np.testing.assert_array_equal(np.asarray(out), [3, 1, 5])
    with pytest.raises(ValueError, match="out= has shape"):
        sc.take(sc.asarray(x), [0], axis=0, out=mine)
