"""Logarithms, and what is made of one: `1 + z` times a power of two and an entry of a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from .....dataclass import dataclass
from ....builder import Builder, Value
from ...bits import magnitude, sign_of
from .. import tables32 as S
from ..doubles import Pair, fast_two_sum, two_product, two_sum
from ..single import F32, bits_of, number, word
from . import tables as T
from .rule import OFF, Enclosure

ONE: Final = 0x3F80_0000
EXPONENT: Final = 0xFF80_0000
PIECE: Final = 19  # bits of a number that do not tell its piece


def _odd(b: Builder, bits: Value) -> Value:
    """Whether these are not of a positive normal number below `2**127`, which can be scaled."""
    return (bits - word(b, 1 << 23)).compare("ge", word(b, 0x7E80_0000))


def _parts(b: Builder, bits: Value) -> tuple[Value, Value, Value]:
    """`f`, its piece's number, and `e` of `2**e f`, as in `single.log`."""
    above = bits - word(b, S.FIRST)
    f = (bits - (above & word(b, EXPONENT))).bitcast(F32)
    return f, above, (above.bitcast("int32") >> 23).cast(F32)


CUBE: Final = 1.5 * 2.0**-28  # times `z z`: what the third term may be off, and more


def _near_one(b: Builder, z: Value) -> tuple[Value, Value, Value]:
    """`log(1 + z)` as a pair, and what that may be off."""
    square = z * z
    high = b.fma(square, number(b, -0.5), z)
    low = b.fma(square, number(b, -0.5), z - high)
    low = b.fma(b.fma(z, z, -square), number(b, -0.5), low)
    c = [number(b, value) for value in S.LOG]
    more = b.fma(square, c[4], b.fma(z, c[3], c[2]))
    series = b.fma(square, more, b.fma(z, c[1], c[0]))
    return high, b.fma(z * square, series, low), square * number(b, CUBE)


Numbers = tuple[float, ...]
BASE_2: Final = T.UNIT_2, T.TWO_2, T.LOGS_2, T.LOGS_2_REST
BASE_10: Final = T.UNIT_10, T.TWO_10, T.LOGS_10, T.LOGS_10_REST


def _based(b: Builder, x: Value, base: tuple[Numbers, Numbers, Numbers, Numbers]) -> Enclosure:
    """``base``: the logarithm of e in two parts, that of 2, and those of the pieces."""
    one, two, logs, logs_rest = base
    bits = bits_of(x)
    f, above, e = _parts(b, bits)
    k = above >> PIECE
    z = b.fma(f, b.pick(S.INVERSES, k), number(b, -1.0))
    first, second, off = _near_one(b, z)
    unit = number(b, one[0])
    high, low = two_product(b, first, unit)
    low = b.fma(second, unit, b.fma(first, number(b, one[1]), low))
    whole = b.fma(e, number(b, two[0]), b.pick(logs, k))
    total, lost = fast_two_sum(whole, high)
    rest = b.fma(e, number(b, two[1]), b.pick(logs_rest, k))
    return Enclosure(total, (low + lost) + rest, off, _odd(b, bits), part=2 * OFF)


def log2(b: Builder, x: Value) -> Enclosure:
    return _based(b, x, BASE_2)


def log10(b: Builder, x: Value) -> Enclosure:
    return _based(b, x, BASE_10)


@dataclass(frozen=True)
class Scaled:
    """`2**e` times an entry's inverse times `1 + z + rest`; ``above`` is the entry's number."""

    above: Value
    e: Value
    z: Value
    rest: Value
    odd: Value


def _scaled(b: Builder, total: Value, rest: Value) -> Scaled:
    """Of a pair."""
    bits = bits_of(total)
    f, above, e = _parts(b, bits)
    inverse = b.pick(S.INVERSES, above >> PIECE)
    scale = (word(b, ONE) - (above & word(b, EXPONENT))).bitcast(F32)
    z = b.fma(f, inverse, number(b, -1.0))
    return Scaled(above, e, z, rest * (scale * inverse), _odd(b, bits))


def _log(b: Builder, x: Scaled) -> Enclosure:
    high, low, off = _near_one(b, x.z)
    slope = x.rest
    for _ in range(3):  # rest / (1 + z)
        slope = b.fma(-x.z, slope, x.rest)
    k = x.above >> PIECE
    whole = b.fma(x.e, number(b, S.LN2[0]), b.pick(S.LOGS, k))
    total, lost = fast_two_sum(whole, high)
    rest = b.fma(x.e, number(b, S.LN2[1]), b.pick(S.LOGS_REST, k))
    return Enclosure(total, (low + lost) + (slope + rest), off, x.odd)


def log1p(b: Builder, x: Value) -> Enclosure:
    """In the first piece `z` is x, so that nothing of it is lost."""
    one = number(b, 1.0)
    parts = _scaled(b, *two_sum(one, x))
    first = parts.above.compare("lt", word(b, 1 << PIECE))
    z, rest = b.select(first, x, parts.z), b.select(first, number(b, 0.0), parts.rest)
    return replace(_log(b, replace(parts, z=z, rest=rest)), sign=sign_of(b, x))


def acosh(b: Builder, x: Value) -> Enclosure:
    """`log(x + sqrt((x - 1) (x + 1)))`."""
    one = number(b, 1.0)
    t, less = fast_two_sum(x, -one)
    above, more = fast_two_sum(x, one)
    square, lost = two_product(b, t, above)
    lost = b.fma(t, more, b.fma(less, above, lost))
    root, rest = _root(b, square, lost)
    total, left = fast_two_sum(x, root)
    return _log(b, _scaled(b, total, left + rest))


def _root(b: Builder, square: Value, lost: Value) -> Pair:
    root = b.unary("sqrt", square)
    half = b.emit("div", F32, number(b, 0.5), root)
    return root, (b.fma(-root, root, square) + lost) * half


SMALL: Final = 2.0**-9  # below it two terms are enough


def _odd_function(b: Builder, x: Value, a: Value, large: Enclosure, cube: float) -> Enclosure:
    """That of ``x`` from ``large``, that of `a = |x|`, and `a + cube a a a` for small a."""
    small = a.compare("lt", number(b, SMALL))
    high = b.select(small, a, large.high)
    low = b.select(small, (a * a) * (a * number(b, cube)), large.low)
    return replace(large, high=high, low=low, sign=sign_of(b, x))


def asinh(b: Builder, x: Value) -> Enclosure:
    """`log(a + sqrt(a a + 1))` of `a = |x|`."""
    a = magnitude(b, x)
    square, lost = two_product(b, a, a)
    above, less = two_sum(square, number(b, 1.0))
    root, rest = _root(b, above, less + lost)
    total, left = fast_two_sum(root, a)
    return _odd_function(b, x, a, _log(b, _scaled(b, total, left + rest)), -1.0 / 6.0)


def atanh(b: Builder, x: Value) -> Enclosure:
    """`log((1 + a) / (1 - a)) / 2` of `a = |x|`."""
    a, one, half = magnitude(b, x), number(b, 1.0), number(b, 0.5)
    below, lost = fast_two_sum(one, -a)
    above, more = fast_two_sum(one, a)
    inverse = b.emit("div", F32, one, below)
    first = above * inverse
    rest = (b.fma(-first, below, above) + b.fma(-first, lost, more)) * inverse
    log = _log(b, _scaled(b, first, rest))
    log = replace(log, high=log.high * half, low=log.low * half)
    return _odd_function(b, x, a, log, 1.0 / 3.0)
