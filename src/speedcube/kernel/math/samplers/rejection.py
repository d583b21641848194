"""Discrete distributions of a large mean, by rejection.

Poisson and binomial: transformed rejection with squeeze (Hormann, "The transformed rejection
method for generating Poisson random variables" and "The generation of binomial random variates",
1993). Hypergeometric: ratio of uniforms (Stadlober, "The ratio of uniforms approach for generating
discrete random variates", 1990).

Probabilities are compared in de Moivre's form, with `h = k + 1/2`:

    log k! = h log h - h + log(2 pi) / 2 + delta(h),   delta(h) = -1/(24 h) + 7/(2880 h**3) - ...

It holds from `k = 0` on, and the h of all factorials in a binomial or hypergeometric probability
add up to the same number for every k: what is left are sums of `h log(h / expected h)`, small where
k is likely. Nothing of the size of `n log n` is ever subtracted.
"""

from __future__ import annotations

import struct
from typing import Final

from ...builder import Builder, Value
from ..arithmetic import horner
from ..bits import magnitude
from ..variates import minus_log, minus_log1p, open_unit
from .blocks import block, divided, number, tried

# delta(k + 1/2) for k = 0 ... 15, then a series in 1 / h**2 (tools/samplers.py).
DELTA_TABLE: Final = (
    -0.07236494292470008,
    -0.027136195366919316,
    -0.016518182330115094,
    -0.011849453710405727,
    -0.009232988349960452,
    -0.007561297733965538,
    -0.00640147105491602,
    -0.005549826206244116,
    -0.004898020177724066,
    -0.004383139884907061,
    -0.003966160345673161,
    -0.0036215940766372886,
    -0.0033320913959795895,
    -0.003085433580430681,
    -0.002872767150657649,
    -0.0026875202043956914,
)
DELTA_SERIES: Final = (-1 / 24, 7 / 2880, -31 / 40320, 127 / 215040, -511 / 608256)


def delta(b: Builder, h: Value) -> Value:
    """`log k! - (h log h - h + log(2 pi) / 2)` for whole `k >= 0`, `h = k + 1/2`."""
    return _delta(b, h, divided(number(b, 1.0), h))


def _delta(b: Builder, h: Value, inverse: Value) -> Value:
    """`delta` where `1 / h` is known."""
    far = inverse * horner(b, inverse * inverse, DELTA_SERIES)
    return b.rare(h.compare("lt", number(b, float(len(DELTA_TABLE)))), far, _small_delta, h)


def _small_delta(b: Builder, h: Value) -> Value:
    last = number(b, len(DELTA_TABLE) - 0.5)
    index = b.select(h.compare("lt", last), h, last).cast("int64")
    entries = tuple(struct.unpack("<Q", struct.pack("<d", entry))[0] for entry in DELTA_TABLE)
    return b.table(entries, index).bitcast("float64")


def _weight(b: Builder, h: Value, expected: Value, inverse: Value) -> Value:
    """`-h log(h / expected)`; `inverse = 1 / expected`, so that attempts need not divide."""
    return h * minus_log1p(b, (h - expected) * inverse)


def _transformed(
    b: Builder, attempt: Value, place: Value, key: Value, shape: tuple[Value, ...]
) -> tuple[Value, Value, Value]:
    """(A whole number, whether it is accepted at once, the log its probability must exceed).

    ``shape``: Hormann's a, b and v_r, the centre, and what v is multiplied by.
    """
    a, width, at_once, centre, alpha = shape
    low, high = block(b, key, place, attempt)
    half, two = number(b, 0.5), number(b, 2.0)
    u, v = open_unit(b, low) - half, open_unit(b, high)
    us = half - magnitude(b, u)
    inverse = divided(number(b, 1.0), us)
    k = b.unary("floor", b.fma(b.fma(two * a, inverse, width), u, centre))
    quick = us.compare("ge", number(b, 0.07)) & v.compare("le", at_once)
    scaled = divided(v * alpha, b.fma(a * inverse, inverse, width))
    return k, quick, -minus_log(b, scaled)


def poisson(b: Builder, position: Value, key: Value, *shape: Value) -> Value:
    """Poisson of mean `shape[0] >= 10`; then `log(2 pi mean) / 2` and Hormann's constants."""
    inverse = divided(number(b, 1.0), shape[0])
    count = tried(b, _poisson, position.bitcast("uint64"), key, inverse, *shape)
    return count.bitcast("float64")


def _poisson(
    b: Builder,
    attempt: Value,
    place: Value,
    key: Value,
    inverse: Value,
    lam: Value,
    peak: Value,
    *shape: Value,
) -> tuple[Value, Value]:
    k, quick, level = _transformed(b, attempt, place, key, shape)
    inside = k.compare("ge", number(b, 0.0))
    h = b.select(inside, k, number(b, 0.0)) + number(b, 0.5)
    log_probability = _weight(b, h, lam, inverse) + (h - lam) - peak - delta(b, h)
    return k, quick | (inside & level.compare("le", log_probability))


def log_binomial(b: Builder, k: Value, n: Value, mean: Value, other: Value) -> Value:
    """The log of the probability of ``k`` but for a constant; `other = (n + 1) (1 - p)`."""
    return _log_binomial(b, k, n, mean, other, *_inverses(b, mean, other))


def _inverses(b: Builder, *values: Value) -> list[Value]:
    return [divided(number(b, 1.0), value) for value in values]


def _log_binomial(
    b: Builder, k: Value, n: Value, mean: Value, other: Value, per_mean: Value, per_other: Value
) -> Value:
    half = number(b, 0.5)
    h, rest = k + half, (n - k) + half
    weights = _weight(b, h, mean, per_mean) + _weight(b, rest, other, per_other)
    inverse = divided(number(b, 1.0), h * rest)  # one division for both
    return weights - (_delta(b, h, inverse * rest) + _delta(b, rest, inverse * h))


def binomial(b: Builder, position: Value, key: Value, *shape: Value) -> Value:
    """Successes in ``shape[0]`` trials of a mean of 10 or more and `p <= 1/2`.

    Then `(n + 1) p`, `(n + 1) (1 - p)`, `log_binomial` of the likeliest, Hormann's constants.
    """
    inverses = _inverses(b, *shape[1:3])
    count = tried(b, _binomial, position.bitcast("uint64"), key, *inverses, *shape)
    return count.bitcast("float64")


def _binomial(
    b: Builder,
    attempt: Value,
    place: Value,
    key: Value,
    per_mean: Value,
    per_other: Value,
    n: Value,
    mean: Value,
    other: Value,
    peak: Value,
    *shape: Value,
) -> tuple[Value, Value]:
    k, quick, level = _transformed(b, attempt, place, key, shape)
    inside = k.compare("ge", number(b, 0.0)) & k.compare("le", n)
    held = b.select(inside, k, number(b, 0.0))
    log_probability = _log_binomial(b, held, n, mean, other, per_mean, per_other)
    enough = level.compare("le", log_probability - peak)
    return k, inside & (quick | enough)


def hypergeometric(b: Builder, position: Value, key: Value, *shape: Value) -> Value:
    """Good ones in a sample: good, bad, sample, the likeliest, log of a ratio, centre, width."""
    count = tried(b, _hypergeometric, position.bitcast("uint64"), key, *shape)
    return count.bitcast("float64")


def _hypergeometric(
    b: Builder,
    attempt: Value,
    place: Value,
    key: Value,
    good: Value,
    bad: Value,
    sample: Value,
    peak: Value,
    ratio: Value,
    centre: Value,
    width: Value,
) -> tuple[Value, Value]:
    low, high = block(b, key, place, attempt)
    half, zero = number(b, 0.5), number(b, 0.0)
    u, v = open_unit(b, low), open_unit(b, high)
    k = b.unary("floor", b.fma(width, divided(v - half, u), centre))
    most = b.select(good.compare("lt", sample), good, sample)
    inside = k.compare("ge", zero) & k.compare("le", most)
    held = b.select(inside, k, peak)
    terms = zero
    for at, likeliest in zip(
        _factorials(held, good, bad, sample), _factorials(peak, good, bad, sample), strict=True
    ):
        h, expected = at + half, likeliest + half
        inverse = divided(number(b, 1.0), h * expected)
        rests = _delta(b, h, inverse * expected) - _delta(b, expected, inverse * h)
        terms = terms + (_weight(b, h, expected, inverse * h) - rests)
    log_probability = b.fma(peak - held, ratio, terms)
    level = number(b, -2.0) * minus_log(b, u)
    return k, inside & level.compare("le", log_probability)


def _factorials(k: Value, good: Value, bad: Value, sample: Value) -> tuple[Value, ...]:
    """Whose factorials divide the probability of ``k``."""
    return k, good - k, sample - k, (bad - sample) + k
