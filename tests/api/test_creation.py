"""Arrays of data: what is read when it is computed, and what is copied at once."""

from __future__ import annotations

import numpy as np

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
