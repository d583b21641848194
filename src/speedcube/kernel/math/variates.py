"""What a word of a block becomes: a uniform, its logarithm, a normal's radius and angle.

Normals are Box & Muller (1958) with the angle centred on an eighth turn: for `t` in [-1/2, 1/2) and
`c, s = cos, sin` of `t` quarter turns, cosine and sine of that angle plus an eighth turn are
`(c - s) / sqrt 2` and `(c + s) / sqrt 2`; the root of two goes into the radius, `sqrt(-ln u)`, and
two free bits choose the quadrant.
"""

from __future__ import annotations

from typing import Final

from ..builder import Builder, Value
from . import stream_coefficients as K
from .arithmetic import horner

MANTISSA: Final = 0x000F_FFFF_FFFF_FFFF
EXPONENT: Final = 0xFFF0_0000_0000_0000
SIGN: Final = 0x8000_0000_0000_0000
ONE: Final = 0x3FF0_0000_0000_0000
ROOT_HALF: Final = 0x3FE6_A09E_0000_0000  # 0.70710..., low word zero: cheap to subtract
INTEGER: Final = 0x4330_0000_0000_0000  # 2**52: an integer OR-ed into its low bits is added
ROOT_HALF32: Final = 0x3F35_04F3


def unit(b: Builder, word: Value) -> Value:
    """52 low bits of ``word`` pasted under the exponent of 1: uniform in [1, 2)."""
    bits = (word & b.const(MANTISSA, "uint64")) | b.const(ONE, "uint64")
    return bits.bitcast("float64")


def minus_log(b: Builder, u: Value) -> Value:
    """`-ln u` for a normal `u > 0`: with `u = 2**e * f`, f in [0.707, 1.414), `-e ln 2 - ln f`."""
    f, e = _split(b, u)
    return _log_polynomial(b, f - b.const(1.0, "float64"), e, K.NEG_LOG64, K.NEG_LN2_64)


def minus_log1p(b: Builder, x: Value) -> Value:
    """`-ln(1 + x)` for `x > -1`: near 0 the polynomial is taken at `x` itself."""
    one = b.const(1.0, "float64")
    f, e = _split(b, x + one)
    g = b.select(e.compare("eq", b.const(0.0, "float64")), x, f - one)
    return _log_polynomial(b, g, e, K.NEG_LOG64, K.NEG_LN2_64)


def _split(b: Builder, u: Value) -> tuple[Value, Value]:
    """`f` and `e` with `u = 2**e * f`, f in [0.707, 1.414)."""
    bits = u.bitcast("uint64")
    above = bits - b.const(ROOT_HALF, "uint64")
    f = (bits - (above & b.const(EXPONENT, "uint64"))).bitcast("float64")
    shifted = above + b.const(1024 << 52, "uint64")  # e + 1024 in the top bits, positive
    e = ((shifted >> 52) | b.const(INTEGER, "uint64")).bitcast("float64")
    return f, e - b.const(2.0**52 + 1024, "float64")


def _log_polynomial(
    b: Builder, g: Value, e: Value, table: tuple[float, ...], neg_ln2: float
) -> Value:
    """`-ln(1 + g) - e ln 2`."""
    g2 = g * g
    even, odd = horner(b, g2, table[0::2]), horner(b, g2, table[1::2])
    return b.fma(g, b.fma(g, odd, even), e * b.const(neg_ln2, g.type))


def open_unit(b: Builder, word: Value) -> Value:
    """Uniform in (0, 1): the odd multiples of `2**-53`."""
    return unit(b, word) - b.const(1.0 - 2.0**-53, "float64")


def sign(b: Builder, word: Value) -> Value:
    """The sign bit of ``word``."""
    return word & b.const(SIGN, "uint64")


def normal_radius(b: Builder, word: Value) -> Value:
    """The distance from the origin over the root of two, with the sign bit of ``word``."""
    root = b.unary("nsqrt", minus_log(b, open_unit(b, word)))
    return (root.bitcast("uint64") | sign(b, word)).bitcast("float64")


def sine_cosine(b: Builder, word: Value) -> tuple[Value, Value]:
    """Sine and cosine of the angle that ``word`` gives, up to an eighth turn."""
    t = unit(b, word) - b.const(1.5, "float64")
    t2 = t * t
    return t * horner(b, t2, K.SIN64), horner(b, t2, K.COS64)


def minus_log32(b: Builder, word: Value) -> Value:
    """`-ln u` for `u = (w + 1/2) / 2**32`, w the top 31 bits doubled, in (0, 1]."""
    k = (word >> 1).bitcast("int32").cast("float32")
    u = b.fma(k, b.const(2.0**-31, "float32"), b.const(2.0**-32, "float32"))
    bits = u.bitcast("int32")
    above = bits - b.const(ROOT_HALF32, "int32")
    exponent = above & b.const(-(1 << 23), "int32")
    f = (bits - exponent).bitcast("float32")
    e = (exponent >> 23).cast("float32")
    return _log_polynomial(b, f - b.const(1.0, "float32"), e, K.NEG_LOG32, K.NEG_LN2_32)
