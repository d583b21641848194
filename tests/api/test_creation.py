"""Arrays of data: what is read when it is computed, and what is copied at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import speedcube as sc


def test_array_copies_at_once() -> None:
    """A write in between changes what `asarray` reads, and nothing of what `array` holds."""
    data = np.arange(4.0)
    reads, holds = sc.asarray(data)[1:] * 2, sc.array(data)[1:] * 2
    narrow = sc.array(data, "float32")
    data[:] = 9
    assert reads.compute().tolist() == [18, 18, 18]
    assert holds.compute().tolist() == [2, 4, 6]
    assert narrow.dtype == np.float32
    assert narrow.compute().tolist() == [0, 1, 2, 3]
    assert sc.array([1, 2]).compute().tolist() == [1, 2]
    assert sc.array(reads) is not reads
    assert sc.array(reads).compute().tolist() == [18, 18, 18]
    assert sc.array(2.5).compute() == 2.5
    view = np.arange(10)[::-2]
    copied = sc.array(view)
    view[:] = 0
    assert copied.compute().tolist() == [9, 7, 5, 3, 1]


def test_a_copy_by_asarray_is_an_array_of_its_own() -> None:
    x = sc.asarray(np.arange(5.0))
    copied, same = sc.asarray(x, copy=True), sc.asarray(x)
    copied[2:] = 9
    assert same is x
    np.testing.assert_array_equal(x.compute(), np.arange(5.0))
    np.testing.assert_array_equal(copied.compute(), [0, 1, 9, 9, 9])


@pytest.mark.parametrize("make", [sc.array, sc.asarray])
@pytest.mark.parametrize(
    "value", [[300], 300, (1, [300]), [1.5, 300.7], [np.int64(-129)], range(126, 130), [math.inf]]
)
def test_numbers_that_an_integer_dtype_does_not_hold(make: Any, value: Any) -> None:
    value = [1, 300] if isinstance(value, tuple) else value
    with pytest.raises(OverflowError, match=r"does not fit int8 \(-128\.\.127\)"):
        make(value, dtype="int8")
    with pytest.raises(OverflowError):
        np.array(value, dtype="int8")


def test_numbers_that_are_no_integers() -> None:
    with pytest.raises(ValueError, match="NaN to integer"):
        sc.array([1.0, math.nan], dtype="int16")
    with pytest.raises(TypeError, match="complex"):
        sc.array([1j], dtype="int16")
    with pytest.raises(ValueError, match="inhomogeneous"):
        sc.array([[1], [1, 2]], dtype="int16")
    assert sc.array([2**63, 1.5], dtype="uint64").tolist() == [2**63, 1]
    assert sc.array(np.array([300]), dtype="uint8").tolist() == [44]  # an array's are cast
    assert sc.array([sc.asarray(7), 8], dtype="uint8").tolist() == [7, 8]
