"""The rows of arrays that are generated: random numbers and creation functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .rows import Row, Shape, terms

DRAWN: Final = "np.random.default_rng(0)"

# What is drawn, what becomes of it, shape, and the axis of an exact sum ("" where there is none).
CHAINS: Final[tuple[tuple[str, str, str, int | Shape | str | None], ...]] = (
    ("normal(10, 1, shape)", ".sum()", "square", None),
    ("normal(10, 1, shape)", ".sum(axis=0)", "square", 0),
    ("normal(10, 1, shape)", ".sum(axis=1)", "square", 1),
    ("normal(10, 1, shape)", ".std(axis=0)", "square", 0),
    ("normal(10, 1, shape)", ".max(axis=1)", "square", ""),
    ("normal(10, 1, shape)", ".sum(axis=1)", "points", 1),
    ("normal(10, 1, shape)", ".mean(axis=0)", "climate", 0),
    ("normal(10, 1, shape)", "[::2, ::2].sum()", "square", None),
    ("normal(10, 1, shape)", ".cumsum(axis=0)", "line", ""),
    ("normal(10, 1, shape)", "", "square", ""),
    ("normal(10, 1, shape)", ".sum()", "thousand", None),
    ("random(shape)", "", "square", ""),
    ("random(shape)", ".mean()", "line", None),
    ("random(shape)", ".mean(axis=1)", "tall", 1),
    ('random(shape, dtype="float32")', ".sum()", "square", None),
    ('standard_normal(shape, dtype="float32")', ".std()", "square", None),
    ("standard_normal(shape)", ".max()", "square", ""),
    ("uniform(1, 2, shape)", ".prod(axis=1)", "points", ""),
    ("integers(0, 100, shape)", ".sum(axis=0)", "square", ""),
    ("integers(0, 100, shape)", ".max()", "line", ""),
    ("exponential(2.0, shape)", ".mean()", "million", None),
    ("gamma(2.5, 1.0, shape)", ".mean()", "million", None),
    ("poisson(4.0, shape)", ".mean()", "million", None),
    ("binomial(100, 0.3, shape)", ".mean()", "million", None),
    ("standard_t(5.0, shape)", ".std()", "million", None),
    ("lognormal(0.0, 0.5, shape)", ".mean(axis=0)", "million", 0),
    ("beta(2.0, 3.0, shape)", ".mean()", "million", None),
    ("permutation(n)", "[::2].max()", "line", ""),
)
CREATED: Final[tuple[tuple[str, str, int], ...]] = (
    ("np.arange(n).sum()", "line", 0),
    ("np.arange(0.0, n, 1.0)", "line", 0),
    ("np.linspace(0, 1, n)", "line", 0),
    ("np.sin(np.linspace(0, 1, n)).sum()", "line", 10_000_000),
    ("np.eye(n)", "square", 0),
    ("np.eye(n).sum(axis=0)", "square", 2000),
    ("np.ones(shape).sum(axis=1)", "square", 2000),
    ("np.full(shape, 2.5)", "square", 0),
)


def drawn() -> Iterator[Row]:
    for draw, then, shape, axis in CHAINS:
        yield Row("generated", f"{DRAWN}.{draw}{then}", shape,
                  dtype="float32" if "float32" in draw else "float64", stored=False,
                  terms=0 if isinstance(axis, str) else terms(shape, axis))  # fmt: skip
    # The published expression, and the sums of squares that become pi.
    yield Row("generated", f"({DRAWN}.normal(10, 1, shape) + 1)[::2, ::2].sum()", "square",
              stored=False, terms=1_000_000)  # fmt: skip
    yield Row("generated", f"np.exp({DRAWN}.normal(0, 0.2, shape)).mean(axis=0)", "square",
              stored=False, terms=2000)  # fmt: skip


def created() -> Iterator[Row]:
    for text, shape, count in CREATED:
        yield Row("generated", text, shape, stored=False, terms=count)


def rows() -> tuple[Row, ...]:
    return (*drawn(), *created())
