"""Every distribution's numbers are its own, streams are independent, permutations are even.

The same tests as those of docs/randomness.md, with fewer numbers. The seeds are fixed.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from proof import distributions, page, permutations, streams
from proof.fit import Counter, judged
from scipy import stats

import speedcube as sc

ROOT: Final = Path(__file__).parents[2]
LEAST: Final = 1e-6  # of a p-value
NUMBERS: Final = 200_000
# Arrays of parameters give the bits of numbers (test_distributions.py, test_samplers.py), so that a
# method is drawn with arrays where it takes them, and with its main parameters where not.
TOGETHER: Final = [
    d for d in distributions.table() if d.method in distributions.METHODS and d.width > 1
]
ALONE: Final = [
    d for d in distributions.table() if d.main and d.method not in {t.method for t in TOGETHER}
]
SINGLE: Final = [d for d in distributions.table() if "float32" in d.name]


def judgement(values: Any, distribution: Any) -> dict[str, float]:
    """The p-values of numbers, by test."""
    counter = Counter(distribution, 100)
    counter.add(values)
    row = judged(counter)
    named = {key: row[key] for key in ("p", "p of distance") if key in row}
    tails = zip(("below", "above"), row.get("tails", (None, None)), strict=True)
    return named | {name: tail["p"] for name, tail in tails if tail}


# Distributions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", [*ALONE, *TOGETHER, *SINGLE], ids=lambda draw: draw.name)
def test_distribution(draw: distributions.Draw) -> None:
    count = -(-NUMBERS // draw.width)
    values = draw.call(sc.random.default_rng(20), count).compute(on="core")
    for view in draw.views:
        verdict = judgement(view.of(values), view.distribution())
        assert all(p > LEAST for p in verdict.values()), (view.name, verdict)


# The tests find what is wrong: NumPy's numbers, changed -------------------------------------------

NORMALS: Final = np.random.default_rng(0).standard_normal(10**6)
WRONG: Final[dict[str, tuple[Any, Any, str]]] = {
    "wider by a hundredth": (NORMALS * 1.01, stats.norm, "p"),
    "moved by a hundredth": (NORMALS + 0.01, stats.norm, "p of distance"),
    "no upper tail": (NORMALS[NORMALS < 3.5], stats.norm, "p"),
    "a heavy upper tail": (np.where(NORMALS > 4, 6.0, NORMALS), stats.norm, "above"),
    "a heavy lower tail": (np.where(NORMALS < -4, -6.0, NORMALS), stats.norm, "below"),
    "a far mean, moved": (NORMALS + (1e6 + 0.01), stats.norm(1e6), "p"),
    "one value too rare": (
        np.random.default_rng(0).poisson(4.0, 10**6) * (NORMALS > -2) + 4 * (NORMALS <= -2),
        stats.poisson(4.0),
        "p",
    ),
    "zeros where a distribution has none": (
        np.where(NORMALS > 3, 0.0, NORMALS**2),
        stats.chi2(1),
        "p",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_distribution_is_found(name: str) -> None:
    values, distribution, by = WRONG[name]
    assert judgement(values, distribution)[by] < LEAST


def test_right_numbers_pass() -> None:
    for values, distribution in (
        (NORMALS, stats.norm),
        (NORMALS + 1e6, stats.norm(1e6)),
        (NORMALS**2, stats.chi2(1)),
        (np.exp(NORMALS), stats.lognorm(1.0)),
    ):
        assert min(judgement(values, distribution).values()) > 1e-3


def test_cells_hold_what_their_edges_say() -> None:
    """Numbers next to an edge, of both signs, are counted on the right side."""
    cells = Counter(stats.norm, 100).cells
    edges = stats.norm.ppf(cells.below)
    assert math.fsum(cells.probabilities) == pytest.approx(1.0, rel=1e-14)
    for k in (3, 20, len(edges) - 20, len(edges) - 3):
        counter = Counter(stats.norm, 100)
        counter.add(np.array([edges[k] - 1e-9, edges[k] + 1e-9]))
        assert np.flatnonzero(counter.counts).tolist() == [k, k + 1]


# Independence ------------------------------------------------------------------------------------


def test_streams_are_independent() -> None:
    """Of seeds 0, 1, 2, 4 ... 2**63, children and calls: every pair, also one number apart."""
    report = streams.between(sc.random.default_rng, 1 << 12)
    assert len(report["streams"]) == 76
    for name, tests in report["tests"].items():
        assert tests["least p"] * tests["tests"] > 1e-3, (name, tests)
        assert tests["p of uniformity"] > 1e-4, (name, tests)


def test_positions_are_independent() -> None:
    quick = {name: draw for name, draw in streams.SOURCES.items() if "(" not in name}
    report = streams.within(sc.random.default_rng, 1 << 17, quick)
    assert report["tests"]["least p"] > 1e-4, report
    assert report["tests"]["p of uniformity"] > 1e-4


class Shifted:
    """Seed 0's words, and for each other seed the same from the second on."""

    def __init__(self, seed: Any) -> None:
        self.rng = np.random.default_rng(0)
        if seed:
            self.rng.integers(0, 2**64, dtype="uint64")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rng, name)


def test_related_streams_are_found() -> None:
    report = streams.between(Shifted, 1 << 12)["tests"]
    assert len(report) == 6
    assert all(tests["least p"] < 1e-100 for tests in report.values())


def test_related_positions_are_found() -> None:
    values = np.random.default_rng(0).integers(0, 16, 1 << 16).astype("uint8")
    values[512:][::10] = values[:-512][::10]
    assert streams.contingency(values[:-512], values[512:]) < LEAST
    assert streams.contingency(values[:-511], values[511:]) > LEAST


# Permutations ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", range(2, 11))
def test_permutations_of_rows(n: int) -> None:
    p = permutations.rows(sc.random.default_rng(n), 20_000, n)
    assert permutations.bijective(p)
    assert n > 5 or permutations.every_one(p) > LEAST
    assert n == 2 or min(permutations.places(p), *permutations.shapes(p).values()) > LEAST


@pytest.mark.parametrize("many", [permutations.calls, permutations.children])
def test_permutations_of_calls(many: permutations.Many) -> None:
    p = many(sc.random.default_rng(5), 60, 3)
    assert permutations.bijective(p)
    assert permutations.every_one(p) > LEAST


@pytest.mark.parametrize("n", [1000, 100_003])
def test_long_permutations(n: int) -> None:
    p = permutations.calls(sc.random.default_rng(6), 1, n)
    assert permutations.bijective(p)
    assert min(permutations.long_one(p[0], n).values()) > LEAST


def test_permutations_too_long_to_look_at() -> None:
    for n, stride in permutations.HUGE.items():
        sample = permutations.sampled(sc.random.default_rng(7), n, stride * 64)
        assert sample["bijective"]
        assert min(sample["p"].values()) > LEAST


def test_uneven_permutations_are_found() -> None:
    """Even ones alone, rotations, one order never, and a place that keeps its number too often."""
    rng = np.random.default_rng(0)
    p = rng.permuted(np.tile(np.arange(4), (20_000, 1)), axis=1)
    odd = (4 - permutations.cycles(p)) % 2 == 1
    assert permutations.shapes(p[~odd])["parity"] < LEAST
    assert permutations.every_one(p[(p != [3, 1, 0, 2]).any(axis=1)]) < LEAST
    rotated = (np.arange(8) + rng.integers(0, 8, (20_000, 1))) % 8
    assert permutations.shapes(rotated)["cycles"] < LEAST
    assert permutations.shapes(rotated)["fixed points"] < LEAST
    assert permutations.places(np.where(p[:, :1] == 0, np.arange(4), p)) < LEAST
    n = 1 << 14
    affine = (np.arange(n) * 40_503 + 77) % n
    assert min(permutations.long_one(affine, n).values()) < LEAST
    assert not permutations.bijective(np.array([[0, 2, 2]]))


# The page ----------------------------------------------------------------------------------------


def test_the_page_is_what_its_file_says() -> None:
    """Generated from what is committed; no p-value on it is a surprise among so many."""
    measured = json.loads((ROOT / "measurements" / "distributions.json").read_text())
    text = (ROOT / "docs" / "randomness.md").read_text()
    assert page.page(measured) == text, "run python bench/randomness.py --page"
    tested = {(row["call"], row["of"]) for row in measured["laws"]}
    assert tested == {(d.name, view.name) for d in distributions.table() for view in d.views}
    for name, p_values in page.p_values(measured["laws"]).items():
        assert min(p_values) * len(p_values) > 1e-3, name
    asked = {row["call"]: row["asked"] for row in measured["laws"]}
    assert all(
        asked[d.name] >= (1e8 if d.main or not d.vectors else 1e7) for d in distributions.table()
    )
