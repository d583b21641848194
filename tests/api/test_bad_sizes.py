"""Sizes beyond any memory, and what is chosen and assigned by bad keys: refused as by NumPy.

Nothing here may take time or memory: arrays are lazy, so a petabyte of padding is an array whose
elements can be read, and whose whole is refused with the bytes that it would need.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import MemoryLimitError, SpeedcubeError

X: Final = sc.arange(5.0)
MANY: Final = 10**15

HUGE: Final = """
np.repeat(x, MANY)
np.repeat(x, [MANY] * 5)
np.tile(x, MANY)
np.resize(x, MANY)
np.zeros_like(x, shape=MANY)
np.broadcast_to(x, (MANY, 5)) + 1
np.kron(x, np.broadcast_to(x, (MANY, 5)))
np.outer(np.broadcast_to(x[:1], 10**9), np.broadcast_to(x[:1], 10**9))
np.vander(x, MANY)
np.linspace(x, x + 1, MANY)
np.diag(np.broadcast_to(x[:1], 10**9))
np.convolve(x, np.broadcast_to(x[:1], MANY))
np.unpackbits(np.broadcast_to(x[:1].astype('uint8'), MANY))
np.concatenate([np.broadcast_to(x[:1], MANY)] * 2)
np.roll(np.broadcast_to(x[:1], MANY), 3)
np.pad(x, MANY, 'mean')
np.pad(x, MANY, 'median')
np.pad(x, MANY, 'linear_ramp')
np.pad(x, MANY, 'reflect', reflect_type='odd')
sc.zeros(MANY)
sc.arange(MANY)
sc.linspace(0, 1, MANY)
sc.eye(10**9)
sc.indices((10**9, 10**9))
sc.tri(10**9)
sc.tril_indices(10**6)
sc.hanning(MANY)
sc.mgrid[0:MANY]
sc.diag_indices(MANY)[0]
sc.random.normal(size=MANY)
"""
UNCOUNTABLE: Final = """
np.repeat(x, 10**19)
np.tile(x, (10**10, 10**10))
np.pad(x, 10**19)
np.ones_like(x, shape=(10**10, 10**10))
sc.full(10**19, 1)
sc.zeros((2**40, 2**40))
np.vander(x, 10**19)
"""


def value(text: str, **names: Any) -> Any:
    return eval(text, {"np": np, "sc": sc, "MANY": MANY, **names})


@pytest.mark.parametrize("text", HUGE.strip().splitlines())
def test_what_fits_into_no_memory_is_refused_with_its_bytes(text: str) -> None:
    with pytest.raises(MemoryLimitError):
        value(text, x=X).compute(on="core")


@pytest.mark.parametrize("text", UNCOUNTABLE.strip().splitlines())
def test_what_cannot_be_counted_is_refused_at_once(text: str) -> None:
    with pytest.raises(ValueError, match=r"2\*\*63|positions") as caught:
        value(text, x=X)
    assert isinstance(caught.value, SpeedcubeError)


@pytest.mark.parametrize("mode", ["constant", "edge", "wrap", "reflect", "symmetric"])
def test_a_petabyte_of_padding_can_be_read(mode: str) -> None:
    wide = np.pad(X, (MANY, 7), mode)
    assert wide.shape == (MANY + 12,)
    small = np.pad(np.arange(5.0), (40, 7), mode)  # 40 and MANY are whole turns of each mode
    assert wide[-12:].tolist() == small[-12:].tolist()
    with pytest.raises(MemoryLimitError):
        wide.compute(on="core")


@pytest.mark.parametrize("mode", ["edge", "wrap", "reflect", "symmetric"])
@pytest.mark.parametrize("extent", [1, 2, 5])
def test_many_turns_are_those_of_numpy(mode: str, extent: int) -> None:
    numbers = np.arange(extent * 3).reshape(extent, 3)
    for widths in (((1000, 333), (0, 0)), ((0, 999), (2, 301))):
        ours = np.pad(sc.asarray(numbers), widths, mode)
        np.testing.assert_array_equal(ours.compute(), np.pad(numbers, widths, mode))


def test_many_powers_are_those_of_numpy() -> None:
    numbers = np.array([1, -1, 2, 3])
    for increasing in (False, True):
        ours = sc.vander(numbers, 100, increasing)
        np.testing.assert_array_equal(ours.compute(), np.vander(numbers, 100, increasing))


# Masks of another shape, and bad keys, of each function that chooses or assigns.
KEYS: Final = """
a[MASK]
a[:, MASK]
a[FLAT[:2]]
a[[True, False]]
a[1.5]
a['x']
a[[0, 1], [0, 1, 2]]
a[0, 0, 0]
a[7]
a[:, -9]
a[..., ...]
a[::0]
np.compress(MASK, a)
np.compress([True] * 9, a, axis=0)
np.compress(FLAT, a, axis=5)
np.extract(FLAT[:2], [])
np.select([MASK], [a])
np.select([a], [a])
np.select([FLAT], [a, a])
np.select([], [])
np.choose([0, 9], [[1, 2], [3, 4]])
np.choose([0.5], [[1]])
np.take(a, [0, 99])
np.take(a, 0, axis=5)
np.take(a, [0], mode='zz')
np.take_along_axis(a, FLAT, axis=1)
np.where(MASK, a, 0)
np.where(MASK, a)
np.ravel_multi_index(([0, 5], [1, 2]), (2, 3))
np.unravel_index(7, (2, 3))
np.unravel_index(-1, (2, 3))
np.put(a, [99], 1)
np.put(a, [0], [[1], [2, 3]])
np.put(a, [0], 1, mode='zz')
np.place(a, FLAT, [])
np.place(a, MASK, [1])
np.putmask(a, MASK, 1)
np.copyto(a, FLAT)
np.copyto(a, a + 1, where=MASK)
np.copyto(a.astype(int), a)
np.fill_diagonal(a[0], 1)
np.put_along_axis(a, np.zeros(3, int), 1, axis=1)
np.put_along_axis(a, np.zeros((3, 4), int) + 9, 1, axis=1)
a.__setitem__(MASK, 1)
a.__setitem__(9, 1)
a.__setitem__(a > 3, [1, 2, 3])
a.__setitem__((0, 0, 0), 1)
a.__setitem__('x', 1)
a.__setitem__(0, 'x')
a.astype('uint8').__setitem__(0, 300)
a.__setitem__(0, [1, 2])
a.__setitem__(slice(None), [[1], [2, 3]])
np.ix_([[1]])
np.apply_along_axis(np.sum, 5, a)
np.apply_over_axes(np.sum, a, [0, 7])
np.piecewise(a, [a < 2], [1, 2, 3])
np.fromiter([1], int, count=3)
np.linspace(0, 1, -1)
np.split(a, 5)
np.stack([a, a[0]])
np.concatenate([a, a[0]])
np.block([[a], [a[0], a]])
"""


@pytest.mark.parametrize("text", KEYS.strip().splitlines())
def test_bad_keys_are_refused_as_by_numpy(text: str) -> None:
    a, names = np.arange(12.0).reshape(3, 4), {"MASK": np.ones((2, 5), bool), "FLAT": [True] * 3}
    with pytest.raises(Exception) as numpys:  # noqa: PT011
        value(text, a=a, **names)
    kinds = (numpys.type, *(k for k in (TypeError,) if numpys.type in (AttributeError,)))
    with pytest.raises(kinds) as ours:
        np.asarray(value(text, a=sc.asarray(a), **{**names, "np": sc}))
    assert isinstance(ours.value, SpeedcubeError), repr(ours.value)
