"""A few elements of a long sorted line are selected: the bits of the sorted line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import speedcube as sc
from speedcube.expr.through.windows import LONG, MOST

RNG = np.random.default_rng(7)
SIZE = LONG + 5
LINES: dict[str, NDArray[Any]] = {
    "float64": RNG.normal(size=SIZE),
    "zeros": RNG.choice([0.0, -0.0], SIZE),
    "not finite": RNG.choice([np.nan, 1.0, -0.0, 0.0, np.inf, -np.inf], SIZE),
    "float32": RNG.normal(size=SIZE).astype(np.float32),
    "float16": RNG.normal(size=SIZE).astype(np.float16),
    "ties": RNG.integers(-5, 5, SIZE),
    "uint8": RNG.integers(0, 256, SIZE).astype(np.uint8),
    "bool": RNG.random(SIZE) < 0.5,
}
WINDOWS = [
    slice(0, 3),
    slice(-3, None),
    slice(None, None, -SIZE // 20),
    slice(9, 3, -1),
    slice(7, 7),
    slice(0, MOST + 1),
    0,
    -1,
    SIZE // 2,
]


def is_selected(array: sc.Array) -> bool:
    return "order_statistics" in str(array.plan())


def same(one: Any, other: Any) -> None:
    a, b = np.asarray(one), np.asarray(other)
    assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


@pytest.mark.parametrize("name", LINES)
def test_windows_of_a_sorted_line_have_its_bits(name: str) -> None:
    line = sc.sort(LINES[name])
    whole = np.asarray(line)
    for window in WINDOWS:
        same(line[window], whole[window])


@pytest.mark.parametrize("name", LINES)
def test_a_sorted_part_of_a_partition_has_the_bits_of_the_sorted_line(name: str) -> None:
    whole = np.asarray(sc.sort(LINES[name]))
    for place in (3, SIZE - 10):
        parts = sc.partition(LINES[name], place)
        for part in (slice(place, None), slice(None, place), slice(None, place + 1)):
            same(sc.sort(parts[part]), whole[part])


def test_few_elements_are_selected_and_many_are_sorted() -> None:
    line = sc.sort(LINES["float64"])
    assert is_selected(line[:MOST])
    assert is_selected(line[-1])
    assert not is_selected(line[: MOST + 1])
    assert not is_selected(sc.sort(LINES["float64"][: LONG - 1])[:3])
    assert is_selected(sc.sort(sc.partition(LINES["float64"], -10)[-10:]))
    assert is_selected(sc.sort(sc.partition(LINES["float64"], 10)[:10]))


def test_a_window_that_is_no_part_is_read_from_the_partition() -> None:
    parts = sc.partition(LINES["float64"], -10)
    window = sc.sort(parts[-12:])
    assert not is_selected(window)
    same(window, np.sort(np.asarray(parts)[-12:]))
