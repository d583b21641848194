"""Random expressions have the same bits however they are computed, and so those once wrong."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from speedcube.engine.stepwise import choice

from .routes import LARGE, ROUTES, SHAPES, Case, case, differences
from .texts import numbers

SAMPLE: Final = 150
PARTS: Final = 10  # of the slow ones, so that several run at a time
MANY: Final = 300
REFUSED_AT_MOST: Final = 0.35  # the dtypes, axes and lengths that a text needs are not looked for

# Texts that had other bits on one way, or failed there, each with the dtypes and shapes for it.
FOUND: Final = (
    # A histogram of 513 to 16,384 numbers counted the places of their bins.
    ("np.histogram(x, 7, (-3, 3))[0]", "float64 float32 int16", ((1000, 3), (4096,), (2, 3, 100))),
    # What a library takes was seen as if a window of a file had no gaps.
    ("np.cumprod(x, axis=0)", "complex128 complex64", ((257, 3), (5, 3))),
    ("np.prod(x, axis=0)", "complex128 complex64", ((257, 3), (5, 3))),
    ("np.cumprod(np.swapaxes(x, 0, 1), axis=1)", "complex128", ((40, 7),)),
    # Of one complex number, both parts of which are zeros below zero.
    ("np.prod(-x, axis=None)", "complex128 complex64", ((1,), (2,))),
    ("np.prod(np.cos(x - np.nansum(x, axis=0, keepdims=True)), axis=0)", "complex128", ((1,),)),
    # Extremes of one float16 that is repeated.
    ("np.max(np.imag(x), axis=0)", "float16 float32", ((6, 6),)),
    ("np.nanargmin(np.imag(x), axis=1)", "float16", ((6, 6), (1, 9))),
    ("np.nanmax(np.imag(np.unwrap(np.nextafter(x, 0), axis=1)), axis=0)", "uint8", ((6, 6),)),
    # Groups of few elements were summed as NumPy sums, which is not exact, or not at all.
    (
        "np.groupby_reduce(x, np.arange(x.shape[-1]) % 3, func='sum')[0]",
        "float64 float32 int64",
        ((40,), (3, 41), (60, 5)),
    ),
    (
        "np.groupby_reduce(x, np.arange(x.shape[-1]) % 3, func='nanstd')[0]",
        "float64 float16",
        ((40,), (3, 41), (60, 5)),
    ),
    ("np.bincount(np.arange(x.size) % 7, np.ravel(x))", "float64", ((400,), (20, 30))),
    # A piece of one element of a large file was read to a copy of its place: corners of borders.
    ("np.pad(x, 1, mode='edge')", "float32", ((3_000_000,), (600_000, 5))),
    ("np.std(np.pad(x, 1, mode='symmetric'), axis=0)", "float32", ((5, 600_000),)),
    # Ends of convolutions read a large file before its beginning and behind its end.
    ("np.convolve(x, np.array([1.0, -2.0, 0.5]))", "uint32 float64", ((3_000_001,),)),
    ("np.correlate(x, np.array([1.0, -2.0, 0.5, 3.0]), 'same')", "float32", ((3_000_001,),)),
    # What a file is padded with is in no file.
    ("np.pad(x, 1)", "complex64 complex128 float64", ((12, 30_000), (3, 4))),
)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with choice.limited_to(choice.MOST, choice.FIRST):  # as users have it
            yield


def run(cases: list[Case], folder: Path) -> int:
    """How many were computed; a difference fails the test, with its text."""
    found = [(one, differences(one, folder)) for one in cases]
    wrong = [f"{one!r}\n   {said}" for one, all_of_it in found for said in all_of_it or ()]
    assert not wrong, f"{len(wrong)} ways of {len(cases)} texts\n" + "\n".join(wrong[:9])
    return sum(1 for _, of in found if of is not None)


def test_a_sample_has_the_same_bits_in_every_way(tmp_path: Path) -> None:
    cases = [case(seed) for seed in range(SAMPLE)]
    assert run(cases, tmp_path) >= SAMPLE * (1 - REFUSED_AT_MOST)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_many_have_the_same_bits_in_every_way(part: int, tmp_path: Path) -> None:
    shapes = (*SHAPES, *LARGE)
    cases = [case(SAMPLE + part * MANY + k, shapes) for k in range(MANY)]
    assert run(cases, tmp_path) >= MANY * (1 - REFUSED_AT_MOST)


@pytest.mark.parametrize(("text", "dtypes", "shapes"), FOUND)
def test_those_once_wrong(
    text: str, dtypes: str, shapes: tuple[tuple[int, ...], ...], tmp_path: Path
) -> None:
    for dtype in dtypes.split():
        for shape in shapes:
            for seed in range(4):
                rng = np.random.default_rng(seed)
                one = Case(seed, text, numbers(rng, shape, dtype), numbers(rng, shape, dtype))
                if seed == 3:
                    one.x[...] = 0
                assert differences(one, tmp_path) == []


def test_a_difference_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Case(0, "x + 0", np.zeros(3), np.zeros(3))
    assert differences(one, tmp_path) == []
    monkeypatch.setitem(ROUTES, "other", lambda case, folder: (np.array([0.0, -0.0, 0.0]),))
    assert differences(one, tmp_path) == [
        "other: 1 differ, at 1: np.float64(-0.0) for np.float64(0.0)"
    ]
