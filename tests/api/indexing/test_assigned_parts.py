"""What is assigned to ``x.shape``, ``x.real`` and ``x.imag``; ``x.resize(n)``, ``del x[0]``."""

from __future__ import annotations

import numpy as np
import pytest

import speedcube as sc

COMPLEX = [[1 + 2j, 3, 4j], [0, -1, 2 - 2j]]


def _both(change, values, dtype=None):
    """The array after ``change`` of ours and of NumPy's, or the errors."""
    results = []
    for xp in (np, sc):
        x = xp.array(values, dtype)
        change(x, xp)
        results.append(np.asarray(x))
    wanted, found = results
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    assert np.array_equal(found, wanted)


def _swap(x, _):
    x.real, x.imag = x.imag.copy(), x.real.copy()


def _add_to_real(x, _):
    x.real += 1


def _multiply_imag(x, _):
    x.imag *= 2


def _assign(name, value):
    return lambda x, xp: setattr(x, name, value(xp))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    "change",
    [
        _assign("real", lambda xp: 5),
        _assign("imag", lambda xp: xp.array([1, 2, 3])),
        _assign("real", lambda xp: [[7.5], [8]]),
        _assign("imag", lambda xp: xp.array(1 / 3)),
        _add_to_real,
        _multiply_imag,
        _swap,
    ],
)
def test_parts_of_complex_numbers(change, dtype):
    _both(change, COMPLEX, dtype)


def test_the_real_part_of_real_numbers_is_the_array():
    _both(_assign("real", lambda xp: 5), [1.0, 2.0])
    _both(_add_to_real, [1, 2])


def test_a_part_that_is_not_there_or_does_not_fit_is_refused():
    with pytest.raises(TypeError, match="no imaginary part"):
        sc.ones(3).imag = 5
    with pytest.raises(ValueError, match="broadcast"):
        sc.array(COMPLEX).real = [1.0, 2.0]


def test_parts_change_no_other_array():
    x = sc.zeros(3, complex)
    double = x * 2
    other = x
    x.real = 1
    assert double.tolist() == [0, 0, 0]
    assert other.tolist() == [1, 1, 1]


@pytest.mark.parametrize("shape", [(3, 2), (-1, 2), 6, (1, -1), -1, [2, 3, 1]])
def test_a_shape_is_assigned(shape):
    _both(_assign("shape", lambda xp: shape), np.arange(6.0).reshape(2, 3))


def test_a_shape_that_does_not_fit_is_a_value_error():
    with pytest.raises(ValueError, match="reshape 6 elements"):
        sc.arange(6).shape = 4


def test_an_assigned_shape_changes_no_other_array():
    x = sc.zeros(4)
    x[0] = 1
    later = x + 0
    x.shape = 2, 2
    x[0, 0] = 5
    assert later.tolist() == [1, 0, 0, 0]
    assert x.tolist() == [[5, 0], [0, 0]]


@pytest.mark.parametrize("shape", [(5,), (2,), (2, 2), (0,), ((3, 2),), ()])
@pytest.mark.parametrize("values", [[3, 1, 2], [1 + 2j, 3, 0], [True, True, True], []])
def test_resize_cuts_or_adds_zeros(values, shape):
    _both(lambda x, _: x.resize(*shape, refcheck=False), values)


def test_resize_takes_no_negative_size():
    with pytest.raises(ValueError, match="0 or more"):
        sc.arange(3).resize(-1)


def test_elements_are_not_deleted():
    with pytest.raises(ValueError, match="cannot delete"):
        del sc.arange(3)[0]


def test_bytes_are_those_of_the_values():
    assert bytes(sc.arange(3)) == bytes(np.arange(3))
