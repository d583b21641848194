"""Sums that end in half a unit of the last place, and a term far below it that breaks the tie."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc

RNG: Final = np.random.default_rng(83)
LINES: Final = 23


def _line(length: int) -> list[float]:
    """A double, half a unit of its last place, something far below, and pairs that cancel."""
    place = int(RNG.integers(-200, 200))
    sign = RNG.choice([1.0, -1.0])
    base = sign * np.ldexp(float(2**52 + int(RNG.integers(0, 2**52))), place)
    terms = [base, np.ldexp(RNG.choice([1.0, -1.0]), place - 1)]
    below = max(-1074, place - int(RNG.choice([RNG.integers(2, 300), 2000])))  # or the least of all
    terms += [np.ldexp(RNG.choice([1.0, -1.0]), below)]
    while len(terms) + 2 <= length:
        large = np.ldexp(float(RNG.integers(1, 2**24)), int(RNG.integers(-200, 250)))
        terms += [large, -large]
    line = np.zeros(length)
    line[: min(length, len(terms))] = terms[:length]
    RNG.shuffle(line)
    return [float(x) for x in line]


def _saved(x: np.ndarray[Any, Any], folder: Path) -> Any:
    np.save(folder / "x.npy", x)
    return sc.open(folder / "x.npy")


MEANS: Final[dict[str, Callable[[Any, Path], Any]]] = {
    "rows": lambda x, _: sc.asarray(x).mean(axis=1),
    "columns": lambda x, _: sc.asarray(np.ascontiguousarray(x.T)).mean(axis=0),
    "computed": lambda x, _: (sc.asarray(x) * 1).mean(axis=1),
    "rows of a file": lambda x, folder: _saved(x, folder).mean(axis=1),
    "columns of a file": lambda x, folder: _saved(np.ascontiguousarray(x.T), folder).mean(axis=0),
    "with a deviation": lambda x, _: sc.compute(sc.asarray(x).mean(1), sc.asarray(x).std(1))[0],
    "of all": lambda x, _: sc.stack([sc.asarray(row).mean() for row in x]),
}
SUMS: Final[dict[str, Callable[[Any, Path], Any]]] = {
    "rows": lambda x, _: sc.asarray(x).sum(axis=1),
    "columns": lambda x, _: sc.asarray(np.ascontiguousarray(x.T)).sum(axis=0),
    "in the middle": lambda x, _: sc.asarray(np.stack([x, x], axis=2)).sum(axis=1)[:, 1],
    "computed": lambda x, _: (sc.asarray(x) * 1).sum(axis=1),
    "a dot": lambda x, _: sc.vecdot(sc.asarray(x), sc.asarray(np.ones_like(x))),
    "a running sum": lambda x, _: sc.asarray(x).cumsum(axis=1)[:, -1],
    "rows of a file": lambda x, folder: _saved(x, folder).sum(axis=1),
    "columns of a file": lambda x, folder: _saved(np.ascontiguousarray(x.T), folder).sum(axis=0),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("length", [2, 3, 4, 5, 8, 10, 16, 33, 64, 65, 200])
def test_what_is_far_below_breaks_a_tie(name: str, length: int, tmp_path: Path) -> None:
    for _ in range(3):
        x = np.array([_line(length) for _ in range(LINES)])
        exact = [sum(map(Fraction, row.tolist()), Fraction(0)) for row in x]
        found = SUMS[name](x, tmp_path).compute(on="core")
        assert_same_bits(found, np.array([float(one) for one in exact]))


@pytest.mark.parametrize("name", MEANS)
@pytest.mark.parametrize("length", [2, 3, 4, 5, 7, 8, 12, 16, 33, 64, 65, 200])
def test_a_mean_is_rounded_once_whatever_breaks_its_tie(
    name: str, length: int, tmp_path: Path
) -> None:
    """Of a quotient what was lost may underflow, and is not nothing."""
    for _ in range(3):
        x = np.array([_line(length) for _ in range(LINES)])
        exact = [sum(map(Fraction, row.tolist()), Fraction(0)) / length for row in x]
        found = sc.asarray(MEANS[name](x, tmp_path)).compute(on="core")
        assert_same_bits(found, np.array([float(one) for one in exact]))


@pytest.mark.parametrize("length", [3, 4, 8, 10, 64, 200])
def test_several_results_and_means(length: int) -> None:
    x = np.array([_line(length) for _ in range(LINES)])
    exact = [sum(map(Fraction, row.tolist()), Fraction(0)) for row in x]
    y = sc.asarray(x)
    total, mean, _ = sc.compute(y.sum(axis=1), y.mean(axis=1), y.max(axis=1), on="core")
    assert_same_bits(total, np.array([float(one) for one in exact]))
    assert_same_bits(mean, np.array([float(one / length) for one in exact]))
