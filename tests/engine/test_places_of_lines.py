"""Places in order by words that end with the place: as NumPy's stable sort has them, to the bit."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

from speedcube.engine.ordering import sorting
from speedcube.engine.ordering.by_line import places

_ONE: Final = 2.0**-52
FLOATS: Final = {
    "normals": lambda r, shape: r.normal(size=shape),
    "NaN and infinities": lambda r, shape: r.choice(
        [np.nan, -np.nan, np.inf, -np.inf, 1.0, -1e-310], shape
    ),
    "zeros": lambda r, shape: r.choice([-0.0, 0.0, 1.0], shape),
    "near": lambda r, shape: 1 + r.integers(0, 300, shape) * _ONE,
    "near and far": lambda r, shape: (
        r.choice([1e300, -1e300, 5e-324], shape) * (1 + r.integers(0, 3, shape) * _ONE)
    ),
    "infinities, then NaN": lambda r, shape: (
        np.where(r.random(shape) < 0.5, np.nan, np.inf) * np.where(r.random(shape) < 0.1, -1, 1)
    ),
}
INTEGERS: Final = ("int64", "uint64", "int32", "uint32", "int16", "uint8")


def _as_numpy(lines: Any) -> None:
    wanted = np.argsort(lines, axis=-1, kind="stable")
    np.testing.assert_array_equal(sorting.places_of_lines(lines), wanted)
    flat = lines.reshape(-1)
    np.testing.assert_array_equal(sorting.places_of(flat), np.argsort(flat, kind="stable"))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_floats(name: str, dtype: str) -> None:
    rng = np.random.default_rng(3)
    for line in (1, 2, 5, 6, 31, 32, 33, 257, 700):
        with np.errstate(all="ignore"):
            _as_numpy(FLOATS[name](rng, (9, line)).astype(dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype: str) -> None:
    rng, info = np.random.default_rng(4), np.iinfo(dtype)
    for line in (1, 2, 5, 6, 127, 128, 255, 256, 700):
        whole = rng.integers(info.min, info.max, (9, line), dtype, endpoint=True)
        _as_numpy(whole)
        _as_numpy(whole % 7)
        _as_numpy(whole // 2 * 2 % 7 == 0)


def test_bits_that_are_left_out_are_looked_at_where_they_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of two lines, one has elements that differ in their last bits alone, one has equal ones."""
    asked = list[int]()
    plain = np.argsort

    def argsort(values: Any, **kwargs: Any) -> Any:
        asked.append(len(values))
        return plain(values, **kwargs)

    lines = np.random.default_rng(5).normal(size=(3, 300)) * np.logspace(-300, 300, 300)
    lines[0, 10], lines[0, 200] = 1 + _ONE, 1.0
    lines[1, 10], lines[1, 200] = 1.0, 1.0
    wanted = plain(lines, axis=-1, kind="stable")
    monkeypatch.setattr(places.np, "argsort", argsort)
    np.testing.assert_array_equal(sorting.places_of_lines(lines), wanted)
    assert asked == [1]


def test_of_long_lines_only_what_is_alike_is_put_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    line = rng.normal(size=4500) * 10.0 ** rng.integers(-300, 300, 4500)
    line[100:140] = rng.permutation(np.concatenate([1 + _ONE * np.arange(37), [np.nan] * 3]))
    line[300:310] = line[100:110]
    wanted = np.argsort(line, kind="stable")
    with monkeypatch.context() as patch:
        patch.setattr(places.np, "argsort", lambda *a, **k: pytest.fail("all of it"))
        np.testing.assert_array_equal(sorting.places_of(line), wanted)
    near = np.tile(1 + _ONE * np.arange(5)[::-1], 900) * rng.choice([1e300, -1e-300], 4500)
    near[0] = 1e-300
    _as_numpy(near[np.newaxis])
