"""exp, log and tanh of float32 by float32 arithmetic: twice as many elements in a register.

A table of sixteen (`pick`) leaves so small an argument that only the first term of its series needs
its rounding error kept; the result is one sum of a float32 and what is left over, which is so much
smaller that its own errors are `2**-10` ulp. Arguments for which that does not hold are `rare`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...builder import Builder, Value
from ..arithmetic import horner
from ..bits import magnitude, rare_nan, sign_of
from . import tables32 as T
from .doubles import at_most, fast_two_sum, two_product

F32: Final = "float32"
SHIFTER: Final = 1.5 * 2.0**23  # as `doubles.SHIFTER`
ONE: Final = 0x3F80_0000


def number(b: Builder, value: float) -> Value:
    return b.const(value, F32)


def word(b: Builder, value: int) -> Value:
    return b.const(value, "uint32")


def bits_of(x: Value) -> Value:
    return x.bitcast("uint32")


def nearest(b: Builder, x: Value, scale: float) -> tuple[Value, Value]:
    """The whole number nearest to `x * scale`, and a word whose low bits it is."""
    shifted = b.fma(x, number(b, scale), number(b, SHIFTER))
    return shifted - number(b, SHIFTER), bits_of(shifted)


def exponent_of(b: Builder, n: Value) -> Value:
    """The whole sixteenths of ``n``, in the place of an exponent."""
    return (n & word(b, 0xFFFF_FFF0)) << 19


def exp(b: Builder, x: Value, otherwise: Callable[[Builder, Value], Value]) -> Value:
    """`2**(n/16) exp(r)`, `|r| <= ln(2)/32`; ``otherwise`` where it is no normal number by far."""
    n, low = nearest(b, x, T.PER_LN2[0])
    r = b.fma(n, number(b, -T.LN2_16[0]), x)
    power = b.pick(T.POWERS, low)
    high = b.fma(power, r, power)
    lost = b.fma(power, (r * r) * horner(b, r, T.EXP), b.fma(power, r, power - high))
    rest = b.fma(n, number(b, -T.LN2_16[1]), b.pick(T.POWERS_OVER, low))
    lost = b.fma(high, rest, lost)
    value = (bits_of(high + lost) + exponent_of(b, low)).bitcast(F32)
    far = bits_of(magnitude(b, x)).compare("ge", b.const(87.0, F32).bitcast("uint32"))
    return rare_nan(b, far, value, otherwise, x)


def log(b: Builder, x: Value, otherwise: Callable[[Builder, Value], Value]) -> Value:
    """`x = 2**e f`, `f` in the k-th of 16 pieces; `z = f / (the piece's middle) - 1` is exact."""
    bits = bits_of(x)
    above = bits - word(b, T.FIRST)
    k = above >> 19
    f = (bits - (above & word(b, 0xFF80_0000))).bitcast(F32)
    e = (above.bitcast("int32") >> 23).cast(F32)
    z = b.fma(f, b.pick(T.INVERSES, k), number(b, -1.0))
    square = z * z
    high = b.fma(square, number(b, -0.5), z)
    lost = b.fma(square, number(b, -0.5), z - high)
    lost = b.fma(b.fma(z, z, -square), number(b, -0.5), lost)
    lost = b.fma(z * square, horner(b, z, T.LOG), lost)
    whole = b.fma(e, number(b, T.LN2[0]), b.pick(T.LOGS, k))
    total = whole + high
    lost = lost + (high - (total - whole))
    lost = b.fma(e, number(b, T.LN2[1]), lost + b.pick(T.LOGS_REST, k))
    odd = (bits - word(b, 1 << 23)).compare("ge", word(b, 0x7F00_0000))
    return rare_nan(b, odd, total + lost, otherwise, x)


SATURATED: Final = 9.1  # tanh is 1 - 2**-25.2 here
SMALL: Final = 0.03125


def tanh(b: Builder, x: Value) -> Value:
    """`1 - 2 / (exp(2 |x|) + 1)`, where exp keeps two terms more; a short series near zero."""
    size = at_most(b, magnitude(b, x), SATURATED)
    one = number(b, 1.0)
    power, high, lost = _exp_twice(b, size)
    below = high + power  # the sum over the power of two in the exponential
    lost = lost + (power - (below - high))
    inverse = b.emit("div", F32, one, below)
    twice = -(power + power)
    ratio, rounded = two_product(b, twice, inverse)
    total, rest = fast_two_sum(one, ratio)
    off = b.fma(-inverse, lost, b.fma(-inverse, below, one))
    rest = b.fma(ratio, off, rest + rounded)
    square = size * size
    near = b.fma(square * size, horner(b, square, T.TANH), size)
    total = b.select(size.compare("lt", number(b, SMALL)), near, total + rest)
    return (bits_of(total) | sign_of(b, x)).bitcast(F32)


def _exp_twice(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    """`exp(2 x)` as `(high + low) / s`, s a power of two: s, high, low."""
    n, low = nearest(b, x, T.PER_LN2[1])
    r = b.fma(n, number(b, -T.LN2_32[0]), x)
    power = b.pick(T.POWERS, low)
    double = power + power
    first = b.fma(r, r, r)  # exp(2 r) = 1 + 2 (r + r r) + ...
    second = b.fma(r, r, r - first)
    high = b.fma(double, first, power)
    lost = b.fma(double, second, b.fma(double, first, power - high))
    lost = b.fma(power, (r * r) * (r * horner(b, r, T.EXP_TWICE)), lost)
    rest = b.fma(n, number(b, -2.0 * T.LN2_32[1]), b.pick(T.POWERS_OVER, low))
    lost = b.fma(high, rest, lost)
    scale = (word(b, ONE) - exponent_of(b, low)).bitcast(F32)
    return scale, high, lost
