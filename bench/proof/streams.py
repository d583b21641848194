"""Independence: of streams with different seeds, and of positions within a stream.

Two streams are compared number by number, and each number of one with the next of the other: by the
correlation of their 64-bit words, by a table of their leading four bits, and by how often each of
the 64 bits agrees. Within a stream, numbers so many positions apart are compared by a table of
sixteen classes of about equal size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from scipy import stats

Numbers = np.ndarray[Any, Any]
Make = Callable[[Any], Any]  # a generator of a seed
Sources = dict[str, Callable[[Any, int], Any]]

LAGS: Final = (1, 2, 3, 4, 256, 512, 768, 1024, 2048)
BLOCK: Final = 1 << 16
SOURCES: Final[Sources] = {
    "words, high bits": lambda rng, n: rng.integers(0, 2**64, n, dtype="uint64"),
    "words, low bits": lambda rng, n: rng.integers(0, 2**64, n, dtype="uint64"),
    "random float32": lambda rng, n: rng.random(n, dtype="float32"),
    "integers(0, 1000)": lambda rng, n: rng.integers(0, 1000, n),
    "normal": lambda rng, n: rng.standard_normal(n),
    "normal float32": lambda rng, n: rng.standard_normal(n, dtype="float32"),
    "exponential": lambda rng, n: rng.standard_exponential(n),
    "exponential float32": lambda rng, n: rng.standard_exponential(n, dtype="float32"),
    "gamma(0.5)": lambda rng, n: rng.standard_gamma(0.5, n),
    "gamma(2.5)": lambda rng, n: rng.standard_gamma(2.5, n),
    "poisson(4)": lambda rng, n: rng.poisson(4.0, n),
    "poisson(50)": lambda rng, n: rng.poisson(50.0, n),
    "binomial(40, 0.4)": lambda rng, n: rng.binomial(40, 0.4, n),
}


def computed(values: Any) -> Numbers:
    return np.asarray(values.compute(on="core") if hasattr(values, "compute") else values)


def words(make: Make, count: int) -> Iterator[tuple[str, Numbers]]:
    """Streams of raw words by name."""

    def drawn(rng: Any) -> Numbers:
        return computed(rng.integers(0, 2**64, count, dtype="uint64"))

    yield "seed 0", drawn(make(0))
    for i in range(64):
        yield f"seed 2^{i}", drawn(make(2**i))
    for seed in ([0, 1], [1, 0]):
        yield f"seed {seed}", drawn(make(seed))
    parent = make(0)
    children = parent.spawn(4)
    for k, child in enumerate(children):
        yield f"child {k} of seed 0", drawn(child)
    yield "child 0 of child 0 of seed 0", drawn(children[0].spawn(1)[0])
    parent = make(0)
    parent.random(1)
    for k in range(1, 5):
        yield f"call {k} of seed 0", drawn(parent)


def summary(names: list[Any], p: Numbers) -> dict[str, Any]:
    """Of many tests: the least p-value, whose it is, and whether all are uniform together."""
    least = int(np.argmin(p))
    return {
        "tests": len(p),
        "least p": float(p[least]),
        "of": names[least],
        "p of uniformity": float(stats.kstest(p, "uniform").pvalue),
        "by twentieths": np.histogram(p, 20, (0, 1))[0].tolist(),
    }


def between(make: Make, count: int) -> dict[str, Any]:
    """Every pair of streams, number by number (lag 0), and with the next one (lag 1)."""
    drawn = dict(words(make, count))
    names = list(drawn)
    every = np.stack([drawn[name] for name in names])
    summaries = {}
    for lag in (0, 1):
        first, second = every[:, : count - lag], every[:, lag:]
        pairs = [(i, j) for i in range(len(names)) for j in range(len(names)) if lag or j > i]
        i, j = np.array(pairs).T
        labels = [[names[a], names[b]] for a, b in pairs]
        tests = {
            "correlation": correlations(first, second)[i, j],
            "table 16 x 16": tables(first, second, pairs),
            "agreement of each bit": agreements(first, second)[i, j],
        }
        for name, p in tests.items():
            summaries[f"{name}, lag {lag}"] = summary(labels, p)
    return {"streams": names, "words of each": count, "tests": summaries}


def correlations(first: Numbers, second: Numbers) -> Numbers:
    """p-values of the correlations of uniform numbers, for all pairs of rows."""
    total = np.zeros((len(first), len(second)))
    for start in range(0, first.shape[1], BLOCK):
        a, b = (x[:, start : start + BLOCK] * 2.0**-64 - 0.5 for x in (first, second))
        total += a @ b.T
    return 2 * stats.norm.sf(abs(total) * 12 / np.sqrt(first.shape[1]))


def tables(first: Numbers, second: Numbers, pairs: list[tuple[int, int]]) -> Numbers:
    """p-values of independence of the leading four bits of both."""
    high = (first >> np.uint64(56)).astype("uint8") & 0xF0
    low = (second >> np.uint64(60)).astype("uint8")
    counts = [np.bincount(high[i] | low[j], minlength=256) for i, j in pairs]
    return independence(np.reshape(counts, (-1, 16, 16)))


def independence(counts: Numbers) -> Numbers:
    """p-values of tables of two classes, each with the shares that were found."""
    rows, columns = counts.sum(axis=-1, keepdims=True), counts.sum(axis=-2, keepdims=True)
    expected = rows * columns / rows.sum(axis=-2, keepdims=True)
    degrees = (counts.shape[-2] - 1) * (counts.shape[-1] - 1)
    p_values: Numbers = stats.chi2.sf(
        ((counts - expected) ** 2 / expected).sum(axis=(-2, -1)), degrees
    )
    return p_values


def agreements(first: Numbers, second: Numbers) -> Numbers:
    """p-values of how often bits agree: 64 counts, a sum of squares, for all pairs of rows."""
    count = first.shape[1]
    square = np.zeros((len(first), len(second)))
    for bit in range(64):
        total = np.zeros((len(first), len(second)))
        for start in range(0, count, BLOCK):
            a, b = (signs(x[:, start : start + BLOCK], bit) for x in (first, second))
            total += a @ b.T
        square += total**2 / count
    return stats.chi2.sf(square, 64)


def signs(x: Numbers, bit: int) -> Numbers:
    """1 where the bit is set, else -1."""
    return ((x >> np.uint64(bit)) & np.uint64(1)).astype("float32") * 2 - 1


def within(make: Make, count: int, sources: Sources = SOURCES) -> dict[str, Any]:
    """Numbers of one stream so many positions apart."""
    rows, names, all_p = {}, [], []
    for k, (source, draw) in enumerate(sources.items()):
        classes = classed(computed(draw(make([5, k]), count)), source)
        row = {}
        for lag in LAGS:
            row[str(lag)] = contingency(classes[:-lag], classes[lag:])
            names.append([source, lag])
            all_p.append(row[str(lag)])
        rows[source] = row
    return {"numbers of each": count, "p by lag": rows, "tests": summary(names, np.array(all_p))}


def classed(values: Numbers, source: str) -> Numbers:
    """Sixteen classes of about equal size: 0 ... 15."""
    if "low bits" in source:
        return (values & np.uint64(15)).astype("uint8")
    edges = np.unique(np.quantile(values[: 1 << 18], np.arange(1, 16) / 16, method="nearest"))
    return np.searchsorted(edges, values).astype("uint8")


def contingency(a: Numbers, b: Numbers) -> float:
    """The p-value of independence of two classes."""
    counts = np.bincount((a << np.uint8(4)) | b, minlength=256).reshape(16, 16)
    return float(independence(counts[counts.any(axis=1)][:, counts.any(axis=0)]))
