"""Permutations: every one as often as every other, and the shapes of long ones.

Many permutations come from the rows of one `permuted`, and from calls of `permutation` one after
the other. Two classes of a long permutation's places and values are a table with fixed margins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from scipy import stats

import speedcube as sc
from speedcube.random.permutations import inverse_permutation

from .streams import computed, independence

Numbers = np.ndarray[Any, Any]
Make = Callable[[Any], Any]
Many = Callable[[Any, int, int], Numbers]  # of a generator: so many permutations of n, in rows

LARGEST_COUNTED: Final = 5  # of its n! orders each is counted
HUGE: Final = {10**9 + 7: 997, 10**12: 10**6 + 3, 2**60: 2**40}  # length: every so many
LONG: Final = (1000, 1024, 65_536, 100_003, 10**6, 2**20)


def rows(rng: Any, count: int, n: int) -> Numbers:
    """The rows of one array, each permuted."""
    return computed(rng.permuted(np.tile(np.arange(n), (count, 1)), axis=1))


def calls(rng: Any, count: int, n: int) -> Numbers:
    """One call for each."""
    return np.stack([computed(rng.permutation(n)) for _ in range(count)])


def children(rng: Any, count: int, n: int) -> Numbers:
    """The first call of each spawned generator."""
    return np.stack([computed(child.permutation(n)) for child in rng.spawn(count)])


# Lengths, and how many times fewer than the most permutations that way makes.
WAYS: Final[dict[str, tuple[Many, tuple[int, ...], int]]] = {
    "rows of permuted": (rows, (*range(2, 11), 16, 17, 64), 1),
    "calls of permutation": (calls, (3, 4, 5, 8), 2000),
    "children's permutation": (children, (3, 4, 5, 8), 2000),
}


def cycles(p: Numbers) -> Numbers:
    """The number of cycles of each row: places that are the least of their cycle."""
    least = np.broadcast_to(np.arange(p.shape[1]), p.shape)
    jump = p
    for _ in range(p.shape[1].bit_length()):
        least = np.minimum(least, np.take_along_axis(least, jump, 1))
        jump = np.take_along_axis(jump, jump, 1)
    return (least == np.arange(p.shape[1])).sum(axis=1)


def cycle_probabilities(n: int) -> Numbers:
    """Probabilities of 0 ... n cycles: place i closes one with probability 1 / i."""
    probabilities = np.ones(1)
    for i in range(1, n + 1):
        probabilities = np.convolve(probabilities, [1 - 1 / i, 1 / i])[:100]
    return probabilities


def fixed_probabilities(n: int) -> Numbers:
    """Probabilities of 0 ... n fixed points (0 ... 30 where n is more)."""

    def none(m: int) -> float:
        return sum((-1) ** k / math.factorial(k) for k in range(min(m, 40) + 1))

    return np.array([none(n - k) / math.factorial(k) for k in range(min(n, 30) + 1)])


def fits(values: Numbers, probabilities: Numbers) -> float:
    """The p-value of these numbers under probabilities of 0, 1, 2 ..., joined where rare."""
    counts = np.bincount(values, minlength=len(probabilities)).astype(float)[: len(probabilities)]
    expected = probabilities * len(values)
    enough = expected >= 5
    observed = np.append(counts[enough], counts[~enough].sum())
    wanted = np.append(expected[enough], expected[~enough].sum())
    if wanted[-1] < 5:  # too rare to be a class of its own
        biggest = int(wanted.argmax())
        observed[biggest] += observed[-1]
        wanted[biggest] += wanted[-1]
        observed, wanted = observed[:-1], wanted[:-1]
    square = ((observed - wanted) ** 2 / wanted).sum()
    return float(stats.chi2.sf(square, len(wanted) - 1))


def every_one(p: Numbers) -> float:
    """The p-value of the frequencies of all n! permutations."""
    count, n = p.shape
    code = np.zeros(count, np.int64)
    for column in range(n):
        smaller = (p[:, column + 1 :] < p[:, column : column + 1]).sum(axis=1)
        code = code * (n - column) + smaller
    counts = np.bincount(code, minlength=math.factorial(n))
    return float(stats.chisquare(counts).pvalue)


def places(p: Numbers) -> float:
    """The p-value of where each number goes: a table whose margins are all equal."""
    count, n = p.shape
    counts = np.bincount((p + n * np.arange(n)).ravel(), minlength=n * n)
    square = ((counts - count / n) ** 2).sum() / (count / n) * (n - 1) / n
    return float(stats.chi2.sf(square, (n - 1) ** 2))


def shapes(p: Numbers) -> dict[str, float]:
    """What holds of many permutations of any length."""
    n, counts = p.shape[1], cycles(p)
    parity = np.bincount((n - counts) % 2, minlength=2)
    return {
        "fixed points": fits((p == np.arange(n)).sum(axis=1), fixed_probabilities(n)),
        "cycles": fits(counts, cycle_probabilities(n)),
        "parity": float(stats.chisquare(parity).pvalue),
    }


def long_one(p: Numbers, n: int, stride: int = 1) -> dict[str, float]:
    """What holds of the numbers at every ``stride``-th place of one long permutation of n."""
    classes = np.minimum((p * (16.0 / n)).astype("int64"), 15)
    place = np.arange(len(p))

    def table(a: Numbers, b: Numbers) -> float:
        return float(independence(np.bincount(a * 16 + b, minlength=256).reshape(16, 16)))

    tests = {
        "place and value": table(place * 16 // len(p), classes),
        "place and low bits": table(place * 16 // len(p), p % 16),
        "low bits of both": table(place % 16, p % 16),
        "neighbours": table(classes[:-1], classes[1:]),
        "places 512 apart": table(classes[:-512], classes[512:]),
        "inversions": float(stats.kendalltau(place, p).pvalue),
    }
    if stride == 1:
        steps = (np.diff(p) % n - 1) * 256 // (n - 1)
        wanted = np.bincount(np.arange(n - 1) * 256 // (n - 1)) / (n - 1)
        counts = np.bincount(steps, minlength=256)
        tests["steps"] = float(stats.chisquare(counts, wanted * counts.sum()).pvalue)
    return tests


def bijective(p: Numbers) -> bool:
    return bool((np.sort(p, axis=1) == np.arange(p.shape[1])).all())


def sampled(rng: Any, n: int, stride: int) -> dict[str, Any]:
    """Every ``stride``-th number of a permutation too long to look at, and its inverse there."""
    order = rng.permutation(n)
    values = computed(order[::stride])
    back = computed(sc.take(inverse_permutation(order), values))
    inside = values.min() >= 0 and values.max() < n
    goes_back = bool((back == np.arange(len(values)) * stride).all())
    return {
        "way": f"one permutation, each {stride:,}th", "n": n, "count": 1,
        "bijective": bool(inside) and goes_back, "p": long_one(values, n, stride),
    }  # fmt: skip


def measured(make: Make, count: int) -> Iterator[dict[str, Any]]:
    """Rows: how drawn, the length, how many, whether all are permutations, p-values."""
    for k, (way, (many, lengths, less)) in enumerate(WAYS.items()):
        for n in lengths:
            number = max(60, count // less // (1 if n < 11 else 10))
            p = many(make([8, k, n]), number, n)
            p_values = {"places": places(p), **shapes(p)} if n > 2 else {}
            if n <= LARGEST_COUNTED:
                p_values["every permutation"] = every_one(p)
            yield {"way": way, "n": n, "count": number, "bijective": bijective(p), "p": p_values}
    for n in LONG:
        p = calls(make([9, n]), 1, n)
        yield {"way": "one permutation", "n": n, "count": 1, "bijective": bijective(p),
               "p": long_one(p[0], n)}  # fmt: skip
    for n, stride in HUGE.items():
        yield sampled(make([11, n.bit_length()]), n, stride)
    for n in (1000, 1024):
        number = max(100, count // 200)
        p = rows(make([10, n]), number, n)
        yield {"way": "rows of permuted", "n": n, "count": number, "bijective": bijective(p),
               "p": shapes(p)}  # fmt: skip
