"""atan, atan2 and cbrt: a table's entry or a guess near the result, and what it lacks."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from .....dataclass import dataclass
from ....builder import Builder, Value
from ...arithmetic import horner
from ...bits import magnitude, sign_of
from ..doubles import fast_two_sum, two_product
from ..single import F32, SHIFTER, bits_of, nearest, number, word
from . import tables as T
from .rule import Enclosure

SIGN: Final = 1 << 31


def _turned(x: Value, sign: Value) -> Value:
    return (bits_of(x) ^ sign).bitcast(F32)


@dataclass(frozen=True)
class Arc:
    """The angle of a table's entry, what is left of another, what both lack, and what is unsure."""

    whole: Value
    z: Value
    low: Value
    off: Value


CUBE: Final = 1.5 * 2.0**-28  # times `z z`: what the third term may be off, and more


def _arc(b: Builder, q: Value, rest: Value) -> Arc:
    """`atan(q + rest)` for q in 0 .. 1."""
    _, k = nearest(b, q, 15.0)
    point = b.pick(T.POINTS, k)
    above = q - point
    below = b.fma(q, point, number(b, 1.0))
    lost = b.fma(q, point, number(b, 1.0) - below)
    inverse = b.emit("div", F32, number(b, 1.0), below)
    z = above * inverse
    low = b.fma(-z, below, above) + b.fma(-z, b.fma(rest, point, lost), rest)
    square = z * z
    slope = b.fma(-square, inverse, inverse)  # that of atan is 1 - z z or so
    low = b.fma(low, slope, b.pick(T.ANGLES_REST, k))
    low = b.fma(z * square, horner(b, square, T.ATAN), low)
    return Arc(b.pick(T.ANGLES, k), z, low, square * number(b, CUBE))


def _placed(b: Builder, arc: Arc, steep: Value, left: Value | None = None) -> Enclosure:
    """`pi/2` less the angle where it is ``steep``; and `pi` less that on the ``left``."""
    zero, none, all_ = number(b, 0.0), word(b, 0), word(b, SIGN)
    turned = b.select(steep, all_, none)
    base = b.select(steep, number(b, T.HALF_PI[0]), zero)
    rest = b.select(steep, number(b, T.HALF_PI[1]), zero)
    if left is not None:
        turned = turned ^ b.select(left, all_, none)
        round_ = left & b.unary("not", steep)
        base = b.select(round_, number(b, 2 * T.HALF_PI[0]), base)
        rest = b.select(round_, number(b, 2 * T.HALF_PI[1]), rest)
    total, lost = fast_two_sum(base + _turned(arc.whole, turned), _turned(arc.z, turned))
    return Enclosure(total, (_turned(arc.low, turned) + rest) + lost, arc.off)


def atan(b: Builder, x: Value) -> Enclosure:
    """`pi/2 - atan(1 / x)` above 1."""
    a, one, zero = magnitude(b, x), number(b, 1.0), number(b, 0.0)
    steep = a.compare("gt", one)
    q = b.select(steep, b.emit("div", F32, one, a), a)
    rest = b.select(steep, b.fma(-q, a, one) * q, zero)
    return replace(_placed(b, _arc(b, q, rest), steep), sign=sign_of(b, x))


PAIR_OFF: Final = 2.0**-35  # four times what was ever found: not every pair can be tried
LEAST: Final = 2.0**-40  # of the smaller of two numbers, and its inverse is the most of the larger


def atan2(b: Builder, y: Value, x: Value) -> Enclosure:
    """The quotient of the smaller by the larger, unless one is too small or too large for it."""
    high, wide = magnitude(b, y), magnitude(b, x)
    steep, left = high.compare("gt", wide), sign_of(b, x).compare("ne", word(b, 0))
    top, below = b.select(steep, wide, high), b.select(steep, high, wide)
    inverse = b.emit("div", F32, number(b, 1.0), below)
    q = top * inverse
    rest = b.fma(-q, below, top) * inverse
    small = top.compare("lt", number(b, LEAST)) & top.compare("ne", number(b, 0.0))
    odd = small | below.compare("gt", number(b, 1.0 / LEAST))
    found = _placed(b, _arc(b, q, rest), steep, left)
    return replace(found, odd=odd, sign=sign_of(b, y), part=PAIR_OFF)


NORMAL: Final = 1 << 23  # bits of the least normal number
RANGE: Final = 0x7F00_0000  # of those of normal numbers


def cbrt(b: Builder, x: Value) -> Enclosure:
    """`2**q` times the root of m in [1/4, 2): near `m y y`, and the exact remainder's part."""
    size = bits_of(magnitude(b, x))
    third = bits_of(b.fma((size >> 23).cast(F32), number(b, 1.0 / 3.0), number(b, SHIFTER)))
    q = third - b.const(SHIFTER + 42.0, F32).bitcast("uint32")
    m_bits = size - (((q << 1) + q) << 23)
    m = m_bits.bitcast(F32)
    f = ((m_bits & word(b, 0x7F_FFFF)) | word(b, 0x3F80_0000)).bitcast(F32)
    y = horner(b, f, T.INVERSE_CBRT) * b.pick(T.THIRDS, m_bits >> 23)
    over = y * y
    guess = m * over
    off = b.fma(-guess, y, number(b, 1.0))
    root = b.fma(guess, off * number(b, 2.0 / 3.0), guess)
    square, lost = two_product(b, root, root)
    rest = b.fma(-lost, root, b.fma(-square, root, m))
    low = rest * (over * number(b, 1.0 / 3.0))
    nothing = size.compare("eq", word(b, 0))
    scale = b.select(nothing, word(b, 0), (q + word(b, 127)) << 23).bitcast(F32)
    odd = (size - word(b, NORMAL)).compare("ge", word(b, RANGE)) & b.unary("not", nothing)
    return Enclosure(root * scale, low * scale, odd=odd, sign=sign_of(b, x))
