"""Discrete distributions of a small mean, by inversion: how many partial sums a uniform exceeds.

The terms follow one from the other by a ratio, 48 of them at most; a mean below 10 leaves less than
1e-16 beyond. The uniform is brought below `1 - 2**-46`, which the rounded sums always reach.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...builder import Builder, Value
from .blocks import divided, number

_TERMS: Final = 24  # of each half; the second is rarely needed
_BELOW_ONE: Final = 1.0 - 2.0**-46

# The term after ``term``, number k of the sum.
Step = Callable[..., Value]


def poisson(b: Builder, u: Value, first: Value, lam: Value) -> Value:
    """Poisson of mean `lam < 10`; `first = exp(-lam)`."""

    def step(b: Builder, k: int, term: Value, lam: Value) -> Value:
        return term * (lam * number(b, 1.0 / k))

    return _inverted(b, u, first, step, lam)


def binomial(b: Builder, u: Value, first: Value, n: Value, odds: Value) -> Value:
    """Successes in ``n`` trials of a mean < 10; `first = (1 - p)**n`, `odds = p / (1 - p)`."""

    def step(b: Builder, k: int, term: Value, more: Value, odds: Value) -> Value:
        return term * (b.fma(more, number(b, 1.0 / k), number(b, -1.0)) * odds)

    count = _inverted(b, u, first, step, n + number(b, 1.0), odds)
    return b.select(count.compare("lt", n), count, n)


def hypergeometric(
    b: Builder, u: Value, first: Value, good: Value, bad: Value, sample: Value
) -> Value:
    """Good ones in a ``sample`` with a mean < 10 of at most ``bad`` things."""

    def step(b: Builder, k: int, term: Value, good: Value, left: Value, sample: Value) -> Value:
        before, now = number(b, k - 1.0), number(b, float(k))
        return term * divided((good - before) * (sample - before), now * (left + now))

    count = _inverted(b, u, first, step, good, bad - sample, sample)
    most = b.select(good.compare("lt", sample), good, sample)
    return b.select(count.compare("lt", most), count, most)


def _inverted(b: Builder, u: Value, first: Value, step: Step, *operands: Value) -> Value:
    u = u * number(b, _BELOW_ONE)
    count, total, term = _half(b, 1, number(b, 0.0), u, first, first, step, operands)

    def rest(
        b: Builder, count: Value, u: Value, total: Value, term: Value, *operands: Value
    ) -> Value:
        return _half(b, _TERMS + 1, count, u, total, term, step, operands)[0]

    return b.rare(u.compare("gt", total), count, rest, count, u, total, term, *operands)


def _half(
    b: Builder,
    k: int,
    count: Value,
    u: Value,
    total: Value,
    term: Value,
    step: Step,
    operands: Sequence[Value],
) -> tuple[Value, Value, Value]:
    """``count`` and how many of the sums from ``total`` on lie below ``u``; the sum after them."""
    zero, one = number(b, 0.0), number(b, 1.0)
    for number_of_term in range(k, k + _TERMS):
        count = count + b.select(u.compare("gt", total), one, zero)
        term = step(b, number_of_term, term, *operands)
        total = total + term
    return count, total, term
