"""Gamma variates of shape 1 and more (Marsaglia & Tsang, "A simple method", ACM TOMS 26, 2000).

With `d = shape - 1/3` and `c = 1 / sqrt(9 d)`, `d (1 + c z)**3` of a normal z is nearly a gamma
variate: it is accepted where `log u < s`, `s = z**2 / 2 + d (1 - v + log v)`, `v = (1 + c z)**3`.
With `y = c z` that is `s = z**2 / 2 + d (3 log1p(y) - 3 y - 3 y**2 - y**3)`, which loses nothing
for large shapes.

For `y >= -1/2` the series of log1p gives `s >= -z**4 / (54 d)`, for `y >= 0` half of that, and
`exp(s) >= 1 + s`: where u is below 1 less this nothing else need be known. The 22 bits that a
normal leaves of its block are the first bits of u, so one block nearly always decides.
"""

from __future__ import annotations

from typing import Final

from ...builder import Builder, Value
from ..variates import minus_log, minus_log1p, normal_radius, open_unit, sine_cosine
from .blocks import block, number, tried, word

_FREE: Final = 11  # bits 52 to 62 of each word
_STEP: Final = 2.0 ** (-2 * _FREE)


def gamma(b: Builder, position: Value, key: Value, d: Value, c: Value, q: Value) -> Value:
    """A gamma variate of shape `d + 1/3 >= 1`; `c = 1 / sqrt(9 d)`, `q = 1 / (108 d)`."""
    place = position.bitcast("uint64")
    z, first = _proposal(b, key, place, word(b, 0))
    y = c * z
    accepted = _at_once(b, y, z, first, q)
    return b.rare(b.unary("not", accepted), _cubed(b, y, d), _slowly, place, key, d, c, q)


def _proposal(b: Builder, key: Value, place: Value, attempt: Value) -> tuple[Value, Value]:
    """A normal, and the first bits of u as a multiple of their last place."""
    low, high = block(b, key, place, attempt)
    s, c = sine_cosine(b, high)
    mask = word(b, (1 << _FREE) - 1)
    bits = (((low >> 52) & mask) << _FREE) | ((high >> 52) & mask)
    first = bits.bitcast("int64").cast("float64") * number(b, _STEP)
    return normal_radius(b, low) * (c - s), first


def _at_once(b: Builder, y: Value, z: Value, first: Value, q: Value) -> Value:
    square = z * z
    factor = b.select(y.compare("lt", number(b, 0.0)), q + q, q)
    below = first + number(b, _STEP)
    sure = below.compare("le", number(b, 1.0) - (square * square) * factor)
    return sure & y.compare("ge", number(b, -0.5))


def _cubed(b: Builder, y: Value, d: Value) -> Value:
    w = number(b, 1.0) + y
    return d * ((w * w) * w)


def _slowly(b: Builder, place: Value, key: Value, d: Value, c: Value, q: Value) -> Value:
    return tried(b, _attempt, place, key, d, c, q).bitcast("float64")


def _attempt(
    b: Builder, attempt: Value, place: Value, key: Value, d: Value, c: Value, q: Value
) -> tuple[Value, Value]:
    z, first = _proposal(b, key, place, attempt)
    y = c * z
    rest, _ = block(b, key, place, attempt, 1)
    u = b.fma(open_unit(b, rest), number(b, _STEP), first)
    inside = y.compare("gt", number(b, -1.0))
    y_inside = b.select(inside, y, number(b, 0.0))
    bent = y_inside * (b.fma(y_inside, y_inside, b.fma(y_inside, number(b, 3.0), number(b, 3.0))))
    logs = number(b, -3.0) * minus_log1p(b, y_inside)
    s = b.fma(d, logs - bent, (z * z) * number(b, 0.5))
    exactly = minus_log(b, u).compare("gt", -s) & inside
    return _cubed(b, y, d), exactly | _at_once(b, y, z, first, q)
