"""The kernel of a line that slides along another: the bits of NumPy's steps, for every dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.routines.by_kernels import KERNELS
from speedcube.engine.routines.slid import Slides
from speedcube.expr.routines.sliding import SLID
from speedcube.expr.routines.table import ROUTINES

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-320, 1e300)


def line(rng: np.random.Generator, size: int, dtype: str) -> Any:
    numbers = rng.normal(size=size) * 50
    if dtype.startswith("float"):
        odd = rng.random(size) < 0.1
        numbers[odd] = rng.choice(SPECIAL, odd.sum())
    with np.errstate(all="ignore"):
        return numbers.astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32", *INTEGERS])
def test_bits_of_the_steps(dtype: str) -> None:
    rng = np.random.default_rng(5)
    slides = Slides(0)
    for n, k in ((1, 1), (1, 9), (40, 3), (63, 64), (64, 64), (301, 5), (999, 31), (1000, 1)):
        long, short = line(rng, n, dtype), line(rng, k, dtype)
        most = n + k - 1
        ranges = [
            (0, most),
            (k - 1, max(0, n - k + 1)),
            (0, 1),
            (most - 1, 1),
            (most // 3, most // 2),
        ]
        for one in (long, long[::-1], np.repeat(long, 3)[::3]):
            for first, results in ranges:
                with np.errstate(all="ignore"):
                    wanted = ROUTINES[SLID].run(np, one, short[::-1], first, results)
                made = slides(np, one, short[::-1], first, results)
                assert made.dtype == wanted.dtype
                assert made.tobytes() == wanted.tobytes(), (n, k, first, results)
    assert [key[0] for key in slides.kernels] == [np.dtype(dtype).char]


def test_what_was_not_met_often_has_no_kernel() -> None:
    slides = Slides(1000)
    long, short = np.arange(100.0), np.ones(3)
    for _ in range(3):
        np.testing.assert_array_equal(
            slides(np, long, short, 2, 98), np.convolve(long, short, "valid")
        )
        assert not slides.kernels
    slides(np, long, short, 2, 98)
    assert len(slides.kernels) == 1
    for dtype in ("float16", "bool"):  # no kernel's
        one = (long > 3).astype(dtype)
        for _ in range(9):
            found = slides(np, one, one[:5], 0, 104)
            wanted = ROUTINES[SLID].run(np, one, one[:5], 0, 104)
            assert found.dtype == dtype
            assert found.tobytes() == wanted.tobytes()
    assert len(slides.kernels) == 1


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8"])
def test_convolutions_take_it(dtype: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    long, short = line(rng, 40_000, dtype), line(rng, 11, dtype)
    arrays = [(long[:900], short), (long, short), (long[:5], short), (long[::-7], short)]
    monkeypatch.setitem(KERNELS, SLID, Slides(1 << 60))
    steps = [sc.convolve(*some, mode).compute("core") for some in arrays]
    monkeypatch.setitem(KERNELS, SLID, slides := Slides(0))
    for on in ("core", "cores:2"):
        for some, wanted in zip(arrays, steps, strict=True):
            assert sc.convolve(*some, mode).compute(on).tobytes() == wanted.tobytes()
            assert sc.correlate(*some, mode).dtype == wanted.dtype
    assert slides.kernels
