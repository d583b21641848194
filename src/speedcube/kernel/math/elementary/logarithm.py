"""log: `x = 2**e f`, f in `[0.707, 1.415)`, `log(x) = e ln 2 + log(f)`.

With `s = (f - 1) / (f + 1)`, `log(f) = 2 atanh(s)`, an odd series in s. The last steps of float64
are those of fdlibm (Sun Microsystems 1993), which add the large terms last:
`log(1 + g) = g - (g g / 2 - s (g g / 2 + R))`. `log_pair` keeps `2**-65` of the result, for pow and
others.
"""

from __future__ import annotations

from typing import Final

from ...builder import Builder, Value
from ..bits import rare_nan
from . import single
from . import tables as T
from .doubles import (
    EXPONENT,
    F64,
    Pair,
    fast_two_sum,
    number,
    polynomial,
    times,
    two_product,
    two_sum,
    widened,
    word,
    zero_stays,
)

ROOT_HALF: Final = 0x3FE6_A09E_0000_0000  # 0.70710..., low word zero
WHOLE: Final = 0x4330_0000_0000_0000  # 2**52: an integer OR-ed into its low bits is added
INF: Final = float("inf")
LEAST: Final = 1 << 52  # bits of the least normal number
INFINITE: Final = 0x7FF << 52


def unusual(b: Builder, x: Value) -> Value:
    """Whether x is zero, negative, subnormal, infinite or NaN."""
    bits = x.bitcast("uint64")
    return (bits - word(b, LEAST)).compare("ge", word(b, INFINITE - LEAST))


def split(b: Builder, x: Value) -> tuple[Value, Value]:
    """`f` and `e` of a positive normal number."""
    bits = x.bitcast("uint64")
    above = bits - word(b, ROOT_HALF)
    f = (bits - (above & word(b, EXPONENT | 1 << 63))).bitcast(F64)
    lifted = above + word(b, 1024 << 52)  # e + 1024 in the top bits, positive
    e = ((lifted >> 52) | word(b, WHOLE)).bitcast(F64)
    return f, e - number(b, 2.0**52 + 1024)


def log(b: Builder, x: Value) -> Value:
    if x.type == "float32":
        return single.log(b, x, _log32)
    return rare_nan(b, unusual(b, x), normal_log(b, x), _log_unusual, x)


def normal_log(b: Builder, x: Value, more: float = 0.0) -> Value:
    f, e = split(b, x)
    e = e + number(b, more) if more else e
    g = f - number(b, 1.0)
    s = b.emit("div", F64, g, g + number(b, 2.0))
    z = s * s
    half = g * number(b, 0.5) * g
    inner = b.fma(z, polynomial(b, z, T.LOG), half)
    correction = half - b.fma(s, inner, e * number(b, T.LN2[1]))
    return b.fma(e, number(b, T.LN2[0]), g - correction)


def _log_unusual(b: Builder, x: Value) -> Value:
    tiny = normal_log(b, x * number(b, 2.0**54), -54.0)
    return beyond(b, x, b.select(x.compare("lt", number(b, 1.0)), tiny, x))


def beyond(b: Builder, x: Value, otherwise: Value) -> Value:
    """-inf for log of a zero, NaN for a negative number."""
    zero = b.const(0.0, x.type)
    log = b.select(x.compare("eq", zero), b.const(float("-inf"), x.type), otherwise)
    return b.select(x.compare("lt", zero), b.const(float("nan"), x.type), log)


def _log32(b: Builder, x: Value) -> Value:
    """In float64, where float32's subnormals are normal, rounded once."""
    f, e = split(b, x.cast(F64))
    g = f - number(b, 1.0)
    value = b.fma(g, polynomial(b, g, T.LOG_32), e * number(b, T.LN2[0] + T.LN2[1]))
    usual = x.compare("gt", b.const(0.0, "float32")) & x.compare("lt", b.const(INF, "float32"))
    return b.select(usual, value.cast("float32"), beyond(b, x, x))


def log_pair(b: Builder, x: Value, more: Value | None = None) -> Pair:
    """`log(x) + more ln 2` of a positive normal number, as a pair."""
    f, e = split(b, x)
    e = e if more is None else e + more
    high, low = log_near_one(b, f)
    first, second = fast_two_sum(e * number(b, T.LN2[0]), high)
    low = low + b.fma(e, number(b, T.LN2[1]), second)
    return fast_two_sum(first, low)


def log_near_one(b: Builder, f: Value) -> Pair:
    """`log(f)` of `f` in [0.707, 1.415) as a pair (not normalised)."""
    g = f - number(b, 1.0)
    below = f + number(b, 1.0)
    lost = f - (below - number(b, 1.0))
    inverse = b.emit("div", F64, number(b, 1.0), below)
    s = g * inverse
    rest = b.fma(-s, lost, b.fma(-s, below, g)) * inverse
    z = s * s
    lost_z = b.fma(s, s, -z) + (s + s) * rest
    tail = z * polynomial(b, z, T.LOG_TAIL)
    series, low = fast_two_sum(number(b, T.TWO_THIRDS[0]), tail)
    low = low + number(b, T.TWO_THIRDS[1])
    cube, lost_cube = two_product(b, s, z)
    lost_cube = b.fma(s, lost_z, b.fma(rest, z, lost_cube))
    term, lost_term = two_product(b, cube, series)
    lost_term = b.fma(cube, low, b.fma(lost_cube, series, lost_term))
    high, second = fast_two_sum(s + s, term)
    return high, second + (lost_term + (rest + rest))


def log1p_pair(b: Builder, x: Pair) -> Pair:
    """`log(1 + x)` of a pair above -1: log of the rounded sum, and what was lost over the sum."""
    total, lost = two_sum(number(b, 1.0), x[0])
    high, low = log_pair(b, total)
    rest = b.emit("div", F64, lost + x[1], total)
    return fast_two_sum(high, low + rest)


@widened
def log1p(b: Builder, x: Value) -> Value:
    high, low = log1p_pair(b, (x, number(b, 0.0)))
    inside = x.compare("gt", number(b, -1.0)) & x.compare("lt", number(b, float("inf")))

    def outside(b: Builder, x: Value) -> Value:
        return beyond(b, x + number(b, 1.0), x)

    log = b.rare(b.unary("not", inside), high + low, outside, x)
    return zero_stays(b, x, log)


def _based(b: Builder, x: Value, unit: tuple[float, ...], two: tuple[float, ...]) -> Value:
    """`log(x)` in another base: ``unit`` is the logarithm of e in it, ``two`` that of 2."""

    def usual(b: Builder, x: Value, more: Value | None = None) -> Value:
        f, e = split(b, x)
        e = e if more is None else e + more
        factor = number(b, unit[0]), number(b, unit[1])
        high, low = times(b, fast_two_sum(*log_near_one(b, f)), factor)
        first, second = fast_two_sum(e * number(b, two[0]), high)
        return first + (second + b.fma(e, number(b, two[1]), low))

    def others(b: Builder, x: Value) -> Value:
        tiny = usual(b, x * number(b, 2.0**54), number(b, -54.0))
        return beyond(b, x, b.select(x.compare("lt", number(b, 1.0)), tiny, x))

    return b.rare(unusual(b, x), usual(b, x), others, x)


@widened
def log2(b: Builder, x: Value) -> Value:
    """Exact for powers of two."""
    return _based(b, x, T.LOG2E, (1.0, 0.0))


@widened
def log10(b: Builder, x: Value) -> Value:
    return _based(b, x, T.LOG10E, T.LOG10_2)
