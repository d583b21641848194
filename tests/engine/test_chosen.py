"""What a mask chooses of an array in memory: NumPy's elements, whatever the mask is like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.pieces import chosen as module
from speedcube.engine.pieces.chosen import chosen, is_choosable
from speedcube.kernel.llvm import simd

SHARES = (0, 0.001, 0.02, 0.5, 0.98, 0.999, 1)
DTYPES = ("float64", "float32", "float16", "int64", "uint32", "int16", "uint8", "bool")


def _masks(size: int) -> Any:
    rng = np.random.default_rng(7)
    yield from (rng.random(size) < share for share in SHARES)
    for first, last in ((0, 1), (size - 1, size), (size // 2, size // 2 + 70), (1, size - 1)):
        mask = np.zeros(size, bool)
        mask[first:last] = True
        yield mask


@pytest.mark.parametrize("target", simd.runnable())
@pytest.mark.parametrize("workers", [1, 3])
def test_elements(target: str, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SHARE", 100)
    rng = np.random.default_rng(8)
    with simd.limited(target):
        for size in (1, 7, 64, 65, 1000, 5003):
            for dtype in DTYPES:
                values = (rng.random(size) * 200).astype(dtype)
                for mask in _masks(size):
                    made = chosen(values, mask, workers)
                    assert made.dtype == values.dtype
                    np.testing.assert_array_equal(made, values[mask])
                    assert made.flags.owndata


def test_nothing_is_written_behind_the_last() -> None:
    values, mask = np.arange(500.0), np.zeros(500, bool)
    mask[3:300:5] = True
    room = np.full(100, -1.0)
    out = np.frombuffer(room, float, mask.sum())

    def empty(size: int, dtype: Any) -> Any:
        assert size == len(out)
        return out

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.np, "empty", empty)
        chosen(values, mask, 1)
    np.testing.assert_array_equal(room[: len(out)], values[mask])
    assert (room[len(out) :] == -1).all()


def test_which_are_taken() -> None:
    assert is_choosable(np.zeros((3, 4)))
    assert not is_choosable(np.zeros((3, 4)).T)
    assert not is_choosable(np.zeros(3, complex))


@pytest.mark.parametrize("on", ["core", "cores:2"])
def test_of_arrays(on: str) -> None:
    a = np.random.default_rng(9).normal(size=(300, 50))
    x = sc.asarray(a)
    np.testing.assert_array_equal(x[x > 0.3].compute(on=on), a[a > 0.3])
    np.testing.assert_array_equal(x[a > 0.3].compute(on=on), a[a > 0.3])
    np.testing.assert_array_equal(x[x > 9].compute(on=on), a[a > 9])
    np.testing.assert_array_equal(x.T[x.T > 0].compute(on=on), a.T[a.T > 0])
    np.testing.assert_array_equal(np.asarray(x[x > 0]), a[a > 0])
    np.testing.assert_array_equal(x[x[:, 0] > 0].compute(on=on), a[a[:, 0] > 0])
    with sc.cache("1MB"):
        np.testing.assert_array_equal(x[x > 0.3].compute(on=on), a[a > 0.3])


def test_no_places_are_made_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.random.default_rng(9).normal(size=5000)
    x = sc.asarray(a)
    chosen_ones = x[x > 0]
    monkeypatch.setattr(
        "speedcube.api.indexing.places._flat_nonzero", lambda values: pytest.fail("places")
    )
    np.testing.assert_array_equal(chosen_ones.compute(on="core"), a[a > 0])
    assert chosen_ones._mask.count == (a > 0).sum()


def test_places_that_are_known_do_not_hinder_it(monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.random.default_rng(9).normal(size=5000)
    some = sc.asarray(a)[sc.asarray(a) > 0]
    assert len(some) == (a > 0).sum()
    asked = list[int]()
    monkeypatch.setattr(
        "speedcube.api.indexing.places.chosen", lambda *all: [asked.append(1), chosen(*all)][1]
    )
    np.testing.assert_array_equal(some.compute(on="core"), a[a > 0])
    assert asked == [1]


def test_the_mask_is_computed_once() -> None:
    """Values are read when they are computed, as always; which they are is known from then on."""
    a = np.arange(6000.0)
    x = sc.asarray(a)
    some = x[x % 2 == 0]
    np.testing.assert_array_equal(some.compute(on="core"), np.arange(0, 6000.0, 2))
    a += 1
    np.testing.assert_array_equal(some.compute(on="core"), np.arange(1, 6001.0, 2))
    assert some.size == 3000
    np.testing.assert_array_equal((some + 0 * some[0]).compute(on="core"), a[::2])
    np.testing.assert_array_equal(some.compute(on="core"), np.arange(1, 6001.0, 2))


def test_a_mask_of_ones_own_may_be_written_to_afterwards() -> None:
    a, mask = np.arange(100.0), np.zeros(100, bool)
    mask[::3] = True
    some = sc.asarray(a)[mask]
    assert len(some.compute(on="core")) == 34
    mask[:] = True
    assert len(some.compute(on="core")) == 34
