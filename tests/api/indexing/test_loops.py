"""Loops over arrays, and indices that are single numbers of other arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.api.indexing import walked
from speedcube.engine.stepwise import choice
from speedcube.expr.nodes import Leaf, Stored


def _is_at_hand(array: Any) -> bool:
    return type(array._expr) is Leaf and type(array._expr.source) is Stored


@pytest.mark.parametrize("dtype", ["float64", "int8", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(12,), (9, 3)])
def test_a_loop_computes_few_elements_once(dtype: str, shape: tuple[int, ...]) -> None:
    numbers = (np.arange(np.prod(shape)).reshape(shape) % 5).astype(dtype)
    x = sc.asarray(numbers)[::-1] == 3 if dtype == "bool" else sc.asarray(numbers)[::-1] * 2
    want = numbers[::-1] == 3 if dtype == "bool" else numbers[::-1] * 2
    rows = list(x)
    assert dtype == "complex64" or all(map(_is_at_hand, rows))
    assert not _is_at_hand(x)
    for row, wanted in zip(rows, want, strict=True):
        assert row.dtype == wanted.dtype
        np.testing.assert_array_equal(row.compute(), wanted)


def test_a_loop_has_the_values_of_its_beginning() -> None:
    memory = np.arange(10.0)
    met = []
    for row in sc.asarray(memory) + 1:
        memory[:] = 0
        met.append(float(row))
    assert met == list(range(1, 11))


def test_who_asks_for_a_loop_and_takes_no_step_computes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As `np.iterable` does, and with it SciPy."""
    x = sc.arange(12) * 2
    monkeypatch.setattr(sc.Array, "compute", lambda *_, **__: pytest.fail("it was computed"))
    assert np.iterable(x)
    with pytest.raises(TypeError):
        iter(x[0])


@pytest.mark.parametrize(
    "x",
    [
        sc.arange(walked.LEAST - 1) * 2,  # taken apart
        sc.arange(2 * walked.FEW).reshape(16, -1) * 2,  # many
        sc.ones((16, 1 << 14)).sum(axis=1) * 2,  # made of many
    ],
)
def test_other_loops_are_lazy(x: Any) -> None:
    rows = list(x)
    assert not any(map(_is_at_hand, rows))
    np.testing.assert_array_equal(sc.stack(rows).compute(), x.compute())


def test_a_loop_over_no_axes_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="0-d"):
        iter(sc.asarray(1.0) + 1)


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.int16])
def test_integers_at_hand_are_indices_as_numbers_are(kind: Any) -> None:
    x = sc.asarray(np.arange(24.0).reshape(4, 6))
    i, j = sc.asarray(np.array([3, 1, 2], kind))[0], sc.asarray(kind(1)) + kind(1)
    for key, same in ((i, 3), ((i, j), (3, 2)), ((slice(1, 3), j), (slice(1, 3), 2))):
        with choice.limited_to(1 << 14, 1 << 17):
            made = x[key]._expr
        want = x[same]._expr
        assert isinstance(made, Leaf)
        assert isinstance(want, Leaf)
        assert (made.offset, made.strides, made.shape) == (want.offset, want.strides, want.shape)
    with pytest.raises(IndexError):
        x[sc.asarray(kind(4))]


def test_booleans_without_axes_stay_masks() -> None:
    x = np.arange(4.0)
    assert sc.asarray(x)[sc.asarray(x)[1] == 1].shape == (1, 4)


def test_counts_in_a_loop_stay_in_memory() -> None:
    """As the table of what was meant and what was found is counted."""
    meant, found = np.arange(80) % 3, np.arange(80) % 4
    table, want = sc.zeros((3, 4), int), np.zeros((3, 4), int)
    pairs = zip(sc.asarray(meant) + 0, sc.asarray(found) * 1, strict=True)
    for (i, j), (a, b) in zip(pairs, zip(meant, found, strict=True), strict=True):
        table[i, j] += 1
        want[a, b] += 1
    assert _is_at_hand(table)
    np.testing.assert_array_equal(table.compute(), want)
