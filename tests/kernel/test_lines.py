"""Sums, spreads and dots of one line: finished by a kernel whose lanes share it, else by a record.

Here both are compared: the record of a line is made where two workers make parts of it, too.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from oracle import assert_same_bits, dot_row, reduce_row

import speedcube as sc
from speedcube.engine.finished import cpu as finished
from speedcube.engine.prepare import prepare_many
from speedcube.engine.small import call, structure
from speedcube.kernel.llvm import simd
from speedcube.kernel.lower import many as lower_many
from speedcube.plan.stages import make_stage

RNG = np.random.default_rng(14)
LINES = {
    "normal": RNG.standard_normal(5003) * 8 + 15,
    "around zero": RNG.standard_normal(4096),
    "integers": RNG.integers(-9, 9, 3000).astype(float),
    "one number": np.full(2000, 0.1),
    "float32": RNG.standard_normal(7001).astype(np.float32),
    "growing": np.exp(np.linspace(-30, 30, 3001)),
    "late and large": np.r_[np.zeros(3000), 1e9, 1e-9],
    "wide": RNG.standard_normal(3000) * 10.0 ** RNG.integers(-150, 150, 3000),
    "tiny": RNG.standard_normal(2048) * 2.0**-1060,
    "huge": RNG.standard_normal(2048) * 2.0**1000,
    "infinite": np.r_[RNG.standard_normal(2000), np.inf],
    "nan": np.r_[RNG.standard_normal(2000), np.nan, np.inf],
    "cancels": np.r_[RNG.standard_normal(1500) * 1e20, 1.0].repeat(2) * np.tile([1, -1], 1501),
}


@pytest.fixture
def failures(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many results each kernel left to records."""
    counts: list[int] = []
    failed_places = finished.failed_places

    def counted(*arguments: Any) -> Any:
        failed = failed_places(*arguments)
        counts.append(len(failed))
        return failed

    def small(*arguments: Any) -> Any:
        """A small computation looks for places only where some failed."""
        before = len(counts)
        results = made(*arguments)
        counts.extend([0] * (len(counts) == before))
        return results

    made = call.results_of
    monkeypatch.setattr(finished, "failed_places", counted)
    monkeypatch.setattr(call, "results_of", small)
    return counts


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that exact fractions can check are long ones."""
    monkeypatch.setattr(lower_many, "LONG_LINE", 1 << 10)
    monkeypatch.setattr(structure, "LONG_LINE", 1 << 10)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("target", simd.runnable())
@pytest.mark.parametrize("kind", LINES)
def test_spreads(kind: str, target: str) -> None:
    x = LINES[kind]
    with simd.limited(target), np.errstate(all="ignore"):
        for op, ddof in (("var", 0), ("std", 1)):
            result = getattr(sc.asarray(x), op)(ddof=ddof).compute(on="core")
            wanted = reduce_row(op, x, result.dtype.name, ddof)
            assert_same_bits(result, np.asarray(wanted, result.dtype), (op, kind))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("target", simd.runnable())
@pytest.mark.parametrize("kind", LINES)
def test_sums(kind: str, target: str) -> None:
    x = LINES[kind]
    with simd.limited(target), np.errstate(all="ignore"):
        for op in ("sum", "mean"):
            result = getattr(sc.asarray(x), op)().compute(on="core")
            wanted = np.asarray(reduce_row(op, x, result.dtype.name), result.dtype)
            assert_same_bits(result, wanted, (op, kind))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("target", simd.runnable())
@pytest.mark.parametrize("kind", LINES)
def test_dots(kind: str, target: str) -> None:
    x = LINES[kind]
    y = np.roll(x, 7)[::-1].copy()
    with simd.limited(target), np.errstate(all="ignore"):
        result = sc.dot(sc.asarray(x), sc.asarray(y)).compute(on="core")
        wanted = np.asarray(dot_row(x, y, result.dtype.name), result.dtype)
    assert_same_bits(result, wanted, kind)


@pytest.mark.parametrize("shape", [(3_000_000,), (1100, 1000)])
def test_long_lines_are_certain(shape: tuple[int, ...], failures: list[int]) -> None:
    x, y = (np.random.default_rng(seed).standard_normal(shape) * 8 + 15 for seed in (1, 2))
    a, b = sc.asarray(x), sc.asarray(y)
    wide = sc.asarray(x * 10.0 ** np.random.default_rng(5).integers(-20, 20, shape))
    results = (a.var(), (a - 0.5).std(), sc.dot(a.ravel(), b.ravel()), a.mean(), wide.sum())
    alone = [result.compute(on="core") for result in results]
    assert failures == [0] * 5
    # By records, of two parts.
    for one, result in zip(alone, results, strict=True):
        assert_same_bits(one, result.compute(on="cores:2"), result)


def test_spreads_of_ten_million_are_certain(failures: list[int]) -> None:
    x = np.random.default_rng(3).normal(10, 1, 10_000_000)
    assert_same_bits(sc.asarray(x).std().compute(on="core"), exact_deviation(x), 0)
    assert failures == [0]


def exact_deviation(x: np.ndarray) -> np.ndarray:
    """By whole numbers: all are multiples of 2**-52, and below 16."""
    total = whole_sum((x * 2.0**52).astype(np.int64))
    squares = sum(squared(part) for part in np.split(x, 100))
    n = len(x)
    spread = n * squares - total * total  # n**2 times the variance, in units of 2**-104
    root = math.isqrt(spread << 200)
    return np.asarray(Fraction(root, n << 152).__float__())


def squared(x: np.ndarray) -> int:
    """The sum of the squares, in units of 2**-104, of halves that int64 holds the products of."""
    units = (x * 2.0**52).astype(np.int64)
    high, low = units >> 28, units & (1 << 28) - 1
    parts = [(high, high, 56), (high, low, 29), (low, low, 0)]
    return sum(whole_sum(a * b) << shift for a, b, shift in parts)


def whole_sum(x: np.ndarray) -> int:
    return (int((x >> 32).sum()) << 32) + int((x & 2**32 - 1).sum())


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("target", simd.runnable())
@pytest.mark.parametrize("kind", ["normal", "late and large", "wide"])
def test_spreads_and_dots_of_longer_lines(kind: str, target: str) -> None:
    """Whose rests are put aside."""
    x = np.resize(LINES[kind], lower_many.SHALLOW + 4321)
    with simd.limited(target), np.errstate(all="ignore"):
        a = sc.asarray(x)
        for result, wanted in (
            (a.var(), reduce_row("var", x, "float64")),
            (sc.dot(a, a[::-1].copy()), dot_row(x, x[::-1], "float64")),
            (sc.asarray(np.tile(x, (3, 1))).std(axis=1)[1], reduce_row("std", x, "float64")),
        ):
            assert_same_bits(result.compute(on="core"), np.asarray(wanted), kind)


@pytest.mark.usefixtures("short")
def test_other_loops(failures: list[int]) -> None:
    x = np.random.default_rng(3).standard_normal((300, 80))
    for view in (x[:, ::3], x.T[1::2], x[::-1, :7]):
        result = sc.asarray(x)[:, ::3].var().compute(on="core")
        assert_same_bits(result, np.asarray(reduce_row("var", x[:, ::3].ravel(), "float64")), 0)
        result = sc.asarray(view).std().compute(on="core")
        assert_same_bits(result, np.asarray(reduce_row("std", view.ravel(), "float64")), 0)
    assert not any(failures)


def test_which_lines_have_records() -> None:
    x = sc.asarray(np.zeros(50_000))
    for y, by_record in (
        (x.var(), False),
        (sc.dot(x, x), False),
        (x.sum(), False),
        (x.astype("float32").sum(), True),  # one term of few bits: a record is as quick
        (sc.where(x > 0, 1.0, 0.5).mean(), True),
        (x[:1000].var(), True),
        (sc.random.default_rng(1).random(50_000).var(), True),
    ):
        source = y._expr.source
        stage = make_stage(source.arg, source, 1)
        part = stage.parts[0]
        finished = prepare_many(stage, part)
        assert (finished is None) == by_record, y
