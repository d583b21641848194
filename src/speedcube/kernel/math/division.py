"""Floor division and remainder as NumPy has them, for integers and floats.

While a float quotient is below 2**50 (2**21 in float32) floor(x / y) is off by one at most and a
fused multiply-add gives the remainder exactly. Other elements take C's way, which NumPy follows:
fmod by steps that each take up to 51 bits off the quotient, then the divisor's sign.
"""

from __future__ import annotations

from typing import Final

from ... import dtypes
from ..builder import Builder, Value
from .bits import WORD, magnitude, sign_of

_AT_ONCE: Final = 6  # steps of Euclid's algorithm
_EASY: Final = {"float64": 2.0**50, "float32": 2.0**21}


def floor_divide(b: Builder, x: Value, y: Value) -> Value:
    """``x // y``."""
    if dtypes.is_integer(x.type):
        return _integers(b, x, y)[0]
    ratio, hard, q, _ = _easy(b, x, y)
    return b.rare(hard, _signed_zero(b, q, ratio), _hard_quotient, x, y)


def remainder(b: Builder, x: Value, y: Value) -> Value:
    """``x % y``, of the divisor's sign."""
    if dtypes.is_integer(x.type):
        return _integers(b, x, y)[1]
    _, hard, _, r = _easy(b, x, y)
    return b.rare(hard, _signed_zero(b, r, y), _hard_remainder, x, y)


def _integers(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """Quotient and remainder; by zero both are 0."""
    if dtypes.itemsize(x.type) < 8 and _uniform(b, y):
        return _by_one(b, x, y)
    zero, one = b.const(0, x.type), b.const(1, x.type)
    by_zero = y.compare("eq", zero)
    divisor = b.select(by_zero, one, y)
    if x.type in dtypes.SIGNED:  # least / -1 overflows: negate instead
        minus = y.compare("eq", b.const(-1, x.type))
        divisor = b.select(minus, one, divisor)
    q = b.emit("idiv", x.type, x, divisor)
    r = x - q * divisor  # a second division would take as long as the first
    if x.type in dtypes.SIGNED:
        q = b.select(minus, -x, q)
        r = b.select(minus, zero, r)
        opposite = (r ^ y).compare("lt", zero)
        adjust = b.select(r.compare("ne", zero), b.select(opposite, one, zero), zero)
        q, r = q - adjust, b.select(adjust.compare("ne", zero), r + y, r)
    return b.select(by_zero, zero, q), b.select(by_zero, zero, r)


def _uniform(b: Builder, y: Value) -> bool:
    """Whether every element has the same ``y``."""
    return b.instrs[y.id].op in ("const", "param")


def _by_one(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """The same by one divisor: its reciprocal is computed once, and a product takes a division.

    Half a step further from zero in the divisor's direction, (x + 1/2) / y is 1/2 / y or more away
    from whole numbers. Of x below 2**p, where floats have 2p + 2 digits or more (24 for p = 8 and
    16 alike: 2**(16 - 23) < 1/2), the two roundings move it by less.
    """
    wide = dtypes.itemsize(x.type) == 4
    floating = "float64" if wide else "float32"
    zero, half = b.const(0, x.type), b.const(0.5, floating)
    by_zero, divisor = y.compare("eq", zero), y.cast(floating)
    if x.type in dtypes.SIGNED:
        half = b.select(y.compare("lt", zero), -half, half)
    reciprocal = b.emit("div", floating, b.const(1.0, floating), divisor)
    reciprocal = b.select(by_zero, b.const(0.0, floating), reciprocal)  # so are quotients
    q = b.unary("floor", (x.cast(floating) + half) * reciprocal)
    if not wide:
        q = q.cast("int32").cast(x.type)  # least / -1 wraps
    elif x.type in dtypes.SIGNED:  # and is none of int32
        minus = y.compare("eq", b.const(-1, x.type))
        q = b.select(minus, -x, b.select(minus, b.const(0.0, floating), q).cast(x.type))
    else:
        q = q.cast(x.type)
    return q, b.select(by_zero, zero, x - q * y)


def gcd(b: Builder, x: Value, y: Value) -> Value:
    """The greatest common divisor of integers by Euclid's algorithm, without a sign."""
    word = "u" + x.type.removeprefix("u")
    steps = 3 * 8 * dtypes.itemsize(word) // 2  # two Fibonacci numbers take 1.44 a bit
    return _euclid(b, _size(b, x, word), _size(b, y, word), steps).bitcast(x.type)


def _size(b: Builder, x: Value, word: str) -> Value:
    if x.type == word:
        return x
    return b.select(x.compare("lt", b.const(0, x.type)), -x, x).bitcast(word)


def _euclid(b: Builder, x: Value, y: Value, steps: int) -> Value:
    """Some steps for all elements, and what is left for those that need it."""
    zero, one = b.const(0, x.type), b.const(1, x.type)
    for _ in range(min(steps, _AT_ONCE)):
        done = y.compare("eq", zero)
        x, y = b.select(done, x, y), b.emit("irem", x.type, x, b.select(done, one, y))
    if steps <= _AT_ONCE:
        return x

    def rest(inner: Builder, x: Value, y: Value) -> Value:
        return _euclid(inner, x, y, steps - _AT_ONCE)

    return b.rare(y.compare("ne", zero), x, rest, x, y)


def _easy(b: Builder, x: Value, y: Value) -> tuple[Value, Value, Value, Value]:
    """The ratio, whether it is no moderate number of a finite y, floor and remainder if so."""
    zero, one = b.const(0.0, x.type), b.const(1.0, x.type)
    ratio = b.emit("div", x.type, x, y)
    easy = magnitude(b, ratio).compare("lt", b.const(_EASY[x.type], x.type))
    easy = easy & magnitude(b, y).compare("lt", b.const(float("inf"), x.type))
    q = b.unary("floor", ratio)
    r = b.fma(-q, y, x)
    # The quotient may have been rounded up to the next whole number, never down past one.
    under = b.select(y.compare("gt", zero), r, -r).compare("lt", zero)
    q, r = b.select(under, q - one, q), b.select(under, r + y, r)
    return ratio, b.unary("not", easy), q, r


def _hard_remainder(b: Builder, x: Value, y: Value) -> Value:
    r = _fmod(b, x, y)
    return _signed_zero(b, b.select(_opposite(b, r, y), r + y, r), y)


def _hard_quotient(b: Builder, x: Value, y: Value) -> Value:
    """NumPy's steps, whose roundings decide quotients that are not representable."""
    zero, one = b.const(0.0, x.type), b.const(1.0, x.type)
    ratio, r = b.emit("div", x.type, x, y), _fmod(b, x, y)
    q = b.emit("div", x.type, x - r, y)
    q = b.select(_opposite(b, r, y), q - one, q)
    whole = b.unary("floor", q)
    nearer = (q - whole).compare("gt", b.const(0.5, x.type))
    whole = _signed_zero(b, b.select(nearer, whole + one, whole), ratio)
    return b.select(y.compare("eq", zero), ratio, whole)


def _opposite(b: Builder, r: Value, y: Value) -> Value:
    """Whether a remainder lies on the other side of zero than the divisor."""
    zero = b.const(0.0, r.type)
    return r.compare("ne", zero) & (r.compare("lt", zero) ^ y.compare("lt", zero))


def _fmod(b: Builder, x: Value, y: Value) -> Value:
    """The remainder of truncation, exact; NaN where x is infinite or y is zero."""
    a, d = magnitude(b, x.cast("float64")), magnitude(b, y.cast("float64"))
    beyond = b.unary("not", a.compare("lt", d))  # NaN too, which the first step hands on
    rest = b.loop(beyond, _step, a, d, _exponent(b, d)).cast(x.type)
    return (rest.bitcast(WORD[x.type]) | sign_of(b, x)).bitcast(x.type)


def _step(b: Builder, a: Value, d: Value, exponent: Value) -> tuple[Value, Value]:
    """``a`` less a multiple of d, by a quotient of d * 2**k below 2**52; whether it is still >= d.

    An infinite ``a`` and a zero ``d`` give NaN, which ends the loop.
    """
    zero = b.const(0, "int64")
    k = (a.bitcast("int64") >> 52) - exponent - b.const(51, "int64")
    k = b.select(k.compare("gt", zero), k, zero)
    scaled = d * _two_to(b, k >> 1) * _two_to(b, k - (k >> 1))
    q = b.unary("trunc", b.emit("div", "float64", a, scaled))
    r = b.fma(-q, scaled, a)
    r = b.select(r.compare("lt", b.const(0.0, "float64")), r + scaled, r)  # q was rounded up
    return r, r.compare("ge", d)


def _exponent(b: Builder, d: Value) -> Value:
    """The biased exponent of ``d`` >= 0, below 1 for a subnormal one."""
    normal = d.compare("ge", b.const(2.0**-1022, "float64"))
    lifted = d * b.const(2.0**54, "float64")
    low = (lifted.bitcast("int64") >> 52) - b.const(54, "int64")
    return b.select(normal, d.bitcast("int64") >> 52, low)


def _two_to(b: Builder, k: Value) -> Value:
    return ((k + b.const(1023, "int64")) << 52).bitcast("float64")


def _signed_zero(b: Builder, x: Value, like: Value) -> Value:
    """``x``, a zero taking the sign of ``like``."""
    zero = sign_of(b, like).bitcast(x.type)
    return b.select(x.compare("eq", b.const(0.0, x.type)), zero, x)
