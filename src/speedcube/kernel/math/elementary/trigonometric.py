"""sin, cos and tan: a quadrant and `|r| <= pi/4` (`reduction`), then an odd or an even polynomial.

Both polynomials are computed and one is chosen, for every lane its own. `z = r r` takes the low
part of r with it, so that `1 - z/2 + ...` needs no other correction.
"""

from __future__ import annotations

from ...builder import Builder, Value
from ..bits import magnitude, rare_nan, sign_of
from . import tables as T
from .doubles import (
    F64,
    SHIFTER,
    Pair,
    chosen,
    fast_two_sum,
    flipped,
    low_bits,
    number,
    polynomial,
    quotient,
    widened,
    word,
)
from .reduction import LIMIT, far, near


def sin(b: Builder, x: Value) -> Value:
    return _wave(b, x, 0)


def cos(b: Builder, x: Value) -> Value:
    return _wave(b, x, 1)


def _wave(b: Builder, x: Value, turn: int) -> Value:
    """Sine of `x` and ``turn`` quarter turns."""
    if x.type == "float32":
        return _wave32(b, x, turn)
    size = magnitude(b, x)
    r, n = near(b, size)
    usual = _signed(b, x, n, turn, _either(b, r, n, turn))
    large = _too_large(b, x, LIMIT)
    return rare_nan(b, large, usual, lambda b, x: _far(b, x, turn), x)


def _too_large(b: Builder, x: Value, limit: float) -> Value:
    """`|x| >= limit`, or NaN."""
    bits = b.const(limit, x.type).bitcast("uint64" if x.type == F64 else "uint32")
    unsigned = b.const((1 << (63 if x.type == F64 else 31)) - 1, bits.type)
    return (x.bitcast(bits.type) & unsigned).compare("ge", bits)


def _far(b: Builder, x: Value, turn: int) -> Value:
    size = magnitude(b, x)
    r, n = far(b, size)
    value = _signed(b, x, n, turn, _either(b, r, n, turn))
    finite = size.compare("lt", number(b, float("inf")))
    return b.select(finite, value, number(b, float("nan")))


def _either(b: Builder, r: Pair, n: Value, turn: int) -> Value:
    """`sin(r)` or `cos(r)`, as the quadrant says."""
    high, low = r
    z = b.fma(high, high, (high + high) * low)
    sine = high + b.fma(high * z, polynomial(b, z, T.SIN), low)
    cosine = b.fma(z, polynomial(b, z, (-0.5, *T.COS)), number(b, 1.0))
    return _chosen(b, n, turn, sine, cosine)


def _chosen(b: Builder, n: Value, turn: int, sine: Value, cosine: Value) -> Value:
    odd = (n & word(b, 1)).compare("ne", word(b, 0))
    return b.select(odd, sine, cosine) if turn else b.select(odd, cosine, sine)


def _signed(b: Builder, x: Value, n: Value, turn: int, size: Value) -> Value:
    quadrant = n + word(b, 1) if turn else n
    sign = (quadrant & word(b, 2)) << 62
    return flipped(size, sign if turn else sign ^ sign_of(b, x))


def _wave32(b: Builder, x: Value, turn: int) -> Value:
    """In float64, rounded once: `(-1)**n sin(r)`, `r = x - n pi`, for cos `x - (n - 1/2) pi`.

    One polynomial for `|r| <= pi/2` costs less than two and a choice. Two parts of pi are enough
    below `2**30`.
    """
    wide = x.cast(F64)
    shifted = b.fma(wide, number(b, T.PER_PI[0]), number(b, 0.5 if turn else SHIFTER))
    shifted = shifted + number(b, SHIFTER) if turn else shifted
    n = shifted - number(b, SHIFTER)
    n = n - number(b, 0.5) if turn else n
    r = b.fma(n, number(b, -T.PI[1]), b.fma(n, number(b, -T.PI[0]), wide))
    z = r * r
    value = r * polynomial(b, z, (1.0, *T.SIN_32))  # a product keeps the sign of a zero
    usual = flipped(value, low_bits(shifted) << 63).cast("float32")
    large = _too_large(b, x, LIMIT)
    return rare_nan(b, large, usual, lambda b, x: _far(b, x.cast(F64), turn).cast("float32"), x)


@widened
def tan(b: Builder, x: Value) -> Value:
    """`sin(r) / cos(r)`, or `-cos(r) / sin(r)` in odd quadrants, both as pairs."""
    size = magnitude(b, x)
    r, n = near(b, size)
    usual = _ratio(b, x, r, n)

    def huge(b: Builder, x: Value) -> Value:
        size = magnitude(b, x)
        ratio = _ratio(b, x, *far(b, size))
        finite = size.compare("lt", number(b, float("inf")))
        return b.select(finite, ratio, number(b, float("nan")))

    return b.rare(_too_large(b, x, LIMIT), usual, huge, x)


def sine_and_cosine(b: Builder, r: Pair) -> tuple[Pair, Pair]:
    """Of a pair with `|r| <= pi/4`, as pairs."""
    high, low = r
    z = high * high
    lost = b.fma(high + high, low, b.fma(high, high, -z))
    sine = fast_two_sum(high, b.fma(high * z, polynomial(b, z, T.SIN), low))
    one, rest = fast_two_sum(number(b, 1.0), z * number(b, -0.5))
    tail = b.fma(z * z, polynomial(b, z, T.COS), lost * number(b, -0.5))
    return sine, fast_two_sum(one, rest + tail)


def _ratio(b: Builder, x: Value, r: Pair, n: Value) -> Value:
    sine, cosine = sine_and_cosine(b, r)
    odd = (n & word(b, 1)).compare("ne", word(b, 0))
    first, second = quotient(b, chosen(b, odd, cosine, sine), chosen(b, odd, sine, cosine))
    return flipped(first + second, (n << 63) ^ sign_of(b, x))
