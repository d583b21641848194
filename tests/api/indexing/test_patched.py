"""Rows of which little is left between boxes: the boxes, and then what is left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import speedcube as sc
from speedcube.engine.pieces import assigned, bands, patched
from speedcube.engine.pieces.patched import InPatches, Patched

SHAPE = (80, 500)
BASES: dict[str, Any] = {
    "in C order": lambda m, a: m.asarray(a) * 2,
    "turned": lambda m, a: m.asarray(np.asfortranarray(a)) - 1,
    "reversed": lambda m, a: m.asarray(a)[::-1, ::-1] + 1,
    "a view of what is computed": lambda m, a: (m.asarray(a) * 2)[:, ::-1] + 1,
    "with a row": lambda m, a: m.asarray(a) + m.asarray(a)[3],
    "with a column": lambda m, a: m.asarray(a) + m.asarray(a)[:, 4:5],
    "between rows": lambda m, a: m.asarray(np.repeat(a, 2, axis=0))[::2] * 3,
    "other lines": lambda m, a: (m.asarray(np.tile(a, (1, 2)))[:, :500] * 2).reshape(SHAPE),
    "places": lambda m, a: m.arange(40_000.0).reshape(SHAPE) * 3,
    "float32": lambda m, a: m.asarray(a.astype("float32")) + np.float32(1),
    "int16": lambda m, a: m.asarray((a % 90).astype("int16")) + np.int16(1),
}


def _numbers() -> Any:
    return np.arange(40_000.0).reshape(SHAPE) / 7


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assigned, "LEAST", 1)
    monkeypatch.setattr(bands, "_LEAST", 1)
    monkeypatch.setattr(bands, "_ROWS", 1)
    monkeypatch.setattr(patched, "_SELECT", 1e9)


def _grid(array: Any, side: int, gap: int) -> None:
    height, width = array.shape[0] // side, array.shape[1] // side
    for k in range(side * side):
        i, j = divmod(k, side)
        rows = slice(i * height, (i + 1) * height - gap)
        array[rows, j * width : (j + 1) * width - gap] = k


def _made(x: Any) -> list[Any]:
    base, pieces = x._expr.source.boxes.given()
    return list(bands.banded(base, pieces))


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("workers", [1, 3])
def test_a_grid_of_boxes_with_gaps(small: None, name: str, workers: int) -> None:
    x, want = BASES[name](sc, _numbers()), np.array(BASES[name](np, _numbers()))
    for array in (x, want):
        _grid(array, 4, 3)
    kinds = {type(one) for one in _made(x)}
    assert (Patched in kinds) == (name != "places")  # positions do not lie in memory
    result = assigned.put_together(x._expr, workers)
    if name == "turned":  # results in another order are planned
        assert result is None
    else:
        assert result is not None
        assert result.tobytes() == want.tobytes()
    assert x.compute(on="core").tobytes() == want.tobytes()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(data=st.data())
def test_boxes_anywhere(small: None, data: Any) -> None:
    name = data.draw(st.sampled_from([name for name in BASES if name != "places"]))
    x, want = BASES[name](sc, _numbers()), np.array(BASES[name](np, _numbers()))
    rows = sorted(data.draw(st.sets(st.integers(1, 79), min_size=1, max_size=3)))
    for first, end in zip([0, *rows], [*rows, 80], strict=True):
        columns = sorted(data.draw(st.sets(st.integers(2, 499), min_size=2, max_size=8)))
        gap = data.draw(st.integers(0, 4))
        for k, (low, high) in enumerate(zip([0, *columns], [*columns, 500], strict=True)):
            for array in (x, want):
                array[first:end, low : max(low, high - gap)] = k - 0.0
    for array in (x, want):
        array[10:12] = 5
        array[40:60, 3:9] = np.arange(6)
    result = assigned.put_together(x._expr, data.draw(st.sampled_from([1, 2])))
    if result is not None:
        assert result.tobytes() == want.tobytes()
    assert x.compute(on="core").tobytes() == want.tobytes()


def test_a_kernel_is_looked_for_once_for_each_shape(
    small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, called = list[Any](), patched.called

    def noted(root: Any) -> Any:
        asked.append(root.shape)
        return called(root)

    monkeypatch.setattr(patched, "called", noted)
    x = sc.asarray(_numbers()) * 2
    _grid(x, 4, 3)
    assert assigned.put_together(x._expr, 1) is not None
    assert asked == [(17, 3)]


def test_which_boxes_are_patches() -> None:
    base = (sc.asarray(np.zeros((3000, 3000))) + 0)._expr
    near, far = [slice(500 * k, 500 * k + 5) for k in range(6)], [slice(0, 5)] * 60
    assert patched.is_patched(base, [500] * 6, [near] * 6)
    assert not patched.is_patched(base, [3000], [far])  # sixty lines of memory in each row
    assert not patched.is_patched(base, [500] * 6, [[slice(0, 2000)]] * 6)  # much is left
    assert not patched.is_patched(base, [500] * 6, [[slice(0, 1)]] * 6)  # has no step along it
    widths = [[slice(100 * k, 101 * k + 2) for k in range(9)]] * 6
    assert not patched.is_patched(base, [500] * 6, widths)  # a kernel for each
    flat = (sc.asarray(np.zeros((300, 300, 100))) + 0)._expr
    assert not patched.is_patched(flat, [500] * 6, [near] * 6)


def test_some_rows_of_patches(small: None) -> None:
    x, want = sc.asarray(_numbers()) * 2, _numbers() * 2
    for array in (x, want):
        _grid(array, 4, 3)
    patches = next(one for one in _made(x) if type(one) is Patched)
    out = np.zeros(SHAPE)
    box = InPatches(0, 17, out[:17], patches, patched.Gaps(patches.base))
    for low, high in ((0, 4), (4, 5), (9, 30)):
        box.make(low, high)
    done = [*range(5), *range(9, 17)]
    assert out[done].tobytes() == want[done].tobytes()
    assert not out[5:9].any()
