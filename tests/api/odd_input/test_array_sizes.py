"""Sizes that were computed: arrays of ours as shapes, and as each number in one."""

from __future__ import annotations

import numpy as np
import pytest

import speedcube as sc

SHAPE = np.array([2, 3])
CALLS = {
    "zeros": lambda xp, s: xp.zeros(s),
    "zeros of a tuple": lambda xp, s: xp.zeros((s[0], 2, s[1])),
    "zeros of a list": lambda xp, s: xp.zeros([s[0], s[1]]),
    "zeros of one": lambda xp, s: xp.zeros(s.max() + 1),
    "full": lambda xp, s: xp.full(s, 1.5),
    "eye": lambda xp, s: xp.eye(s[1]),
    "reshape": lambda xp, s: xp.arange(6).reshape(s),
    "reshape by numbers": lambda xp, s: xp.arange(6).reshape(s[0], s[1]),
    "reshape with -1": lambda xp, s: xp.arange(6).reshape(s[0], -1),
    "reshape to one": lambda xp, s: xp.arange(6).reshape(s[0] * s[1]),
    "reshape, a function": lambda xp, s: xp.reshape(xp.arange(6), s),
    "tile": lambda xp, s: xp.tile(xp.arange(2), s),
    "resize": lambda xp, s: xp.resize(xp.arange(2), s),
    "broadcast_to": lambda xp, s: xp.broadcast_to(1.0, s),
    "broadcast_shapes": lambda xp, s: xp.zeros(xp.broadcast_shapes(s, 3)),
    "indices": lambda xp, s: xp.indices(s),
    "linspace": lambda xp, s: xp.linspace(0, 1, s[1]),
    "hanning": lambda xp, s: xp.hanning(s[1]),
    "kaiser": lambda xp, s: xp.kaiser(s[1], 2.0),
    "roll": lambda xp, s: xp.roll(xp.arange(6).reshape(2, 3), s, (0, 1)),
}  # fmt: skip


@pytest.mark.parametrize("given", [np.int64, np.int8, np.uint64])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_computed_size_is_a_size(call, given):
    wanted = call(np, SHAPE.astype(given))
    found = call(sc, sc.asarray(SHAPE.astype(given)))
    assert found.shape == wanted.shape
    assert np.allclose(np.asarray(found), wanted, equal_nan=True)


@pytest.mark.parametrize("size", [2.0, True, [2.0, 3.0], [True, False]])
def test_a_size_is_an_integer(size):
    with pytest.raises(TypeError):
        sc.zeros(sc.asarray(size))
    with pytest.raises(TypeError):
        sc.arange(6).reshape(sc.asarray(size))


def test_a_size_is_not_negative():
    with pytest.raises(ValueError, match="0 or more"):
        sc.zeros(sc.asarray([2, -3]))


def test_draws_take_computed_sizes():
    rng = sc.random.default_rng(0)
    assert rng.normal(size=sc.asarray([2, 3])).shape == (2, 3)
