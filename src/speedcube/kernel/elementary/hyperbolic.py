"""tanh(x) = expm1(2x) / (expm1(2x) + 2), both as pairs, so that one rounding decides."""

from __future__ import annotations

from ..ir import Builder, Value
from . import tables as T
from .doubles import (
    F64,
    SHIFTER,
    at_most,
    fast_two_sum,
    flipped,
    horner,
    magnitude,
    number,
    quotient,
    sign_of,
)
from .exponential import BIAS, expm1_pair, nearest, power_of_two


def tanh(b: Builder, x: Value) -> Value:
    if x.type == "float32":
        return _tanh32(b, x)
    size = at_most(b, magnitude(b, x), 20.0)
    grown, low = expm1_pair(b, size + size)
    below, lost = fast_two_sum(number(b, 2.0), grown)
    first, second = quotient(b, (grown, low), (below, lost + low))
    return flipped(first + second, sign_of(b, x))


def _tanh32(b: Builder, x: Value) -> Value:
    wide = x.cast(F64)
    size = at_most(b, magnitude(b, wide), 10.0)
    double = size + size
    n, shifted = nearest(b, double, T.LOG2E[0], SHIFTER + BIAS)
    r = b.fma(n, number(b, -(T.LN2[0] + T.LN2[1])), double)
    scale = power_of_two(shifted)
    grown = b.fma(scale, r * horner(b, r, T.EXPM1_32), scale - number(b, 1.0))
    ratio = b.emit("div", F64, grown, grown + number(b, 2.0))
    return flipped(ratio, sign_of(b, wide)).cast("float32")
