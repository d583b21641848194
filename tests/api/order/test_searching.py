"""Binary search in a kernel: NumPy's places, for every dtype, line and way to compute it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.expr.gather import searched

RNG: Final = np.random.default_rng(5)
DTYPES: Final = (
    "bool",
    "int8",
    "uint8",
    "int32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
)
LARGE: Final = 100_000  # elements that a kernel computes, not NumPy


def _numbers(dtype: str, size: int) -> Any:
    numbers = RNG.integers(0, 60, size).astype(dtype)
    if numbers.dtype.kind == "f" and size:
        numbers[:: max(size // 3, 1)] = [np.nan, np.inf, -0.0, -np.inf][size % 4]
    return numbers


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 64, 1000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_places_are_numpys(dtype: str, size: int, side: Any) -> None:
    line = np.sort(_numbers(dtype, size))
    for count in (7, LARGE):
        wanted = _numbers(dtype, count)
        got = sc.searchsorted(line, wanted, side).compute(on="core")
        np.testing.assert_array_equal(got, np.searchsorted(line, wanted, side))
        assert got.dtype == np.int64


LINE: Final = np.sort(RNG.normal(size=3000))
LINES: Final[dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]]] = {
    "strided": (lambda x: x[5::3], lambda: LINE),
    "backwards": (lambda x: x[::-1], lambda: LINE[::-1].copy()),
    "computed": (lambda x: x * 2 + 1, lambda: LINE),
    "running sum": (lambda x: np.cumsum(abs(x)), lambda: LINE),
    "sorted": (lambda x: np.sort(-x), lambda: LINE),
    "a part": (lambda x: np.stack([x, x * 3])[1], lambda: LINE),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_of_every_kind(name: str) -> None:
    make, data = LINES[name]
    wanted = RNG.normal(size=(400, 300))
    got = sc.searchsorted(make(sc.asarray(data())), sc.asarray(wanted).T).compute(on="cores:2")
    np.testing.assert_array_equal(got, np.searchsorted(make(data()), wanted.T))


@pytest.mark.parametrize("line", [sc.arange(-3, 3), sc.linspace(-1, 1, 50), sc.zeros(9)])
def test_lines_that_are_made_of_nothing(line: sc.Array) -> None:
    wanted = RNG.normal(size=LARGE)
    got = sc.searchsorted(line, wanted).compute(on="core")
    np.testing.assert_array_equal(got, np.searchsorted(line.compute(), wanted))


def test_a_line_of_random_numbers_is_drawn_once() -> None:
    line = sc.sort(sc.random.default_rng(0).normal(size=5000))
    wanted = sc.random.default_rng(1).normal(size=(300, 1000))
    places = sc.searchsorted(line, wanted)
    np.testing.assert_array_equal(
        places.compute(on="cores:2"), np.searchsorted(line.compute(), wanted.compute())
    )
    drawn = sc.searchsorted(sc.random.default_rng(0).normal(size=5000), wanted)
    assert [stage.shape for stage in drawn.plan(on="core").stages] == [(5000,), (300, 1000)]


def test_a_line_out_of_order_gives_one_answer_everywhere() -> None:
    """NumPy's would follow from the values before; ours are the steps of one search."""
    line, wanted = RNG.normal(size=1000), RNG.normal(size=LARGE)
    places = sc.searchsorted(line, wanted)
    kernel = places.compute(on="core")
    few = [int(sc.searchsorted(line, wanted[k : k + 1])[0]) for k in range(50)]
    np.testing.assert_array_equal(kernel[:50], few)
    np.testing.assert_array_equal(kernel, searched("search_left", line, wanted))
    np.testing.assert_array_equal(places.compute(on="cores:2"), kernel)


def test_a_search_is_one_operation_with_a_law() -> None:
    places = sc.searchsorted(sc.asarray(LINE), sc.asarray(LINE[:500]), "right")
    assert "search_right(a, b)" in repr(places)
    assert "exact: a number of elements" in str(places.explain())
    with sc.on("core", strict=True):
        assert int(places.sum()) == 500 * 501 // 2


def test_lengths_of_lines_share_a_kernel() -> None:
    def source(size: int) -> str:
        line, wanted = sc.asarray(LINE[:size]), sc.asarray(LINE)
        return str(sc.searchsorted(line, wanted).source("cpu"))

    assert source(10) == source(2999)


def test_interp_is_a_search_and_its_points() -> None:
    at, values = RNG.normal(size=LARGE), RNG.normal(size=LINE.size)
    y = sc.interp(at, LINE, values)
    np.testing.assert_array_equal(y.compute(on="core"), np.interp(at, LINE, values))
    assert str(y.plan()).count("stage ") == 1
