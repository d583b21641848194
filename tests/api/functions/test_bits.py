"""Bits of arrays in memory, which are read eight bytes at a time, and of all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import speedcube as sc

SHAPES: list[tuple[int, ...]] = [(0,), (7,), (8,), (9,), (1001,), (3, 16), (3, 17), ()]
VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda x: x,
    "every other": lambda x: x[..., ::2] if x.ndim else x,
    "turned": lambda x: x.T,
    "not the first": lambda x: x[1:] if x.ndim else x,
    "computed": lambda x: x ^ x.dtype.type(0),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", ["bool", "int8", "int32"])
def test_packbits(dtype: str, view: str) -> None:
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        values = np.where(rng.random(shape) < 0.5, 0, rng.integers(-128, 128, shape)).astype(dtype)
        for axis in (None, -1, *range(len(shape))):
            for order in ("big", "little"):
                theirs = np.packbits(VIEWS[view](values), axis=axis, bitorder=order)
                ours = sc.packbits(VIEWS[view](sc.asarray(values)), axis=axis, bitorder=order)
                assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
                np.testing.assert_array_equal(ours.compute(), theirs)


def test_bytes_of_bools_that_are_neither_0_nor_1() -> None:
    odd = np.array([2, 0, 255, 1, 0, 0, 128, 0, 7], "uint8").view(bool)
    assert sc.packbits(odd).compute().tolist() == np.packbits(odd).tolist() == [178, 128]


@pytest.mark.parametrize("name", ["packbits", "unpackbits"])
def test_what_lies_in_memory_is_given_to_numpy_and_the_law_holds(name: str) -> None:
    x = sc.asarray(np.arange(8000) % 256, dtype="uint8")
    for array in (x, x ^ 1):
        moved = getattr(sc, name)(array)
        assert f": {name} of (8000,)" in str(moved.plan("core"))
        assert moved.explain().covered
        wanted = getattr(np, name)(array.compute())
        for rung in ("core", "cores:2"):
            np.testing.assert_array_equal((moved + 0).compute(on=rung), wanted)


@pytest.mark.parametrize("name", ["packbits", "unpackbits"])
def test_what_is_drawn_or_long_is_part_of_a_kernel(name: str) -> None:
    drawn = sc.random.default_rng(0).integers(0, 256, 8000, dtype="uint8")
    long = sc.asarray(np.zeros(1 << 24 | 1, "uint8"))
    for array in (drawn, long):
        assert f": {name} of" not in str(getattr(sc, name)(array).plan("core"))
    np.testing.assert_array_equal(
        getattr(sc, name)(drawn).compute(), getattr(np, name)(drawn.compute())
    )
