"""The von Mises and the zeta distribution, by rejection, two uniforms of one block an attempt.

Von Mises (Best & Fisher, "Efficient simulation of the von Mises distribution", 1979) in half
angles: with `s = (1 + sqrt(1 + 4 kappa**2)) / (2 kappa)` the paper's r and `Z = cos(pi u)`, its
angle is `2 atan(sqrt((s - 1) / (s + 1)) tan(pi u / 2))` and its `kappa (r - f)` is `s / (s + Z)`.
Nothing cancels, for any kappa.

Zeta (Devroye, Non-Uniform Random Variate Generation, 1986, X.6), where the uniform is drawn above
`2**(-63 (a - 1))`, below which it gives no int64.
"""

from __future__ import annotations

from ...builder import Builder, Value
from ..elementary.exponential import exp, expm1
from ..elementary.logarithm import log1p
from ..variates import minus_log, open_unit, sign, sine_cosine
from .blocks import block, divided, number, tried


def von_mises(b: Builder, position: Value, key: Value, s: Value, less: Value, root: Value) -> Value:
    """The tangent of half the angle; `less = s - 1`, `root = sqrt((s - 1) / (s + 1))`."""
    tangent = tried(b, _von_mises, position.bitcast("uint64"), key, s, less, root)
    return tangent.bitcast("float64")


def _von_mises(
    b: Builder, attempt: Value, place: Value, key: Value, s: Value, less: Value, root: Value
) -> tuple[Value, Value]:
    low, high = block(b, key, place, attempt)
    sine, cosine = sine_cosine(b, low)
    across, along = cosine + sine, cosine - sine  # sin and cos of pi u / 2, times the root of 2
    y = divided(s, b.fma(along, along, less))
    v, two = open_unit(b, high), number(b, 2.0)
    quick = (y * (two - y)).compare("ge", v)
    exactly = (minus_log(b, divided(v, y)) + number(b, 1.0)).compare("ge", y)
    tangent = root * divided(across, along)
    return (tangent.bitcast("uint64") | sign(b, low)), quick | exactly


def zeta(b: Builder, position: Value, key: Value, less: Value, least: Value, other: Value) -> Value:
    """Zeta of exponent `less + 1`; `least = 2**(-63 less)`, `other = 2**less - 1`."""
    whole = tried(b, _zeta, position.bitcast("uint64"), key, less, least, other)
    return whole.bitcast("int64")


def _zeta(
    b: Builder, attempt: Value, place: Value, key: Value, less: Value, least: Value, other: Value
) -> tuple[Value, Value]:
    low, high = block(b, key, place, attempt)
    one = number(b, 1.0)
    u = b.fma(open_unit(b, low), one - least, least)
    x = b.unary("floor", exp(b, divided(minus_log(b, u), less)))
    fits = x.compare("lt", number(b, 2.0**63))
    x = b.select(fits & x.compare("ge", one), x, one)
    # t - 1 for t = (1 + 1 / x)**less, without cancellation.
    above = expm1(b, less * log1p(b, divided(one, x)))
    left = divided((open_unit(b, high) * x) * above, other)
    right = divided(above + one, other + one)
    return x.cast("int64"), fits & left.compare("le", right)
